import { ToolyardError } from "../../core/errors.ts";
import type { RecordingFacts } from "../../core/terminal-recordings.ts";
import type { Engine } from "../../engine/engine.ts";
import { demand, mayDo } from "../auth/identity.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route, type RouteRequest } from "../route.ts";

const PATH = "/api/v1/recordings/terminals";
const MEDIA_TYPE = "application/x-asciicast";

/** What terminals have shown, also those of sessions that are over. */
export function recordingRoutes({ recordings }: Pick<Engine, "recordings">): readonly AnyRoute[] {
  const find = async ({ tenant, path, identity }: RouteRequest<unknown>, verb: "read" | "execute") => {
    const id = path["recording_id"] ?? "";
    const found = await recordings?.find(tenant, id);
    if (found === undefined) throw new ToolyardError("unknown_name", "There is no such recording");
    demand(identity, verb, found.resource);
    return found;
  };
  const statuses = { 404: "There is no such recording" };
  return [
    route({
      method: "get",
      path: PATH,
      access: "read",
      operation: "recordings:list",
      summary: "List the recordings of terminals that are kept, newest first",
      description: "`session_id` and `worker_id` narrow it. `kept` says whether this server keeps any.",
      queryNames: { session_id: false, worker_id: false },
      enveloped: true,
      async handle({ tenant, identity, query }) {
        const [sessionId, workerId] = [query.get("session_id"), query.get("worker_id")];
        const all = (await recordings?.list(tenant)) ?? [];
        const listed = all.filter(
          (facts) =>
            mayDo(identity, "read", facts.resource) &&
            (sessionId === null || facts.sessionId === sessionId) &&
            (workerId === null || facts.workerId === workerId),
        );
        const data = { kept: recordings !== undefined, recordings: listed.map(describe) };
        return succeed({ operation: "recordings:list" }, data);
      },
    }),
    route({
      method: "get",
      path: `${PATH}/:recording_id`,
      access: "read",
      operation: "recordings:download",
      summary: "Download a terminal's recording, an asciicast of version 2",
      binary: { response: MEDIA_TYPE },
      enveloped: false,
      statuses,
      async handle(request) {
        const facts = await find(request, "read");
        return {
          status: 200,
          body: null,
          headers: {
            "content-type": MEDIA_TYPE,
            "content-length": String(facts.sizeBytes),
            "content-disposition": `attachment; filename="${facts.terminalId}-${facts.id}.cast"`,
            "x-content-type-options": "nosniff",
          },
          // Only there if it was found, and so if recordings are kept.
          stream: ReadableStream.from(recordings?.read(facts) ?? []) as ReadableStream<Uint8Array>,
        };
      },
    }),
    route({
      method: "delete",
      path: `${PATH}/:recording_id`,
      access: "execute",
      operation: "recordings:delete",
      summary: "Delete a terminal's recording; one that is under way ends",
      enveloped: true,
      statuses,
      async handle(request) {
        const { id, tenant, resource, sessionId } = await find(request, "execute");
        const deleted = (await recordings?.remove(tenant, id)) ?? false;
        return succeed({ operation: "recordings:delete", resourceType: resource, sessionId }, { id, deleted });
      },
    }),
  ];
}

function describe(facts: RecordingFacts) {
  return {
    id: facts.id,
    session_id: facts.sessionId,
    worker_id: facts.workerId,
    resource_type: facts.resource,
    terminal_id: facts.terminalId,
    started_at: facts.startedAt.toISOString(),
    size_bytes: facts.sizeBytes,
    running: facts.running,
  };
}
