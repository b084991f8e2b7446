import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallRequest } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type { RunStreamed } from "../engine/kept-streams.ts";
import { createCallSource } from "./event-source.ts";
import { type Reply, toEnvelope, toReply } from "./reply.ts";
import { toSseReply } from "./sse.ts";
import type { StreamClients } from "./stream-clients.ts";

/** What a streamed call needs of the server. */
export interface StreamDeps {
  readonly engine: Engine;
  readonly clients: StreamClients;
}

/** How long a call may take to be refused with a status of its own. */
const REFUSAL_MS = 50;

/**
 * Runs a call and answers with its events, the last of which is its envelope. A call that is refused before its tool
 * runs is answered as without `stream`, with its status.
 *
 * @throws ToolyardError overloaded
 */
export async function streamCall(
  { engine, clients }: StreamDeps,
  request: CallRequest,
  run: RunStreamed,
): Promise<Reply> {
  const giveParams = engine.params.hold(request.caller, request.params);
  let leave: () => void;
  try {
    leave = clients.enter();
  } catch (error) {
    giveParams();
    throw error;
  }
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const observer = { ...request.observer, onStart: begin };
  const write = (value: ToolResult) => JSON.stringify(toEnvelope(value));
  const { stream, result } = engine.streams.run({ ...request, observer }, run, write);
  // Whether its reader stays or not: it waits and runs with them.
  void result.then(giveParams, giveParams);
  const refusal = await refusalOf(result, begun, engine.clock);
  if (refusal === undefined) {
    return toSseReply(createCallSource(stream, 0, leave), engine.clock, engine.limits.streamHeartbeatMs, {
      // So that a client that is cut off before the first event knows what to resume.
      "toolyard-call-id": stream.callId,
    });
  }
  leave();
  engine.streams.forget(stream);
  return toReply(refusal);
}

/** Waits for the tool to begin or the call to fail before that; one that waits long for its turn gets its stream. */
async function refusalOf(
  result: Promise<ToolResult>,
  begun: Promise<void>,
  clock: Clock,
): Promise<ToolResult | undefined> {
  let cancelTimer: () => void = () => undefined;
  const late = new Promise<void>((resolve) => (cancelTimer = clock.after(REFUSAL_MS, resolve)));
  const first = await Promise.race([begun, result, late]);
  cancelTimer();
  return first === undefined || first.ok ? undefined : first;
}
