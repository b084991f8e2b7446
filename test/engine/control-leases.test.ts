import { describe, expect, it } from "vitest";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { testEngine } from "../kit/test-engine.ts";
import { SandboxedBackend } from "../kit/sandboxed-backend.ts";

async function controlled() {
  const tested = testEngine([new SandboxedBackend()], { controlLeaseMs: 1_000, maxControlLeaseMs: 5_000 });
  const { record } = await tested.create("box");
  const told: Pick<ToolyardEvent, "type" | "actor" | "data">[] = [];
  tested.engine.bus.subscribe(
    ({ type, actor, data }) => type.startsWith("control.") && told.push({ type, actor, data }),
  );
  return { ...tested, record, told, leases: tested.engine.leases };
}

describe("control of a session", () => {
  it("is everybody's until a human takes it, and everybody's again when it is released", async () => {
    const { leases, record, told } = await controlled();
    expect(leases.demand(record, undefined, "agent")).toBe("agent");
    const { id } = leases.take(record, { holder: "Ada" });
    expect(() => leases.demand(record, undefined, "agent")).toThrow(
      expect.objectContaining({ error: "control_taken" }),
    );
    expect(() => leases.demand(record, "another", "human")).toThrow(/Ada has control/);
    expect(leases.demand(record, id, "agent")).toBe("human");
    expect(leases.holderOf(record)).toMatchObject({ holder: "Ada" });
    expect(leases.release(record, id)).toBe(true);
    expect(leases.demand(record, undefined, "agent")).toBe("agent");
    expect(told).toMatchObject([
      { type: "control.taken", actor: "human", data: { holder: "Ada" } },
      { type: "control.released", actor: "human", data: { holder: "Ada", reason: "released" } },
    ]);
    expect(JSON.stringify(told)).not.toContain(id);
  });

  it("runs out without input of the holder's, and lives on with it", async () => {
    const { leases, record, clock, told } = await controlled();
    const { id } = leases.take(record, { holder: "Ada" });
    await clock.advance(900);
    leases.demand(record, id, "human");
    await clock.advance(900);
    expect(leases.demand(record, id, "human")).toBe("human");
    await clock.advance(1_001);
    expect(leases.holderOf(record)).toBeNull();
    expect(leases.demand(record, undefined, "agent")).toBe("agent");
    expect(told.at(-1)).toMatchObject({ actor: "system", data: { reason: "expired" } });
  });

  it("is renewed by its holder, taken by another only by force, and never for longer than may be", async () => {
    const { leases, record, clock, told } = await controlled();
    const first = leases.take(record, { holder: "Ada" });
    await clock.advance(900);
    expect(leases.take(record, { holder: "Ada", lease: first.id, ttlMs: 2_000 })).toMatchObject({
      id: first.id,
      since: first.since,
    });
    await clock.advance(1_500);
    expect(() => leases.take(record, { holder: "Bob" })).toThrow(/Ada has control/);
    expect(() => leases.release(record, "guessed")).toThrow(/Ada has control/);
    const second = leases.take(record, { holder: "Bob", force: true, ttlMs: 60_000 });
    expect(second.id).not.toBe(first.id);
    expect(() => leases.demand(record, first.id, "human")).toThrow(/Bob has control/);
    await clock.advance(5_001);
    expect(leases.holderOf(record)).toBeNull();
    expect(told.map(({ type, data }) => [type, data["reason"]])).toEqual([
      ["control.taken", undefined],
      ["control.taken", undefined],
      ["control.released", "replaced"],
      ["control.taken", undefined],
      ["control.released", "expired"],
    ]);
  });

  it("ends with its session, which is told before the session's own end", async () => {
    const { leases, record, router, told, engine } = await controlled();
    const types: string[] = [];
    engine.bus.subscribe(({ type }) => types.push(type));
    leases.take(record, { holder: "Ada" });
    await router.destroy(record, "destroyed");
    expect(told.at(-1)).toMatchObject({ data: { reason: "session_ended" } });
    expect(types).toEqual(["control.taken", "control.released", "sandbox_terminated", "session.ended"]);
    expect(() => leases.take(record, { holder: "Ada" })).toThrow(
      expect.objectContaining({ error: "session_not_found" }),
    );
  });
});
