import { StringDecoder } from "node:string_decoder";
import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Actor } from "../../core/events.ts";
import type { SandboxProcess } from "../../core/sandbox-process.ts";
import type { TerminalMark, TerminalScreen, TerminalStatus } from "../../core/terminal.ts";
import { settlesWithin } from "../deadline.ts";
import type { EngineLimits } from "../limits.ts";
import { beginRecording, type BegunRecording, type RecordingPlace } from "./begin-recording.ts";
import type { EmulationPace } from "./emulation-pace.ts";
import { Screen } from "./screen.ts";
import { ShowProgress } from "./show-progress.ts";
import { type TerminalViewer, Viewers } from "./viewers.ts";
import { WriteLine } from "./write-line.ts";

export interface TerminalDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly pace: EmulationPace;
  /** Absent where nothing is to outlive the session. */
  readonly place?: RecordingPlace | undefined;
}

/** Why a terminal is over. */
export type TerminalEnd = "exited" | "stopped" | "idle" | "session_ended" | "lost";

const READ_BYTES = 16_384;
const READ_WAIT_MS = 30_000;
/**
 * How long what was hung up may take to go before it is told again, and how often it is told before it is killed: a shell that is
 * told while it starts may forget about it until the next signal.
 */
const HANGUP_MS = 250;
const HANGUPS = 8;

/** One terminal: a process in the sandbox, what it shows, who watches, and what was recorded. */
export class Terminal {
  readonly id: string;
  readonly command: readonly string[];
  /** Settles when it is over. */
  readonly over: Promise<TerminalEnd>;
  /** Who asked for its end, where somebody did. */
  stoppedBy: Actor = "system";
  readonly #process: SandboxProcess;
  readonly #deps: TerminalDeps;
  readonly #screen: Screen;
  readonly #recording: BegunRecording;
  readonly #viewers: Viewers;
  readonly #decoder = new StringDecoder("utf8");
  readonly #stop = new AbortController();
  readonly #line: WriteLine;
  readonly #progress: ShowProgress;
  /** Shows come one after another, and who comes to watch comes between two. */
  #turn: Promise<unknown> = Promise.resolve();
  #title = "";
  #startedAt: number;
  #usedAt: number;
  #wanted: TerminalEnd | undefined;
  #end: TerminalEnd | undefined;
  #quiet: boolean;

  private constructor(process: SandboxProcess, mark: TerminalMark, screen: Screen, deps: TerminalDeps, taken: boolean) {
    const { clock, limits } = deps;
    this.id = mark.id;
    this.command = mark.command;
    this.#process = process;
    this.#deps = deps;
    this.#screen = screen;
    this.#startedAt = clock.now();
    this.#usedAt = clock.now();
    this.#quiet = taken;
    this.#line = new WriteLine(process);
    this.#progress = new ShowProgress(clock);
    this.#viewers = new Viewers(limits.terminalViewers);
    this.#recording = beginRecording(mark, new Date(process.startedAt), limits, deps.place);
    if (taken) this.#recording.cast.gap(0, "the server was restarted: what was shown before has no times");
    this.over = this.#run(taken);
    this.#watchIdle();
  }

  /** Shows a process; one that was `taken` over from an earlier server has written already. */
  static open(process: SandboxProcess, mark: TerminalMark, deps: TerminalDeps, taken: boolean): Terminal {
    // Only there once the emulator is, whose listeners it has.
    const made: { terminal?: Terminal } = {};
    const { columns, rows } = mark;
    const screen = Screen.open({
      columns,
      rows,
      scrollbackLines: deps.limits.terminalScrollbackLines,
      onReply: (text) => made.terminal?.reply(text),
      onTitle: (title) => made.terminal?.retitle(title),
    });
    made.terminal = new Terminal(process, mark, screen, deps, taken);
    return made.terminal;
  }

  get running(): boolean {
    return this.#end === undefined;
  }

  get status(): TerminalStatus {
    const { pid, startedAt, exit } = this.#process;
    return {
      id: this.id,
      running: this.running,
      pid,
      command: this.command,
      columns: this.#screen.columns,
      rows: this.#screen.rows,
      title: this.#title,
      startedAt: new Date(startedAt),
      exit,
      viewers: this.#viewers.count,
    };
  }

  /** Reads what it wrote, from the sandbox's own log. */
  read: SandboxProcess["read"] = (options) => {
    this.#usedAt = this.#deps.clock.now();
    return this.#process.read(options);
  };

  /** What it shows, once what it wrote up to a cursor is shown, or it has kept that waiting for a second. */
  async screen(cursor: number): Promise<TerminalScreen> {
    this.#usedAt = this.#deps.clock.now();
    await this.#progress.reached(cursor);
    return this.#inTurn(() => this.#screen.read());
  }

  recording(): { readonly cast: string; readonly complete: boolean } {
    const { cast } = this.#recording;
    return { cast: cast.toString(), complete: cast.complete };
  }

  /** Bytes that are written and not yet taken. */
  get pendingBytes(): number {
    return this.#line.pendingBytes;
  }

  /**
   * Types; resolves when the program's terminal has taken it.
   *
   * @throws ToolyardError `conflict` when it is over, `overloaded` when too much waits to be taken.
   */
  write(data: Uint8Array): Promise<void> {
    if (!this.running) throw new ToolyardError("conflict", `The terminal ${this.id} has ended`);
    this.#usedAt = this.#deps.clock.now();
    return this.#line.write(data);
  }

  async resize(columns: number, rows: number): Promise<void> {
    if (!this.running) throw new ToolyardError("conflict", `The terminal ${this.id} has ended`);
    this.#usedAt = this.#deps.clock.now();
    if (columns === this.#screen.columns && rows === this.#screen.rows) return;
    await this.#inTurn(() => {
      this.#screen.resize(columns, rows);
      this.#recording.cast.resize(this.#time(), columns, rows);
    });
    await this.#process.resize(columns, rows);
  }

  /**
   * Lets somebody watch, who is first given what is shown now.
   *
   * @returns how to leave.
   * @throws ToolyardError `overloaded` when as many watch as may.
   */
  async attach(viewer: TerminalViewer): Promise<() => void> {
    this.#viewers.reserve(viewer);
    await this.#inTurn(() => {
      if (!this.#viewers.enter(viewer)) return;
      viewer.title(this.#title);
      viewer.output(Buffer.from(this.#screen.snapshot(), "utf8"));
      if (!this.running) viewer.ended(this.#process.exit);
    });
    return () => {
      this.#usedAt = this.#deps.clock.now();
      this.#viewers.leave(viewer);
    };
  }

  /** What is shown now, for a viewer that missed something: it takes the place of all that it has. */
  resync(give: (snapshot: Buffer) => void): Promise<void> {
    return this.#inTurn(() => give(Buffer.from(this.#screen.snapshot(), "utf8")));
  }

  /** Ends it: hangs up, and kills what does not go by itself. */
  async stop(why: TerminalEnd): Promise<void> {
    if (!this.running) return;
    this.#wanted ??= why;
    await this.#hangUp();
    // Also what it started and left running.
    await this.#process.kill("SIGKILL");
    await this.over;
  }

  async #hangUp(): Promise<void> {
    for (let told = 0; told < HANGUPS; told += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      await this.#process.kill("SIGHUP");
      // oxlint-disable-next-line no-await-in-loop
      if (await settlesWithin(this.#deps.clock, this.#process.exited, HANGUP_MS)) return;
    }
  }

  /** Lets go of it without a word to the sandbox, which is ending. */
  abandon(why: TerminalEnd): void {
    this.#wanted ??= why;
    this.#stop.abort(new ToolyardError("cancelled", "The terminal's session has ended"));
  }

  /** Frees what an ended one holds, in the sandbox too. */
  async forget(): Promise<void> {
    this.#screen.close();
    await this.#process.remove().catch(() => undefined);
  }

  async #run(taken: boolean): Promise<TerminalEnd> {
    let end: TerminalEnd = "lost";
    try {
      await this.#show(taken);
      await this.#process.exited;
      end = "exited";
    } catch {
      // The sandbox is gone or was reset, or the session is over: what was shown stays.
    }
    await this.#inTurn(() => {
      this.#end = this.#wanted ?? end;
      this.#recording.end();
      this.#viewers.ended(this.#process.exit);
    });
    return this.#end ?? end;
  }

  async #show(taken: boolean): Promise<void> {
    const { signal } = this.#stop;
    for (let cursor = 0, ended = false; !ended; ) {
      const waitMs = this.#quiet && taken ? 0 : READ_WAIT_MS;
      // oxlint-disable-next-line no-await-in-loop -- a stretch after the other
      const log = await this.#process.read({ cursor, maxBytes: READ_BYTES, waitMs, signal });
      ended = log.ended;
      const data = Buffer.concat(log.chunks.map((chunk) => chunk.data));
      // What it asked before it was taken over has been answered, or given up.
      if (data.length === 0) this.#quiet = false;
      // oxlint-disable-next-line no-await-in-loop
      await this.#deps.pace.turn(data.length);
      // oxlint-disable-next-line no-await-in-loop
      await this.#inTurn(() => this.#display(data, log.skipped, ended));
      ({ cursor } = log);
      this.#progress.advance(cursor);
    }
  }

  async #display(data: Buffer, skipped: number, ended: boolean): Promise<void> {
    let text = this.#decoder.write(data);
    if (ended) text += this.#decoder.end();
    if (skipped > 0) {
      this.#recording.cast.gap(this.#time(), `${skipped} bytes are left out`);
      // Ends a sequence that was cut.
      text = `\u0018\r\n[toolyard: ${skipped} bytes are left out]\r\n${text}`;
    }
    if (text === "") return;
    this.#usedAt = this.#deps.clock.now();
    await this.#screen.write(text);
    this.#recording.cast.output(this.#time(), text);
    this.#viewers.output(Buffer.from(text, "utf8"));
  }

  /** Milliseconds since it was started, or taken over. */
  #time(): number {
    return this.#deps.clock.now() - this.#startedAt;
  }

  /** Answers a program's question when nobody's own terminal does. */
  private reply(text: string): void {
    if (this.#quiet || !this.running || this.#viewers.answer) return;
    // A program that asks and does not read gets no answer.
    this.#line.offer(Buffer.from(text, "utf8"));
  }

  private retitle(title: string): void {
    this.#title = title;
    this.#viewers.title(title);
  }

  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #watchIdle(): void {
    const { clock, limits } = this.#deps;
    if (this.#viewers.count > 0) this.#usedAt = clock.now();
    const leftMs = this.#usedAt + limits.terminalIdleMs - clock.now();
    if (leftMs <= 0) return void this.stop("idle").catch(() => undefined);
    const cancel = clock.after(leftMs, () => this.#watchIdle());
    void this.over.then(cancel, cancel);
  }
}
