import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { type SseMessage, SseParser } from "../../src/client/sse-parser.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { serveFixtures } from "../cli/cli-process.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ScriptedBackend, type Script } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const TIMEOUT_MS = 90_000;
/** Generous: what is waited for comes in a moment, but for a machine that is busy. */
const PATIENTLY = { timeout: 60_000 };

const parse = (text: string): readonly SseMessage[] => new SseParser().push(new TextEncoder().encode(text));

async function stream(url: string, body: object) {
  const request = { worker_id: "w1", stream: true, on_disconnect: "detach", ...body };
  const response = await fetch(`${url}/execute`, { method: "POST", body: JSON.stringify(request) });
  return { response, callId: response.headers.get("toolyard-call-id") ?? "" };
}

const resume = (url: string, callId: string, lastEventId?: string) =>
  fetch(`${url}/api/v1/calls/${callId}/stream`, {
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });

const talkative: Script = (_, context) => {
  context.progress({ percent: 10 });
  context.output("stdout", "héllo 🌍\n");
  context.progress({ percent: 100 });
  return { sum: 42 };
};

describe("G01: a streamed call that was over before its server ended", () => {
  const backends = () => [new ScriptedBackend({ sessions: true, script: talkative })];

  /** A server that goes on with the store of one that streamed a call. */
  async function afterRestart(
    body: object,
  ): Promise<{ server: TestServer; whole: readonly SseMessage[]; callId: string }> {
    const store = createMemoryStore();
    const first = await testServer({ backends: backends(), store });
    const { response, callId } = await stream(first.url, { action: "probe:probe", ...body });
    const whole = parse(await response.text());
    await first.stop();
    return { server: await testServer({ backends: backends(), store }), whole, callId };
  }

  it.each([
    ["without a key", {}],
    ["under a key", { request_id: "k" }],
  ])("G01: ends with its very envelope after any event, %s, and tells what lies between as a gap", async (_, body) => {
    const { server, whole, callId } = await afterRestart(body);
    await using _server = server;
    expect(whole).toHaveLength(5);
    const [result] = whole.slice(-1);
    for (let at = 0; at <= whole.length; at += 1) {
      const response = await resume(server.url, callId, at === 0 ? undefined : `${callId}:${at}`);
      expect([at, response.status]).toEqual([at, 200]);
      const messages = parse(await response.text());
      if (at === whole.length) expect(messages).toEqual([]);
      else if (at === whole.length - 1) expect(messages).toEqual([result]);
      else {
        expect(messages).toEqual([expect.objectContaining({ event: "gap", id: `${callId}:4` }), result]);
        const gap = { reason: "dropped", from: `${callId}:${at + 1}`, to: `${callId}:4` };
        expect(JSON.parse(messages[0]?.data ?? "")).toEqual(gap);
      }
    }
    // Who resumes after the gap gets the result and nothing twice.
    expect(parse(await (await resume(server.url, callId, `${callId}:4`)).text())).toEqual([result]);
  });

  it("G02: other calls' ids, ids past its end and other tenants get what an unknown call gets", async () => {
    const { server, callId } = await afterRestart({});
    await using _server = server;
    for (const cursor of [`${callId}:6`, `${callId}:x`, "e_1", `${crypto.randomUUID()}:1`]) {
      const answer = await resume(server.url, callId, cursor);
      expect([cursor, answer.status]).toEqual([cursor, 404]);
      expect(await answer.json()).toMatchObject({ meta: { error: "unknown_cursor" } });
    }
    for (const id of [crypto.randomUUID(), `${callId} `, "k", "stream"]) {
      expect((await resume(server.url, encodeURIComponent(id))).status).toBe(404);
    }
  });

  it("G02: it is there for its tenant alone, and for keys that may read its tool", async () => {
    const store = createMemoryStore();
    const holders = { a: { tenant: "acme" }, b: { tenant: "blue" }, c: { tenant: "acme", scopes: ["code:*"] } };
    const first = await keyedServer(holders, { backends: backends(), store });
    const headers = { "x-api-key": first.holders.a.key };
    const body = JSON.stringify({ worker_id: "w1", action: "probe:probe", stream: true });
    const streamed = await fetch(`${first.url}/execute`, { method: "POST", body, headers });
    await streamed.text();
    const path = `/api/v1/calls/${streamed.headers.get("toolyard-call-id")}/stream`;
    await first.stop();
    await using second = await testServer({ backends: backends(), store });
    const ask = async (key: string) => (await fetch(second.url + path, { headers: { "x-api-key": key } })).status;
    const { a, b, c } = first.holders;
    expect([await ask(a.key), await ask(b.key), await ask(c.key)]).toEqual([200, 404, 403]);
  });

  it("G03: one that was refused before its tool ran leaves nothing behind", async () => {
    const { server } = await afterRestart({});
    await using _server = server;
    const { response, callId } = await stream(server.url, { action: "probe:plot", params: { x: "no" } });
    expect([response.status, callId]).toEqual([400, ""]);
  });
});

describe("a streamed call whose record cannot be written", () => {
  it("runs all the same, once", async () => {
    const store = createFaultyStore(createMemoryStore());
    let runs = 0;
    const backend = new ScriptedBackend({ script: () => ({ runs: (runs += 1) }) });
    await using server = await testServer({ backends: [backend], store });
    store.inject("idempotency.begin", DISK_FULL);
    const { response } = await stream(server.url, { action: "probe:probe" });
    expect(parse(await response.text()).at(-1)?.data).toContain('"runs":1');
    expect(runs).toBe(1);
  });
});

describe("a streamed call that ran when its server was killed", () => {
  let dir: string;
  let running: Awaited<ReturnType<typeof serveFixtures>>;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "toolyard-stream-restart-"));
    running = await serveFixtures(["--data", join(dir, "data")]);
  });
  afterEach(async () => {
    running.child.kill("SIGKILL");
    await running.ended;
    await rm(dir, { recursive: true, force: true });
  });
  const restart = async () => {
    running.child.kill("SIGKILL");
    await running.ended;
    running = await serveFixtures(["--data", join(dir, "data")]);
  };
  const begun = () => readFile(join(dir, "effects"), "utf8").catch(() => "");
  const params = () => ({ file: join(dir, "effects"), until: join(dir, "go") });

  it.each([
    ["without a key", {}],
    ["under a key", { request_id: "k" }],
  ])(
    "G01 E04: ends with unknown_outcome, %s, each time it is asked for, and is not begun anew",
    async (_, more) => {
      const { response, callId } = await stream(running.url, { action: "work:once", params: params(), ...more });
      await expect.poll(begun, PATIENTLY).toBe("x\n");
      await response.body?.cancel();
      await restart();
      await writeFile(join(dir, "go"), "");
      const ends = new Set<string>();
      for (const cursor of [undefined, `${callId}:1`, `${callId}:7`]) {
        const messages = parse(await (await resume(running.url, callId, cursor)).text());
        expect(messages.map(({ event }) => event)).toEqual(["gap", "result"]);
        expect(JSON.parse(messages[1]?.data ?? "")).toMatchObject({
          code: 5032,
          meta: { tool: "work:once", error: "unknown_outcome", outcome: "infra_error", retryable: false },
        });
        ends.add(messages[1]?.id ?? "");
      }
      // One and the same end: who has it gets nothing more.
      expect(ends.size).toBe(1);
      expect(await (await resume(running.url, callId, [...ends][0])).text()).not.toContain("data:");
      await restart();
      expect(await (await resume(running.url, callId)).text()).toContain("unknown_outcome");
      expect(await begun()).toBe("x\n");
    },
    TIMEOUT_MS,
  );

  it(
    "G01: is told to a client that was reading it, when the next server answers at its address",
    async () => {
      const client = new HttpServiceClient({ baseUrl: running.url, workerId: "w1", retryDelayMs: 200, maxRetries: 20 });
      await client.connect();
      const reading = (async () => {
        const events = [];
        for await (const event of client.streamUntyped("work:once", params())) events.push(event);
        return events;
      })();
      await expect.poll(begun, PATIENTLY).toBe("x\n");
      const { port } = new URL(running.url);
      running.child.kill("SIGKILL");
      await running.ended;
      running = await serveFixtures(["--data", join(dir, "data"), "--port", port]);
      const events = await reading;
      expect(events.map(({ type }) => type)).toEqual(["call.started", "gap", "result"]);
      expect(events.at(-1)).toMatchObject({ result: { ok: false, error: { error: "unknown_outcome" } } });
      expect(await begun()).toBe("x\n");
    },
    TIMEOUT_MS,
  );
});
