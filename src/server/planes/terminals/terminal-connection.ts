import type { WebSocket } from "ws";
import { ToolyardError } from "../../../core/errors.ts";
import type { Actor } from "../../../core/events.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { SandboxLoan } from "../../../engine/sandbox-loans.ts";
import type { Terminal } from "../../../engine/terminals/terminal.ts";
import { keepAlive } from "../keep-alive.ts";
import { type ClientMessage, parseClientMessage, toOutput, toPreferences, toTitle } from "./ttyd-messages.ts";
import { ViewerQueue } from "./viewer-queue.ts";

export interface TerminalConnectionOptions {
  readonly engine: Engine;
  readonly loan: SandboxLoan;
  readonly terminal: Terminal;
  readonly socket: WebSocket;
  /** Its input goes nowhere. */
  readonly viewOnly: boolean;
  /** Shows that the viewer is the human who has control. */
  readonly lease: string | undefined;
}

/** How long the first word of a viewer may take. */
const HELLO_MS = 10_000;
/** Input that may wait for the program before nothing more is read from the viewer. */
const INPUT_PAUSE_BYTES = 32_768;

/** Close codes of the WebSocket protocol; ttyd's own viewer comes back after any but the first. */
const CLOSE_ENDED = 1000;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;

/** One viewer of a terminal, in ttyd's words. */
export class TerminalConnection {
  readonly #options: TerminalConnectionOptions;
  readonly #queue: ViewerQueue;
  #detach: (() => void) | undefined;
  #bytesIn = 0;
  #greeted = false;
  #cancelHello: () => void = () => undefined;

  constructor(options: TerminalConnectionOptions) {
    this.#options = options;
    const { socket, terminal, engine } = options;
    const sink = {
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      send: (data: Buffer, sent: () => void) => socket.send(data, { binary: true }, () => sent()),
    };
    this.#queue = new ViewerQueue(sink, engine.limits.terminalBufferBytes, () =>
      terminal.resync((snapshot) => this.#queue.snapshot(toOutput(snapshot))),
    );
  }

  /** Serves the viewer until either end goes. */
  run(): void {
    const { socket, engine, loan } = this.#options;
    const cut = () => socket.close(CLOSE_GOING_AWAY, "The session has ended");
    loan.signal.addEventListener("abort", cut, { once: true });
    socket.on("error", () => socket.terminate());
    socket.once("close", () => {
      loan.signal.removeEventListener("abort", cut);
      this.#leave();
    });
    socket.on("message", (data: Buffer) => this.#take(data));
    this.#cancelHello = engine.clock.after(HELLO_MS, () => socket.close(CLOSE_POLICY, "No first message came"));
    keepAlive(socket, engine.clock, engine.limits.streamHeartbeatMs);
    if (loan.signal.aborted) cut();
  }

  #take(data: Buffer): void {
    const message = parseClientMessage(data);
    if (this.#greeted) {
      if (message !== undefined) this.#handle(message);
      return;
    }
    if (message?.kind !== "hello") {
      this.#options.socket.close(CLOSE_POLICY, "The first message is to be ttyd's JSON");
      return;
    }
    this.#greeted = true;
    this.#cancelHello();
    void this.#enter(message).catch((error: unknown) => {
      const reason = ToolyardError.is(error) ? error.message : "The terminal cannot be shown";
      this.#options.socket.close(CLOSE_POLICY, reason.slice(0, 120));
    });
  }

  async #enter({ columns, rows }: Extract<ClientMessage, { kind: "hello" }>): Promise<void> {
    const { terminal, socket, viewOnly, engine, loan } = this.#options;
    socket.send(toPreferences({ disableStdin: viewOnly }), { binary: true });
    if (columns !== undefined && rows !== undefined) await this.#resize(columns, rows);
    const detach = await terminal.attach({
      answers: !viewOnly,
      output: (data) => this.#queue.push(toOutput(data)),
      title: (title) => socket.send(toTitle(title), { binary: true }),
      ended: () => socket.close(CLOSE_ENDED, "The terminal has ended"),
    });
    const set = engine.terminals.of(loan.record);
    set.tell("terminal.attached", terminal, { view_only: viewOnly });
    this.#detach = () => {
      detach();
      const facts = { bytes_in: this.#bytesIn, bytes_out: this.#queue.bytesSent };
      set.tell("terminal.detached", terminal, facts);
    };
    if (socket.readyState !== socket.OPEN) this.#leave();
  }

  #handle(message: ClientMessage): void {
    if (message.kind === "pause") this.#queue.pause();
    else if (message.kind === "resume") this.#queue.resume();
    else if (message.kind === "resize") void this.#resize(message.columns, message.rows).catch(() => undefined);
    else if (message.kind === "input") this.#type(message.data);
  }

  /** Drops what may not go in: it is not the viewer's word that decides. */
  #type(data: Buffer): void {
    const { terminal, socket, engine, loan } = this.#options;
    const actor = this.#mayType();
    if (actor === undefined || data.length === 0) return;
    try {
      const written = terminal.write(data);
      this.#bytesIn += data.length;
      engine.terminals.of(loan.record).typed(terminal, actor, data.length);
      if (terminal.pendingBytes > INPUT_PAUSE_BYTES) socket.pause();
      const resume = () => socket.isPaused && terminal.pendingBytes <= INPUT_PAUSE_BYTES && socket.resume();
      written.then(resume, resume);
    } catch {
      // It has ended, or its program reads nothing: what is typed goes nowhere, as on any terminal.
    }
  }

  async #resize(columns: number, rows: number): Promise<void> {
    if (this.#mayType() !== undefined) await this.#options.terminal.resize(columns, rows);
  }

  /** Who types, asked for each input: control may have been taken since the last one. */
  #mayType(): Actor | undefined {
    const { engine, loan, viewOnly, lease } = this.#options;
    if (viewOnly) return undefined;
    try {
      return engine.leases.demand(loan.record, lease, "human");
    } catch {
      return undefined;
    }
  }

  #leave(): void {
    this.#cancelHello();
    this.#detach?.();
    this.#detach = undefined;
    this.#options.loan.end();
  }
}
