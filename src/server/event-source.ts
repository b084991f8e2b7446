import type { StoredEvent } from "../core/store.ts";
import type { GapEvent, LoggedEvent } from "../core/logged-event.ts";
import type { CallStream } from "../engine/call-stream.ts";
import type { EventFeed } from "../engine/event-feed.ts";
import type { EventGap } from "../engine/event-gaps.ts";
import { toEventId, toPosition } from "./event-cursor.ts";
import { formatEvent, formatPosition, type SseSource } from "./sse.ts";

/** Puts an event of the log, or a hole in it, into the wire's shape. */
export function toLoggedEvent(entry: StoredEvent | EventGap): LoggedEvent | GapEvent {
  if ("gap" in entry) {
    const { gap: reason, fromId, id } = entry;
    return { id: toPosition(id), type: "gap", data: { reason, from: toEventId(fromId), to: toEventId(id) } };
  }
  const { id, seq, ts, type, data } = entry;
  const event = {
    id: toEventId(id),
    seq: seq ?? null,
    ts,
    type,
    session_id: entry.session_id ?? null,
    worker_id: entry.worker_id ?? null,
    resource: entry.resource ?? null,
    ...(entry.project !== undefined && { project: entry.project }),
    actor: entry.actor ?? (entry.call_id === undefined ? "system" : "agent"),
    call_id: entry.call_id ?? null,
    parent_id: entry.parent_id ?? null,
    trace_id: entry.trace_id ?? null,
    data,
    blobs: entry.blobs ?? [],
  };
  // Who emits an event gives it the data that its type says; the bus does not check it.
  return event as unknown as LoggedEvent;
}

/** Streams the log to one reader. */
export function createLogSource(
  feed: EventFeed,
  options: { readonly allows: (event: StoredEvent) => boolean; readonly onClose: () => void },
): SseSource {
  let position = toPosition(feed.throughId);
  let greeted = false;
  return {
    async next() {
      if (!greeted) {
        greeted = true;
        return formatPosition(position);
      }
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- goes on past pages of which nothing may be shown
        const page = await feed.next();
        if (page === undefined) return undefined;
        const shown = page.entries.filter((entry) => "gap" in entry || options.allows(entry)).map(toLoggedEvent);
        if (shown.length === 0) continue;
        position = toPosition(page.throughId);
        return shown.map((event) => formatEvent(event.id, event.type, JSON.stringify(event))).join("");
      }
    },
    heartbeat() {
      // Moves a reader of a quiet filter on, so that what it need not see may be trimmed behind it.
      const passed = toPosition(feed.throughId);
      const moved = passed !== position;
      position = passed;
      return moved ? `: heartbeat\n${formatPosition(passed)}` : ": heartbeat\n\n";
    },
    close() {
      feed.close();
      options.onClose();
    },
  };
}

const CHUNK_BYTES = 65_536;

/** The id of an event in a call's stream, which names the call. */
export function toStreamId(callId: string, number: number): string {
  return `${callId}:${number}`;
}

/** Streams a call to one reader, from after a number on. */
export function createCallSource(stream: CallStream, afterNumber: number, onClose: () => void): SseSource {
  let after = afterNumber;
  let closed = false;
  let wake: (() => void) | undefined;
  const unwatch = stream.watch(() => wake?.());
  return {
    async next() {
      while (!closed) {
        const { firstNumber, lastNumber } = stream;
        if (after < firstNumber - 1) {
          const gap = {
            reason: "dropped",
            from: toStreamId(stream.callId, after + 1),
            to: toStreamId(stream.callId, firstNumber - 1),
          };
          after = firstNumber - 1;
          return formatEvent(toStreamId(stream.callId, after), "gap", JSON.stringify(gap));
        }
        if (after < lastNumber) {
          const entries = stream.after(after, CHUNK_BYTES);
          after = entries.at(-1)?.number ?? lastNumber;
          return entries
            .map(({ number, type, data }) => formatEvent(toStreamId(stream.callId, number), type, data))
            .join("");
        }
        if (stream.ended) return undefined;
        // oxlint-disable-next-line no-await-in-loop -- waits for the call to tell more
        await new Promise<void>((resolve) => (wake = resolve));
        wake = undefined;
      }
      return undefined;
    },
    heartbeat: () => ": heartbeat\n\n",
    close() {
      closed = true;
      unwatch();
      wake?.();
      onClose();
    },
  };
}
