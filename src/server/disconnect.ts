import type { ServerResponse } from "node:http";
import { ToolyardError } from "../core/errors.ts";
import { Cancellation } from "../engine/deadline.ts";

/** The client's wait for its answer, watched once however much depends on it: it ends when the client goes away first. */
export class ClientWait extends Cancellation {
  constructor(outgoing: ServerResponse) {
    super();
    const onClose = () => {
      if (!outgoing.writableFinished) this.cancel(new ToolyardError("cancelled", "The client went away"));
    };
    if (outgoing.closed) onClose();
    else outgoing.once("close", onClose);
  }
}
