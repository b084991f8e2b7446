import { ToolyardError } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallRequest } from "./call.ts";
import { toRefusedResult } from "./call-result.ts";
import type { Idempotency, Kept } from "./idempotency.ts";

/** A streamed call that is no longer in memory, as far as it is known. */
export interface RecalledStream {
  readonly action: string;
  /** What the call came to: `unknown_outcome` when the server that ran it was killed over it. */
  readonly result: ToolResult;
  /** The number of the result among what the stream told. */
  readonly number: number;
}

/** How a streamed call is run. */
export type RunStreamed = (request: CallRequest) => Promise<Kept<ToolResult>>;

/** What is known of a streamed call from its beginning on. */
interface Facts {
  readonly action: string;
  readonly traceId: string;
  /** Its own key, under which its answer is kept already. */
  readonly key: string | undefined;
}

/** What is written at its end. */
interface End {
  readonly number: number;
  readonly result: ToolResult | null;
}

/** The number of the last event of a stream of which nobody knows how long it was: more than any stream can hold. */
const UNKNOWN_NUMBER = 1_000_000_000;
const CALL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Keeps what streamed calls came to, for readers that come back to the next run of the server: a record is written before the
 * call is run, so that one which a kill cut off is known to have been, and its result after it.
 *
 * The records stand among those of idempotency keys, with the same retention and the same bounds.
 */
export class KeptStreams {
  readonly #idempotency: Idempotency;

  constructor(idempotency: Idempotency) {
    this.#idempotency = idempotency;
  }

  /**
   * Runs a streamed call. `finish` is told the result before it is written, and says which number it has in the stream.
   * A store that fails keeps no call from being run.
   */
  async run(
    callId: string,
    request: CallRequest,
    run: RunStreamed,
    finish: (result: ToolResult) => number,
  ): Promise<void> {
    const { caller, action, idempotencyKey: key } = request;
    const facts: Facts = { action, traceId: request.traceId ?? callId, key };
    let began = false;
    let ended = false;
    const onStart = () => {
      began = true;
      request.observer?.onStart?.();
    };
    const work = async () => {
      const { value: result, replayed } = await run({ ...request, observer: { ...request.observer, onStart } });
      ended = true;
      const end: End = { number: finish(result), result: key === undefined ? result : null };
      return { value: end, hadEffect: began || replayed };
    };
    const claim = { tenant: caller.tenant, key: toKey(callId), fingerprint: JSON.stringify(facts), repeatable: false };
    try {
      await this.#idempotency.once(claim, undefined, work);
    } catch (error) {
      if (ended || !ToolyardError.is(error)) throw error;
      await work();
    }
  }

  /**
   * Finds what a tenant's streamed call came to.
   *
   * @throws ToolyardError dependency_failed when the store cannot be read.
   */
  async recall(tenant: string, callId: string): Promise<RecalledStream | undefined> {
    if (!CALL_ID.test(callId)) return undefined;
    const kept = await this.#idempotency.recall<End>(tenant, toKey(callId));
    if (kept === undefined) return undefined;
    const facts = JSON.parse(kept.fingerprint) as Facts; // written by `run` alone
    const { action, key } = facts;
    const number = kept.error === undefined ? kept.value.number : UNKNOWN_NUMBER;
    if (key === undefined) {
      const result = kept.error === undefined ? kept.value.result : null;
      return { action, number, result: result ?? toRefusedResult(facts, kept.error ?? noLongerKept()) };
    }
    const answer = await this.#idempotency.recall<ToolResult>(tenant, key);
    if (answer === undefined) return { action, number, result: toRefusedResult(facts, kept.error ?? noLongerKept()) };
    return { action, number, result: answer.error === undefined ? answer.value : toRefusedResult(facts, answer.error) };
  }
}

/** No key that a caller chose has a space. */
function toKey(callId: string): string {
  return `stream ${callId}`;
}

function noLongerKept(): ToolyardError {
  return new ToolyardError("limit_exceeded", "The call ran, and its answer is no longer kept", {
    details: { limit: "kept_answers_bytes" },
    outcome: "infra_error",
    suggestion: "Do not repeat it: read its effect, or raise the limit that data.limit names.",
  });
}
