import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxProcess } from "../../../core/sandbox-process.ts";
import type { RunningDesktop } from "../desktop/provider.ts";
import { SESSION_NAME } from "../desktop/session-script.ts";
import type { ProcessesResult } from "./process-schemas.ts";

/** What a desktop consists of, by the names of its processes. */
const PARTS = ["Xtigervnc", "fluxbox", "dbus-daemon"];
const LISTING = ["ps", "-eo", "pid=,rss=,etimes=,comm="];

/** Says what of a desktop runs; one that cannot be asked has no processes listed. */
export async function readProcesses(running: RunningDesktop, signal: AbortSignal): Promise<ProcessesResult> {
  const listed = await listProcesses(running, signal);
  const programs = (await running.box?.processes?.(signal)) ?? [];
  return {
    processes: PARTS.map((name) => {
      // The kernel keeps 15 characters of a name.
      const found = listed.find((one) => one.name === name.slice(0, 15));
      return {
        name,
        running: found !== undefined,
        pid: found?.pid ?? null,
        memory_bytes: found === undefined ? null : found.memoryKiB * 1_024,
        uptime_s: found?.uptimeS ?? null,
      };
    }),
    programs: programs.map(({ id, pid, command, startedAt, exit }) => ({
      id,
      pid,
      // The desktop's own holds a whole script.
      command: command[3] === SESSION_NAME ? [SESSION_NAME] : [...command],
      started_at: new Date(startedAt).toISOString(),
      running: exit === null,
      exit_code: exit?.exitCode ?? null,
      signal: exit?.signal ?? null,
    })),
  };
}

/** The last that a program wrote. @throws ToolyardError `unknown_name` */
export async function readLog(
  running: RunningDesktop,
  { id, maxBytes }: { readonly id: string | undefined; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly text: string; readonly truncated: boolean }> {
  const programs = (await running.box?.processes?.(signal)) ?? [];
  const program = programs.findLast((one) => (id === undefined ? one.command[3] === SESSION_NAME : one.id === id));
  if (program === undefined) {
    throw new ToolyardError("unknown_name", `there is no program "${(id ?? "desktop").slice(0, 64)}"`, {
      suggestion: "vm:processes lists those that there are.",
    });
  }
  return { id: program.id, ...(await readTail(program, maxBytes, signal)) };
}

async function readTail(program: SandboxProcess, maxBytes: number, signal: AbortSignal) {
  const parts: Uint8Array[] = [];
  let truncated = false;
  for (let cursor = 0; ; ) {
    // oxlint-disable-next-line no-await-in-loop -- each stretch begins where the last one ended
    const log = await program.read({ cursor, maxBytes: 65_536, signal });
    truncated ||= log.skipped > 0;
    parts.push(...log.chunks.map(({ data }) => data));
    if (log.cursor === cursor) break;
    cursor = log.cursor;
  }
  const bytes = Buffer.concat(parts);
  const tail = bytes.subarray(Math.max(0, bytes.length - maxBytes));
  return { text: tail.toString("utf8"), truncated: truncated || tail.length < bytes.length };
}

interface Listed {
  readonly pid: number;
  readonly memoryKiB: number;
  readonly uptimeS: number;
  readonly name: string;
}

async function listProcesses(running: RunningDesktop, signal: AbortSignal): Promise<readonly Listed[]> {
  const { exitCode, stdout } = await running.exec({ command: LISTING, timeoutMs: 10_000 }, signal);
  if (exitCode !== 0) return [];
  return stdout.text.split("\n").flatMap((line) => {
    const [, pid, memory, uptime, name] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ pid: Number(pid), memoryKiB: Number(memory), uptimeS: Number(uptime), name: name.trim() }];
  });
}
