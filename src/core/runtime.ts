import type { Duplex } from "node:stream";
import type { Display } from "./display.ts";
import type { FoundState } from "./found-state.ts";
import type { KernelState, KernelStateOptions } from "./kernel-state.ts";
import type { ToolResult } from "./result.ts";
import type { SandboxAbility } from "./sandbox-ability.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import type { SandboxStats } from "./sandbox-stats.ts";
import type { CapturedOutput, CommandResult, CommandSpec, SandboxProcess } from "./sandbox-process.ts";

/** How strongly a runtime keeps code from the host, weakest first; `wasm` is a WebAssembly engine in a process of its own. */
export const ISOLATION_LEVELS = ["none", "wasm", "namespace", "container", "vm"] as const;
export type Isolation = (typeof ISOLATION_LEVELS)[number];

/** Says whether an isolation is at least as strong as the minimum that was asked for. */
export function isolatesAtLeast(isolation: Isolation, minimum: Isolation): boolean {
  return ISOLATION_LEVELS.indexOf(isolation) >= ISOLATION_LEVELS.indexOf(minimum);
}

/** A language that kernels speak. TypeScript is not one: it is JavaScript's `dialect`. */
export type Language = "javascript" | "python" | "bash";

/** Whether something can be used here; when not, the reason and how to get it. */
export interface Availability {
  readonly available: boolean;
  readonly reason?: string;
  readonly remedy?: string;
  readonly version?: string;
}

/** What a pool of started sandboxes holds, and how it has served since the server's start. */
export interface PoolReport {
  /** Sandboxes that can be claimed now. */
  readonly ready: number;
  readonly starting: number;
  /** How many it means to hold now: its minimum, and more while claims miss. */
  readonly target: number;
  /** Sessions that got a sandbox from memory. */
  readonly claimed: number;
  /** Sessions that found none and waited for one to be made. */
  readonly misses: number;
  /** Members that died, or did not answer, before anybody claimed them. */
  readonly evicted: number;
  /** Failures to make a member, one after another; while there are any it tries ever more rarely. */
  readonly failures: number;
}

/** What a runtime found out about this machine. */
export interface RuntimeStatus extends Availability {
  readonly languages: Readonly<Partial<Record<Language, Availability>>>;
  /** Only where sandboxes are kept ready. */
  readonly pool?: PoolReport;
  /** What should be gone and could not be removed yet, by the name that an operator finds it under; absent when there is none. */
  readonly leaked?: readonly string[];
}

/** What bounds a sandbox. Every value is a maximum, and the runtime's default where it is absent. */
export interface SandboxLimits {
  /** MiB of memory that user code may hold. */
  readonly memoryMiB?: number;
  /** Processes and threads at once. */
  readonly pids?: number;
  /** MiB of files; only where the runtime has files. */
  readonly diskMiB?: number;
  /** Processors, in fractions; only where the runtime can hold it. */
  readonly cpus?: number;
  /** Bytes kept of each of stdout and stderr, half from the start and half from the end. */
  readonly outputBytes?: number;
  /** Bytes of the last expression's value as JSON, and of all displays; what is over it is left out and said to be. */
  readonly resultBytes?: number;
  /** Calls to tools in one execution. */
  readonly calls?: number;
  /** Calls to tools at once; further ones wait inside the sandbox. */
  readonly callsInFlight?: number;
}

/**
 * What a sandbox may reach: nothing, or the hosts that are listed, as `example.org`, `*.example.org`, either with `:port`, or `*`
 * for every host of a public address on the ports 80 and 443. An empty list allows nothing; names are resolved only for what is listed.
 */
export type NetworkPolicy = "none" | { readonly allow: readonly string[] };

/** What a sandbox is made from. */
export interface SandboxSpec {
  /** Names the owner in logs and labels. */
  readonly sessionId?: string;
  /** Whom the labels name beside the session. */
  readonly workerId?: string;
  /** A container image, where the runtime has images; the runtime's default where absent. */
  readonly image?: string;
  /** `none` by default. A runtime that cannot hold the policy refuses it. */
  readonly network?: NetworkPolicy;
  readonly limits?: SandboxLimits;
  /** Environment variables of user code; nothing of the server's own environment is inherited. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How a sandbox ended. */
export interface SandboxExit {
  /** One line that callers may see. */
  readonly reason: string;
  /** What the runtime itself complained of, which may name paths: for the log only. */
  readonly diagnostics?: string;
  /** Whether `stop` was asked for, in contrast to a sandbox that died. */
  readonly expected: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** An error that user code raised, as a value. */
export interface GuestError {
  readonly name: string;
  readonly message: string;
  /** 1-based, in the code that was sent. */
  readonly line?: number;
  readonly traceback: string;
}

/**
 * How an execution ended: `error` is user code's own; `exited` means that the interpreter ended itself (`os._exit`, a
 * segmentation fault, `exit` in bash); `limit` names the limit beside it.
 */
export type ExecutionStatus = "ok" | "error" | "exited" | "timeout" | "cancelled" | "limit";

/** What one execution came to; whatever user code did is told here and never thrown. */
export interface Execution {
  readonly status: ExecutionStatus;
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  /** The last expression as JSON; `null` where it has none or JSON cannot hold it. */
  readonly value: unknown;
  /** The last expression as people read it; `null` where there is none. */
  readonly text: string | null;
  /** The value was larger than the limit and was left out. */
  readonly valueTruncated: boolean;
  /** `path: what it was` for each part of the value that JSON cannot hold, `$.x: nan` say, where `$` is the value itself. */
  readonly lossy: readonly string[];
  /** What code showed, in order, all of it together within {@link SandboxLimits.resultBytes}. */
  readonly displays: readonly Display[];
  /** How many more it showed that were over that limit. */
  readonly displaysOmitted: number;
  readonly error: GuestError | null;
  /** `memory`, `stack`, `calls` …; only with the status `limit`. */
  readonly limit: string | null;
  /** Of bash's last command, of `sys.exit`, or of an interpreter that ended. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The kernel had to be replaced: variables and running processes are gone. */
  readonly stateLost: boolean;
  readonly durationMs: number;
}

/** What a kernel is to run. */
export interface ExecutionRequest {
  readonly code: string;
  /** Milliseconds; at it the code is interrupted and, if that does not help at once, killed. */
  readonly deadlineMs: number;
  /** Strips type annotations first; only for JavaScript. */
  readonly dialect?: "typescript";
}

/** A call that user code makes to a tool. Nothing in it can be trusted. */
export interface GuestCall {
  /** Increases strictly within an execution. */
  readonly index: number;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What surrounds an execution. */
export interface ExecutionHooks {
  /** Ends the work: the execution then resolves with the status `cancelled`. */
  readonly signal: AbortSignal;
  /** Sees output as it comes, up to the head limit; while its promise is pending nothing is read from the sandbox. */
  readonly onOutput?: (stream: "stdout" | "stderr", text: string) => void | Promise<void>;
  /** Runs a tool for user code and must authorise it itself; without this hook every call is refused. */
  readonly onCall?: (call: GuestCall, signal: AbortSignal) => Promise<ToolResult>;
}

/** A long-lived interpreter in a sandbox. Executions of one kernel run one after another. */
export interface Kernel {
  readonly language: Language;
  /**
   * Runs code, keeping state for the next run.
   *
   * @throws ToolyardError `sandbox_dead` when the sandbox died or broke the protocol.
   */
  run(request: ExecutionRequest, hooks: ExecutionHooks): Promise<Execution>;
  /** Interrupts what runs now, which resolves as `cancelled`; does nothing when idle. */
  interrupt(): void;
  /** Ends the interpreter and all that it started; idempotent. */
  stop(): Promise<void>;
  /**
   * Writes the variables that can be kept to a file in the sandbox, for a snapshot to hold: values by pickling, functions
   * and classes that cells defined by their source, modules by name. Only Python.
   *
   * @throws ToolyardError `execution_error` when it could not be written, `timeout`, `cancelled`, `sandbox_dead`.
   */
  dumpState?(path: string, options: KernelStateOptions): Promise<KernelState>;
  /** Brings back what {@link dumpState} wrote, over what there is, and seeds random numbers anew; throws as it does. */
  loadState?(path: string, options: Omit<KernelStateOptions, "maxBytes">): Promise<KernelState>;
}

/** A running sandbox. The methods after `closed` are abilities, absent where the runtime has none. */
export interface SandboxInstance {
  readonly id: string;
  /** The name of the runtime that it runs in. */
  readonly runtime: string;
  readonly isolation: Isolation;
  /** The container image, where there is one. */
  readonly image?: string;
  /** What bounds it, defaults included; what is absent has no bound of its own. */
  readonly limits?: SandboxLimits;
  /**
   * Opens a kernel, or takes up the one of that name that the sandbox has (after an adoption, say).
   *
   * @throws ToolyardError `runtime_unavailable` with the reason and the remedy when the language has no engine here.
   */
  openKernel(language: Language, signal: AbortSignal, options?: { readonly name?: string }): Promise<Kernel>;
  /** Kills everything in it; idempotent, and resolves when it is gone. */
  stop(): Promise<void>;
  /** Resolves once, when it is gone for whatever reason. */
  readonly closed: Promise<SandboxExit>;
  /** Runs a command to its end, its process tree killed at the timeout. */
  exec?(spec: CommandSpec, options: ExecOptions): Promise<CommandResult>;
  /** Starts a command that runs on by itself. */
  spawn?(spec: CommandSpec, signal: AbortSignal): Promise<SandboxProcess>;
  /** Those that `spawn` started and that are not removed, ended ones and those from before an adoption included. */
  processes?(signal: AbortSignal): Promise<readonly SandboxProcess[]>;
  readonly files?: SandboxFiles;
  /** Connects to a port that something inside listens on at its loopback; no network is needed. */
  connect?(port: number, signal: AbortSignal): Promise<Duplex>;
  stats?(signal: AbortSignal): Promise<SandboxStats>;
  /** Ends every process, kernels included, and brings files and environment back to what a fresh sandbox has. */
  reset?(signal: AbortSignal): Promise<void>;
  /** Freezes every process: none runs, all state stays. Idempotent, as `resume` is. */
  pause?(signal: AbortSignal): Promise<void>;
  resume?(signal: AbortSignal): Promise<void>;
  /** Says whether it still answers, at the cost of a round trip; for pools. */
  ping?(signal: AbortSignal): Promise<boolean>;
  /** What it has of before, for who adopted it. */
  readonly found?: FoundState;
  /** JSON by which {@link SandboxRuntime.adopt} finds it again after this process died; absent where that is impossible. */
  readonly handle?: unknown;
}

/** What surrounds a command. */
export interface ExecOptions {
  /** Kills the process tree. */
  readonly signal: AbortSignal;
  /** Sees output as it comes, up to the head limit. */
  readonly onOutput?: (stream: "stdout" | "stderr", text: string) => void;
}

/** A kind of place that sandboxes run in. */
export interface SandboxRuntime {
  readonly name: string;
  readonly isolation: Isolation;
  /** What its sandboxes can do beside running kernels, for the advice to who asked another one; nothing by default. */
  readonly abilities?: readonly SandboxAbility[];
  /** Looks what this machine offers; never throws for something missing. Implementations remember the answer for a while. */
  check(signal: AbortSignal): Promise<RuntimeStatus>;
  /** @throws ToolyardError `runtime_unavailable` when it cannot run here. */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxInstance>;
  /** Makes the next `create` fast, that of such sandboxes where some are told; optional work. */
  warmup?(signal: AbortSignal, usual?: readonly SandboxSpec[]): Promise<void>;
  /** Takes up a sandbox that an earlier process of this deployment left; `null` when it is gone. */
  adopt?(handle: unknown, signal: AbortSignal): Promise<SandboxInstance | null>;
  /**
   * Removes what earlier processes of this deployment left and nobody adopted; never another deployment's. To be called
   * once, after every adoption. Answers how many.
   */
  reap?(signal: AbortSignal): Promise<number>;
  /** Frees what sandboxes share; idempotent. Instances must be stopped before. */
  close?(): Promise<void>;
}

/** What a sandbox must fulfil. */
export interface RuntimeRequest {
  /** A name, or `auto` (the default): the first available of the configured order. */
  readonly runtime?: string;
  /** Refused, never downgraded, when nothing fulfils it. */
  readonly minIsolation?: Isolation;
  readonly language?: Language;
}

/** Chooses where sandboxes run. */
export interface RuntimeSelector {
  /** Of the configured runtimes, in the order of automatic choice first. */
  readonly names: readonly string[];
  /** @throws ToolyardError `runtime_unavailable` with each candidate's reason and remedy. */
  select(request: RuntimeRequest, signal: AbortSignal): Promise<SandboxRuntime>;
  /** What `/ready` and `doctor` show, by name. */
  status(signal: AbortSignal): Promise<Readonly<Record<string, RuntimeStatus & { readonly isolation: Isolation }>>>;
  /** By name, for who adopts a sandbox; `undefined` when it is not configured. */
  get?(name: string): SandboxRuntime | undefined;
  /** Closes every runtime; idempotent. */
  close(): Promise<void>;
}
