import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import type { SessionPorts } from "../../src/core/exposed-port.ts";
import { type SandboxedOptions, SandboxedBackend } from "../kit/sandboxed-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

const connectable = { connect: async () => new Duplex() };

/** A session with a sandbox, and its ports as a tool of it sees them. */
async function portsOf(options: SandboxedOptions, limits = {}) {
  const backend = new SandboxedBackend(options);
  const made = testEngine([backend], limits);
  const { engine } = made;
  engine.ports.toUrl = ({ sessionId, port, ticket }) => `http://box/${sessionId}/${port}?${ticket}`;
  await made.create("box");
  let ports: SessionPorts | undefined;
  backend.onUse = (context) => (ports = context.ports);
  expect((await made.call("box:use")).ok).toBe(true);
  if (ports === undefined) throw new Error("the tool was given no ports");
  const record = made.router.list(made.worker("w1"))[0];
  if (record === undefined) throw new Error("there is no session");
  return { ...made, ports, record, backend };
}

describe("the ports of a session", () => {
  it("are exposed by a tool under a ticket that finds them again", async () => {
    const { ports, record, engine } = await portsOf(connectable);
    const way = ports.expose(8000);
    expect(way.url).toBe(`http://box/${record.id}/8000?${way.ticket}`);
    expect(engine.ports.byTicket(way.ticket)).toMatchObject({ port: 8000, record });
    expect(ports.list()).toEqual([{ id: way.id, port: 8000, createdAt: way.createdAt, expiresAt: way.expiresAt }]);
  });

  it("close at their time, which the limits bound", async () => {
    const { ports, engine, clock } = await portsOf(connectable, { maxPortTicketMs: 1_000 });
    const way = ports.expose(8000, { ttlMs: 60_000 });
    let closed = 0;
    engine.ports.byTicket(way.ticket)?.onClose.add(() => (closed += 1));
    await clock.advance(999);
    expect(engine.ports.byId(way.id)).toBeDefined();
    await clock.advance(1);
    expect([engine.ports.byId(way.id), engine.ports.byTicket(way.ticket), closed]).toEqual([undefined, undefined, 1]);
  });

  it("close by hand, all of one port and no other", async () => {
    const { ports } = await portsOf(connectable);
    ports.expose(8000);
    ports.expose(8000);
    const kept = ports.expose(9000);
    expect(ports.unexpose(8000)).toBe(2);
    expect(ports.list().map(({ id }) => id)).toEqual([kept.id]);
    expect(ports.unexpose(8000)).toBe(0);
  });

  it("close with their session, and open no more", async () => {
    const { ports, engine, record, router } = await portsOf(connectable);
    const way = ports.expose(8000);
    await router.destroy(record, "destroyed");
    expect(engine.ports.byTicket(way.ticket)).toBeUndefined();
    expect(engine.ports.size).toBe(0);
    expect(() => ports.expose(8000)).toThrow(expect.objectContaining({ error: "session_not_found" }));
  });

  it("are bounded, and refused where there is nothing to connect to", async () => {
    const { ports } = await portsOf(connectable, { portsPerSession: 1 });
    ports.expose(1);
    expect(() => ports.expose(2)).toThrow(expect.objectContaining({ error: "limit_exceeded" }));
    for (const port of [0, 65_536, 1.5, Number.NaN]) {
      expect(() => ports.expose(port)).toThrow(expect.objectContaining({ error: "invalid_input" }));
    }
    const { ports: none } = await portsOf({});
    expect(() => none.expose(8000)).toThrow(expect.objectContaining({ error: "runtime_unavailable" }));
  });

  it("are told in events", async () => {
    const { ports, engine } = await portsOf(connectable);
    const seen: unknown[] = [];
    engine.bus.subscribe(({ type, data }) => seen.push([type, data]));
    const way = ports.expose(8000);
    ports.unexpose(8000);
    expect(seen).toEqual([
      ["port.exposed", { id: way.id, port: 8000, expires_at: way.expiresAt.toISOString() }],
      ["port.closed", { id: way.id, port: 8000, reason: "revoked" }],
    ]);
  });
});
