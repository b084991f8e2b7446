import type { Duplex } from "node:stream";
import { type JsonMessage, JsonLines, toLine } from "./json-lines.ts";

/** What a connection is read with. */
export interface JsonChannelOptions {
  readonly maxLineBytes: number;
  /** May throw, which ends the connection. */
  readonly onMessage: (message: JsonMessage) => void;
  /** Whether what is no message is left out now, where it would end the connection. */
  readonly skipsRubbish?: () => boolean;
}

/** A connection that carries JSON objects both ways, one a line. */
export class JsonChannel {
  /** Settles with the reason when nothing will come any more. */
  readonly closed: Promise<Error>;
  readonly #stream: Duplex;
  #over: Error | undefined;
  #becameClosed: (reason: Error) => void = () => {};

  constructor(stream: Duplex, { maxLineBytes, onMessage, skipsRubbish }: JsonChannelOptions) {
    this.#stream = stream;
    this.closed = new Promise((resolve) => (this.#becameClosed = resolve));
    const lines = new JsonLines(maxLineBytes, skipsRubbish);
    stream.on("data", (chunk: Buffer) => {
      if (this.#over !== undefined) return;
      try {
        for (const message of lines.push(chunk)) onMessage(message);
      } catch (error) {
        this.close(error instanceof Error ? error : new Error(String(error)));
      }
    });
    stream.on("error", (error) => this.close(error));
    stream.on("close", () => this.close(new Error("the connection was ended")));
    stream.on("end", () => this.close(new Error("the connection was ended")));
  }

  /** Why it is over; `undefined` while it is not. */
  get over(): Error | undefined {
    return this.#over;
  }

  /** Sends a message, after bytes that are no part of it. What is sent when it is over is lost. */
  send(message: JsonMessage, before?: Buffer): void {
    if (this.#over !== undefined) return;
    this.#stream.write(before === undefined ? toLine(message) : Buffer.concat([before, toLine(message)]));
  }

  close(reason = new Error("it was closed")): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#stream.destroy();
    this.#becameClosed(reason);
  }
}
