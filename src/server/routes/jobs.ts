import { ToolyardError } from "../../core/errors.ts";
import type { JobRecord } from "../../core/store.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Kept } from "../../engine/idempotency.ts";
import { resultOf } from "../../engine/jobs.ts";
import { demandUse, mayUse } from "../auth/tool-access.ts";
import { checkName } from "../caller.ts";
import { ClientWait } from "../disconnect.ts";
import { type Reply, succeed, toEnvelope } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

const LISTED = { default: 100, maximum: 1_000 };

/** Calls that outlive their connection: how they are, what they came to, and their end. */
export function jobRoutes({ jobs, limits, catalog }: Engine): readonly AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/api/v1/jobs",
      access: "read",
      operation: "job:list",
      summary: "List jobs, newest first",
      description:
        "`worker_id` asks for one worker's; `limit` is 100 by default and 1000 at most. Results are left out.",
      enveloped: true,
      queryNames: { worker_id: false, limit: false },
      async handle({ query, identity, tenant }) {
        const worker = query.get("worker_id");
        const records = await jobs.list(tenant, {
          workerId: worker === null ? undefined : checkName("worker_id", worker),
          limit: Math.min(readWhole(query, "limit", LISTED.default), LISTED.maximum),
        });
        const visible = records.filter(({ action }) => mayUse(catalog, identity, "read", action));
        const listed = visible.map((record) => describeJob(record));
        return succeed({ operation: "job:list" }, { jobs: listed, count: listed.length });
      },
    }),
    route({
      method: "get",
      path: "/api/v1/jobs/:job_id",
      access: "read",
      operation: "job:get",
      summary: "Tell how a job is, and its result once it is over",
      enveloped: true,
      statuses: { 404: "There is no such job" },
      async handle({ path, identity, tenant }) {
        const record = await jobs.get(tenant, path["job_id"] ?? "");
        demandUse(catalog, identity, "read", record.action);
        return answer("job:get", record);
      },
    }),
    route({
      method: "get",
      path: "/api/v1/jobs/:job_id/wait",
      access: "read",
      operation: "job:wait",
      summary: "Wait for a job's end, and tell how it is",
      description:
        "Waits `timeout_ms`, or `timeout` seconds, which `limits.job_wait_ms` bounds and is by default; then tells the state as it is.",
      enveloped: true,
      queryNames: { timeout_ms: false, timeout: false },
      statuses: { 404: "There is no such job" },
      async handle({ path, query, identity, tenant, outgoing }) {
        if (identity.scopes !== undefined) {
          demandUse(catalog, identity, "read", (await jobs.get(tenant, path["job_id"] ?? "")).action);
        }
        const wantedMs = readWhole(query, "timeout_ms", readSeconds(query, "timeout") ?? limits.jobWaitMs);
        const timeoutMs = Math.min(wantedMs, limits.jobWaitMs);
        return answer("job:wait", await jobs.wait(tenant, path["job_id"] ?? "", timeoutMs, new ClientWait(outgoing)));
      },
    }),
    route({
      method: "post",
      path: "/api/v1/jobs/:job_id/cancel",
      access: "execute",
      operation: "job:cancel",
      summary: "Cancel a job; one that is over stays as it is",
      enveloped: true,
      statuses: { 404: "There is no such job" },
      async handle({ path, identity, tenant }) {
        if (identity.scopes !== undefined) {
          demandUse(catalog, identity, "execute", (await jobs.get(tenant, path["job_id"] ?? "")).action);
        }
        return answer("job:cancel", await jobs.cancel(tenant, path["job_id"] ?? ""));
      },
    }),
  ];
}

/** Answers a call that became a job. */
export function toJobReply({ value, replayed }: Kept<JobRecord>): Reply {
  return {
    ...answer("execute", value),
    status: 202,
    headers: {
      location: `/api/v1/jobs/${value.id}`,
      ...(replayed && { "idempotency-replayed": "true" }),
    },
  };
}

function answer(operation: string, record: JobRecord): Reply {
  const result = resultOf(record);
  return succeed({ operation }, { ...describeJob(record), result: result === null ? null : toEnvelope(result) });
}

function describeJob(record: JobRecord): object {
  return {
    job_id: record.id,
    state: record.state,
    worker_id: record.workerId,
    action: record.action,
    created_at: new Date(record.createdAt).toISOString(),
    ended_at: record.endedAt === null ? null : new Date(record.endedAt).toISOString(),
    progress: record.progress === null ? null : JSON.parse(record.progress),
  };
}

/** Returns milliseconds. */
function readSeconds(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,6}(?:\.\d{1,6})?$/.test(text)) return Math.ceil(Number(text) * 1000);
  throw new ToolyardError("invalid_input", `${name} takes a number of seconds`);
}

function readWhole(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ToolyardError("invalid_input", `${name} takes a whole number`);
}
