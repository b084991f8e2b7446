import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const ask = (server: TestServer, query: string) => server.get(`/api/v1/events?format=json&${query}`);

/** Waits until the log has written what happened so far. */
async function written(server: TestServer): Promise<void> {
  while (server.engine.log.pending > 0) await new Promise((resolve) => setImmediate(resolve));
}

it("notices an id of an earlier run where nothing outlived that", async () => {
  const run = async () => {
    const store = await openStore({ driver: "memory", dataDir: "" });
    return testServer({ backends: [new CounterBackend()], store });
  };
  const first = await run();
  await first.execute("counter:incr");
  const read = async (server: typeof first, after: string) => server.get(`/api/v1/events?format=json&after=${after}`);
  await expect.poll(async () => (await read(first, "0")).body.data.events.length).toBeGreaterThan(1);
  const { events, next } = (await read(first, "0")).body.data;
  expect(events[0]).toMatchObject({ type: "gap", data: { reason: "trimmed" } });
  expect((await read(first, next)).status).toBe(200);
  await first.stop();
  await using second = await run();
  await second.execute("counter:incr");
  await expect.poll(async () => (await read(second, "0")).body.data.events.length).toBeGreaterThan(1);
  for (const cursor of [next, events.at(-1).id]) {
    expect(await read(second, cursor)).toMatchObject({ status: 410, body: { meta: { error: "cursor_expired" } } });
  }
});

describe("the query of GET /api/v1/events", () => {
  it("takes worker_id, session_id and trace_id for worker, session and run", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend({ sessions: true })] });
    for (const worker_id of ["w1", "w2"]) {
      await server.execute("probe:probe", {}, { worker_id, trace_id: `run-${worker_id}` });
    }
    await written(server);
    const { events } = (await ask(server, "worker=w1&type=call.started")).body.data;
    expect(events).toHaveLength(1);
    const id = events[0].session_id;
    for (const same of ["worker_id=w1", "run=run-w1", "trace_id=run-w1", `session=${id}`, `session_id=${id}`]) {
      expect((await ask(server, `${same}&type=call.started`)).body.data.events).toEqual(events);
    }
  });

  it("refuses a parameter, an event type and a format that it does not know, and names near ones", async () => {
    await using server = await testServer();
    for (const [query, message] of [
      ["bogus=1", 'There is no parameter "bogus"'],
      ["workr=w1", 'There is no parameter "workr"; did you mean worker?'],
      ["constructor=1", 'There is no parameter "constructor"'],
      ["type=bogus", 'There is no event type "bogus"'],
      ["type=call.output", 'There is no event type "call.output"'],
      ["type=call.started,call.complete", 'There is no event type "call.complete"; did you mean call.completed?'],
      ["worker=w1&worker_id=w2", "worker is given twice"],
    ] as const) {
      const { status, body } = await ask(server, query);
      expect([status, body.meta.error, body.message]).toEqual([400, "invalid_input", message]);
    }
    const format = await server.get("/api/v1/events?format=jsno");
    expect([format.status, format.body.message]).toEqual([400, 'There is no format "jsno"; did you mean json?']);
    expect((await server.get("/api/v1/events?format=xml")).body.meta.suggestion).toBe("Use one of sse, json.");
  });
});
