import type { ServerResponse } from "node:http";
import type { Clock } from "../../core/clock.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { ByteRange } from "./byte-range.ts";

/** What one read of a sandbox's file takes: it bounds what is held for a slow client. */
const CHUNK_BYTES = 262_144;

/** What watches over a body on its way out. */
export interface OutgoingDeps {
  readonly clock: Clock;
  readonly outgoing: ServerResponse;
  /** How long the client may take nothing. */
  readonly stallMs: number;
  /** Ends the body. */
  readonly signal: AbortSignal;
  /** Told once, with what was handed to the client. */
  readonly onEnd: (sentBytes: number, error: ToolyardError | undefined) => void;
}

/** Reads a stretch of a file as it is asked for; one that shrinks meanwhile breaks the stream off. */
export async function* readStretch(
  files: SandboxFiles,
  path: string,
  { start, length }: ByteRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let done = 0;
  while (done < length) {
    // oxlint-disable-next-line no-await-in-loop -- one after another is the point: nothing is read ahead of the client
    const chunk = await files.read(
      path,
      { offset: start + done, length: Math.min(CHUNK_BYTES, length - done) },
      signal,
    );
    if (chunk.length === 0) throw new ToolyardError("conflict", "The file became shorter while it was read");
    done += chunk.length;
    yield chunk;
  }
}

/** Makes a response's body of chunks, each asked for only when the client has taken the last one. */
export function toBody(chunks: AsyncIterator<Uint8Array>, deps: OutgoingDeps): ReadableStream<Uint8Array> {
  const { clock, outgoing, stallMs, signal, onEnd } = deps;
  let sentBytes = 0;
  let over = false;
  let cancelTimer: () => void = () => undefined;
  const end = (error?: ToolyardError) => {
    if (over) return;
    over = true;
    cancelTimer();
    signal.removeEventListener("abort", onAbort);
    if (error !== undefined) {
      // What is cut off must not look whole, also where the length is not known.
      outgoing.destroy();
      void chunks.return?.().catch(() => undefined);
    }
    onEnd(sentBytes, error);
  };
  const onAbort = () => end(toReason(signal.reason));
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        cancelTimer();
        try {
          const next = over ? { done: true as const } : await chunks.next();
          if (over) return;
          if (next.done === true) {
            controller.close();
            return end();
          }
          sentBytes += next.value.length;
          controller.enqueue(next.value);
          cancelTimer = clock.after(stallMs, () =>
            end(new ToolyardError("cancelled", "The client took nothing for too long")),
          );
        } catch (error) {
          end(toReason(error));
        }
      },
      cancel: () => end(new ToolyardError("cancelled", "The client went away")),
    },
    { highWaterMark: 0 },
  );
}

function toReason(error: unknown): ToolyardError {
  return ToolyardError.is(error) ? error : new ToolyardError("cancelled", "The transfer was cut off", { cause: error });
}
