import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import type { CapturedOutput, CommandResult, CommandSpec } from "../../../core/sandbox-process.ts";
import type { GuestAgent } from "./guest-agent.ts";

const OUTPUT_BYTES = 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 60_000;
/** The agent tells of an end only when it is asked. */
const FIRST_LOOK_MS = 4;
const LONGEST_LOOK_MS = 250;
/** What a killed command's streams are waited for: a process of another session may hold them open. */
const AFTER_KILL_MS = 2_000;
/** In a group of its own, so that it can be killed with all that it started. `env` takes what is named NAME=VALUE. */
const LAUNCH = 'cd -- "$1" || exit 126; shift; exec setsid env "$@"';
const AS_USER = 'exec su -s /bin/sh -c \'exec "$@"\' -- "$@"';

const Started = z.object({ pid: z.int().positive() });
const Status = z.object({
  exited: z.boolean(),
  exitcode: z.int().optional(),
  signal: z.int().optional(),
  "out-data": z.string().optional(),
  "err-data": z.string().optional(),
  "out-truncated": z.boolean().optional(),
  "err-truncated": z.boolean().optional(),
});

/** What commands in the guest are run with. */
export interface GuestCommandOptions {
  /** Where they start, when they do not say. */
  readonly cwd: string;
  /** Under whatever a command asks for itself. */
  readonly environment: Readonly<Record<string, string>>;
  /** Who runs them; the agent's own user, root, by default. */
  readonly user?: string | undefined;
}

/** Runs commands in a guest by its agent's `guest-exec`. The guest has `sh`, `env`, `setsid`, and `su` for another user. */
export class GuestCommands {
  readonly #agent: () => GuestAgent;
  readonly #options: GuestCommandOptions;

  constructor(agent: () => GuestAgent, options: GuestCommandOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /**
   * Runs a command to its end; one that is not there ends with 127, as in a shell. When its time is over or the signal fires, it is
   * killed with its process group.
   *
   * @throws GuestAgentError when the agent cannot run it; ToolyardError `sandbox_dead`; the signal's reason.
   */
  async exec(spec: CommandSpec, signal: AbortSignal): Promise<CommandResult> {
    const startedAt = performance.now();
    const { pid } = Started.parse(await this.#agent().execute("guest-exec", this.#toArguments(spec), signal));
    const timeout = AbortSignal.timeout(spec.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    let status = await this.#untilEnd(pid, AbortSignal.any([signal, timeout])).catch(toNothing(timeout, signal));
    const timedOut = status === undefined && timeout.aborted;
    if (status === undefined) {
      const after = AbortSignal.timeout(AFTER_KILL_MS);
      await this.#kill(pid, after).catch(() => {});
      signal.throwIfAborted();
      status = await this.#untilEnd(pid, after).catch(toNothing(after));
    }
    const outputBytes = spec.outputBytes ?? OUTPUT_BYTES;
    return {
      exitCode: timedOut ? null : (status?.exitcode ?? null),
      signal: timedOut ? "SIGKILL" : toSignalName(status?.signal),
      timedOut,
      stdout: toOutput(status?.["out-data"], status?.["out-truncated"], outputBytes),
      stderr: toOutput(status?.["err-data"], status?.["err-truncated"], outputBytes),
      limit: null,
      durationMs: performance.now() - startedAt,
    };
  }

  /** Runs a shell script of ours as the agent's own user, with what it is to know in `$1` and on. */
  script(script: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const asAgent = new GuestCommands(this.#agent, { cwd: "/", environment: { LC_ALL: "C" } });
    return asAgent.exec({ command: ["sh", "-c", script, "sh", ...args], outputBytes: 16 * 1024 * 1024 }, signal);
  }

  /** As `script`, as the user who runs the commands. */
  userScript(script: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const command = ["sh", "-c", script, "sh", ...args];
    return this.exec({ command, environment: { LC_ALL: "C" }, outputBytes: 16 * 1024 * 1024 }, signal);
  }

  #toArguments(spec: CommandSpec): Readonly<Record<string, unknown>> {
    const { cwd, environment, user } = this.#options;
    const all = Object.entries({ ...environment, ...spec.environment });
    for (const [name] of all) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new ToolyardError("invalid_input", `no variable: ${name}`);
    }
    const launch = ["sh", "-c", LAUNCH, "sh", spec.cwd ?? cwd, ...all.map(([name, value]) => `${name}=${value}`)];
    const whole = [...launch, ...spec.command];
    // Between the first and the last shell only, so that what kills the group finds it.
    const arg = user === undefined ? whole.slice(1) : ["-c", AS_USER, "sh", user, ...whole];
    const input = spec.input === undefined ? {} : { "input-data": Buffer.from(spec.input).toString("base64") };
    return { path: "sh", arg, "capture-output": true, ...input };
  }

  async #untilEnd(pid: number, signal: AbortSignal): Promise<z.infer<typeof Status>> {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_LOOK_MS)) {
      // oxlint-disable-next-line no-await-in-loop -- until it has ended
      const status = Status.parse(await this.#agent().execute("guest-exec-status", { pid }, signal));
      if (status.exited) return status;
      // oxlint-disable-next-line no-await-in-loop -- until it has ended
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  /** Kills its session: the group of a command that `su` runs is not the one that the agent knows. */
  async #kill(pid: number, signal: AbortSignal): Promise<void> {
    const script =
      'for p in $(pgrep -P "$1" 2>/dev/null) "$1"; do kill -9 -- "-$p" 2>/dev/null; kill -9 "$p" 2>/dev/null; done';
    const args = { path: "sh", arg: ["-c", script, "sh", String(pid)], "capture-output": false };
    await this.#agent().execute("guest-exec", args, signal);
  }
}

/** Takes the end of a wait for no news, and everything else for what it is. */
function toNothing(...waits: readonly AbortSignal[]): (error: unknown) => undefined {
  return (error) => {
    if (!waits.some(({ aborted }) => aborted)) throw error;
    return undefined;
  };
}

function toSignalName(number: number | undefined): string | null {
  if (number === undefined) return null;
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `SIG${number}`;
}

function toOutput(data: string | undefined, cut: boolean | undefined, limit: number): CapturedOutput {
  const bytes = Buffer.from(data ?? "", "base64");
  const truncated = cut === true || bytes.length > limit;
  return { text: bytes.subarray(0, limit).toString("utf8"), bytes: bytes.length, truncated };
}
