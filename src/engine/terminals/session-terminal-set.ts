import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Actor, EventType } from "../../core/events.ts";
import type { SandboxInstance } from "../../core/runtime.ts";
import type { ProcessExit } from "../../core/sandbox-process.ts";
import { parseTerminalCommand, type TerminalRequest, toTerminalCommand } from "../../core/terminal.ts";
import type { TerminalRecordings } from "../../core/terminal-recordings.ts";
import type { EventBus } from "../bus.ts";
import type { EngineLimits } from "../limits.ts";
import { emitFor, type EventOrigin } from "../record-events.ts";
import { sandboxOf, unable } from "../sandbox-of.ts";
import type { SessionRecord } from "../session-record.ts";
import type { EmulationPace } from "./emulation-pace.ts";
import { InputTally } from "./input-tally.ts";
import { Terminal, type TerminalDeps, type TerminalEnd } from "./terminal.ts";

export interface TerminalSetDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly bus: EventBus;
  readonly pace: EmulationPace;
  /** Absent where no recording outlives its session. */
  readonly recordings?: TerminalRecordings | undefined;
}

/** Ended terminals that can still be looked at. */
const KEPT_ENDED = 4;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** The terminals of one session; those that an earlier server started are found when somebody first asks. */
export class SessionTerminalSet {
  readonly #record: SessionRecord;
  readonly #deps: TerminalSetDeps & TerminalDeps;
  readonly #terminals = new Map<string, Terminal>();
  readonly #tally: InputTally;
  #found: Promise<void> | undefined;
  #starting = 0;
  #lastNumber = 0;

  constructor(record: SessionRecord, deps: TerminalSetDeps) {
    this.#record = record;
    const { recordings } = deps;
    const { tenant, workerId, id: sessionId, resource } = record;
    const owner = { tenant, workerId, sessionId, resource };
    this.#deps = { ...deps, place: recordings && { recordings, owner } };
    this.#tally = new InputTally(deps.clock, (id, actor, bytes) => {
      emitFor(this.#deps, "terminal.input", this.#record, { terminal_id: id, bytes }, actor);
    });
    record.onEnding.add(() => this.#close());
  }

  /** @throws ToolyardError `runtime_unavailable`, `limit_exceeded`, and what the sandbox throws. */
  async start(request: TerminalRequest, signal: AbortSignal, origin: EventOrigin): Promise<Terminal> {
    const sandbox = this.#sandbox();
    await this.#find();
    const { terminalsPerSession: maximum } = this.#deps.limits;
    const running = [...this.#terminals.values()].filter((terminal) => terminal.running).length + this.#starting;
    if (running >= maximum) {
      throw new ToolyardError("limit_exceeded", `A session may have ${maximum} terminals that run`, {
        details: { limit: "terminals_per_session", maximum },
        suggestion: "Stop one with terminal:stop.",
      });
    }
    this.#lastNumber += 1;
    const { cwd, environment, command = [], columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS } = request;
    const mark = { id: `t${this.#lastNumber}`, columns, rows, command };
    this.#starting += 1;
    try {
      const process = await sandbox.spawn(
        {
          command: toTerminalCommand(mark),
          keepInput: true,
          terminal: { columns, rows },
          ...(cwd !== undefined && { cwd }),
          ...(environment !== undefined && { environment }),
        },
        signal,
      );
      const terminal = Terminal.open(process, mark, this.#deps, false);
      this.#add(terminal);
      const { pid } = process;
      const url = `/ws/term/${encodeURIComponent(this.#record.id)}?terminal=${terminal.id}`;
      this.#emit("terminal_started", terminal, { url, command: [...command], pid, columns, rows }, origin);
      return terminal;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Oldest first. */
  async list(): Promise<readonly Terminal[]> {
    this.#sandbox();
    await this.#find();
    return [...this.#terminals.values()];
  }

  /**
   * Finds one by its id, or the newest one that runs, or else the one that ended last.
   *
   * @throws ToolyardError `unknown_name`
   */
  async get(id: string | undefined): Promise<Terminal> {
    const all = await this.list();
    const found = id === undefined ? (all.findLast(({ running }) => running) ?? all.at(-1)) : this.#terminals.get(id);
    if (found !== undefined) return found;
    throw new ToolyardError(
      "unknown_name",
      id === undefined ? "The session has no terminal" : `There is no terminal ${id}`,
      {
        details: { ids: all.map((terminal) => terminal.id) },
        suggestion: "Start one with terminal:start.",
      },
    );
  }

  /** Notes who typed how much. */
  typed(terminal: Terminal, actor: Actor, bytes: number): void {
    this.#tally.add(terminal.id, actor, bytes);
  }

  /** Tells that somebody came to watch, or left. */
  tell(
    type: "terminal.attached" | "terminal.detached",
    terminal: Terminal,
    facts: Readonly<Record<string, unknown>>,
  ): void {
    emitFor(this.#deps, type, this.#record, { terminal_id: terminal.id, ...facts }, "human");
  }

  #sandbox(): SandboxInstance & Required<Pick<SandboxInstance, "spawn" | "processes">> {
    const sandbox = sandboxOf(this.#record);
    const { spawn, processes } = sandbox;
    if (spawn === undefined || processes === undefined) throw unable(this.#record, "terminals");
    // Checked just now, one by one: the type does not narrow the whole.
    return sandbox as SandboxInstance & Required<Pick<SandboxInstance, "spawn" | "processes">>;
  }

  /** Takes over what an earlier server left running; a failure is tried again by the next who asks. */
  #find(): Promise<void> {
    this.#found ??= this.#takeOver().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #takeOver(): Promise<void> {
    const processes = await this.#sandbox().processes(AbortSignal.timeout(10_000));
    for (const process of processes) {
      const mark = parseTerminalCommand(process.command);
      if (mark === undefined || this.#terminals.has(mark.id)) continue;
      this.#lastNumber = Math.max(this.#lastNumber, Number(mark.id.slice(1)));
      this.#add(Terminal.open(process, mark, this.#deps, true));
    }
  }

  #add(terminal: Terminal): void {
    this.#terminals.set(terminal.id, terminal);
    void terminal.over.then((end) => this.#over(terminal, end));
    if (this.#record.ending) terminal.abandon("session_ended");
  }

  #over(terminal: Terminal, reason: TerminalEnd): void {
    this.#tally.flush();
    if (reason !== "session_ended") this.#tellEnd(terminal, reason, terminal.status.exit);
    const ended = [...this.#terminals.values()].filter(({ running }) => !running);
    for (const old of ended.slice(0, -KEPT_ENDED)) {
      this.#terminals.delete(old.id);
      void old.forget();
    }
  }

  /** Told at once, while the session still is there to be told about. */
  #close(): void {
    this.#tally.flush();
    for (const terminal of this.#terminals.values()) {
      if (!terminal.running) continue;
      terminal.abandon("session_ended");
      this.#tellEnd(terminal, "session_ended", null);
    }
  }

  #tellEnd(terminal: Terminal, reason: TerminalEnd, exit: ProcessExit | null): void {
    const actor = reason === "stopped" ? terminal.stoppedBy : "system";
    const facts = { reason, exit_code: exit?.exitCode ?? null, signal: exit?.signal ?? null };
    this.#emit("terminal_stopped", terminal, facts, actor);
  }

  #emit(type: EventType, { id }: Terminal, data: Readonly<Record<string, unknown>>, origin: Actor | EventOrigin): void {
    emitFor(this.#deps, type, this.#record, { sandbox_id: this.#sandboxId(), terminal_id: id, ...data }, origin);
  }

  #sandboxId(): string {
    return this.#record.sandbox?.id ?? this.#record.id;
  }
}
