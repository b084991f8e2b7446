import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { type BatchItem, BatchRequest, ExecuteRequest } from "../../core/protocol.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type BatchResult, type CallRunner, executeBatch } from "../../engine/batch.ts";
import type { CallRequest } from "../../engine/call.ts";
import type { CancelSource } from "../../engine/deadline.ts";
import type { Engine } from "../../engine/engine.ts";
import { checkKey } from "../../engine/idempotency.ts";
import type { Caller } from "../../engine/session-table.ts";
import { demandUse } from "../auth/tool-access.ts";
import { toCaller } from "../caller.ts";
import { ClientWait } from "../disconnect.ts";
import { fail, type Reply, succeed, toEnvelope, toReply } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";
import { streamCall } from "../stream-call.ts";
import type { StreamClients } from "../stream-clients.ts";
import { toJobReply } from "./jobs.ts";
import { sumOutcome } from "./sum-outcome.ts";

/** `/execute` and `/execute/batch`: run tools. */
export function executeRoutes(engine: Engine, clients: StreamClients): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/execute",
      access: "execute",
      aliases: ["/execute"],
      operation: "execute",
      summary: "Run one tool for a worker",
      description:
        "The session that the tool needs is the worker's own; without one, a temporary session is made for the call. With " +
        "`stream` the answer is `text/event-stream`, whose last event is the envelope.",
      body: ExecuteRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: {
        202: "With `async_mode`: the job",
        409: "The idempotency key was used for another request",
        400: "Unknown or ambiguous tool, wrong params, or a session that could not be made",
        404: "`session_id` is not the worker's live session",
        500: "The tool failed, or took too long",
      },
      async handle({ body, bodyBytes, identity, incoming, outgoing }) {
        if (body.async_mode && body.stream === true) {
          throw new ToolyardError("invalid_input", "stream and async_mode exclude each other", {
            suggestion: "Start a job with async_mode and wait for it, or stream the call.",
          });
        }
        const caller = toCaller(identity, body.worker_id);
        const key = keyOf(incoming) ?? ownKey(body.request_id);
        // What is stored under a key is not for who may not run the tool.
        if (key !== undefined || body.async_mode) demandUse(engine.catalog, identity, "execute", body.action);
        if (body.async_mode) return toJobReply(await engine.jobs.start(toCall(caller, body, body.trace_id, { key })));
        const parent = body.on_disconnect === "cancel" ? new ClientWait(outgoing) : undefined;
        const call = toCall(caller, body, body.trace_id, { key, parent });
        if (body.stream === true) {
          return streamCall({ engine, clients }, call, (request) => engine.calls.execute(request));
        }
        const { orphans } = engine;
        const release = engine.held.hold(caller, bodyBytes);
        try {
          if (key === undefined && !orphans.enabled) return toReply(await engine.executor.execute(call));
          const { value, replayed } = await (key === undefined ? orphans : engine.calls).execute(call);
          return markReplayed(toReply(value), replayed);
        } finally {
          release?.();
        }
      },
    }),
    route({
      method: "post",
      path: "/api/v1/execute/batch",
      access: "execute",
      aliases: ["/execute/batch"],
      operation: "batch:execute",
      summary: "Run several tools for a worker",
      body: BatchRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: { 207: "Some actions failed", 500: "All actions failed" },
      async handle({ body, bodyBytes, identity, incoming, outgoing }) {
        if ([body, ...body.actions].some((part) => part.async_mode === true || part.stream === true)) {
          throw new ToolyardError("invalid_input", "A batch is neither a job nor a stream", {
            suggestion: "Send its calls with execute, one by one, each with async_mode or stream.",
          });
        }
        const parent = body.on_disconnect === "cancel" ? new ClientWait(outgoing) : undefined;
        const caller = toCaller(identity, body.worker_id);
        const key = keyOf(incoming) ?? ownKey(body.request_id);
        const keyed = key !== undefined || body.actions.some((item) => typeof item.request_id === "string");
        if (keyed) for (const { action } of body.actions) demandUse(engine.catalog, identity, "execute", action);
        let replayed = keyed;
        const runner: CallRunner = {
          async execute(request) {
            const kept = await engine.calls.execute(request);
            replayed &&= kept.replayed;
            return kept.value;
          },
        };
        const release = engine.held.hold(caller, bodyBytes);
        const result = await executeBatch(
          keyed ? runner : engine.executor,
          body.actions.map((item, index) =>
            toCall(caller, item, body.trace_id, { key: itemKey(key, index, item.request_id), parent }),
          ),
          {
            parallel: body.parallel,
            stopOnError: body.stop_on_error,
            maxConcurrency: body.max_concurrency ?? undefined,
          },
          engine.limits,
        ).finally(() => release?.());
        // Identical answers have identical bodies, so the envelope of a keyed batch has a trace id that was kept.
        const traceId = body.trace_id ?? (keyed ? result.results[0]?.meta.trace_id : undefined);
        return markReplayed(toBatchReply(result, traceId), replayed);
      },
    }),
  ];
}

type CallBody = z.output<typeof BatchItem>;

function toCall(
  caller: Caller,
  body: CallBody,
  traceId: string | null | undefined,
  { key, parent }: { readonly key: string | undefined; readonly parent?: CancelSource | undefined },
): CallRequest {
  return {
    caller,
    action: body.action,
    params: body.params ?? {},
    timeoutMs: body.timeout_ms ?? (body.timeout ?? 0) * 1000,
    sessionId: body.session_id ?? undefined,
    traceId: traceId ?? undefined,
    parent,
    controlLease: "control_lease" in body && typeof body.control_lease === "string" ? body.control_lease : undefined,
    idempotencyKey: key,
  };
}

/** @throws ToolyardError invalid_input */
function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? checkKey("Idempotency-Key", key) : undefined;
}

/** A space separates the batch's key from the item's place: no key that a caller chose has one. */
function itemKey(key: string | undefined, index: number, own: string | null | undefined): string | undefined {
  return ownKey(own) ?? (key === undefined ? undefined : `${key} ${index}`);
}

/** @throws ToolyardError invalid_input */
function ownKey(requestId: string | null | undefined): string | undefined {
  return typeof requestId === "string" ? checkKey("request_id", requestId) : undefined;
}

function markReplayed(reply: Reply, replayed: boolean): Reply {
  return replayed ? { ...reply, headers: { ...reply.headers, "idempotency-replayed": "true" } } : reply;
}

function toBatchReply({ results, total, executed, successCount }: BatchResult, traceId: string | undefined): Reply {
  const meta = { operation: "batch:execute", traceId };
  const data = { results: results.map(toEnvelope), total, executed, success_count: successCount };
  if (successCount === total) return succeed(meta, data);
  const whose = sumOutcome(results.filter(({ ok }) => !ok).map((result) => result.meta.outcome));
  if (successCount > 0) {
    const some = new ToolyardError("partial_failure", `${successCount} of ${total} actions succeeded`, whose);
    return fail(meta, some, data);
  }
  return fail(meta, new ToolyardError("all_failed", `None of ${total} actions succeeded`, whose), data);
}
