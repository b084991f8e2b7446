import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { type Launch, SANDBOX_UID, toBubblewrapArguments } from "./bubblewrap.ts";
import { canFilterCalls, createCallFilter } from "./call-filter.ts";
import { lowerPriority } from "../kernel/low-priority.ts";
import { readSupervisorSources } from "../kernel/sources.ts";

const PROTOCOL_FD = 3;
const PASSWD = `sandbox:x:${SANDBOX_UID}:${SANDBOX_UID}::/workspace:/bin/bash\n`;

const NO_FILTER = Buffer.alloc(0);
let callFilter: Buffer | undefined;

/** A started bwrap and the ends of its pipes. */
export interface Launched {
  readonly process: ChildProcess;
  readonly channel: Duplex;
  /** What bwrap and the supervisor complained about, at most 4 KiB. */
  readonly complaints: () => string;
}

/** Starts a supervisor in a sandbox; what goes wrong shows in the process's exit and the complaints. */
export function launch(options: Omit<Launch, "files" | "passwdFd" | "callFilterFd">): Launched {
  callFilter ??= canFilterCalls() ? (createCallFilter() ?? NO_FILTER) : NO_FILTER;
  const sources = readSupervisorSources();
  const contents = [Buffer.from(PASSWD), ...sources.map(({ content }) => content)];
  const firstFd = PROTOCOL_FD + 1;
  const files = Object.fromEntries(sources.map(({ name }, index) => [name, firstFd + 1 + index]));
  const filter = callFilter.length === 0 ? {} : { callFilterFd: firstFd + contents.push(callFilter) - 1 };
  const child = spawn(options.bwrap, toBubblewrapArguments({ ...options, ...filter, files, passwdFd: firstFd }), {
    // A server that is root must not lend its uid, which escapes limits and owns files, to user code.
    ...(process.getuid?.() === 0 ? { uid: SANDBOX_UID, gid: SANDBOX_UID } : {}),
    cwd: "/",
    env: {},
    stdio: ["ignore", "ignore", "pipe", "pipe", ...contents.map(() => "pipe" as const)],
  });
  lowerPriority(child);
  contents.forEach((content, index) => {
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
