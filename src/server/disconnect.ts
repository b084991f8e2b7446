import { ToolyardError } from "../core/errors.ts";
import { Cancellation } from "../engine/deadline.ts";

/** What tells that a client has gone: a response, or a connection that became another protocol's. */
export interface Departing {
  readonly closed: boolean;
  readonly writableFinished: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** The client's wait for its answer, watched once however much depends on it: it ends when the client goes away first. */
export class ClientWait extends Cancellation {
  constructor(outgoing: Departing) {
    super();
    const onClose = () => {
      if (!outgoing.writableFinished) this.cancel(new ToolyardError("cancelled", "The client went away"));
    };
    if (outgoing.closed) onClose();
    else outgoing.once("close", onClose);
  }
}
