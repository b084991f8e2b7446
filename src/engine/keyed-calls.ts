import { type ErrorName, ToolyardError } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallRequest } from "./call.ts";
import { toRefusedResult } from "./call-result.ts";
import type { Catalog } from "./catalog.ts";
import type { ToolExecutor } from "./executor.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Claim, Idempotency, Kept } from "./idempotency.ts";

/** What became of a call that was ended from outside after it had begun. */
const CUT_OFF: ReadonlySet<ErrorName> = new Set(["cancelled", "unknown_outcome"]);

/** Runs calls that carry an idempotency key, each once. */
export class KeyedCalls {
  readonly #executor: ToolExecutor;
  readonly #catalog: Catalog;
  readonly #idempotency: Idempotency;

  constructor(executor: ToolExecutor, catalog: Catalog, idempotency: Idempotency) {
    this.#executor = executor;
    this.#catalog = catalog;
    this.#idempotency = idempotency;
  }

  /** Runs one call, once for each key, and tells whether the answer is an earlier sending's; never rejects. */
  async execute(request: CallRequest): Promise<Kept<ToolResult>> {
    const { idempotencyKey: key } = request;
    if (key === undefined) return { value: await this.#executor.execute(request), replayed: false };
    try {
      return await this.#idempotency.once(this.claim(request, key, "call"), request.parent, async (wait) => {
        let hadEffect = false;
        const onStart = () => {
          hadEffect = true;
          request.observer?.onStart?.();
        };
        const value = await this.#executor.execute({
          ...request,
          parent: wait,
          observer: { ...request.observer, onStart },
        });
        // A stop says so of a begun call only where it may run again: the next server does, under the same key.
        if (!value.ok && value.error.error === "shutting_down") return { value, hadEffect: false };
        return { value: hadEffect ? withAdviceOnKey(value) : value, hadEffect };
      });
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { value: toRefusedResult(request, error), replayed: false };
    }
  }

  /** Says what a request claims under its key. */
  claim({ caller, action, params, sessionId }: CallRequest, key: string, kind: "call" | "job"): Claim {
    return {
      tenant: caller.tenant,
      key,
      fingerprint: fingerprint(kind, caller.workerId, action, params, sessionId ?? null),
      repeatable: this.#mayRepeat(action),
    };
  }

  /** A tool that says so has no further effect when it runs again. */
  #mayRepeat(action: string): boolean {
    try {
      const { annotations } = this.#catalog.resolve(action).tool.definition;
      return annotations.idempotentHint === true || annotations.readOnlyHint === true;
    } catch {
      // The executor says what is wrong with it.
      return false;
    }
  }
}

/** A call that was cut off after it began is kept: under its key there is nothing to come but the same answer. */
function withAdviceOnKey(result: ToolResult): ToolResult {
  if (result.ok || !CUT_OFF.has(result.error.error)) return result;
  const advice = {
    retryable: false,
    suggestion: "The call had begun: look how far it came, and send it under a new key if it is to run again.",
  };
  return { ...result, error: { ...result.error, ...advice }, meta: { ...result.meta, ...advice } };
}
