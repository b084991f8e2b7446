import { ClientError } from "./client-error.ts";

/** How far a request came: `unreachable` means that no connection was made, so nothing was sent; the others may have reached the server. */
export type ConnectionFailure = "unreachable" | "timeout" | "interrupted";

const ADVICE: Record<ConnectionFailure, string> = {
  unreachable:
    "Check that the server runs (`toolyard serve`) and that the url is right; a Sandbox without a url starts its own.",
  timeout: "Check GET /health; the call may have run, so look before you repeat it.",
  interrupted: "The call may have run; look before you repeat it.",
};

/** No answer came: unreachable, timed out or cut off. */
export class ConnectionError extends ClientError {
  override readonly name = "ConnectionError";
  readonly failure: ConnectionFailure;
  readonly method: string;
  readonly url: string;
  /** Whether the server may have acted on the request; `false` means that it never got it. */
  readonly mayHaveRun: boolean;

  constructor(failure: ConnectionFailure, method: string, url: string, reason: string, cause?: unknown) {
    super(`${reason} on ${method} ${url}`, ADVICE[failure], cause);
    this.failure = failure;
    this.method = method;
    this.url = url;
    this.mayHaveRun = failure !== "unreachable";
  }
}
