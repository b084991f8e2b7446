import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import { type Input, tool } from "../../src/core/tool.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree).optional();
  },
});
const Shared = z.object({ id: z.string() }).meta({ id: "SharedThing" });
const Pair = z.object({ left: Shared, right: Shared });

class Trees extends Backend {
  readonly resource = "trees";

  @tool({ description: "Plant a tree.", params: Tree, result: Tree })
  plant(tree: Input<typeof Tree>) {
    return tree;
  }

  @tool({ description: "Compare two things.", params: Pair })
  compare(_pair: Input<typeof Pair>) {}

  @tool({ description: "Has what JSON Schema cannot say.", params: z.object({ at: z.date().optional() }) })
  date() {}
}

/** Finds every `$ref` of a document. */
function refsOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (key === "$ref" ? [String(item)] : refsOf(item)));
}

function follow(document: unknown, ref: string): unknown {
  expect(ref.startsWith("#/")).toBe(true);
  return ref
    .slice(2)
    .split("/")
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, part) => Object(at)[part], document);
}

describe("GET /api/v1/tools", () => {
  it("lists the known five fields of each tool, its schemas and its hints", async () => {
    await using server = await testServer({ backends: [new CounterBackend(), new ScriptedBackend()] });
    const { status, body } = await server.get("/api/v1/tools");
    expect(status).toBe(200);
    expect(body["count"]).toBe(body["tools"].length);
    const names = body["tools"].map((listing: { full_name: string }) => listing.full_name);
    expect(names).toEqual(names.toSorted());
    expect(names).not.toContain("probe:secret");
    expect(body["tools"][names.indexOf("counter:incr")]).toMatchObject({
      name: "incr",
      full_name: "counter:incr",
      resource_type: "counter",
      stateless: false,
      description: "Add.",
      parameters: { type: "object", properties: { by: { type: "number", default: 1 } } },
      allowed_callers: ["direct"],
    });
    // A param with a default may be left out.
    expect(body["tools"][names.indexOf("counter:incr")].parameters).not.toHaveProperty("required");
  });

  it.each(["True", "true", "1"])("adds hidden tools for include_hidden=%s", async (value) => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const { body } = await server.get(`/api/v1/tools?include_hidden=${value}`);
    expect(body["tools"].some((listing: { full_name: string }) => listing.full_name === "probe:secret")).toBe(true);
    expect((await server.execute("probe:secret")).body.data).toEqual({ found: true });
  });

  it("answers 422 for a flag that is none", async () => {
    await using server = await testServer();
    expect((await server.get("/api/v1/tools?include_hidden=False")).status).toBe(200);
    expect((await server.get("/api/v1/tools?include_hidden=maybe")).status).toBe(422);
  });
});

describe("GET /api/v1/tools/{name}/schema", () => {
  it("takes every spelling that an action may have", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    for (const name of ["probe:plot", "probe%3Aplot", "probe.plot", "probe_plot", "probe-plot", "plot"]) {
      const { status, body } = await server.get(`/api/v1/tools/${name}/schema`);
      expect([name, status, body["full_name"]]).toEqual([name, 200, "probe:plot"]);
    }
  });

  it("answers 404 for an unknown or an ambiguous name, with what may have been meant", async () => {
    await using server = await testServer({
      backends: [new CounterBackend(), new CounterBackend({ resource: "other" })],
    });
    const unknown = await server.get("/api/v1/tools/counter:inkr/schema");
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({ status: "error", message: "Tool not found: counter:inkr" });
    const ambiguous = await server.get("/api/v1/tools/incr/schema");
    expect([ambiguous.status, ambiguous.body["candidates"]]).toEqual([404, ["counter:incr", "other:incr"]]);
    for (const name of ["%00", "%0A", "__proto__", "x".repeat(5_000), "%E2%9C%93", "a%2Fb"]) {
      expect([name, (await server.get(`/api/v1/tools/${name}/schema`)).status]).toEqual([name, 404]);
    }
  });
});

describe("GET /openapi.json", () => {
  it("describes every path once, and every reference in it resolves", async () => {
    await using server = await testServer({ backends: [new Trees({ config: {} }), new CounterBackend()] });
    const { status, body } = await server.get("/openapi.json");
    expect([status, body["openapi"]]).toEqual([200, "3.1.0"]);
    const operations = Object.entries<Record<string, { operationId: string; responses: object }>>(
      body["paths"],
    ).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, responses } of operations)
      expect([path, Object.keys(responses)]).toContainEqual(expect.arrayContaining(["200"]));
    expect(operations.map(({ path, method }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        "get /health",
        "get /ready",
        "post /execute",
        "post /execute/batch",
        "post /api/v1/execute",
        "post /api/v1/execute/batch",
        "post /api/v1/lifecycle/heartbeat",
        "post /api/v1/lifecycle/status",
        "post /api/v1/worker/disconnect",
        "post /api/v1/session/create",
        "post /api/v1/session/destroy",
        "post /api/v1/session/list",
        "post /api/v1/session/refresh",
        "post /api/v1/init/resource",
        "post /api/v1/init/batch",
        "post /api/v1/init/from-config",
        "get /api/v1/tools",
        "get /api/v1/tools/{name}/schema",
        "post /api/v1/warmup",
        "get /api/v1/warmup/status",
        "post /api/v1/server/shutdown",
      ]),
    );
    const refs = refsOf(body);
    expect(refs.length).toBeGreaterThan(0);
    for (const ref of refs) expect([ref, follow(body, ref)]).not.toContain(undefined);
    // A tree's children are trees, not the whole document.
    const tree = body["components"].schemas["trees.plant.params"];
    const [childRef] = refsOf(tree.properties.children);
    expect(follow(body, childRef ?? "")).toMatchObject({ properties: { name: { type: "string" } } });
  });

  it("names each path's parameters", async () => {
    await using server = await testServer();
    const { body } = await server.get("/openapi.json");
    for (const [path, methods] of Object.entries<Record<string, { parameters?: { name: string; in: string }[] }>>(
      body["paths"],
    )) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods)) {
        expect(parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)).toEqual(inPath);
      }
    }
  });

  it("is where the index points, and all that the index points to is there", async () => {
    await using server = await testServer();
    const { status, body } = await server.get("/");
    expect(status).toBe(200);
    for (const place of Object.values<string>(body["try"])) {
      const [method, path] = place.split(" ");
      const answer = await fetch(server.url + path, { method: method ?? "", ...(method === "POST" && { body: "{}" }) });
      expect([place, answer.status]).not.toContain(404);
    }
  });
});
