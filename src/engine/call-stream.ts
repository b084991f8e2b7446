import type { ToolyardEvent } from "../core/events.ts";
import { Cancellation } from "./deadline.ts";

/** One event of a streamed call. Numbers count from 1 without a gap. */
export interface CallStreamEntry {
  readonly number: number;
  readonly type: "call.started" | "progress" | "output" | "call.abandoned" | "result";
  /** JSON. */
  readonly data: string;
}

/** What becomes of a reader that resumes: `expired` when what follows its event is no longer kept. */
export type StreamCursorState = "held" | "unknown" | "expired";

const TYPES = {
  "call.started": "call.started",
  "call.progress": "progress",
  "call.output": "output",
  "call.abandoned": "call.abandoned",
} as const;

function isStreamed(type: string): type is keyof typeof TYPES {
  return Object.hasOwn(TYPES, type);
}

/** What a call told while it ran and what it came to, for readers that come, go and come back. */
export class CallStream {
  readonly callId: string;
  readonly tenant: string;
  /** Ends the call. */
  readonly cancellation: Cancellation;
  readonly #maxBytes: number;
  readonly #entries: CallStreamEntry[] = [];
  readonly #watchers = new Set<() => void>();
  #lastNumber = 0;
  #bytes = 0;
  #ended = false;
  #restored = false;
  #resource: string | undefined;

  constructor(facts: {
    readonly callId: string;
    readonly tenant: string;
    readonly cancellation: Cancellation;
    readonly maxBytes: number;
  }) {
    this.callId = facts.callId;
    this.tenant = facts.tenant;
    this.cancellation = facts.cancellation;
    this.#maxBytes = facts.maxBytes;
  }

  /** What it holds, in UTF-16 units. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The resource of its tool, once started. */
  get resource(): string | undefined {
    return this.#resource;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get lastNumber(): number {
    return this.#lastNumber;
  }

  /** The oldest that is kept. */
  get firstNumber(): number {
    return this.#entries[0]?.number ?? this.#lastNumber + 1;
  }

  /** Takes what the bus tells of the call. */
  accept({ type, call_id, trace_id, resource, data }: ToolyardEvent): void {
    if (this.#ended || !isStreamed(type)) return;
    if (type === "call.started") this.#resource = resource;
    const facts = type === "call.started" ? { call_id, trace_id, ...data } : data;
    this.#push(TYPES[type], JSON.stringify(facts));
    while (this.#bytes > this.#maxBytes && this.#entries.length > 1) {
      this.#bytes -= this.#entries.shift()?.data.length ?? 0;
    }
  }

  /** A stream of which nothing is left but its last event, the call's envelope as JSON. */
  static restored(facts: {
    readonly callId: string;
    readonly tenant: string;
    readonly number: number;
    readonly envelope: string;
  }): CallStream {
    const stream = new CallStream({ ...facts, cancellation: new Cancellation(), maxBytes: 0 });
    stream.#lastNumber = facts.number - 1;
    stream.#restored = true;
    stream.finish(facts.envelope);
    return stream;
  }

  /** Closes the stream with the call's envelope, as JSON; returns the number of that event. */
  finish(envelope: string): number {
    if (!this.#ended) {
      this.#ended = true;
      this.#push("result", envelope);
    }
    return this.#lastNumber;
  }

  locate(number: number): StreamCursorState {
    if (number < 1 || number > this.#lastNumber) return "unknown";
    // Its reader could not know, and what it lacks is told as a gap: what it came back for is the result.
    if (this.#restored) return "held";
    return number < this.firstNumber - 1 ? "expired" : "held";
  }

  /** What follows a number, at most about `maxBytes` of it. */
  after(number: number, maxBytes: number): readonly CallStreamEntry[] {
    const found: CallStreamEntry[] = [];
    let bytes = 0;
    for (let index = Math.max(0, number + 1 - this.firstNumber); index < this.#entries.length; index += 1) {
      const entry = this.#entries[index];
      if (entry === undefined || (bytes > 0 && bytes + entry.data.length > maxBytes)) break;
      bytes += entry.data.length;
      found.push(entry);
    }
    return found;
  }

  /** Calls back whenever there is more. */
  watch(callback: () => void): () => void {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  #push(type: CallStreamEntry["type"], data: string): void {
    this.#lastNumber += 1;
    this.#entries.push({ number: this.#lastNumber, type, data });
    this.#bytes += data.length;
    for (const callback of this.#watchers) callback();
  }
}
