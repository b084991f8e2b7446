import type { SessionDesktop } from "../../core/desktop.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { VmSession } from "./session.ts";

/**
 * A session's desktop as those outside of its tools see it.
 *
 * @throws ToolyardError `conflict` while it is stopped.
 */
export function toSessionDesktop({ desktop: { running, operator }, news, pictures }: VmSession): SessionDesktop {
  if (!news.isUp) {
    throw new ToolyardError("conflict", "The session's desktop is stopped", { suggestion: "Start it with vm:start." });
  }
  return {
    picture: (id) => pictures.find(id),
    connectDisplay: (signal) => running.connectDisplay(signal),
    releaseInput: (reason) => {
      try {
        operator.letGo(reason);
      } catch {
        // Nothing is held at a display that is gone.
      }
    },
  };
}
