import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxInstance } from "../../../core/runtime.ts";
import type { SandboxFiles } from "../../../core/sandbox-files.ts";
import type { CommandResult, CommandSpec, SandboxProcess } from "../../../core/sandbox-process.ts";
import type { DesktopSize, RunningDesktop } from "./provider.ts";
import { SandboxSnapshots } from "./sandbox-snapshots.ts";
import {
  DESKTOP_ENVIRONMENT,
  DISPLAY_PORT,
  MISSING_PROGRAM,
  READY_LINE,
  SESSION_NAME,
  toSessionCommand,
} from "./session-script.ts";

/** A sandbox that surely can do what a desktop needs. */
export type DesktopBox = SandboxInstance & Required<Pick<SandboxInstance, (typeof NEEDED)[number]>>;

/** What a runtime's sandboxes must be able to do to hold a desktop. */
export const NEEDED = ["exec", "spawn", "processes", "files", "connect", "reset"] as const;

const READY_MS = 30_000;
const SAID_CHARACTERS = 400;

/** @throws ToolyardError `runtime_unavailable` when it cannot do what a desktop needs. */
export function asDesktopBox(box: SandboxInstance): DesktopBox {
  const lacking = NEEDED.filter((ability) => box[ability] === undefined);
  // Each of them was looked at just before.
  if (lacking.length === 0) return box as DesktopBox;
  throw new ToolyardError(
    "runtime_unavailable",
    `a sandbox of the runtime "${box.runtime}" can hold no desktop: it has no ${lacking.join(", ")}`,
    { suggestion: "Use the docker or the local runtime, and an image that has python3." },
  );
}

/** A desktop in a sandbox: the processes of its display and windows, and all that the sandbox can do. */
export class RunningSandbox implements RunningDesktop {
  readonly display = DESKTOP_ENVIRONMENT.DISPLAY;
  readonly box: DesktopBox;
  readonly snapshots: SandboxSnapshots;
  readonly ended: Promise<string>;
  #session: SandboxProcess | undefined;
  #becameEnded: (reason: string) => void = () => {};

  private constructor(box: DesktopBox) {
    this.box = box;
    this.snapshots = new SandboxSnapshots(box.files, (signal) => this.wipe(signal));
    this.ended = new Promise((resolve) => (this.#becameEnded = resolve));
    void box.closed.then(({ reason }) => this.#becameEnded(reason));
  }

  /** Starts a desktop in a sandbox that has none. Throws as {@link start} does. */
  static async start(box: DesktopBox, size: DesktopSize, signal: AbortSignal): Promise<RunningSandbox> {
    const running = new RunningSandbox(box);
    await running.start(size, signal);
    return running;
  }

  /** Takes up the desktop that a sandbox has; `null` when it has none that runs. */
  static async find(box: DesktopBox, signal: AbortSignal): Promise<RunningSandbox | null> {
    const processes = await box.processes(signal);
    const session = processes.find(({ command, exit }) => command[3] === SESSION_NAME && exit === null);
    if (session === undefined) return null;
    const running = new RunningSandbox(box);
    running.#watch(session);
    return running;
  }

  get handle(): unknown {
    const { runtime, handle } = this.box;
    return handle === undefined ? undefined : { runtime, handle };
  }

  get files(): SandboxFiles {
    return this.box.files;
  }

  /** Whether its display runs. */
  get isUp(): boolean {
    return this.#session !== undefined && this.#session.exit === null;
  }

  /**
   * Starts its display; does nothing when that runs.
   *
   * @throws ToolyardError `runtime_unavailable` when it lacks a program; `dependency_failed` with what its display complained of;
   *   the signal's reason.
   */
  async start(size: DesktopSize, signal: AbortSignal): Promise<void> {
    if (this.isUp) return;
    const session = await this.box.spawn({ command: toSessionCommand(size) }, signal);
    await awaitReady(session, signal);
    this.#watch(session);
  }

  /** Ends its display and every program in it; the files stay. */
  async halt(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.remove();
  }

  /** Ends everything in the sandbox and wipes its files; the display is to be started again. */
  async wipe(signal: AbortSignal): Promise<void> {
    this.#session = undefined;
    await this.box.reset(signal);
  }

  connectDisplay(signal: AbortSignal): Promise<Duplex> {
    return this.box.connect(DISPLAY_PORT, signal);
  }

  connect(port: number, signal: AbortSignal): Promise<Duplex> {
    return this.box.connect(port, signal);
  }

  exec(
    command: CommandSpec,
    signal: AbortSignal,
    onOutput?: (stream: "stdout" | "stderr", text: string) => void,
  ): Promise<CommandResult> {
    return this.box.exec(command, { signal, ...(onOutput !== undefined && { onOutput }) });
  }

  spawn(command: CommandSpec, signal: AbortSignal): Promise<SandboxProcess> {
    return this.box.spawn(command, signal);
  }

  async stop(): Promise<void> {
    await this.box.stop();
    await this.snapshots.close();
  }

  #watch(session: SandboxProcess): void {
    this.#session = session;
    const over = (reason: string) => {
      if (this.#session === session) this.#becameEnded(reason);
    };
    session.exited.then(
      () => over("its X server has ended"),
      () => over("its sandbox is gone"),
    );
  }
}

/** Reads what the session says until its display takes clients. */
async function awaitReady(session: SandboxProcess, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(READY_MS)]);
  let said = "";
  for (let cursor = 0; ; ) {
    // oxlint-disable-next-line no-await-in-loop -- until it is said
    const log = await session.read({ cursor, waitMs: 1_000, signal: either }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
    cursor = log.cursor;
    for (const { data } of log.chunks) said += Buffer.from(data).toString("utf8");
    if (said.includes(READY_LINE)) return;
    if (!log.ended) continue;
    // oxlint-disable-next-line no-await-in-loop -- at its end
    const { exitCode } = await session.exited;
    const complaint = said.trim().slice(-SAID_CHARACTERS);
    if (exitCode === MISSING_PROGRAM) {
      throw new ToolyardError("runtime_unavailable", `no desktop can be started in this sandbox: ${complaint}`, {
        suggestion:
          "Use the image toolyard/desktop (toolyard images build desktop), or for the local runtime: apt-get install tigervnc-standalone-server fluxbox.",
      });
    }
    throw new ToolyardError("dependency_failed", "the desktop's display ended before it was ready", {
      details: { said: complaint },
    });
  }
}
