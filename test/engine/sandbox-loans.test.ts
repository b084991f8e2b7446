import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import type { LoanRequest } from "../../src/engine/sandbox-loans.ts";
import { SandboxedBackend } from "../kit/sandboxed-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

async function lending(limits = {}) {
  const backend = new SandboxedBackend();
  const made = testEngine([backend, new ScriptedBackend({ sessions: true })], limits);
  const { record } = await made.create("box");
  const client = new Cancellation();
  const borrow = (more: Partial<LoanRequest> = {}) =>
    made.engine.loans.borrow({
      tenant: "default",
      session: { id: record.id },
      authorize: () => undefined,
      client,
      kind: "transfer",
      ...more,
    });
  return { ...made, backend, record, client, borrow };
}

describe("a sandbox", () => {
  it("is lent by the session's id, or by whose it is", async () => {
    const { borrow, record, engine } = await lending();
    const byId = await borrow();
    const byWorker = await borrow({ session: { workerId: "w1", resource: "box" } });
    expect([byId.record, byWorker.record, byId.sandbox.id]).toEqual([record, record, record.id]);
    expect([engine.loans.count, record.leased]).toEqual([2, true]);
    for (const loan of [byId, byWorker, byWorker]) loan.end();
    expect([engine.loans.count, record.leased]).toEqual([0, false]);
  });

  it("D03: is lent to nobody else, and refused as one that is not there", async () => {
    const { borrow, record } = await lending();
    const unknown = `${record.id.slice(0, -4)}0000`;
    const refusal = async (more: Partial<LoanRequest>) => borrow(more).catch((error: unknown) => error);
    const foreign = await refusal({ tenant: "other" });
    expect(foreign).toMatchObject({ error: "session_not_found", message: `There is no session ${record.id}` });
    expect(await refusal({ session: { id: unknown } })).toMatchObject({ message: `There is no session ${unknown}` });
    expect(await refusal({ session: { workerId: "w2", resource: "box" } })).toMatchObject({
      error: "session_not_found",
    });
    const forbidden = new ToolyardError("forbidden", "no");
    const authorize = () => {
      throw forbidden;
    };
    expect(await refusal({ authorize })).toBe(forbidden);
    // Whether the session is there is asked first: to other tenants it is not.
    expect(await refusal({ authorize, tenant: "other" })).toMatchObject({ error: "session_not_found" });
    expect(record.leased).toBe(false);
  });

  it("is not lent where there is none", async () => {
    const { borrow, create } = await lending();
    const { record } = await create("probe");
    await expect(borrow({ session: { id: record.id } })).rejects.toMatchObject({ error: "invalid_input" });
    expect(record.leased).toBe(false);
  });

  it("keeps its session past its time to live, and moves its expiry when it comes back", async () => {
    const { borrow, clock, backend, record } = await lending({ sessionTtlMs: 1_000, sweepIntervalMs: 100 });
    const loan = await borrow();
    await clock.advance(10_000);
    expect(backend.cleaned).toEqual([]);
    loan.end();
    await clock.advance(900);
    expect(backend.cleaned).toEqual([]);
    await clock.advance(1_000);
    await expect.poll(() => backend.cleaned).toEqual([record.id]);
  });

  it("is waited for by a session that ends when a transfer has it, and taken from a connection", async () => {
    const { borrow, router, record, backend } = await lending();
    const transfer = await borrow();
    const connection = await borrow({ kind: "connection" });
    connection.signal.addEventListener("abort", () => connection.end());
    const destroyed = router.destroy(record, "destroyed");
    expect([connection.signal.aborted, transfer.signal.aborted]).toEqual([true, false]);
    expect(backend.cleaned).toEqual([]);
    transfer.end();
    await destroyed;
    expect(backend.cleaned).toEqual([record.id]);
  });

  it("is taken back by a forced end, by its client's end and by the server's", async () => {
    const { borrow, router, record, client, engine } = await lending();
    const forced = await borrow();
    void router.destroy(record, "destroyed", { force: true });
    expect(forced.signal.reason).toMatchObject({ error: "cancelled" });
    forced.end();
    const { borrow: again } = await lending();
    const left = await again({ client });
    client.cancel(new ToolyardError("cancelled", "The client went away"));
    expect(left.signal.aborted).toBe(true);
    await engine.loans.drain(0);
    await expect(borrow()).rejects.toMatchObject({ error: "shutting_down" });
  });
});
