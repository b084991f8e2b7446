import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { settle } from "../actions/settle.ts";
import { DisplayConnection } from "../rfb/display-connection.ts";
import { isBlank } from "../screen/picture.ts";
import { sleep } from "./clock-sleep.ts";
import type { DesktopProvider, DesktopSpec, RunningDesktop } from "./provider.ts";

const FIRST_QUIET = { quietMs: 100, maxMs: 3_000 };

/** A desktop that shows something and is looked at. */
export interface ReadyDesktop {
  readonly running: RunningDesktop;
  readonly connection: DisplayConnection;
}

/**
 * Starts a desktop and waits until its screen shows more than one colour and is quiet.
 *
 * @throws ToolyardError `runtime_unavailable`, `dependency_failed` when it does not come up; the signal's reason. Nothing is left
 *   behind then.
 */
export async function openDesktop(
  provider: DesktopProvider,
  spec: DesktopSpec,
  clock: Clock,
  signal: AbortSignal,
): Promise<ReadyDesktop> {
  const running = await provider.start(spec, signal);
  try {
    return { running, connection: await look(running, clock, signal) };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

/** Connects to the display and waits for its first picture; throws as {@link openDesktop} does, the desktop left as it is. */
export async function look(running: RunningDesktop, clock: Clock, signal: AbortSignal): Promise<DisplayConnection> {
  const gone = new AbortController();
  void running.ended.then((reason) =>
    gone.abort(new ToolyardError("dependency_failed", `the desktop ended before it showed anything: ${reason}`)),
  );
  const either = AbortSignal.any([signal, gone.signal]);
  const drowsy = running.screen === "machine";
  const connection = await DisplayConnection.open(await running.connectDisplay(either), either, { drowsy });
  try {
    // oxlint-disable-next-line no-await-in-loop -- until there is something to see
    while (isBlank(await connection.capture(either))) await connection.nextChange(either);
    const eyes = {
      nextChange: (until: AbortSignal) => connection.nextChange(until),
      sleep: (ms: number, until: AbortSignal) => sleep(clock, ms, until),
      now: () => clock.now(),
    };
    await settle(eyes, FIRST_QUIET, either);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}
