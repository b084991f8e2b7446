import type { ServerResponse } from "node:http";
import { ToolyardError } from "../core/errors.ts";

/** Aborts when the client goes away before its answer is written. */
export function disconnectSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) controller.abort(new ToolyardError("cancelled", "The client went away"));
  });
  return controller.signal;
}
