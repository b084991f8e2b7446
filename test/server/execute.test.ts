import { describe, expect, it } from "vitest";
import { ERRORS, ToolyardError } from "../../src/core/errors.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

describe("POST /api/v1/execute", () => {
  it("runs a tool in a temporary session and says so", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const { status, body } = await server.execute("counter:incr", { by: 3 });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      code: 0,
      message: "success",
      data: { value: 3 },
      meta: { tool: "counter:incr", resource_type: "counter", temporary_session: true, outcome: "ok" },
    });
    expect(body.meta.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("says which field of the body is missing, in the words of the params", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { status, body } = await server.post("/execute", { worker_id: "w1" });
    expect([status, body.message]).toEqual([422, "action: is required"]);
    expect(body.data.issues).toEqual([{ path: "action", message: "is required" }]);
    const typed = await server.post("/execute", { worker_id: "w1", action: 1 });
    expect(typed.body.message).toBe("action: Invalid input: expected string, received number");
  });

  it("says of a reserved word that it is no action", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    for (const action of ["constructor", "__proto__", "prototype"]) {
      const { status, body } = await server.post("/execute", { worker_id: "w1", action });
      expect([status, body.meta.error, body.message]).toEqual([
        400,
        "tool_not_found",
        "An action is a tool's name: 1 to 256 printable ASCII characters, and no reserved word",
      ]);
    }
  });

  it("refuses to stream what becomes a job", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { status, body } = await server.execute("counter:incr", {}, { stream: true, async_mode: true });
    expect([status, body.meta.error, body.meta.outcome]).toEqual([400, "invalid_input", "rejected"]);
    expect((await server.get("/api/v1/jobs")).body.data.count).toBe(0);
  });

  it("runs a tool in the worker's own session", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { body: created } = await server.post("/api/v1/session/create", {
      worker_id: "w1",
      resource_type: "counter",
    });
    await server.execute("counter:incr");
    const { body } = await server.execute("incr");
    expect(body.data.value).toBe(2);
    expect(body.meta.session_id).toBe(created.data.session_id);
    expect(body.meta).not.toHaveProperty("temporary_session");
    // Another worker's state is its own.
    const other = await server.post("/execute", { worker_id: "w2", action: "counter:incr" });
    expect(other.body.data.value).toBe(1);
  });

  it("answers the same under its alias, with any content type, with or without params", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const body = { worker_id: "w1", action: "probe:echo", params: { a: [1, "ü"] } };
    for (const path of ["/execute", "/api/v1/execute"]) {
      for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded", ""]) {
        const answer = await server.post(path, body, type === "" ? {} : { "content-type": type });
        expect([answer.status, answer.body.data]).toEqual([200, body.params]);
      }
    }
    for (const params of [undefined, null, {}]) {
      const answer = await server.post("/execute", { ...body, params });
      expect([answer.status, answer.body.data]).toEqual([200, {}]);
    }
  });

  it("takes the known clients' further fields, and drops unknown ones", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const known = { async_mode: false, message_id: "m", message_type: "execute", timestamp: "2026", unknown: {} };
    expect((await server.execute("probe:echo", {}, known)).status).toBe(200);
  });

  it("answers a wrong body with 422 and FastAPI's detail beside the envelope", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const wrong = [
      {},
      { worker_id: "w1" },
      { worker_id: 1, action: "probe:echo" },
      { worker_id: "w1", action: "probe:echo", params: [] },
      { worker_id: "w1", action: "probe:echo", timeout: -1 },
      { worker_id: "w1", action: "probe:echo", timeout: "1" },
      { worker_id: "w1", action: "probe:echo", on_disconnect: "maybe" },
    ];
    for (const body of wrong) {
      const answer = await server.post("/api/v1/execute", body);
      expect([answer.status, answer.body.code, answer.body.meta.error]).toEqual([422, 4002, "unprocessable"]);
      const [detail] = answer.body["detail"];
      expect(detail).toMatchObject({ loc: ["body", expect.any(String)], msg: expect.any(String), type: "value_error" });
    }
  });

  it("answers an unknown and an ambiguous tool with 400 and code 4002", async () => {
    const backends = [new CounterBackend(), new CounterBackend({ resource: "other" })];
    await using server = await testServer({ backends });
    const unknown = await server.execute("counter:nothing");
    expect([unknown.status, unknown.body.code, unknown.body.meta.outcome]).toEqual([400, 4002, "rejected"]);
    const ambiguous = await server.execute("get");
    expect([ambiguous.status, ambiguous.body.code]).toEqual([400, 4002]);
    expect(ambiguous.body.data.candidates).toEqual(["counter:get", "other:get"]);
  });

  it("gives every typed error of a tool its code, status, outcome and advice", async () => {
    const probe = new ScriptedBackend();
    await using server = await testServer({ backends: [probe] });
    for (const [name, row] of Object.entries(ERRORS)) {
      // A tool that has begun may have had its effect: what says "send it to the next server" is not said for it.
      if (name === "shutting_down") continue;
      probe.script = () => {
        throw new ToolyardError(name as keyof typeof ERRORS, "why", { details: { fact: 1 } });
      };
      const { status, body } = await server.execute("probe:probe");
      expect([status, body.code, body.message, body.data]).toEqual([row.status, row.code, "why", { fact: 1 }]);
      const { outcome, retryable, suggestion } = row;
      expect(body.meta).toMatchObject({ outcome, retryable, suggestion, error: name });
    }
  });
});

describe("a tool that says the server is stopping", () => {
  it("is answered as an unknown outcome, since it had begun", async () => {
    const probe = new ScriptedBackend();
    await using server = await testServer({ backends: [probe] });
    probe.script = () => {
      throw new ToolyardError("shutting_down", "why");
    };
    const { status, body } = await server.execute("probe:probe");
    expect([status, body.code]).toEqual([500, 5032]);
    expect(body.meta).toMatchObject({ outcome: "infra_error", error: "unknown_outcome", retryable: false });
  });
});

describe("a path", () => {
  it("that is not there is 404, and one with another method 405, both with FastAPI's detail", async () => {
    await using server = await testServer();
    const nowhere = await server.get("/api/v2/execute");
    expect([nowhere.status, nowhere.body.code, nowhere.body["detail"]]).toEqual([404, 4040, "Not Found"]);
    const wrong = await server.get("/api/v1/execute");
    expect([wrong.status, wrong.body.code, wrong.body["detail"]]).toEqual([405, 4050, "Method Not Allowed"]);
    expect(wrong.headers.get("allow")).toBe("POST");
    expect((await server.post("/health", {})).headers.get("allow")).toBe("GET");
  });

  it("takes HEAD where it takes GET", async () => {
    await using server = await testServer();
    const response = await fetch(`${server.url}/health`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});
