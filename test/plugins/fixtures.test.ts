import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { createLogger } from "../../src/log/logger.ts";
import { startToolyard, type Toolyard } from "../../src/main.ts";
import { counterHooks } from "../fixtures/counter.ts";

let toolyard: Toolyard;
beforeAll(async () => {
  const path = fileURLToPath(new URL("../../configs/fixtures.json", import.meta.url));
  const { config, dir } = await loadConfig(path, {});
  toolyard = await startToolyard({ config, configDir: dir, port: 0, logger: createLogger({ level: "silent" }) });
});
afterAll(() => toolyard.stop());

interface Answer {
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>>;
}

async function post(path: string, body: object): Promise<Answer> {
  const answer = await fetch(`${toolyard.url}${path}`, { method: "POST", body: JSON.stringify(body) });
  return (await answer.json()) as Answer; // every path that these tests use answers an envelope
}

const execute = (worker: string, action: string, params: object = {}, more: object = {}): Promise<Answer> =>
  post("/execute", { worker_id: worker, action, params, ...more });

const create = (worker: string, resource: string, config: object = {}): Promise<Answer> =>
  post("/api/v1/session/create", { worker_id: worker, resource_type: resource, session_config: config });

describe("the fixtures", () => {
  it("say of every tool what its result is", async () => {
    const answer = await fetch(`${toolyard.url}/api/v1/tools?include_hidden=true`);
    const { tools } = (await answer.json()) as { tools: { full_name: string; result: unknown }[] }; // the wire's shape
    expect(tools.filter(({ result }) => result === null).map((tool) => tool.full_name)).toEqual([]);
  });

  it("have tools without a prefix, which make no session", async () => {
    expect(await execute("f1", "echo", { message: "m" })).toMatchObject({ code: 0, data: { result: "m" } });
    expect(await execute("f1", "sleep", { seconds: 0.01, key: "f1" })).toMatchObject({ data: { slept: 0.01 } });
    expect(await execute("f1", "runs", { key: "f1" })).toMatchObject({ data: { result: 1 } });
    expect(await execute("f1", "block", { seconds: 0 })).toMatchObject({ code: 0 });
    expect(await post("/api/v1/session/list", { worker_id: "f1" })).toMatchObject({ data: { count: 0 } });
  });

  it("end a sleep at once when its call times out", async () => {
    // Slept to its end, it would outlast this test's own time.
    expect(await execute("f2", "sleep", { seconds: 3_600 }, { timeout: 0.1 })).toMatchObject({ code: 5006 });
  });

  it("throw an error whose path and secret stay inside", async () => {
    const answer = await execute("f3", "boom");
    expect(answer.code).toBe(5005);
    expect(JSON.stringify(answer)).not.toMatch(/secret|sk-live|\/etc/);
  });

  it("count per session, from where the session config says", async () => {
    await create("f4", "counter", { start: 10 });
    await execute("f4", "incr", { by: 5 });
    expect(await execute("f4", "counter:get")).toMatchObject({ data: { value: 15 } });
    const slow = await execute("f4", "counter:slow", { seconds: 0 });
    expect(slow.data).toEqual({ alive: true, session_id: expect.stringMatching(/^counter_f4_001_/) });
  });

  it("let the calls of one counter session overlap", async () => {
    await create("f5", "counter");
    const slow = execute("f5", "counter:slow", { seconds: 60 }, { timeout: 20 });
    expect(await execute("f5", "counter:get")).toMatchObject({ code: 0 });
    await post("/api/v1/session/destroy", { worker_id: "f5", resource_type: "counter", force: true });
    expect((await slow).code).not.toBe(0);
  });

  it("fail to initialize when told to, and count their hooks for tests in the same process", async () => {
    const { initialized, failed, cleaned } = counterHooks;
    expect(await create("f6", "counter", { fail: true })).toMatchObject({ code: 4007 });
    expect(counterHooks).toMatchObject({ initialized: initialized + 1, failed: failed + 1 });
    await expect.poll(() => counterHooks.cleaned).toBe(cleaned + 1);
  });

  it("keep keys and values per session, and make a bare get ambiguous", async () => {
    await create("f7", "kv");
    expect(await execute("f7", "kv:set", { key: "k", value: [1] })).toMatchObject({ data: { key: "k" } });
    expect(await execute("f7", "kv:get", { key: "k" })).toMatchObject({ data: { value: [1] } });
    expect(await execute("f7", "get", { key: "k" })).toMatchObject({
      code: 4002,
      data: { candidates: ["counter:get", "kv:get"] },
    });
  });
});
