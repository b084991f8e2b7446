import { expect, test } from "vitest";
import { ConnectionError } from "../../src/client/errors/connection-error.ts";
import { ProtocolError } from "../../src/client/errors/protocol-error.ts";
import { ServerError } from "../../src/client/errors/server-error.ts";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import { envelope, failure, type Script, sendJson, startScriptedServer } from "./scripted-server.ts";

const quick = { retryDelayMs: 1, workerId: "w1" };

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail("it did not throw"),
    (error: unknown) => error,
  );
}

async function failWith(script: Script, action: (client: HttpServiceClient) => Promise<unknown>) {
  await using server = await startScriptedServer(script);
  const error = await thrownBy(action(new HttpServiceClient({ baseUrl: server.url, ...quick })));
  // What a client asks of the server itself, when a call was cut, is not the call.
  return { error, requests: server.seen.filter(({ path }) => path !== "/health").length };
}

test("sends worker, action, params and options on the wire, under an Idempotency-Key of its own per call", async () => {
  await using server = await startScriptedServer((response) => sendJson(response, envelope({ result: 1 })));
  const client = new HttpServiceClient({ baseUrl: `${server.url}/`, ...quick, apiKey: "secret" });
  await client.call(
    "echo",
    { message: "hi" },
    { timeoutMs: 500, sessionId: "s", traceId: "t", onDisconnect: "detach" },
  );
  await client.call("echo");
  expect(server.seen[0]?.path).toBe("/api/v1/execute");
  expect(server.seen[0]?.body).toEqual({
    worker_id: "w1",
    action: "echo",
    params: { message: "hi" },
    timeout_ms: 500,
    session_id: "s",
    trace_id: "t",
    on_disconnect: "detach",
  });
  expect(server.seen[1]?.body).toEqual({ worker_id: "w1", action: "echo", params: {} });
  const keys = server.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(new Set(keys).size).toBe(2);
  expect(server.seen[0]?.headers.authorization).toBe("Bearer secret");
});

test("call returns a failure as a value; executeUntyped throws it with name, code, advice and envelope", async () => {
  const answer = failure(4007, "gone", { error: "session_expired", suggestion: "make one" }, { resource_type: "vm" });
  await using server = await startScriptedServer((response) => sendJson(response, answer, 404));
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  const result = await client.call("vm:click");
  expect(result).toMatchObject({
    ok: false,
    error: {
      error: "session_expired",
      code: 4007,
      status: 404,
      suggestion: "make one",
      details: { resource_type: "vm" },
    },
  });
  const error = await thrownBy(client.executeUntyped("vm:click"));
  expect(error).toBeInstanceOf(ServerError);
  expect(ToolyardError.is(error)).toBe(true);
  expect(error).toMatchObject({ error: "session_expired", code: 4007, message: "gone", envelope: answer });
  expect(String(error)).toBe("ServerError: gone");
});

test("reads an older server's failure, which has a code and nothing more", async () => {
  const { tool, trace_id } = envelope(null).meta;
  const answer = { code: 5006, message: "timed out", data: { timeout: 1 }, meta: { tool, trace_id } };
  const { error } = await failWith(
    (response) => sendJson(response, answer, 500),
    (client) => client.executeUntyped("echo"),
  );
  expect(error).toMatchObject({ error: "timeout", code: 5006, outcome: "limit", status: 500 });
});

test("D10: a call's connection that is cut after sending is not used again, where no server says that it keeps keys", async () => {
  const { error, requests } = await failWith(
    (response) => response.destroy(),
    (client) => client.call("code:run"),
  );
  expect(requests).toBe(1);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ failure: "interrupted", mayHaveRun: true, method: "POST" });
});

test("D10: an answer that is cut in its body is not asked for again by a call, where no server says that it keeps keys", async () => {
  const { error, requests } = await failWith(
    (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"code":0');
      setImmediate(() => response.destroy());
    },
    (client) => client.call("code:run"),
  );
  expect(requests).toBe(1);
  expect(error).toMatchObject({ failure: "interrupted", mayHaveRun: true });
});

test("D10: the client waits longer than the server's limit, and a call that times out on it is not repeated", async () => {
  await using server = await startScriptedServer((response) => {
    setTimeout(() => sendJson(response, failure(5006, "timed out", { error: "timeout" }), 500), 150);
  });
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  const result = await client.call("sleep", { seconds: 9 }, { timeoutMs: 50 });
  expect(result).toMatchObject({ ok: false, error: { error: "timeout" } });
  expect(server.seen).toHaveLength(1);
});

test("repeats a read whose connection is cut, up to maxRetries times", async () => {
  await using server = await startScriptedServer((response, _seen, index) => {
    if (index < 2) response.destroy();
    else sendJson(response, envelope({ worker_id: "w1", active_sessions: [], timestamp: "" }));
  });
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  await expect(client.heartbeat()).resolves.toMatchObject({ worker_id: "w1" });
  expect(server.seen).toHaveLength(3);

  const { error, requests } = await failWith(
    (response) => response.destroy(),
    (lossy) => lossy.listTools(),
  );
  expect(requests).toBe(4);
  expect(error).toMatchObject({ failure: "interrupted", method: "GET" });
});

test.each(["createSession", "destroySession", "initResource"] as const)("never repeats %s", async (method) => {
  const { requests } = await failWith(
    (response) => response.destroy(),
    (client) => client[method]("vm"),
  );
  expect(requests).toBe(1);
});

test("repeats a call that was turned away with 429 and Retry-After, under the same Idempotency-Key", async () => {
  await using server = await startScriptedServer((response, _seen, index) => {
    const full = failure(4290, "full", { error: "overloaded", retryable: true });
    if (index < 2) sendJson(response, full, 429, { "retry-after": "0" });
    else sendJson(response, envelope({ result: "in" }));
  });
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  await expect(client.call("echo")).resolves.toMatchObject({ ok: true, data: { result: "in" } });
  expect(server.seen).toHaveLength(3);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("gives back the 429's own error when the retries are used up", async () => {
  const { error, requests } = await failWith(
    (response) => sendJson(response, failure(4290, "full", { error: "overloaded", retryable: true }), 429),
    (client) => client.executeUntyped("echo"),
  );
  expect(requests).toBe(4);
  expect(error).toMatchObject({ error: "overloaded", status: 429, message: "full" });
});

test("repeats a call on a 503 only when the server says that it did not run", async () => {
  const stopping = await failWith(
    (response) => sendJson(response, failure(5031, "stopping", { error: "shutting_down", retryable: true }), 503),
    (client) => client.executeUntyped("echo"),
  );
  expect(stopping.requests).toBe(4);
  const missing = await failWith(
    (response) => sendJson(response, failure(5030, "no docker", { error: "runtime_unavailable" }), 503),
    (client) => client.executeUntyped("echo"),
  );
  expect(missing.requests).toBe(1);
  const proxy = await failWith(
    (response) => response.writeHead(503, { "retry-after": "0" }).end("try later"),
    (client) => client.executeUntyped("echo"),
  );
  expect(proxy.requests).toBe(1);
  expect(proxy.error).toBeInstanceOf(ProtocolError);
});

test("connects again to a server that was not up yet, since nothing was sent", async () => {
  const free = await startScriptedServer(() => {});
  const { url } = free;
  await free[Symbol.asyncDispose]();
  const client = new HttpServiceClient({ baseUrl: url, workerId: "w1", retryDelayMs: 300 });
  const calling = client.call("echo");
  await using _server = await startScriptedServer(
    (response) => sendJson(response, envelope({ result: 1 })),
    Number(new URL(url).port),
  );
  await expect(calling).resolves.toMatchObject({ ok: true });
});

test("says that nothing listens, and that nothing was sent", async () => {
  const free = await startScriptedServer(() => {});
  await free[Symbol.asyncDispose]();
  const client = new HttpServiceClient({ baseUrl: free.url, ...quick });
  const error = await thrownBy(client.call("echo"));
  expect(error).toMatchObject({ name: "ConnectionError", failure: "unreachable", mayHaveRun: false });
  expect(String(error)).toContain(`ECONNREFUSED) on POST ${free.url}/api/v1/execute`);
});

test.each(["asked before", "asked when a call is cut"])(
  "repeats a cut call at a server that keeps keys, %s",
  async (when) => {
    let cut = false;
    await using server = await startScriptedServer((response, { path }) => {
      if (path === "/health")
        return sendJson(response, { status: "healthy", timestamp: "", features: ["idempotency"] });
      if (cut) return sendJson(response, envelope({ result: 1 }));
      cut = true;
      response.destroy();
    });
    const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
    if (when === "asked before") await client.connect();
    await expect(client.forWorker("w2").call("echo")).resolves.toMatchObject({ ok: true });
    await expect(client.call("echo")).resolves.toMatchObject({ ok: true });
    const [first, second, ...more] = server.seen.filter(({ path }) => path !== "/health");
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
    expect(more).toHaveLength(1);
    expect(server.seen).toHaveLength(4);
  },
);

test("D28: a plain text 500 is a ProtocolError with status and body, not a JSON syntax error", async () => {
  const { error } = await failWith(
    (response) => response.writeHead(500, { "content-type": "text/plain" }).end("Internal Server Error"),
    (client) => client.call("echo"),
  );
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error).toMatchObject({ status: 500, body: "Internal Server Error", method: "POST" });
});

test.each([
  ["an empty body", ""],
  ["JSON that is no envelope", '{"hello":"world"}'],
  ["JSON that is no object", "[1]"],
])("D28: %s is a ProtocolError", async (_name, body) => {
  const { error } = await failWith(
    (response) => response.writeHead(200, { "content-type": "application/json" }).end(body),
    (client) => client.call("echo"),
  );
  expect(error).toBeInstanceOf(ProtocolError);
});

test("reads the {detail} of an older server's 422 and the {message} of its 404 as errors", async () => {
  const invalid = await failWith(
    (response) => sendJson(response, { detail: [{ msg: "Field required" }] }, 422),
    (client) => client.call("echo"),
  );
  expect(invalid.error).toMatchObject({ error: "unprocessable", status: 422, message: '[{"msg":"Field required"}]' });
  const missing = await failWith(
    (response) => sendJson(response, { status: "error", message: "Tool not found: x" }, 404),
    (client) => client.getToolSchema("a:x"),
  );
  expect(missing.error).toMatchObject({ error: "unknown_name", status: 404, message: "Tool not found: x" });
});

test("connect refuses something else that answers on the port", async () => {
  const { error } = await failWith(
    (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>hello</html>"),
    (client) => client.connect(),
  );
  expect(error).toBeInstanceOf(ProtocolError);
  expect(String(error)).toContain("<html>hello</html>");
});

test("an aborted call throws the signal's reason and closes its connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await startScriptedServer((response) => response.on("close", closed.resolve));
  const abort = new AbortController();
  const calling = new HttpServiceClient({ baseUrl: server.url, ...quick }).call("echo", {}, { signal: abort.signal });
  while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
  abort.abort(new Error("enough"));
  await expect(calling).rejects.toThrow("enough");
  await closed.promise;
});

test("refuses params that JSON cannot hold before anything is sent", async () => {
  const { error, requests } = await failWith(
    (response) => sendJson(response, envelope(null)),
    (client) => client.call("echo", { big: 1n }),
  );
  expect(requests).toBe(0);
  expect(error).toMatchObject({ error: "invalid_input" });
});

test("returns a batch's results as values, in order, also when some or all failed", async () => {
  const failed = failure(5000, "no", { error: "execution_error", outcome: "tool_error" });
  const older = { code: 5006, message: "timed out", data: null, meta: {} };
  const results = [envelope({ result: 1 }), failed, older];
  const answer = {
    ...failure(5010, "partial", { error: "partial_failure" }),
    data: { results, total: 3, executed: 3, success_count: 1 },
  };
  await using server = await startScriptedServer((response) => sendJson(response, answer, 207));
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  const batch = await client.executeBatch([{ action: "echo" }, { action: "boom" }, { action: "echo" }], {
    parallel: true,
  });
  expect(batch).toMatchObject({ ok: false, total: 3, executed: 3, successCount: 1 });
  expect(batch.results.map(({ ok }) => ok)).toEqual([true, false, false]);
  expect(batch.results.slice(1)).toMatchObject([
    { error: { error: "execution_error", status: 500 } },
    { error: { error: "timeout", status: 500 } },
  ]);
  expect(server.seen[0]?.body).toMatchObject({ parallel: true, actions: [{ action: "echo", params: {} }, {}, {}] });
});

test("hundreds of workers call at once over one pool, which later calls use again", async () => {
  await using server = await startScriptedServer((response, { body }) => {
    setTimeout(() => sendJson(response, envelope({ worker: body["worker_id"] })), 20);
  });
  const client = new HttpServiceClient({ baseUrl: server.url, ...quick });
  const workers = Array.from({ length: 500 }, (_, index) => client.forWorker(`w${index}`));
  const once = async () => Promise.all(workers.map((worker) => worker.call("echo")));
  const results = await once();
  expect(results.map((result) => result.ok && result.data)).toEqual(
    workers.map(({ workerId }) => ({ worker: workerId })),
  );
  const opened = server.connections();
  await once();
  expect(server.connections()).toBe(opened);
});
