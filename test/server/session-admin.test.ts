import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { testServer } from "../kit/test-server.ts";

const create = { resource_type: "counter" };

describe("sessions by their ids", () => {
  it("are told, listed and closed, whichever worker's they are", async () => {
    const backend = new CounterBackend();
    await using server = await testServer({ backends: [backend], limits: { sessionTtlMs: 270_000 } });
    const ids: string[] = [];
    for (const worker_id of ["w1", "w2", "w3"]) {
      ids.push((await server.post("/api/v1/session/create", { worker_id, ...create })).body.data.session_id);
    }
    const { body: one } = await server.get(`/api/v1/session/${ids[1]}`);
    expect(one.data).toMatchObject({
      session_id: ids[1],
      worker_id: "w2",
      status: "active",
      ttl_ms: 270_000,
      auto_extend: true,
    });
    const list = async (query = ""): Promise<string[]> =>
      (await server.get(`/api/v1/sessions${query}`)).body.data.sessions.map(
        (session: { session_id: string }) => session.session_id,
      );
    expect(await list()).toEqual(ids);
    expect(await list("?worker_id=w3")).toEqual([ids[2]]);
    expect(await list("?resource_type=other")).toEqual([]);
    const remove = async (path: string) =>
      (await (await fetch(server.url + path, { method: "DELETE" })).json()) as { data: unknown };
    expect(await remove(`/api/v1/session/${ids[0]}`)).toMatchObject({ data: { session_id: ids[0], over: true } });
    expect((await server.get(`/api/v1/session/${ids[0]}`)).body.meta["error"]).toBe("session_not_found");
    expect(await remove("/api/v1/sessions?worker_id=w2")).toMatchObject({ data: { closed: [ids[1]], count: 1 } });
    expect(await remove("/api/v1/sessions")).toMatchObject({ data: { closed: [ids[2]], count: 1 } });
    expect(await list()).toEqual([]);
  });

  it("stay as they are where a filter has a name that there is not, or has it twice", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await server.post("/api/v1/session/create", { worker_id: "w1", ...create });
    const url = `${server.url}/api/v1/sessions`;
    for (const query of ["worker=w2", "resource=other", "worker_id=w2&worker_id=w1"]) {
      expect((await fetch(`${url}?${query}`, { method: "DELETE" })).status).toBe(400);
    }
    const { status, body } = await server.get("/api/v1/sessions?worker=w2");
    expect({ status, error: body.meta["error"] }).toEqual({ status: 400, error: "invalid_input" });
    expect(body.message).toBe('There is no parameter "worker"');
    expect(body.meta["suggestion"]).toBe("Use one of worker_id, resource_type.");
    expect((await server.get("/api/v1/sessions")).body.data.count).toBe(1);
    expect((await server.get("/api/v1/jobs?worker=w1")).status).toBe(400);
  });

  it("D03: are another tenant's as little as those of nobody", async () => {
    await using server = await keyedServer(
      { ours: {}, theirs: { tenant: "other" }, narrow: { scopes: ["other:*"] } },
      { backends: [new CounterBackend()] },
    );
    const { ours, theirs, narrow } = server.holders;
    const { body } = await ours.post("/api/v1/session/create", { worker_id: "w1", ...create });
    const path = `/api/v1/session/${body.data.session_id}`;
    expect((await theirs.get(path)).status).toBe(404);
    expect((await theirs.get("/api/v1/sessions")).body.data.sessions).toEqual([]);
    expect((await narrow.get(path)).status).toBe(403);
    const headers = { authorization: `Bearer ${theirs.key}` };
    expect((await fetch(server.url + path, { method: "DELETE", headers })).status).toBe(404);
    expect((await fetch(`${server.url}/api/v1/sessions`, { method: "DELETE", headers })).status).toBe(200);
    expect((await ours.get(path)).status).toBe(200);
  });

  it("end in the background as long as the cleanup runs, and else when they are asked for", async () => {
    const clock = new ManualClock();
    const backend = new CounterBackend();
    await using server = await testServer({
      backends: [backend],
      clock,
      limits: { sessionTtlMs: 1_000, sweepIntervalMs: 100 },
    });
    const set = async (enabled: boolean) => (await server.post("/api/v1/server/cleanup", { enabled })).body.data;
    expect(await set(false)).toEqual({ enabled: false });
    const { body } = await server.post("/api/v1/session/create", { worker_id: "w1", ...create });
    await clock.advance(5_000);
    expect(backend.cleaned).toHaveLength(0);
    expect((await server.get(`/api/v1/session/${body.data.session_id}`)).body.meta["error"]).toBe("session_expired");
    await server.post("/api/v1/session/create", { worker_id: "w2", ...create });
    expect([await set(true), await set(true)]).toEqual([{ enabled: true }, { enabled: true }]);
    await clock.advance(5_000);
    await expect.poll(() => backend.cleaned.length).toBe(2);
  });
});
