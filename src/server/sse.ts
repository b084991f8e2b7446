import type { Clock } from "../core/clock.ts";
import type { Reply } from "./reply.ts";

/** What an event stream is made of. */
export interface SseSource {
  /** The next piece of text; `undefined` ends the stream. Asked for one at a time, and only when the client takes more. */
  next(): Promise<string | undefined>;
  /** What is sent when nothing has come for a while. */
  heartbeat(): string;
  /** Called once, when the stream is over or its client has gone. */
  close(): void;
}

/** One event of a stream; the data is JSON, which has no line breaks. */
export function formatEvent(id: string, type: string, data: string): string {
  return `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;
}

/** Moves the place from which the client resumes, without an event. */
export function formatPosition(id: string): string {
  return `id: ${id}\n\n`;
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Keeps nginx from holding events back.
  "x-accel-buffering": "no",
  // Known from the start, so that the headers go out before the first event.
  "transfer-encoding": "chunked",
} as const;

/** How long a client that was cut off waits before it comes back. */
const RETRY_LINE = "retry: 1000\n\n";

/** Answers with a stream of events, which holds no more for a slow client than the piece that it is taking. */
export function toSseReply(
  source: SseSource,
  clock: Clock,
  heartbeatMs: number,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body = new SseBody(source, clock, heartbeatMs);
  const stream = new ReadableStream<Uint8Array>(
    { pull: (controller) => body.pull(controller), cancel: () => body.close() },
    { highWaterMark: 0 },
  );
  return { status: 200, body: null, headers: { ...HEADERS, ...headers }, stream };
}

class SseBody {
  readonly #source: SseSource;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #encoder = new TextEncoder();
  #opened = false;
  #closed = false;
  /** Whether the source has been asked for its next piece, which outlives a heartbeat. */
  #asking = false;
  #ready: { readonly text: string | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: SseSource, clock: Clock, heartbeatMs: number) {
    this.#source = source;
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const text = this.#opened ? await this.#nextOrHeartbeat() : RETRY_LINE;
    this.#opened = true;
    if (this.#closed) return;
    if (text === undefined) {
      this.close();
      controller.close();
    } else controller.enqueue(this.#encoder.encode(text));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#source.close();
    this.#wake?.();
  }

  async #nextOrHeartbeat(): Promise<string | undefined> {
    if (!this.#asking) {
      this.#asking = true;
      this.#source.next().then(
        (text) => this.#take(text),
        () => this.#take(undefined),
      );
    }
    if (this.#ready === undefined) await this.#readyWithin(this.#heartbeatMs);
    if (this.#ready === undefined) return this.#source.heartbeat();
    const { text } = this.#ready;
    this.#ready = undefined;
    this.#asking = false;
    return text;
  }

  #take(text: string | undefined): void {
    this.#ready = { text };
    this.#wake?.();
  }

  #readyWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
      const cancel = this.#clock.after(ms, wake);
      this.#wake = wake;
    });
  }
}
