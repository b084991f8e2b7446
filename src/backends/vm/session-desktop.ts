import type { SessionDesktop } from "../../core/desktop.ts";
import type { Desktop } from "./desktop/desktop.ts";

/** A session's desktop as those outside of its tools see it. */
export function toSessionDesktop({ running, operator }: Desktop): SessionDesktop {
  return {
    connectDisplay: (signal) => running.connectDisplay(signal),
    releaseInput: () => {
      try {
        operator.hands.releaseAll();
      } catch {
        // Nothing is held at a display that is gone.
      }
    },
  };
}
