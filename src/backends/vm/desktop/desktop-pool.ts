import { ReadyPool, type ReadyPoolReport } from "../../../core/ready-pool.ts";
import type { DesktopSpec } from "./provider.ts";
import type { ReadyDesktop } from "./ready-desktop.ts";

export interface DesktopPoolOptions {
  readonly min: number;
  /** Started at once. */
  readonly parallel: number;
  /** What every member is. */
  readonly usual: DesktopSpec;
}

export type DesktopPoolReport = ReadyPoolReport;

/** Desktops of one kind that show their first picture already, so that a session need not wait for it. */
export class DesktopPool extends ReadyPool<DesktopSpec, ReadyDesktop> {
  constructor(make: (spec: DesktopSpec, signal: AbortSignal) => Promise<ReadyDesktop>, options: DesktopPoolOptions) {
    super({ ...options, make, kindOf, isAlive, discard, ended: ({ running }) => running.ended });
  }
}

/** Equal for desktops that can stand for one another: all but the owner. */
function kindOf({
  width,
  height,
  dpi,
  sandbox: { sessionId: _session, workerId: _worker, ...sandbox },
}: DesktopSpec): string {
  const { image, network, limits, environment } = sandbox;
  return JSON.stringify([width, height, dpi, image, network, Object.entries(limits ?? {}).toSorted(), environment]);
}

async function isAlive({ connection }: ReadyDesktop, signal: AbortSignal): Promise<boolean> {
  try {
    await connection.capture(signal, { x: 0, y: 0, width: 1, height: 1 });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function discard({ connection, running }: ReadyDesktop): Promise<void> {
  connection.close();
  await running.stop();
}
