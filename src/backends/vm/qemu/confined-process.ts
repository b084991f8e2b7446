import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { ToolyardError } from "../../../core/errors.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const KVM_DEVICE = "/dev/kvm";
const KEPT_TEXT = 8_192;

/** What a program may be on the host. */
export interface Confinement {
  /** The user that it becomes, where the server is root. */
  readonly runAs: number;
  readonly cwd: string;
  /** The largest file that it may write. */
  readonly fileBytes?: number;
}

/** A program of ours that runs, with the end of what it complains about. */
export interface ConfinedProcess {
  readonly child: ChildProcess;
  /** Settles when it has ended, with why; a program that cannot be started too. */
  readonly ended: Promise<string>;
  /** The end of its standard error. */
  complaint(): string;
}

/**
 * Starts a program without privileges, in a process group of its own, that dies with the thread of the server that starts it, by
 * the kernel's doing: a server that is killed leaves none.
 */
export async function startConfined(
  command: readonly string[],
  { runAs, cwd, fileBytes }: Confinement,
): Promise<ConfinedProcess> {
  const limits = ["prlimit", "--core=0", ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`])];
  const whole = [...limits, ...(await toPrivileges(runAs)), ...command];
  const [program = "", ...args] = whole;
  const env = { PATH, LC_ALL: "C" };
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"], detached: true });
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (text = (text + chunk).slice(-KEPT_TEXT)));
  const ended = once(child, "close").then(
    ([code, signal]: unknown[]) =>
      signal === null ? `it ended with ${String(code)}` : `it was ended by ${String(signal)}`,
    (error: unknown) => `it could not be started: ${error instanceof Error ? error.message : String(error)}`,
  );
  return { child, ended, complaint: () => text.trim() };
}

/**
 * Runs a program to its end as `startConfined` starts it.
 *
 * @throws ToolyardError `dependency_failed` when it fails; the signal's reason.
 */
export async function runConfined(
  command: readonly string[],
  confinement: Confinement,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { child, ended, complaint } = await startConfined(command, confinement);
  const abort = () => child.kill("SIGKILL");
  signal.addEventListener("abort", abort, { once: true });
  try {
    const how = await ended;
    signal.throwIfAborted();
    if (child.exitCode === 0) return;
    throw new ToolyardError("dependency_failed", `${command[0]}: ${complaint() === "" ? how : lastLine(complaint())}`);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

export function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1).slice(0, 400);
}

/** Only root can become somebody else; who owns the device of virtual machines may still use it. */
async function toPrivileges(runAs: number): Promise<string[]> {
  const always = ["setpriv", "--no-new-privs", "--pdeathsig", "KILL"];
  if (process.getuid?.() !== 0 || runAs === 0) return [...always, "--"];
  const device = await stat(KVM_DEVICE).catch(() => undefined);
  const groups = device === undefined || device.gid === 0 ? ["--clear-groups"] : ["--groups", String(device.gid)];
  const user = ["--reuid", String(runAs), "--regid", String(runAs), ...groups];
  return [...always, ...user, "--inh-caps=-all", "--bounding-set=-all", "--"];
}
