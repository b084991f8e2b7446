import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { getPipelined } from "../kit/pipelined-http.ts";

const TENANTS = { a: { tenant: "acme" }, b: { tenant: "blue" } } as const;
const SESSION_GUESSES = 80_000;
const PATH_GUESSES = 10_000;
const BATCH = 1_000;
/** Where a real id is among the guesses; what is answered to it must not show it. */
const REAL_AT = 137;

/** What one may learn from an answer: everything but the id that was asked for, the trace, the time and the date. */
function toShape(text: string, id: string): string {
  return text
    .replaceAll(id, "ID")
    .replace(/"(trace_id)":"[^"]*"/g, '"$1":""')
    .replace(/"(execution_time_ms|queued_ms)":[\d.]+/g, '"$1":0')
    .replace(/^date: .*$/im, "date:")
    .replace(/^x-(?:request|trace)-id: .*$/gim, "");
}

describe("D04: guessing", () => {
  it(
    "D04: 100,000 guesses of ids find nothing, and a foreign id among them is answered as the others are",
    { timeout: 240_000 },
    async () => {
      const backend = new CounterBackend();
      await using server = await keyedServer(TENANTS, { backends: [backend] });
      const { a, b } = server.holders;
      const whose = { worker_id: "w1", resource_type: "counter" };
      const session: string = (await a.post("/api/v1/session/create", whose)).body.data.session_id;
      expect(session).toMatch(/_[0-9a-f]{32}$/);
      const job: string = (await a.execute("counter:get", {}, { async_mode: true })).body.data.job_id;
      expect(job).toMatch(/^job_[0-9a-f]{32}$/);
      const streamed = a.execute("counter:hold", { gate: "a" }, { async_mode: false, on_disconnect: "detach" });
      await backend.gate("a").arrived();
      const call = await startStream(server.url, a.key);

      const shapes = { sessions: new Set<string>(), jobs: new Set<string>(), calls: new Set<string>() };
      for (let sent = 0; sent < SESSION_GUESSES; sent += BATCH) {
        const ids = Array.from({ length: BATCH }, () => session.slice(0, -32) + randomUUID().replaceAll("-", ""));
        if (sent === 0) ids[REAL_AT] = session;
        const actions = ids.map((session_id) => ({ action: "counter:incr", session_id }));
        // One after another on purpose: each is answered before the next is made.
        // oxlint-disable-next-line no-await-in-loop
        const { body } = await b.post("/execute/batch", { worker_id: "w1", actions, stop_on_error: false });
        const { results } = body.data as { readonly results: readonly object[] };
        expect(results).toHaveLength(BATCH);
        for (const [index, result] of results.entries()) {
          shapes.sessions.add(toShape(JSON.stringify(result), ids[index] ?? ""));
        }
      }
      const guess = async (real: string, next: () => string, toPath: (id: string) => string, found: Set<string>) => {
        const ids = Array.from({ length: PATH_GUESSES }, (_, index) => (index === REAL_AT ? real : next()));
        await getPipelined(server.port, ids.map(toPath), { "x-api-key": b.key }, ({ status, head, body }, index) => {
          expect(status).toBe(404);
          found.add(toShape(`${head}\n${body}`, ids[index] ?? ""));
        });
      };
      const newJob = () => `job_${randomBytes(16).toString("hex")}`;
      await guess(job, newJob, (id) => `/api/v1/jobs/${id}`, shapes.jobs);
      await guess(call, randomUUID, (id) => `/api/v1/calls/${id}/stream`, shapes.calls);

      expect([...shapes.sessions]).toEqual([expect.stringContaining('"session_not_found"')]);
      expect([...shapes.jobs]).toEqual([expect.stringContaining('"unknown_name"')]);
      expect([...shapes.calls]).toEqual([expect.stringContaining('"unknown_name"')]);
      // None of the 80,000 made a session, and none ran.
      expect(backend.initialized).toHaveLength(1);
      backend.gate("a").open();
      expect((await streamed).body.data).toMatchObject({ value: 0 });
    },
  );

  it(
    "D04: the rate limit answers guesses before they are looked up, and holds up nobody else",
    { timeout: 300_000 },
    async () => {
      const clock = new ManualClock();
      const rateLimit = { requestsPerMinute: 600, burst: 500 };
      await using server = await keyedServer(TENANTS, {
        backends: [new CounterBackend()],
        clock,
        security: { rateLimit },
      });
      const { a, b } = server.holders;
      const count = async (guesses: number) => {
        const statuses: Record<number, number> = {};
        const paths = Array.from({ length: guesses }, () => `/api/v1/jobs/job_${randomBytes(16).toString("hex")}`);
        await getPipelined(server.port, paths, { "x-api-key": b.key }, ({ status, head }) => {
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (status === 429) expect(head).toMatch(/^retry-after: 1$/im);
        });
        return statuses;
      };
      expect(await count(20_000)).toEqual({ 404: 500, 429: 19_500 });
      // Six seconds of 600 a minute.
      clock.skip(6_000);
      expect(await count(1_000)).toEqual({ 404: 60, 429: 940 });
      expect((await a.execute("counter:incr")).status).toBe(200);
    },
  );

  it("D04: guesses of keys are slowed down by address, and good keys are not", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ a: {} }, { clock });
    const statuses: number[] = [];
    for (let guess = 0; guess < 130; guess += 1) {
      const response = await fetch(`${server.url}/ready`, {
        headers: { "x-api-key": `ty_${server.holders.a.id}_${randomUUID().replaceAll("-", "")}00000000` },
      });
      statuses.push(response.status);
      await response.text();
    }
    expect(statuses).toEqual([...Array.from({ length: 120 }, () => 401), ...Array.from({ length: 10 }, () => 429)]);
    expect((await server.holders.a.get("/ready")).status).toBe(200);
    const { entries } = (await server.holders.a.get("/api/v1/audit")).body.data;
    expect(entries.filter((entry: { action: string }) => entry.action === "auth.failed")).toHaveLength(1);
  });
});

/** Starts a streamed call of one tenant and leaves it; returns its id. */
async function startStream(url: string, key: string): Promise<string> {
  const body = JSON.stringify({ worker_id: "w1", action: "counter:get", stream: true, on_disconnect: "detach" });
  const response = await fetch(`${url}/execute`, { method: "POST", body, headers: { "x-api-key": key } });
  await response.text();
  return response.headers.get("toolyard-call-id") ?? "";
}
