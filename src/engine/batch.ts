import { ToolyardError } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallRequest } from "./call.ts";
import { toRefusedResult } from "./call-result.ts";
import type { EngineLimits } from "./limits.ts";

/** What runs one call of a batch; never rejects. */
export interface CallRunner {
  execute(request: CallRequest): Promise<ToolResult>;
}

/** How a batch is to run. */
export interface BatchOptions {
  readonly parallel: boolean;
  /** Starts no further item once one has failed; those that run end. */
  readonly stopOnError: boolean;
  readonly maxConcurrency?: number | undefined;
}

/** What a batch came to: one result per item in its order; serial batches end with the item that stopped them. */
export interface BatchResult {
  readonly results: readonly ToolResult[];
  readonly total: number;
  readonly executed: number;
  readonly successCount: number;
}

/**
 * Runs several calls of one worker, one after another or side by side.
 *
 * @throws ToolyardError payload_too_large for more than `batchItems` items.
 */
export async function executeBatch(
  runner: CallRunner,
  requests: readonly CallRequest[],
  options: BatchOptions,
  limits: EngineLimits,
): Promise<BatchResult> {
  if (requests.length > limits.batchItems) {
    throw new ToolyardError("payload_too_large", `A batch holds at most ${limits.batchItems} actions`, {
      details: { limit: "batch_items", maximum: limits.batchItems },
    });
  }
  const concurrency = options.parallel
    ? Math.min(options.maxConcurrency ?? limits.batchConcurrency, limits.batchConcurrency)
    : 1;
  const results: (ToolResult | undefined)[] = requests.map(() => undefined);
  const queue = requests.entries();
  let stopped = false;
  const work = async () => {
    for (const [index, request] of queue) {
      const result = await runner.execute(request);
      results[index] = result;
      if (!result.ok && options.stopOnError) stopped = true;
      // Checked before the shared iterator moves on, so that no item is taken and then dropped.
      if (stopped || request.parent?.ended !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const executed = results.filter((result) => result !== undefined);
  return {
    results: options.parallel ? results.map((result, index) => result ?? toSkipped(requests[index])) : executed,
    total: requests.length,
    executed: executed.length,
    successCount: executed.filter((result) => result.ok).length,
  };
}

/** Marks an item of a parallel batch that was never started, so that results keep their places. */
function toSkipped(request: CallRequest | undefined): ToolResult {
  const error = new ToolyardError("cancelled", "Not started: an earlier item failed and stop_on_error is set", {
    suggestion: "Send it again, or set stop_on_error to false.",
  });
  return toRefusedResult(request ?? { action: "" }, error);
}
