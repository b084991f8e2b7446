import type { ToolContext } from "../../core/context.ts";
import { type ErrorName, type Outcome, ToolyardError } from "../../core/errors.ts";

/** The failure of one item of a batch. */
export interface ItemError {
  readonly name: ErrorName;
  readonly message: string;
  readonly outcome: Outcome;
  readonly retryable: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What became of one item. */
export type ItemResult<T> = { readonly value: T } | { readonly error: ItemError };

/**
 * Works on several items, a few at a time, each failing alone; tells how far it is after each.
 *
 * @throws the failure itself where there is but one item, `all_failed` where all of several failed; the signal's reason.
 */
export async function runBatch<I, T>(
  items: readonly I[],
  parallel: number,
  context: Pick<ToolContext, "signal" | "progress">,
  work: (item: I) => Promise<T>,
): Promise<ItemResult<T>[]> {
  const { signal } = context;
  const results: ItemResult<T>[] = [];
  const failures = new Map<number, ToolyardError>();
  let done = 0;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      // In bounds by the loop's own condition.
      const item = items[index] as I;
      signal.throwIfAborted();
      try {
        // oxlint-disable-next-line no-await-in-loop -- the loop is one of `parallel` lanes
        results[index] = { value: await work(item) };
      } catch (error) {
        signal.throwIfAborted();
        if (!ToolyardError.is(error)) throw error;
        failures.set(index, error);
        results[index] = { error: toItemError(error) };
      }
      done += 1;
      context.progress({ done, total: items.length, failed: failures.size });
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
  if (failures.size < items.length) return results;
  const errors = items.flatMap((_, index) => failures.get(index) ?? []);
  const [first] = errors;
  if (first === undefined) return results;
  if (items.length === 1) throw first;
  throw new ToolyardError("all_failed", `none of ${items.length} worked: ${first.message}`, {
    details: { errors: errors.map(toItemError) },
    outcome: first.outcome,
    retryable: errors.some(({ retryable }) => retryable),
  });
}

/** Says in one line what of a batch did not work; `undefined` when all did. */
export function warnOf(results: readonly ItemResult<unknown>[], what: string): string | undefined {
  const failed = results.flatMap((result) => ("error" in result ? [result.error.message] : []));
  return failed.length === 0 ? undefined : `${failed.length} of ${results.length} ${what} failed: ${failed.join("; ")}`;
}

function toItemError({ error, message, outcome, retryable, details }: ToolyardError): ItemError {
  return { name: error, message, outcome, retryable, ...(details !== undefined && { details }) };
}
