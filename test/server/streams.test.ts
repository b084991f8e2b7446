import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import * as http from "node:http";
import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SseMessage, SseParser } from "../../src/client/sse-parser.ts";
import type { Envelope } from "../../src/core/protocol.ts";
import type { StoredEvent } from "../../src/core/store.ts";
import { locateCursor } from "../../src/server/event-cursor.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { statusOf } from "../kit/raw-http.ts";
import { ScriptedBackend, type Script } from "../kit/scripted-backend.ts";
import { testServer, type TestServer, type TestServerOptions } from "../kit/test-server.ts";

async function start(script: Script = () => ({ done: true }), options: TestServerOptions = {}): Promise<TestServer> {
  const backend = new ScriptedBackend({ sessions: true, concurrency: "parallel", script });
  // What a busy machine does to the loop is no event that these tests are about.
  const limits = { loopLagMs: Number.MAX_SAFE_INTEGER, ...options.limits };
  const server = await testServer({ backends: [backend], ...options, limits });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const sha256 = (messages: readonly SseMessage[]) =>
  createHash("sha256")
    .update(JSON.stringify(messages.map(({ id, event, data }) => [id, event, data])))
    .digest("hex");

function parse(bytes: Uint8Array) {
  const parser = new SseParser();
  return { messages: parser.push(bytes), lastEventId: parser.lastEventId };
}

const stream = (server: TestServer, body: object = {}, signal?: AbortSignal) =>
  fetch(`${server.url}/execute`, {
    method: "POST",
    body: JSON.stringify({ worker_id: "w1", action: "probe:probe", stream: true, ...body }),
    ...(signal !== undefined && { signal }),
  });

const resume = (server: TestServer, path: string, lastEventId?: string) =>
  fetch(server.url + path, { headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId } });

/** Reads a stream that does not end until enough has come. */
async function readUntil(
  response: Response,
  enough: (messages: readonly SseMessage[]) => boolean,
): Promise<SseMessage[]> {
  const parser = new SseParser();
  const messages: SseMessage[] = [];
  const reader = response.body?.getReader();
  while (reader !== undefined && !enough(messages)) {
    const { done, value } = await reader.read();
    if (done) break;
    messages.push(...parser.push(value));
  }
  await reader?.cancel();
  return messages;
}

const everything = async (server: TestServer, query = "") => {
  const { body } = await server.get(`/api/v1/events?format=json&limit=1000${query}`);
  return body.data.events as readonly { id: string; type: string; seq: number | null; call_id: string }[];
};

/** Waits until the log has written what happened so far. */
async function written(server: TestServer): Promise<void> {
  while (server.engine.log.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

const talkative: Script = async (_, context) => {
  context.progress({ percent: 10 });
  context.output("stdout", "héllo 🌍\r\n\n");
  await Promise.resolve();
  context.output("stderr", "id: x\ndata: y\n\n");
  context.progress({ percent: 100, text: "\u2028 ✓" });
  return { sum: 42 };
};

describe("streamed calls", () => {
  it("tell what the call tells, in order, and end with the envelope", async () => {
    const server = await start(talkative);
    const response = await stream(server);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const { messages } = parse(new Uint8Array(await response.arrayBuffer()));
    expect(messages.map(({ event }) => event)).toEqual([
      "call.started",
      "progress",
      "output",
      "output",
      "progress",
      "result",
    ]);
    const callId = JSON.parse(messages[0]?.data ?? "").call_id;
    expect(messages.map(({ id }) => id)).toEqual(messages.map((_, index) => `${callId}:${index + 1}`));
    expect(JSON.parse(messages[2]?.data ?? "")).toEqual({ stream: "stdout", text: "héllo 🌍\r\n\n" });
    expect(JSON.parse(messages.at(-1)?.data ?? "")).toMatchObject({
      code: 0,
      data: { sum: 42 },
      meta: { outcome: "ok" },
    });
  });

  it("G01: cut at each byte, a stream that is resumed has no gap, no duplicate and the same digest", async () => {
    const server = await start(talkative);
    const bytes = new Uint8Array(await (await stream(server)).arrayBuffer());
    const whole = parse(bytes).messages;
    const callId = whole[0]?.id.split(":")[0];
    const path = `/api/v1/calls/${callId}/stream`;
    // What follows an event is asked for once; each cut ends after one of them.
    const rest = new Map<string, readonly SseMessage[]>();
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const { messages, lastEventId } = parse(bytes.subarray(0, cut));
      let following = rest.get(lastEventId);
      if (following === undefined) {
        const response = await resume(server, path, lastEventId || undefined);
        expect(response.status).toBe(200);
        following = parse(new Uint8Array(await response.arrayBuffer())).messages;
        rest.set(lastEventId, following);
      }
      expect(sha256([...messages, ...following])).toBe(sha256(whole));
    }
    expect(rest.size).toBe(whole.length + 1);
  });

  it("G01: a call that still runs is followed by several readers at once, each whole", async () => {
    const gate = new Gate();
    const server = await start(async (_, { output }) => {
      void output;
      gate.arrive();
      await gate.passed;
      return 1;
    });
    const first = stream(server, { on_disconnect: "detach" });
    await gate.arrived();
    const [started] = await readUntil(await first, (messages) => messages.length > 0);
    const path = `/api/v1/calls/${started?.id.split(":")[0]}/stream`;
    const readers = [resume(server, path), resume(server, path, started?.id), resume(server, path)];
    const responses = await Promise.all(readers);
    gate.open();
    const texts = await Promise.all(responses.map((response) => response.text()));
    const events = texts.map((text) => parse(new TextEncoder().encode(text)).messages.map(({ event }) => event));
    expect(events).toEqual([["call.started", "result"], ["result"], ["call.started", "result"]]);
  });

  it("G03: what no longer can be gone on from is 410, and a reader from the start is told of the hole", async () => {
    const server = await start(
      (_, context) => {
        for (let index = 0; index < 100; index += 1) context.output("stdout", "x".repeat(100));
        return 1;
      },
      { limits: { streamBytes: 1_000 } },
    );
    const { messages } = parse(new Uint8Array(await (await stream(server)).arrayBuffer()));
    const callId = messages[0]?.id.split(":")[0];
    const late = await resume(server, `/api/v1/calls/${callId}/stream`, `${callId}:2`);
    expect(late.status).toBe(410);
    expect(await late.json()).toMatchObject({ code: 4100, meta: { error: "cursor_expired" } });
    const again = parse(new Uint8Array(await (await resume(server, `/api/v1/calls/${callId}/stream`)).arrayBuffer()));
    expect(again.messages[0]).toMatchObject({ event: "gap" });
    expect(again.messages.at(-1)).toMatchObject({ event: "result" });
  });

  it("G02: another call's event id, an unknown one and an unknown call are 404", async () => {
    const server = await start();
    const ids = [];
    for (let index = 0; index < 2; index += 1) {
      ids.push(parse(new Uint8Array(await (await stream(server)).arrayBuffer())).messages[0]?.id ?? "");
    }
    const [one = "", two = ""] = ids.map((id) => id.split(":")[0]);
    const bodies = [];
    for (const cursor of [`${two}:1`, `${one}:99`, `${one}:x`, `${one}:1:2`, `${one}:01`, "e_1", "-1", "p_1"]) {
      const response = await resume(server, `/api/v1/calls/${one}/stream`, cursor);
      expect(response.status).toBe(404);
      bodies.push(((await response.json()) as { message: string }).message);
    }
    expect(new Set(bodies).size).toBe(1);
    expect((await resume(server, `/api/v1/calls/${one}x/stream`)).status).toBe(404);
  });

  it("G05: a client that goes away cancels its call or leaves it, as it said", async () => {
    for (const onDisconnect of ["cancel", "detach"] as const) {
      const gate = new Gate();
      let ended = "";
      const server = await start(async (_, { signal }) => {
        gate.arrive();
        await gate.passedOr(signal).finally(() => (ended = signal.aborted ? "cancelled" : "ran"));
        return { late: true };
      });
      const gone = new AbortController();
      const response = await stream(server, { on_disconnect: onDisconnect }, gone.signal);
      const reader = response.body?.getReader();
      let text = "";
      while (!text.includes("\ndata: ")) text += new TextDecoder().decode((await reader?.read())?.value);
      gone.abort();
      const callId = /"call_id":"([^"]+)"/.exec(text)?.[1] ?? "";
      const result = resume(server, `/api/v1/calls/${callId}/stream`, `${callId}:1`).then((after) => after.text());
      if (onDisconnect === "detach") {
        await settle();
        gate.open();
      }
      expect(await result).toContain(onDisconnect === "detach" ? '"late":true' : '"error":"cancelled"');
      expect(ended).toBe(onDisconnect === "detach" ? "ran" : "cancelled");
    }
  });

  it("are cancelled by their path, and of those that are over for a while only the result is left", async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const server = await start(
      async (_, { signal }) => {
        gate.arrive();
        await gate.passedOr(signal);
      },
      { clock },
    );
    const response = stream(server, { on_disconnect: "detach" });
    await gate.arrived();
    const [started] = await readUntil(await response, (messages) => messages.length > 0);
    const callId = started?.id.split(":")[0];
    expect((await server.post(`/api/v1/calls/${callId}/cancel`, {})).body.data).toMatchObject({ cancelled: true });
    const text = await (await resume(server, `/api/v1/calls/${callId}/stream`)).text();
    expect(text).toContain('"error":"cancelled"');
    expect(server.engine.streams.size).toBe(1);
    await clock.advance(300_000);
    expect(server.engine.streams.size).toBe(0);
    const left = await (await resume(server, `/api/v1/calls/${callId}/stream`)).text();
    const { messages } = parse(new TextEncoder().encode(left));
    expect(messages.map(({ event, id }) => [event, id])).toEqual([
      ["gap", `${callId}:1`],
      ["result", `${callId}:2`],
    ]);
    expect(messages[1]?.data).toContain('"error":"cancelled"');
  });

  it("under a key are cancelled at once by their path, without the grace of a client that went away", async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const server = await start(
      async (_, { signal }) => {
        gate.arrive();
        await gate.passedOr(signal);
      },
      { clock },
    );
    const response = stream(server, { on_disconnect: "detach", request_id: "once" });
    await gate.arrived();
    const callId = (await response).headers.get("toolyard-call-id");
    await server.post(`/api/v1/calls/${callId}/cancel`, {});
    expect(await (await response).text()).toContain('"error":"cancelled"');
  });

  it("that are refused before the tool runs are answered with their status, and leave no stream", async () => {
    const server = await start();
    expect((await stream(server, { action: "probe:nothing" })).status).toBe(400);
    expect((await stream(server, { session_id: "no-such" })).status).toBe(404);
    expect((await stream(server, { worker_id: "" })).status).toBe(400);
    expect(server.engine.streams.size).toBe(0);
  });
});

describe("the event log over HTTP", () => {
  it("G01: any resume point gives the rest and nothing else, for any filter", async () => {
    const server = await start();
    for (let index = 0; index < 30; index += 1) await server.execute("probe:probe", {}, { worker_id: `w${index % 3}` });
    await written(server);
    const all = await everything(server);
    expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => `e_${index + 1}`));
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          worker: fc.option(fc.constantFrom("w0", "w1", "w2")),
          type: fc.option(fc.constantFrom("call.completed", "session.created,call.started")),
        }),
        fc.nat(),
        async ({ worker, type }, place) => {
          const query = `${worker === null ? "" : `&worker=${worker}`}${type === null ? "" : `&type=${type}`}`;
          const matching = await everything(server, query);
          const at = place % matching.length;
          const following = matching.slice(at + 1);
          const response = await resume(server, `/api/v1/events?${query.slice(1)}`, matching[at]?.id);
          const got =
            following.length === 0 ? [] : await readUntil(response, (messages) => messages.length >= following.length);
          if (following.length === 0) await response.body?.cancel();
          expect(got.map(({ data }) => JSON.parse(data))).toEqual(following);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("pages through everything once, whatever the size of the page", async () => {
    const server = await start();
    for (let index = 0; index < 20; index += 1) await server.execute("probe:probe");
    await written(server);
    const all = await everything(server);
    for (const limit of [1, 7, 1000]) {
      const got: unknown[] = [];
      for (let after = "0", more = true; more; ) {
        const { data } = (await server.get(`/api/v1/events?format=json&limit=${limit}&after=${after}`)).body;
        got.push(...data.events);
        after = data.next;
        more = data.has_more;
      }
      expect(got).toEqual(all);
    }
  });

  it("names the call whose tool made a call, in one run", async () => {
    const server = await start(async (_, context) => (await context.call("probe:echo", { x: 1 })).ok);
    await server.execute("probe:probe", {}, { trace_id: "run-1" });
    await server.execute("probe:echo");
    await written(server);
    const run = await everything(server, "&run=run-1");
    const started = run.filter(({ type }) => type === "call.started");
    expect(started).toMatchObject([
      { parent_id: null, data: { action: "probe:probe" } },
      { parent_id: started[0]?.call_id, data: { action: "probe:echo" } },
    ]);
    expect(run.filter(({ type }) => type === "call.completed")).toHaveLength(2);
  });

  it("has gap-free seqs in every session under concurrent calls", async () => {
    const server = await start();
    // Sessions of three workers live on; the calls of the other two share temporary ones.
    for (const worker_id of ["w0", "w1", "w2"]) {
      await server.post("/api/v1/session/create", { worker_id, resource_type: "probe" });
    }
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => server.execute("probe:probe", {}, { worker_id: `w${index % 5}` })),
    );
    await written(server);
    const bySession = Map.groupBy(
      (await server.get("/api/v1/events?format=json&limit=1000")).body.data.events as {
        session_id: string | null;
        seq: number;
      }[],
      ({ session_id }) => session_id,
    );
    bySession.delete(null);
    for (const events of bySession.values()) {
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    }
    // Their start, and the start and the end of each of their forty calls.
    expect([...bySession.values()].filter(({ length }) => length === 81)).toHaveLength(3);
  });

  it("G02: an event of another worker, session or tenant is as unknown as one that never was", async () => {
    const server = await start();
    const own = await server.execute("probe:probe", {}, { worker_id: "mine" });
    await server.execute("probe:probe", {}, { worker_id: "other" });
    await written(server);
    const [foreign] = await everything(server, "&worker=other");
    expect(foreign?.id).toMatch(/^e_\d+$/);
    const answers: object[] = [];
    const attempts = ["worker=mine", `session=${own.body.meta.session_id}`].flatMap((query) =>
      [foreign?.id, "e_999999", "e_0", "e_01", "junk", "p_999999"].map((cursor) => [query, cursor] as const),
    );
    for (const [query, cursor] of attempts) {
      const response = await resume(server, `/api/v1/events?${query}`, cursor);
      const { code, message, data, meta } = (await response.json()) as Envelope;
      answers.push({
        status: response.status,
        code,
        message,
        data,
        error: meta.error,
        suggestion: meta.suggestion,
      });
    }
    expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 404 })));
    const { log } = server.engine;
    const scope = (tenant: string, allows: (event: StoredEvent) => boolean) => ({ filter: { tenant }, allows });
    await expect(
      locateCursor(
        log,
        "e_1",
        scope("another", () => true),
      ),
    ).rejects.toMatchObject({ error: "unknown_cursor" });
    await expect(
      locateCursor(
        log,
        "e_1",
        scope("default", () => false),
      ),
    ).rejects.toMatchObject({ error: "unknown_cursor" });
    expect(
      await locateCursor(
        log,
        "e_1",
        scope("default", () => true),
      ),
    ).toBe(1);
  });

  it("G03: an id older than what is held is 410, and a reader from the start is told what is missing", async () => {
    const clock = new ManualClock();
    const server = await start(undefined, { clock, limits: { eventLogEvents: 5 } });
    for (let index = 0; index < 10; index += 1) await server.execute("probe:probe");
    await clock.advance(31_000);
    const late = await resume(server, "/api/v1/events", "e_2");
    expect(late.status).toBe(410);
    expect(await late.json()).toMatchObject({ code: 4100, meta: { error: "cursor_expired", outcome: "rejected" } });
    const { firstId } = server.engine.log;
    const [gap, first] = await readUntil(
      await resume(server, "/api/v1/events?after=0"),
      (messages) => messages.length > 1,
    );
    expect(JSON.parse(gap?.data ?? "")).toMatchObject({
      type: "gap",
      data: { reason: "trimmed", from: "e_1", to: `e_${firstId - 1}` },
    });
    expect(first?.id).toBe(`e_${firstId}`);
  });

  it("G04: a reader that reads nothing holds a bounded buffer and nobody else, and gets everything in the end", async () => {
    const responses: http.ServerResponse[] = [];
    const onRequest = (message: unknown) => responses.push((message as { response: http.ServerResponse }).response);
    subscribe("http.server.request.start", onRequest);
    onTestFinished(() => void unsubscribe("http.server.request.start", onRequest));
    // A machine that is busy would have the watchdog add events of its own.
    const server = await start(undefined, { limits: { loopLagMs: 600_000 } });
    const slow = await new Promise<http.IncomingMessage>((resolve) => http.get(`${server.url}/api/v1/events`, resolve));
    slow.pause();
    const [slowResponse] = responses;
    const quick = readUntil(await fetch(`${server.url}/api/v1/events`), (messages) => messages.length >= 20_000);
    let largest = 0;
    for (let round = 0; round < 40; round += 1) {
      for (let index = 0; index < 500; index += 1) {
        const data = { text: "x".repeat(1_000) };
        server.engine.bus.emit({ type: "backend.health", ts: new Date(0).toISOString(), data });
      }
      await written(server);
      largest = Math.max(largest, slowResponse?.writableLength ?? 0, slowResponse?.socket?.writableLength ?? 0);
    }
    expect(await quick).toHaveLength(20_000);
    expect(largest).toBeLessThan(1_000_000);
    const parser = new SseParser();
    const got: string[] = [];
    for await (const chunk of slow) {
      got.push(...parser.push(chunk).map(({ id }) => id));
      if (got.length >= 20_000) break;
    }
    expect(got).toEqual(Array.from({ length: 20_000 }, (_, index) => `e_${index + 1}`));
  });

  it("shows every 15 s that it lives, and moves a quiet reader on", async () => {
    const clock = new ManualClock();
    const server = await start(undefined, { clock });
    const response = await fetch(`${server.url}/api/v1/events?worker=quiet`);
    const reader = response.body?.getReader();
    let text = "";
    const readOn = async (wanted: string) => {
      while (!text.includes(wanted)) text += new TextDecoder().decode((await reader?.read())?.value);
    };
    await readOn("id: p_0\n\n");
    for (let beat = 0; beat < 2; beat += 1) {
      text = "";
      await settle();
      await clock.advance(15_000);
      await readOn(": heartbeat\n\n");
    }
    await server.execute("probe:probe");
    text = "";
    await clock.advance(15_000);
    await readOn(`: heartbeat\nid: p_${server.engine.log.lastId}\n\n`);
    await reader?.cancel();
  });

  it("lets 1,000 readers come and go and keeps nothing of them", async () => {
    const server = await start();
    const sockets = Array.from({ length: 1_000 }, () => connect(server.port, "127.0.0.1"));
    const opened = await Promise.all(
      sockets.map(async (socket) => {
        socket.setEncoding("latin1").write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const [head] = await once(socket, "data");
        return statusOf(head);
      }),
    );
    expect(opened.every((status) => status === 200)).toBe(true);
    expect(server.engine.log.watcherCount).toBe(1_000);
    for (const socket of sockets) socket.destroy();
    while (server.engine.log.watcherCount > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it("refuses more readers than it can bear, with 429", async () => {
    const server = await start(undefined, { limits: { streamClients: 1 } });
    const first = await fetch(`${server.url}/api/v1/events`);
    const refused = await server.get("/api/v1/events");
    expect(refused).toMatchObject({ status: 429, body: { meta: { error: "overloaded" } } });
    await first.body?.cancel();
    while (server.engine.log.watcherCount > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const next = await fetch(`${server.url}/api/v1/events`);
    expect(next.status).toBe(200);
    await next.body?.cancel();
  });

  it("F11: ends its readers when the server stops, after the last event", async () => {
    const server = await start();
    const response = await fetch(`${server.url}/api/v1/events`);
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "probe" });
    await server.stop();
    const { messages } = parse(new Uint8Array(await response.arrayBuffer()));
    expect(messages.map(({ event }) => event)).toEqual(["session.created", "session.ended"]);
  });
});
