import { z } from "zod";
import type { Catalog } from "../engine/catalog.ts";
import { ERRORS } from "../core/errors.ts";
import type { AnyRoute } from "./route.ts";

export interface OpenApiInfo {
  readonly title: string;
  readonly description: string;
  readonly version: string;
}

const ENVELOPE = { $ref: "#/components/schemas/Envelope" };
const OUTCOMES = ["ok", "tool_error", "limit", "infra_error", "rejected"];

/** How a key is sent, where the server asks for one. */
const KEY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  header: { type: "apiKey", in: "header", name: "X-API-Key" },
};

/** Writes the API and the schemas of every tool as an OpenAPI 3.1 document. */
export function createOpenApi(routes: readonly AnyRoute[], catalog: Catalog, info: OpenApiInfo): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      const name = path.replace(/:(\w+)/g, "{$1}");
      (paths[name] ??= {})[route.method] = describeRoute(route, path);
    }
  }
  return {
    openapi: "3.1.0",
    info,
    paths,
    security: Object.keys(KEY_SCHEMES).map((scheme) => ({ [scheme]: [] })),
    components: { securitySchemes: KEY_SCHEMES, schemas: { Envelope: envelopeSchema(), ...toolSchemas(catalog) } },
  };
}

function describeRoute(route: AnyRoute, path: string): object {
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => toParameter(name, "path", true)),
    ...Object.entries(route.queryNames ?? {}).map(([name, required]) => toParameter(name, "query", required)),
  ];
  const json = { "application/json": { schema: route.enveloped ? ENVELOPE : { type: "object" } } };
  const bytes = route.binary?.response;
  const contentOf = (status: string) =>
    bytes !== undefined && Number(status) < 300 ? { [bytes]: { schema: { type: "string", format: "binary" } } } : json;
  const statuses: Readonly<Record<number, string>> = {
    200: "Done",
    ...(route.body !== undefined && {
      [ERRORS[route.badBody ?? "invalid_request"].status]: "The body is not what the schema asks for",
    }),
    ...route.statuses,
  };
  return {
    operationId:
      path === route.path ? route.operation.replace(/\W/g, "_") : `${route.operation.replace(/\W/g, "_")}_short`,
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    "x-access": route.access ?? "server:admin",
    ...(route.access === "anyone" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: { required: true, content: { "application/json": { schema: toSchema(route.body) } } },
    }),
    ...(route.binary?.request !== undefined && {
      requestBody: {
        required: true,
        content: { [route.binary.request]: { schema: { type: "string", format: "binary" } } },
      },
    }),
    responses: Object.fromEntries(
      Object.entries(statuses).map(([status, description]) => [status, { description, content: contentOf(status) }]),
    ),
  };
}

function toParameter(name: string | undefined, place: "path" | "query", required: boolean): object {
  return { name, in: place, required, schema: { type: "string" } };
}

function toSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

/** Two schemas a tool, `{full name}.params` and `.result`, with the characters that component names may have. */
function toolSchemas(catalog: Catalog): Readonly<Record<string, object>> {
  const entries = catalog.list().flatMap((tool) => {
    const name = tool.full_name.replace(/[^\w.-]/g, ".");
    const about = { title: tool.full_name, description: tool.description };
    const params = toComponent(`${name}.params`, { ...about, ...tool.parameters });
    return tool.result === null
      ? [params]
      : [params, toComponent(`${name}.result`, { title: tool.full_name, ...tool.result })];
  });
  return Object.fromEntries(entries);
}

/** Lets the references of a schema that stood alone start at its place in the document. */
function toComponent(name: string, schema: object): readonly [string, object] {
  const rebase = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rebase);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        key === "$ref" && typeof item === "string" ? item.replace(/^#/, `#/components/schemas/${name}`) : rebase(item),
      ]),
    );
  };
  return [name, Object(rebase(schema))];
}

function envelopeSchema(): object {
  return {
    type: "object",
    required: ["code", "message", "data", "meta"],
    properties: {
      code: {
        type: "integer",
        description: "0 is success",
        enum: [0, ...new Set(Object.values(ERRORS).map(({ code }) => code))],
      },
      message: { type: "string", description: "`success`, or what failed" },
      data: { description: "The result, or facts about the failure" },
      meta: {
        type: "object",
        required: ["tool", "execution_time_ms", "resource_type", "session_id", "trace_id", "outcome"],
        properties: {
          tool: { type: "string" },
          execution_time_ms: { type: ["number", "null"] },
          resource_type: { type: ["string", "null"] },
          session_id: { type: ["string", "null"] },
          trace_id: { type: "string" },
          outcome: { enum: OUTCOMES },
          queued_ms: { type: "number" },
          temporary_session: { const: true },
          expired_session: { type: "string" },
          lossy: { type: "array", items: { type: "string" } },
          error: { enum: Object.keys(ERRORS) },
          retryable: { type: "boolean" },
          suggestion: { type: "string" },
        },
      },
    },
  };
}
