import * as net from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import type { CallEvent } from "../../src/client/call-events.ts";
import { Gate } from "../kit/gate.ts";
import { ScriptedBackend, type Script } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

async function start(script: Script = () => ({ done: true })) {
  const backend = new ScriptedBackend({ sessions: true, concurrency: "parallel", script });
  // The client sends its calls under keys: without a grace, who goes away cancels at once.
  const server = await testServer({ backends: [backend], limits: { disconnectGraceMs: 0 } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const client = (baseUrl = server.url, more: object = {}) =>
    new HttpServiceClient({ baseUrl, workerId: "w1", retryDelayMs: 1, ...more });
  return { server, client, backend };
}

/** Passes `budget()` bytes of each connection's answer on and then cuts it; requests go through whole. */
async function startCuttingProxy(target: string, budget: () => number) {
  const { port } = new URL(target);
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const proxy = net.createServer((client) => {
    connections += 1;
    let left = budget();
    const server = net.connect(Number(port), "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => [client, server].forEach((end) => end.destroy()));
    }
    client.pipe(server);
    server.on("data", (chunk) => {
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) client.end();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  });
  // A server that listens on a port has an address with one.
  const address = proxy.address() as net.AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, connections: () => connections };
}

const talkative: Script = async (_, context) => {
  for (let index = 0; index < 5; index += 1) {
    context.progress({ index });
    context.output("stdout", `line ${index} ✓\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { sum: 42 };
};

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const strip = (events: readonly CallEvent[]) =>
  events.map((event) => [
    event.type,
    event.type === "result" ? event.result.ok : event.type === "call.started" ? "" : event.data,
  ]);

describe("stream", () => {
  it("yields what the call tells and ends with its result", async () => {
    const { client } = await start(talkative);
    const events = await collect(client().streamUntyped("probe:probe"));
    expect(events).toHaveLength(12);
    expect(events[0]).toMatchObject({ type: "call.started", data: { action: "probe:probe" } });
    expect(events[2]).toMatchObject({ type: "output", data: { stream: "stdout", text: "line 0 ✓\n" } });
    expect(events.at(-1)).toMatchObject({ type: "result", result: { ok: true, data: { sum: 42 } } });
  });

  it("G01: yields each event once, whole, however often the connection is cut", async () => {
    let runs = 0;
    const { server, client } = await start((params, context) => {
      runs += 1;
      return talkative(params, context);
    });
    const whole = strip(await collect(client().streamUntyped("probe:probe")));
    for (let cut = 420; cut < 2_600; cut += 97) {
      runs = 0;
      // Enough for the last event to get through one day.
      let budget = cut;
      const proxy = await startCuttingProxy(server.url, () => (budget += 150));
      const cutClient = client(proxy.url, { maxRetries: 5 });
      const events = await collect(cutClient.streamUntyped("probe:probe"));
      expect(strip(events)).toEqual(whole);
      expect(runs).toBe(1);
    }
  });

  it("gives up when nothing gets through any more", async () => {
    const { server, client } = await start(talkative);
    let first = true;
    const proxy = await startCuttingProxy(server.url, () => {
      const budget = first ? 600 : 0;
      first = false;
      return budget;
    });
    const reading = collect(client(proxy.url, { maxRetries: 2 }).streamUntyped("probe:probe"));
    await expect(reading).rejects.toMatchObject({ name: "ConnectionError", failure: "interrupted" });
    // The POST, two tries to go on, and those to cancel.
    expect(proxy.connections()).toBeLessThanOrEqual(1 + 2 + 3);
  });

  it("gives a refusal and a failure as the result", async () => {
    const { client } = await start(() => {
      throw new Error("inside");
    });
    const refused = await collect(client().streamUntyped("probe:nothing"));
    expect(refused).toMatchObject([
      { type: "result", result: { ok: false, error: { error: "tool_not_found", status: 400 } } },
    ]);
    const failed = await collect(client().streamUntyped("probe:probe"));
    expect(failed.at(-1)).toMatchObject({
      type: "result",
      result: { ok: false, error: { error: "unexpected_error", status: 500 } },
    });
  });

  it("G05: leaving the loop cancels the call, unless it is detached", async () => {
    for (const onDisconnect of [undefined, "cancel", "detach"] as const) {
      const ended = Promise.withResolvers<string>();
      const gate = new Gate();
      const { client } = await start(async (_, { signal, progress }) => {
        void progress;
        await gate.passedOr(signal).catch(() => undefined);
        ended.resolve(signal.aborted ? "cancelled" : "ran");
      });
      for await (const event of client().streamUntyped("probe:probe", {}, { onDisconnect })) {
        if (event.type === "call.started") break;
      }
      if (onDisconnect === "detach") gate.open();
      expect(await ended.promise).toBe(onDisconnect === "detach" ? "ran" : "cancelled");
    }
  });

  it("is ended by its signal, which cancels the call", async () => {
    const ended = Promise.withResolvers<boolean>();
    const abort = new AbortController();
    const { client } = await start(async (_, { signal }) => {
      abort.abort(new Error("enough"));
      await new Gate().passedOr(signal).catch(() => ended.resolve(true));
    });
    await expect(collect(client().streamUntyped("probe:probe", {}, { signal: abort.signal }))).rejects.toThrow(
      "enough",
    );
    // Aborted before the first event came, the call's id may be unknown: then it runs on to its timeout.
    await Promise.race([ended.promise, new Promise((resolve) => setTimeout(resolve, 100))]);
  });
});

describe("events", () => {
  it("yields what happens to the worker from now on, typed by its kind", async () => {
    const { server, client } = await start();
    const mine = client();
    await mine.call("probe:probe");
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of mine.events({ types: ["call.completed", "session.ended"] })) {
        if (event.type === "gap") continue;
        seen.push(event.type === "call.completed" ? event.data.outcome : event.data.reason);
        if (seen.length === 4) break;
      }
    })();
    // From now on is from when the server has heard of it: a call under way then would be told by its end alone.
    await expect.poll(() => server.engine.log.watcherCount).toBe(1);
    for (let round = 0; round < 2; round += 1) {
      await client().forWorker("other").call("probe:probe");
      await mine.call("probe:probe");
    }
    await reading;
    expect(seen).toEqual(["ok", "temporary", "ok", "temporary"]);
  });

  it("goes on where it was cut", async () => {
    const { server, client } = await start();
    for (let index = 0; index < 20; index += 1) await client().call("probe:probe");
    while (server.engine.log.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { lastId } = server.engine.log;
    const proxy = await startCuttingProxy(server.url, () => 3_000);
    const ids: string[] = [];
    for await (const event of client(proxy.url).events({ after: "0" })) {
      ids.push(event.id);
      if (event.id === `e_${lastId}`) break;
    }
    expect(ids).toEqual(Array.from({ length: lastId }, (_, index) => `e_${index + 1}`));
    expect(proxy.connections()).toBeGreaterThan(3);
  });

  it("throws for a cursor that is nobody's", async () => {
    const { client } = await start();
    await expect(collect(client().events({ after: "e_77" }))).rejects.toMatchObject({
      error: "unknown_cursor",
      status: 404,
    });
  });

  it("frees the server's reader when the loop is left", async () => {
    const { server, client } = await start();
    const events = client().events({ after: "0" });
    const next = events.next();
    while (server.engine.log.watcherCount === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await client().call("probe:probe");
    await next;
    await events.return();
    while (server.engine.log.watcherCount > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});
