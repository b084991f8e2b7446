import type { ServerResponse } from "node:http";
import { ToolyardError } from "../core/errors.ts";
import type { CancelSource } from "../engine/deadline.ts";

/** The client's wait for its answer: it ends when the client goes away first. */
export class ClientWait implements CancelSource {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  get ended(): ToolyardError | undefined {
    const gone = this.#outgoing.closed && !this.#outgoing.writableFinished;
    return gone ? new ToolyardError("cancelled", "The client went away") : undefined;
  }

  onEnd(callback: () => void): () => void {
    const onClose = () => {
      if (!this.#outgoing.writableFinished) callback();
    };
    this.#outgoing.once("close", onClose);
    return () => this.#outgoing.off("close", onClose);
  }
}
