import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Duplex, Readable } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { CommandSpec } from "../../../core/sandbox-process.ts";
import { LocalProcesses } from "./local-processes.ts";
import type { DesktopProvider, DesktopSpec, RunningDesktop } from "./provider.ts";

const X_SERVER = "Xtigervnc";
const WINDOW_MANAGER = "fluxbox";
const PATH = process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";

/**
 * Desktops of the host's own Xtigervnc and fluxbox, each with a home and a socket of its own that only this user may open.
 * Nothing is between their programs and the machine: for development and tests.
 */
export class LocalDesktopProvider implements DesktopProvider {
  readonly name = "local";
  readonly isolation = "none";

  async check(): Promise<string | undefined> {
    const missing: string[] = [];
    for (const program of [X_SERVER, WINDOW_MANAGER]) {
      // oxlint-disable-next-line no-await-in-loop -- two of them
      if (!(await isInstalled(program))) missing.push(program);
    }
    if (missing.length === 0) return undefined;
    return `${missing.join(" and ")} not installed: apt-get install tigervnc-standalone-server fluxbox`;
  }

  async start(spec: DesktopSpec, signal: AbortSignal): Promise<RunningDesktop> {
    const lacking = await this.check();
    if (lacking !== undefined) throw new ToolyardError("dependency_failed", `no desktop can be started: ${lacking}`);
    signal.throwIfAborted();
    // Short, since the path of a socket has room for 107 bytes.
    const folder = await mkdtemp(path.join(tmpdir(), "toolyard-vm-"));
    const home = path.join(folder, "home");
    await mkdir(path.join(home, ".fluxbox"), { recursive: true });
    // Without a program that sets wallpapers it would complain in a window, which takes the focus from others.
    await writeFile(path.join(home, ".fluxbox", "overlay"), "background: none\n");
    const processes = new LocalProcesses({ PATH, HOME: home, LANG: "C.UTF-8", XDG_RUNTIME_DIR: folder }, home);
    const stop = async () => {
      await processes.stop();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      const socketPath = path.join(folder, "vnc.sock");
      const server = processes.start(toServerCommand(spec, socketPath), {}, ["ignore", "ignore", "ignore", "pipe"]);
      const display = `:${await readDisplay(server, signal)}`;
      processes.start([WINDOW_MANAGER], { DISPLAY: display }, "ignore").on("error", () => {});
      return toRunning({ processes, display, socketPath, server, stop });
    } catch (error) {
      await stop();
      throw error;
    }
  }
}

function toServerCommand({ width, height }: DesktopSpec, socketPath: string): string[] {
  const geometry = ["-geometry", `${width}x${height}`, "-depth", "24"];
  // No TCP port at all, neither for VNC nor for X.
  const doors = ["-rfbunixpath", socketPath, "-rfbunixmode", "0600", "-rfbport", "-1", "-nolisten", "tcp"];
  return [X_SERVER, "-displayfd", "3", ...geometry, ...doors, "-SecurityTypes", "None", "-AlwaysShared"];
}

interface Parts {
  readonly processes: LocalProcesses;
  readonly display: string;
  readonly socketPath: string;
  readonly server: ChildProcess;
  readonly stop: () => Promise<void>;
}

function toRunning({ processes, display, socketPath, server, stop }: Parts): RunningDesktop {
  let stopped: Promise<void> | undefined;
  return {
    display,
    connectDisplay: (signal) => connect(socketPath, signal),
    exec: (command: CommandSpec, signal) => processes.exec(command, { DISPLAY: display }, signal),
    ended: new Promise((resolve) => server.once("exit", () => resolve("its X server has ended"))),
    stop: () => (stopped ??= stop()),
  };
}

/** The number that the X server writes when it is ready for its first client. */
async function readDisplay(server: ChildProcess, signal: AbortSignal): Promise<string> {
  const pipe = server.stdio[3];
  if (!pipe || !("read" in pipe)) throw new ToolyardError("dependency_failed", "the X server could not be started");
  try {
    return await firstLine(pipe, signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw new ToolyardError("dependency_failed", "the X server ended before it was ready", { cause });
  }
}

async function firstLine(pipe: Readable, signal: AbortSignal): Promise<string> {
  let text = "";
  const abort = () => pipe.destroy();
  signal.addEventListener("abort", abort, { once: true });
  try {
    for await (const chunk of pipe) {
      text += String(chunk);
      if (text.endsWith("\n")) return text.trim();
    }
  } finally {
    signal.removeEventListener("abort", abort);
  }
  throw new Error("it wrote no display");
}

async function connect(socketPath: string, signal: AbortSignal): Promise<Duplex> {
  const socket = net.connect(socketPath);
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    throw new ToolyardError("dependency_failed", "the display cannot be reached", { cause });
  }
}

async function isInstalled(program: string): Promise<boolean> {
  for (const folder of PATH.split(":")) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- in the order of the path
      await access(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      // Not in this one.
    }
  }
  return false;
}
