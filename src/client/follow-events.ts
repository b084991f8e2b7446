import type { EventType } from "../core/events.ts";
import type { GapEvent, LoggedEvent } from "../core/logged-event.ts";
import { expectEnvelope } from "./expect-answer.ts";
import { toServerError } from "./envelope.ts";
import { PlainAnswer, readResuming } from "./resuming-stream.ts";
import type { StreamRequest, Transport } from "./transport.ts";

/** Which events are followed. */
export interface EventsFilter<T extends EventType = EventType> {
  /** `null` for every worker of the tenant. @default the client's own worker */
  readonly workerId?: string | null | undefined;
  readonly sessionId?: string | undefined;
  /** The label of the sessions. */
  readonly project?: string | undefined;
  /** The trace id of a run. */
  readonly run?: string | undefined;
  /** @default all types */
  readonly types?: readonly T[] | undefined;
  /** The id of the last event that is known; `"0"` for everything that is held. @default only what happens from now on */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What following yields: events of the types asked for, and holes in the log. */
export type FollowedEvent<T extends EventType = EventType> = Extract<LoggedEvent, { readonly type: T }> | GapEvent;

/**
 * Yields what happens, each event once and in order, until the reader leaves the loop; a cut connection is taken up again.
 *
 * @throws ServerError `cursor_expired` when what followed `after` is no longer held, `unknown_cursor` for an event that is not
 *   the reader's; ConnectionError when the server stays away.
 */
export async function* followEvents<T extends EventType>(
  transport: Transport,
  workerId: string,
  filter: EventsFilter<T>,
): AsyncGenerator<FollowedEvent<T>, void, undefined> {
  const signal = filter.signal ?? new AbortController().signal;
  const request = (after: string | undefined): StreamRequest => ({
    method: "GET",
    path: `/api/v1/events${toQuery(workerId, filter)}`,
    ...(after === undefined ? {} : { headers: { "last-event-id": after } }),
  });
  const plan = {
    first: request(filter.after),
    resume: (id?: string) => request(id ?? filter.after),
    isLast: () => false,
  };
  const { maxRetries, retryDelayMs } = transport;
  try {
    for await (const { data } of readResuming(transport, plan, { maxRetries, retryDelayMs, signal })) {
      // The protocol says what the events hold; the server sends only the types that were asked for, and gaps.
      yield JSON.parse(data) as FollowedEvent<T>;
    }
  } catch (error) {
    if (!(error instanceof PlainAnswer)) throw error;
    const { envelope, status } = expectEnvelope(error.answer, "GET");
    throw toServerError(envelope, status);
  }
}

function toQuery(ownWorkerId: string, { workerId, sessionId, project, run, types }: EventsFilter): string {
  const worker = workerId === undefined ? ownWorkerId : workerId;
  const query = new URLSearchParams();
  if (worker !== null) query.set("worker", worker);
  if (sessionId !== undefined) query.set("session", sessionId);
  if (project !== undefined) query.set("project", project);
  if (run !== undefined) query.set("run", run);
  if (types !== undefined) query.set("type", types.join(","));
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
