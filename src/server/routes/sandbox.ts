import { z } from "zod";
import { MAX_NAME_LENGTH } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import { actionIn, type SandboxAction } from "../../engine/session-actions.ts";
import { demand } from "../auth/identity.ts";
import { ClientWait } from "../disconnect.ts";
import { type Reply, toReply } from "../reply.ts";
import { type AnyRoute, route, type RouteRequest } from "../route.ts";

const PATH = "/api/v1/sandbox/:session_id";

/** What goes to the tool as its params, and beside them what goes with any call. */
const ToolRequest = z
  .looseObject({
    timeout_ms: z.number().min(0).nullish(),
    trace_id: z.string().max(MAX_NAME_LENGTH).nullish(),
    control_lease: z.string().max(MAX_NAME_LENGTH).nullish(),
  })
  .prefault({});

/** One path, and the tool that it calls. */
type Row = readonly [method: "get" | "post", path: string, action: SandboxAction, operation: string, summary: string];

const ROWS: readonly Row[] = [
  ["post", "/terminal/start", "terminal:start", "sandbox:terminal_start", "Start a terminal in a session's sandbox"],
  ["post", "/terminal/stop", "terminal:stop", "sandbox:terminal_stop", "Stop a terminal: `terminal_id`, or the newest"],
  ["get", "/terminal", "terminal:status", "sandbox:terminal_status", "List the terminals of a session's sandbox"],
  ["post", "/desktop/start", "desktop:start", "sandbox:desktop_start", "Start the desktop of a session"],
  ["post", "/desktop/stop", "desktop:stop", "sandbox:desktop_stop", "Stop the desktop of a session"],
  [
    "post",
    "/desktop/stream_url",
    "desktop:stream_url",
    "sandbox:desktop_stream_url",
    "Make a URL at which one viewer watches a session's desktop, or works at it",
  ],
  ["get", "/desktop", "desktop:status", "sandbox:desktop_status", "Tell the state of a session's desktop"],
  ["post", "/execute", "command:execute", "sandbox:execute", "Run a command in a session's sandbox: `command`"],
];

const DESCRIPTION =
  "Calls the session's own tool as `/execute` does, with the body as its params; `timeout_ms`, `trace_id` and `control_lease` are the call's.";

/** `/api/v1/sandbox/{session_id}`: the sandbox of a session from outside, by the very tools that its agent has. */
export function sandboxRoutes(engine: Engine): readonly AnyRoute[] {
  return ROWS.map(([method, path, action, operation, summary]) =>
    route({
      method,
      path: PATH + path,
      access: "execute",
      operation,
      summary,
      description: DESCRIPTION,
      enveloped: true,
      statuses: {
        400: "The session's kind of sandbox has nothing of the sort, or wrong params",
        404: "There is no such session",
        409: "A human has control of it",
      },
      ...(method === "post" && { body: ToolRequest }),
      handle: (request: RouteRequest<z.output<typeof ToolRequest> | undefined>) => callTool(engine, action, request),
    }),
  );
}

async function callTool(
  engine: Engine,
  action: SandboxAction,
  { body = {}, path, identity, outgoing }: RouteRequest<z.output<typeof ToolRequest> | undefined>,
): Promise<Reply> {
  const record = await engine.router.findById(identity.tenant, path["session_id"] ?? "");
  demand(identity, "execute", record.resource);
  const { timeout_ms: ownTimeoutMs, trace_id: traceId, control_lease: lease, ...params } = body;
  const { tenant, workerId, id } = record;
  const result = await engine.executor.execute({
    caller: { tenant, workerId, scopes: identity.scopes, keyId: identity.keyId },
    action: actionIn(engine.catalog, record, action),
    // A command has a timeout of its own beside the call's, and ends better by it.
    params:
      action === "command:execute" && typeof ownTimeoutMs === "number"
        ? { ...params, timeout_ms: ownTimeoutMs }
        : params,
    timeoutMs: action === "command:execute" ? undefined : (ownTimeoutMs ?? undefined),
    sessionId: id,
    traceId: traceId ?? undefined,
    controlLease: lease ?? undefined,
    parent: new ClientWait(outgoing),
  });
  return toReply(result);
}
