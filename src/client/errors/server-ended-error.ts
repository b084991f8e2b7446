import { ClientError } from "./client-error.ts";

/** How an auto-started server ended, as far as its parent knows. */
export interface ServerExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The last lines that it wrote to stderr. */
  readonly stderrTail: string;
}

/** The server that the client started has ended by itself, and the sessions with it. */
export class ServerEndedError extends ClientError {
  override readonly name = "ServerEndedError";
  readonly exit: ServerExit;

  constructor(exit: ServerExit) {
    const how = exit.signal ?? `exit code ${exit.exitCode}`;
    super(
      `the server that was started here has ended with ${how}\n${exit.stderrTail.trim()}`.trimEnd(),
      "Close this sandbox and open another one; its sessions are gone.",
    );
    this.exit = exit;
  }
}
