import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "./errors/connection-error.ts";
import { toServerError, isEnvelope } from "./envelope.ts";
import { ProtocolError } from "./errors/protocol-error.ts";
import { findConnectFailure } from "./repeat.ts";
import { type SseMessage, SseParser } from "./sse-parser.ts";
import type { Answer, StreamRequest, Transport } from "./transport.ts";

/** A stream that can be taken up again where it was cut. */
export interface StreamPlan {
  readonly first: StreamRequest;
  /** The request that goes on after an event, or after none; `undefined` when that cannot be done. */
  resume(lastEventId: string | undefined): StreamRequest | undefined | Promise<StreamRequest | undefined>;
  /** Told of each stream that opens. */
  onOpen?(headers: Headers): void;
  /** Whether nothing follows the event. */
  isLast(message: SseMessage): boolean;
}

/** How often and how patiently a stream is taken up again. */
export interface ResumeOptions {
  /** Cuts in a row, without an event between them. */
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly signal: AbortSignal;
}

/** The server shows every 15 s that it lives; after this long a connection counts as cut. */
const SILENCE_MS = 60_000;
const LONGEST_DELAY_MS = 10_000;
/** A connection that lasted as long was a good one, also if nothing happened in it. */
const GOOD_MS = 15_000;

/** The answer that came in place of a stream. */
export class PlainAnswer extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`status ${answer.status} in place of a stream`);
    this.answer = answer;
  }
}

/**
 * Yields a stream's events once each, taking it up again when the connection is cut.
 *
 * @throws PlainAnswer when the server answers something else; ConnectionError when it stays away; the signal's reason.
 */
export async function* readResuming(
  transport: Transport,
  plan: StreamPlan,
  { maxRetries, retryDelayMs, signal }: ResumeOptions,
): AsyncGenerator<SseMessage, void, undefined> {
  let request = plan.first;
  let lastEventId: string | undefined;
  // Whether the server may have acted on a request, whatever becomes of those to go on.
  let sent = false;
  for (let failures = 0; ; failures += 1) {
    let cause: unknown;
    const parser = new SseParser();
    const openedAt = performance.now();
    try {
      for await (const bytes of openBytes(transport, request, {
        signal,
        onOpen: (headers) => {
          sent = true;
          plan.onOpen?.(headers);
        },
      })) {
        for (const message of parser.push(bytes)) {
          failures = 0;
          lastEventId = message.id || lastEventId;
          yield message;
          if (plan.isLast(message)) return;
        }
        lastEventId = parser.lastEventId || lastEventId;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PlainAnswer && !isPassing(error.answer)) throw error;
      if (error instanceof ProtocolError) throw error;
      cause = error;
      sent ||= !(error instanceof PlainAnswer) && findConnectFailure(error) === undefined;
    }
    if (performance.now() - openedAt >= GOOD_MS) failures = 0;
    const unsent = lastEventId === undefined && findConnectFailure(cause) !== undefined;
    const next = unsent ? request : await plan.resume(lastEventId);
    if (next === undefined || failures >= maxRetries) {
      throw toFinalError(cause, request, transport.baseUrl, sent);
    }
    request = next;
    // Workers that were cut together must not come back together.
    const delayMs = Math.min(retryDelayMs * 2 ** failures, LONGEST_DELAY_MS) * (0.5 + Math.random() / 2);
    await delay(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** The bytes of one connection, which ends when nothing comes for too long. */
async function* openBytes(
  transport: Transport,
  request: StreamRequest,
  { signal, onOpen }: { readonly signal: AbortSignal; readonly onOpen: (headers: Headers) => void },
): AsyncGenerator<Uint8Array, void, undefined> {
  const silence = new AbortController();
  const hush = () => silence.abort(new Error(`nothing came for ${SILENCE_MS} ms`));
  const timer = setTimeout(hush, SILENCE_MS);
  try {
    const opened = await transport.open(request, AbortSignal.any([signal, silence.signal]));
    if (opened.kind === "answer") throw new PlainAnswer(opened.answer);
    onOpen(opened.headers);
    for await (const bytes of opened.body) {
      timer.refresh();
      yield bytes;
    }
  } finally {
    clearTimeout(timer);
    // Also when the reader went away in the middle: the connection is of no further use.
    silence.abort();
  }
}

/** 429 and 503 pass by themselves, when the server says so. */
function isPassing({ status, body }: Answer): boolean {
  return (status === 429 || status === 503) && isEnvelope(body) && body.meta.retryable === true;
}

function toFinalError(cause: unknown, { method, path }: StreamRequest, baseUrl: string, sent: boolean): Error {
  if (cause instanceof PlainAnswer && isEnvelope(cause.answer.body)) {
    return toServerError(cause.answer.body, cause.answer.status);
  }
  const unreached = findConnectFailure(cause);
  const url = `${baseUrl}${path}`;
  if (unreached !== undefined && !sent) {
    return new ConnectionError("unreachable", method, url, `no connection (${unreached})`, cause);
  }
  const why = unreached === undefined ? "" : ` (${unreached})`;
  const reason = `the stream was cut, and could not be taken up again${why}`;
  return new ConnectionError("interrupted", method, url, reason, cause);
}
