import type { z } from "zod";
import { type BatchItem, BatchRequest, ExecuteRequest } from "../../core/protocol.ts";
import { ToolyardError } from "../../core/errors.ts";
import { executeBatch, type BatchResult } from "../../engine/batch.ts";
import type { CallRequest } from "../../engine/call.ts";
import type { CancelSource } from "../../engine/deadline.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Caller } from "../../engine/session-table.ts";
import { toCaller } from "../caller.ts";
import { ClientWait } from "../disconnect.ts";
import { fail, type Reply, succeed, toEnvelope, toReply } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

/** `/execute` and `/execute/batch`: run tools. */
export function executeRoutes(engine: Engine): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/execute",
      aliases: ["/execute"],
      operation: "execute",
      summary: "Run one tool for a worker",
      description:
        "The session that the tool needs is the worker's own; without one, a temporary session is made for the call.",
      body: ExecuteRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: {
        400: "Unknown or ambiguous tool, wrong params, or a session that could not be made",
        404: "`session_id` is not the worker's live session",
        500: "The tool failed, or took too long",
      },
      async handle({ body, tenant, outgoing }) {
        const parent = body.on_disconnect === "cancel" ? new ClientWait(outgoing) : undefined;
        const caller = toCaller(tenant, body.worker_id);
        return toReply(await engine.executor.execute(toCall(caller, body, body.trace_id, parent)));
      },
    }),
    route({
      method: "post",
      path: "/api/v1/execute/batch",
      aliases: ["/execute/batch"],
      operation: "batch:execute",
      summary: "Run several tools for a worker",
      body: BatchRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: { 207: "Some actions failed", 500: "All actions failed" },
      async handle({ body, tenant, outgoing }) {
        const parent = body.on_disconnect === "cancel" ? new ClientWait(outgoing) : undefined;
        const caller = toCaller(tenant, body.worker_id);
        const result = await executeBatch(
          engine.executor,
          body.actions.map((item) => toCall(caller, item, body.trace_id, parent)),
          {
            parallel: body.parallel,
            stopOnError: body.stop_on_error,
            maxConcurrency: body.max_concurrency ?? undefined,
          },
          engine.limits,
        );
        return toBatchReply(result, body.trace_id ?? undefined);
      },
    }),
  ];
}

type CallBody = z.output<typeof BatchItem>;

function toCall(
  caller: Caller,
  body: CallBody,
  traceId: string | null | undefined,
  parent: CancelSource | undefined,
): CallRequest {
  return {
    caller,
    action: body.action,
    params: body.params ?? {},
    timeoutMs: body.timeout_ms ?? (body.timeout ?? 0) * 1000,
    sessionId: body.session_id ?? undefined,
    traceId: traceId ?? undefined,
    parent,
  };
}

function toBatchReply({ results, total, executed, successCount }: BatchResult, traceId: string | undefined): Reply {
  const meta = { operation: "batch:execute", traceId };
  const data = { results: results.map(toEnvelope), total, executed, success_count: successCount };
  if (successCount === total) return succeed(meta, data);
  if (successCount > 0) {
    return fail(meta, new ToolyardError("partial_failure", `${successCount} of ${total} actions succeeded`), data);
  }
  return fail(meta, new ToolyardError("all_failed", `None of ${total} actions succeeded`), data);
}
