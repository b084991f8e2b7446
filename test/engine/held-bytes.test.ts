import { describe, expect, it } from "vitest";
import { HeldBytes } from "../../src/engine/held-bytes.ts";
import { Gate } from "../kit/gate.ts";
import { testServer } from "../kit/test-server.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";

const of = (workerId: string, tenant = "t") => ({ tenant, workerId });
const refusal = (limit: string) =>
  expect.objectContaining({ error: "overloaded", details: expect.objectContaining({ limit }) });

describe("what callers hold", () => {
  it("is bounded for each worker and each tenant, by the limit's name, and given back once", () => {
    const held = new HeldBytes({ heldBytesPerWorker: 100_000, heldBytesPerTenant: 150_000 });
    const give = held.hold(of("a"), 60_000);
    expect(() => held.hold(of("a"), 60_000)).toThrow(refusal("held_bytes_per_worker"));
    const other = held.hold(of("b"), 60_000);
    expect(() => held.hold(of("c"), 60_000)).toThrow(refusal("held_bytes_per_tenant"));
    expect(held.hold(of("c", "elsewhere"), 60_000)).toBeTypeOf("function");
    give?.();
    give?.();
    other?.();
    expect([held.of(of("a")), held.of(of("b"))]).toEqual([0, 0]);
    expect(held.hold(of("a"), 60_000)).toBeTypeOf("function");
  });

  it("lets one alone in, however large, and does not count small ones", () => {
    const held = new HeldBytes({ heldBytesPerWorker: 10, heldBytesPerTenant: 10 });
    expect(held.hold(of("a"), 1_000)).toBeUndefined();
    expect(held.hold(of("a"), 50_000)).toBeTypeOf("function");
    expect(() => held.hold(of("a"), 50_000)).toThrow(refusal("held_bytes_per_worker"));
  });

  it("counts plain calls, batches and jobs from their arrival to their end", async () => {
    const gate = new Gate();
    const backend = new ScriptedBackend({ concurrency: "parallel", script: () => gate.passed });
    const limits = { heldBytesPerWorker: 150_000, heldBytesPerTenant: 1_000_000 };
    await using server = await testServer({ backends: [backend], limits });
    const params = { text: "x".repeat(100_000) };
    const caller = { tenant: "default", workerId: "w1" };
    const first = server.execute("probe:probe", params);
    await expect.poll(() => server.engine.held.of(caller)).toBeGreaterThan(100_000);
    const batch = { worker_id: "w1", actions: [{ action: "probe:probe", params }] };
    const refused = [
      await server.execute("probe:probe", params),
      await server.execute("probe:probe", params, { async_mode: true }),
      await server.execute("probe:probe", params, { stream: true }),
      await server.post("/execute/batch", batch),
    ];
    expect(refused.map(({ status, body }) => [status, body.data?.limit])).toEqual(
      refused.map(() => [429, "held_bytes_per_worker"]),
    );
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    const small = server.execute("probe:probe", {});
    gate.open();
    expect([(await first).status, (await small).status]).toEqual([200, 200]);
    expect(server.engine.held.of(caller)).toBe(0);
    expect((await server.execute("probe:probe", params, { worker_id: "w2" })).status).toBe(200);
  });
});
