const MARK = Symbol.for("toolyard.client-error");

/**
 * What the client itself has to report: the server did not answer, or not in its protocol, or did not start.
 *
 * What the server answered is a `ServerError` and deliberately no `ClientError`: there the server did its part.
 */
export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly [MARK] = true;
  /** What to do next. */
  readonly suggestion: string;

  constructor(message: string, suggestion: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.suggestion = suggestion;
  }

  /** Recognises any client error, also across duplicated copies of the package. */
  static is(value: unknown): value is ClientError {
    return typeof value === "object" && value !== null && MARK in value;
  }
}
