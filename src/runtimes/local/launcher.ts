import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { type Launch, SANDBOX_UID, toBubblewrapArguments } from "./bubblewrap.ts";
import { lowerPriority } from "../kernel/low-priority.ts";

const PROTOCOL_FD = 3;
const SOURCES = [
  "supervisor.py",
  "supervisor_kernel.py",
  "supervisor_wire.py",
  "supervisor_channel.py",
  "supervisor_frames.py",
  "supervisor_output.py",
  "supervisor_processes.py",
  "python_kernel.py",
  "python_report.py",
  "shell_kernel.sh",
  "node_kernel.mjs",
];
const PASSWD = `sandbox:x:${SANDBOX_UID}:${SANDBOX_UID}::/workspace:/bin/bash\n`;

let sources: readonly (readonly [string, Buffer])[] | undefined;

// Handed over as data, not bound: the sandbox's user need not be able to read the folder that the server lies in.
const readSources = () =>
  (sources ??= SOURCES.map((name) => [name, readFileSync(new URL(`../kernel/${name}`, import.meta.url))] as const));

/** A started bwrap and the ends of its pipes. */
export interface Launched {
  readonly process: ChildProcess;
  readonly channel: Duplex;
  /** What bwrap and the supervisor complained about, at most 4 KiB. */
  readonly complaints: () => string;
}

/** Starts a supervisor in a sandbox; what goes wrong shows in the process's exit and the complaints. */
export function launch(options: Omit<Launch, "files" | "passwdFd">): Launched {
  const contents = [["passwd", Buffer.from(PASSWD)] as const, ...readSources()];
  const firstFd = PROTOCOL_FD + 1;
  const files = Object.fromEntries(readSources().map(([name], index) => [name, firstFd + 1 + index]));
  const child = spawn(options.bwrap, toBubblewrapArguments({ ...options, files, passwdFd: firstFd }), {
    // A server that is root must not lend its uid, which escapes limits and owns files, to user code.
    ...(process.getuid?.() === 0 ? { uid: SANDBOX_UID, gid: SANDBOX_UID } : {}),
    cwd: "/",
    env: {},
    stdio: ["ignore", "ignore", "pipe", "pipe", ...contents.map(() => "pipe" as const)],
  });
  lowerPriority(child);
  contents.forEach(([, content], index) => {
    const pipe = child.stdio[firstFd + index];
    if (pipe && "end" in pipe) {
      // A bwrap that fails at once closes them; its exit tells why.
      pipe.on("error", () => {});
      pipe.end(content);
    }
  });
  let complaints = "";
  child.stderr?.setEncoding("utf8");
  child.stderr?.on("data", (text: string) => {
    complaints = (complaints + text).slice(0, 4096);
  });
  // Node makes every extra "pipe" a socket pair, hence a Duplex; its types cannot tell.
  const channel = child.stdio[PROTOCOL_FD] as Duplex;
  return { process: child, channel, complaints: () => complaints.trim() };
}
