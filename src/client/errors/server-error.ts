import { ERRORS, type ErrorName, ToolyardError } from "../../core/errors.ts";
import type { Envelope } from "../../core/protocol.ts";
import type { ToolFailure } from "../../core/result.ts";

/**
 * The error that the server answered, with its name, advice and envelope.
 *
 * `ToolyardError.is` recognises it too: an error reads the same on both sides of the wire.
 */
export class ServerError extends ToolyardError {
  override readonly name = "ServerError";
  readonly envelope: Envelope;
  readonly #failure: ToolFailure;

  constructor(failure: ToolFailure, envelope: Envelope) {
    super(failure.error, failure.message, {
      suggestion: failure.suggestion,
      retryable: failure.retryable,
      status: failure.status,
      outcome: failure.outcome,
      ...(failure.details === undefined ? {} : { details: failure.details }),
    });
    this.envelope = envelope;
    this.#failure = failure;
  }

  /** The code on the wire, which an older server may take from another table than ours. */
  override get code(): number {
    return this.#failure.code;
  }

  /** The same failure as a value. */
  get failure(): ToolFailure {
    return this.#failure;
  }
}

/** Whether a string from the wire names an error that this version knows. */
export function isErrorName(name: unknown): name is ErrorName {
  return typeof name === "string" && Object.hasOwn(ERRORS, name);
}
