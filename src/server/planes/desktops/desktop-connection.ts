import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { InputCounts } from "../../../core/desktop.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { SandboxLoan } from "../../../engine/sandbox-loans.ts";
import { keepAlive } from "../keep-alive.ts";
import type { DisplayInit } from "./display-handshake.ts";
import { RfbViolation } from "./rfb-violation.ts";
import { ViewerHandshake } from "./viewer-handshake.ts";
import { ViewerInput } from "./viewer-input.ts";
import { ViewerMessages } from "./viewer-messages.ts";

export interface DesktopConnectionOptions {
  readonly engine: Engine;
  readonly loan: SandboxLoan;
  readonly socket: WebSocket;
  /** Greeted and paused. */
  readonly display: Duplex;
  readonly greeted: DisplayInit;
  readonly viewOnly: boolean;
  readonly mayResize: boolean;
  /** Shows that the viewer is the human who has control. */
  readonly lease: string | undefined;
  /** Told at the end, with what passed. */
  readonly onClose: (bytes: { readonly in: number; readonly out: number }) => void;
}

/** How long the viewer's handshake may take. */
const HANDSHAKE_MS = 10_000;
/** How long the display may take to hear what is let go. */
const LAST_WORD_MS = 1_000;

/** Close codes of the WebSocket protocol. */
const CLOSE_GOING_AWAY = 1001;
const CLOSE_UNSUPPORTED = 1003;
const CLOSE_POLICY = 1008;

/** One viewer of a desktop: pictures pass as they come, and what it sends passes message by message, as far as it may. */
export class DesktopConnection {
  readonly #options: DesktopConnectionOptions;
  readonly #handshake = new ViewerHandshake();
  readonly #messages = new ViewerMessages();
  readonly #input: ViewerInput;
  readonly #bytes = { in: 0, out: 0 };
  #through = false;
  #over = false;
  #cancelHandshake: () => void = () => undefined;

  constructor(options: DesktopConnectionOptions) {
    this.#options = options;
    const { viewOnly, mayResize } = options;
    this.#input = new ViewerInput({ viewOnly, mayResize, admit: (kind) => this.#admit(kind) });
  }

  /** Serves the viewer until either end goes. */
  run(): void {
    const { socket, engine, loan, display } = this.#options;
    const cut = () => this.#close(CLOSE_GOING_AWAY, "The session has ended");
    loan.signal.addEventListener("abort", cut, { once: true });
    socket.on("error", () => socket.terminate());
    socket.once("close", () => {
      loan.signal.removeEventListener("abort", cut);
      this.#end();
    });
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.#take(data);
      else this.#close(CLOSE_UNSUPPORTED, "RFB comes in binary messages");
    });
    display.on("error", () => display.destroy());
    display.on("drain", () => socket.isPaused && socket.resume());
    const gone = () => this.#close(CLOSE_GOING_AWAY, "The desktop has stopped");
    display.once("end", gone);
    display.once("close", gone);
    this.#cancelHandshake = engine.clock.after(HANDSHAKE_MS, () => this.#close(CLOSE_POLICY, "No handshake came"));
    keepAlive(socket, engine.clock, engine.limits.streamHeartbeatMs);
    this.#send(ViewerHandshake.greeting);
    if (loan.signal.aborted) cut();
    else if (display.destroyed) gone();
  }

  #take(data: Buffer): void {
    if (this.#over) return;
    this.#bytes.in += data.length;
    try {
      if (this.#through) this.#pass(data);
      else this.#shake(data);
    } catch (error) {
      if (!(error instanceof RfbViolation)) throw error;
      this.#close(CLOSE_POLICY, error.message);
    }
  }

  #shake(data: Buffer): void {
    const { reply, rest } = this.#handshake.push(data);
    if (reply.length > 0) this.#send(reply);
    if (rest === undefined) return;
    this.#through = true;
    this.#cancelHandshake();
    const { display, greeted } = this.#options;
    this.#send(Buffer.concat([greeted.init, greeted.rest]));
    display.on("data", (chunk: Buffer) => this.#show(chunk));
    display.resume();
    this.#pass(rest);
  }

  #pass(data: Buffer): void {
    this.#messages.push(data);
    for (let message = this.#messages.next(); message !== undefined; message = this.#messages.next()) {
      this.#toDisplay(this.#input.pass(message));
    }
  }

  #toDisplay(data: Buffer): void {
    const { display, socket } = this.#options;
    if (data.length === 0 || !display.writable) return;
    // Nothing more is read from a viewer whose display takes nothing.
    if (!display.write(data)) socket.pause();
  }

  #show(chunk: Buffer): void {
    const { socket, display, engine } = this.#options;
    this.#send(chunk);
    if (socket.bufferedAmount > engine.limits.desktopBufferBytes) display.pause();
  }

  #send(data: Buffer): void {
    const { socket, display, engine } = this.#options;
    if (socket.readyState !== socket.OPEN) return;
    this.#bytes.out += data.length;
    socket.send(data, { binary: true }, () => {
      if (display.isPaused() && this.#through && socket.bufferedAmount <= engine.limits.desktopBufferBytes / 2) {
        display.resume();
      }
    });
  }

  /** Asked for each input, since control may have been taken since the last one: it is not the viewer's word that decides. */
  #admit(kind: keyof InputCounts): boolean {
    const { engine, loan, lease } = this.#options;
    try {
      engine.desktops.did(loan.record, engine.leases.demand(loan.record, lease, "human"), kind);
      return true;
    } catch {
      return false;
    }
  }

  #close(code: number, reason: string): void {
    if (this.#over) return;
    const { socket } = this.#options;
    this.#end();
    // One that is not read any more would never hear it.
    if (socket.isPaused) socket.resume();
    socket.close(code, reason);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelHandshake();
    const { display, engine, onClose } = this.#options;
    if (display.writable) display.end(this.#input.release());
    // What it takes to let go is on its way; nothing that comes back is of use.
    display.removeAllListeners("data");
    display.resume();
    display.once(
      "close",
      engine.clock.after(LAST_WORD_MS, () => display.destroy()),
    );
    onClose(this.#bytes);
  }
}
