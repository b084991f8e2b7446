import type { Clock } from "../../../core/clock.ts";
import type { RunningDesktop } from "../desktop/provider.ts";
import { DesktopAgent } from "./desktop-agent.ts";

/** Starts the agent of a desktop, without waiting for it; nothing where programs that last cannot be started. */
export function openAgent(
  running: RunningDesktop,
  clock: Clock,
  onDeath?: (reason: string, complaint: string) => void,
): DesktopAgent | undefined {
  const { spawn } = running;
  if (spawn === undefined) return undefined;
  return new DesktopAgent({
    clock,
    spawn: (command, signal) => spawn.call(running, command, signal),
    ...(onDeath === undefined ? {} : { onDeath }),
  });
}
