import { type Outcome, ToolyardError } from "../../core/errors.ts";
import { InitBatchRequest, InitFromConfigRequest, InitResourceRequest } from "../../core/protocol.ts";
import type { CancelSource } from "../../engine/deadline.ts";
import type { Engine } from "../../engine/engine.ts";
import { isConfiguredAs } from "../../engine/session-config.ts";
import type { Caller } from "../../engine/session-table.ts";
import { demand } from "../auth/identity.ts";
import { checkName, toCaller } from "../caller.ts";
import type { ConfigFolder } from "../config-folder.ts";
import { ClientWait } from "../disconnect.ts";
import { fail, type Reply, succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";
import { toFailedSession, toInitFailure } from "./init-failure.ts";
import { sumOutcome } from "./sum-outcome.ts";

/** Sessions by config: one, several, or a look at a config file. */
export function initRoutes(engine: Engine, folder: ConfigFolder): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/init/resource",
      access: "session",
      operation: "init:resource",
      summary: "Make a worker's session on a resource, or get the one it has",
      description:
        "An existing session is kept, with its own config: `data.status` is `exists`, and `config_applied` says whether this " +
        "config is in force.",
      body: InitResourceRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: { 500: "The session could not be initialized" },
      async handle({ body, identity, outgoing }) {
        const caller = toCaller(identity, body.worker_id);
        const resource = checkName("resource_type", body.resource_type);
        demand(identity, "session", resource);
        const meta = { operation: "init:resource", resourceType: resource };
        try {
          const wait = new ClientWait(outgoing);
          const { existed, facts } = await initialize(engine, caller, resource, body.init_config ?? {}, wait);
          return succeed(
            { ...meta, sessionId: facts.session_id },
            { ...(existed && { status: "exists" }), resource_type: resource, ...facts },
          );
        } catch (error) {
          return toInitFailure(meta, error, () => ({ resource_type: resource }));
        }
      },
    }),
    route({
      method: "post",
      path: "/api/v1/init/batch",
      access: "session",
      operation: "init:batch",
      summary: "Make a worker's sessions on several resources",
      description: "A result's `existed` and `config_applied` tell of a session that was kept, with its own config.",
      body: InitBatchRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: { 207: "Some sessions could not be initialized", 500: "None could" },
      async handle({ body, identity, outgoing }) {
        const caller = toCaller(identity, body.worker_id);
        const wait = new ClientWait(outgoing);
        for (const resource of Object.keys(body.resource_configs)) {
          demand(identity, "session", checkName("resource_configs", resource));
        }
        const results = await Promise.all(
          Object.entries(body.resource_configs).map(
            async ([resource, config]) =>
              [resource, await initializeOne(engine, caller, resource, contentOf(config), wait)] as const,
          ),
        );
        return toBatchReply(body.worker_id, results);
      },
    }),
    route({
      method: "post",
      path: "/api/v1/init/from-config",
      access: "server:read",
      operation: "init:from_config",
      summary: "Read a config file of the server's config folder",
      description: "Secrets are masked, placeholders are not filled in, nothing is initialized.",
      body: InitFromConfigRequest,
      badBody: "unprocessable",
      enveloped: true,
      statuses: { 404: "There is no such file in the config folder" },
      async handle({ body, identity }) {
        toCaller(identity, body.worker_id);
        const config = await folder.read(body.config_path);
        const overrides = body.override_params ?? {};
        const known = Object.entries(overrides).filter(([key]) => Object.hasOwn(config, key));
        return succeed(
          { operation: "init:from_config" },
          { config_loaded: body.config_path, config: { ...config, ...Object.fromEntries(known) } },
        );
      },
    }),
  ];
}

async function initialize(
  engine: Engine,
  caller: Caller,
  resource: string,
  config: Readonly<Record<string, unknown>>,
  wait: CancelSource,
) {
  const { record, how } = await engine.router.create({ ...caller, resource, config }, wait);
  const existed = how === "exists";
  return {
    existed,
    facts: {
      session_id: record.id,
      session_status: record.state,
      error: null,
      config_applied: !existed || isConfiguredAs(record, config),
    },
  };
}

interface InitAnswer {
  /** What the wire says of it. */
  readonly data: InitData;
  readonly outcome: Outcome;
}

interface InitData {
  readonly status: "success" | "error";
  readonly session_id: string | null;
  readonly session_status: string;
  readonly error: string | null;
  /** Whether the config is in force. */
  readonly config_applied?: boolean;
  /** The worker had the session, which was kept with its own config; the wire's `status` is `success` all the same. */
  readonly existed?: true;
}

async function initializeOne(
  engine: Engine,
  caller: Caller,
  resource: string,
  config: Readonly<Record<string, unknown>>,
  wait: CancelSource,
): Promise<InitAnswer> {
  try {
    const { existed, facts } = await initialize(engine, caller, resource, config, wait);
    return { data: { status: "success", ...facts, ...(existed && { existed }) }, outcome: "ok" };
  } catch (error) {
    const known = ToolyardError.is(error);
    const message = known ? error.message : `${resource} could not be initialized`;
    return {
      data: { status: "error", ...toFailedSession(message) },
      outcome: known ? error.outcome : "infra_error",
    };
  }
}

function contentOf(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { content } = config;
  return typeof content === "object" && content !== null && !Array.isArray(content) ? { ...content } : config;
}

function toBatchReply(workerId: string, answers: readonly (readonly [string, InitAnswer])[]): Reply {
  const total = answers.length;
  const failed = answers.filter(([, { data }]) => data.status === "error");
  const successCount = total - failed.length;
  const results = Object.fromEntries(answers.map(([resource, { data }]) => [resource, data]));
  const data = { worker_id: workerId, results, total, success_count: successCount };
  const meta = { operation: "init:batch" };
  if (successCount === total) return succeed(meta, data);
  const whose = sumOutcome(failed.map(([, { outcome }]) => outcome));
  if (successCount > 0) {
    const some = new ToolyardError("partial_failure", `${successCount} of ${total} sessions were initialized`, whose);
    return fail(meta, some, data);
  }
  return fail(meta, new ToolyardError("all_failed", `None of ${total} sessions could be initialized`, whose), data);
}
