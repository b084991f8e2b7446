import { ClientError } from "./client-error.ts";
import type { ServerExit } from "./server-ended-error.ts";

/** The server that the client started did not come up. */
export class ServerStartError extends ClientError {
  override readonly name = "ServerStartError";
  readonly exit: ServerExit;

  constructor(reason: string, exit: ServerExit, cause?: unknown) {
    const tail = exit.stderrTail.trim();
    super(
      tail === "" ? `the server did not start: ${reason}` : `the server did not start: ${reason}\n${tail}`,
      "Run `toolyard serve` with the same options to see the whole log, and `toolyard doctor` for what is missing.",
      cause,
    );
    this.exit = exit;
  }
}
