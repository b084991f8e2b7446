import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli, root, serveFixtures } from "../cli/cli-process.ts";

const TIMEOUT_MS = 90_000;
type Server = Awaited<ReturnType<typeof serveFixtures>>;

let dir: string;
let server: Server | undefined;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-restart-"));
});
afterEach(async () => {
  server?.child.kill("SIGKILL");
  await server?.ended;
  server = undefined;
  await rm(dir, { recursive: true, force: true });
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<Server> {
  return (server = await serveFixtures(["--data", join(dir, "data")], { env }));
}

async function kill(running: Server): Promise<void> {
  running.child.kill("SIGKILL");
  await running.ended;
}

async function restart(running: Server): Promise<Server> {
  await kill(running);
  return start();
}

async function post({ url }: Server, path: string, body: object) {
  const answer = await fetch(url + path, { method: "POST", body: JSON.stringify({ worker_id: "w1", ...body }) });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const execute = (running: Server, action: string, more: object = {}) => post(running, "/execute", { action, ...more });

/** Lines of a file; none when it is not there. */
async function lines(name: string): Promise<number> {
  return (await readFile(join(dir, name), "utf8").catch(() => "")).split("\n").length - 1;
}

const workParams = () => ({ file: join(dir, "effects"), until: join(dir, "go") });

describe("E04: a server that is killed while it runs a keyed call", () => {
  it(
    "E04: answers the retry with unknown_outcome, each time, and does not run it again",
    async () => {
      let running = await start();
      const call = { params: workParams(), request_id: "k" };
      const lost = execute(running, "work:once", call).catch(() => "cut off");
      await expect.poll(() => lines("effects")).toBe(1);
      running = await restart(running);
      expect(await lost).toBe("cut off");
      await writeFile(join(dir, "go"), "");
      for (let turn = 0; turn < 2; turn += 1) {
        expect(await execute(running, "work:once", call)).toMatchObject({
          status: 500,
          body: { code: 5032, meta: { error: "unknown_outcome", outcome: "infra_error", retryable: false } },
        });
        if (turn === 0) running = await restart(running);
      }
      expect(await lines("effects")).toBe(1);
      expect((await execute(running, "work:once", { ...call, params: {} })).status).toBe(409);
    },
    TIMEOUT_MS,
  );

  it(
    "E04: runs again what says that it may be repeated",
    async () => {
      let running = await start();
      const call = { params: workParams(), request_id: "k" };
      void execute(running, "work:again", call).catch(() => undefined);
      await expect.poll(() => lines("effects")).toBe(1);
      running = await restart(running);
      await writeFile(join(dir, "go"), "");
      const answers = await Promise.all([1, 2, 3].map(() => execute(running, "work:again", call)));
      expect(answers.map(({ body }) => body.data)).toEqual(Array.from({ length: 3 }, () => ({ runs: 2 })));
    },
    TIMEOUT_MS,
  );

  it(
    "E04: tells of a job that its outcome is unknown",
    async () => {
      let running = await start();
      const started = await execute(running, "work:once", { params: workParams(), async_mode: true, request_id: "k" });
      const { job_id } = started.body.data;
      await expect.poll(() => lines("effects")).toBe(1);
      running = await restart(running);
      const asked = await fetch(`${running.url}/api/v1/jobs/${job_id}`);
      expect(await asked.json()).toMatchObject({
        data: { state: "unknown", result: { code: 5032, meta: { error: "unknown_outcome" } } },
      });
      // The key still means that job.
      const again = await execute(running, "work:once", { params: workParams(), async_mode: true, request_id: "k" });
      expect(again.body.data).toMatchObject({ job_id, state: "unknown" });
      expect(await lines("effects")).toBe(1);
      const shown = await runCli(["jobs", job_id, "--url", running.url]);
      expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining("unknown")]);
    },
    TIMEOUT_MS,
  );
});

describe("F01: a server that is killed with live sessions", () => {
  it(
    "F01: fifty sessions of a recoverable backend come back with their state, and end as they should",
    async () => {
      let running = await start();
      const workers = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const worker_id = `w${index}`;
          const session_config = { file: join(dir, `notes-${index}`) };
          const create = { worker_id, resource_type: "durable", session_config, ttl: 3_600 };
          const created = await post(running, "/api/v1/session/create", create);
          await execute(running, "durable:note", { worker_id });
          return { worker_id, session_id: created.body.data.session_id, expires: created.body.data.expires_at };
        }),
      );
      await rm(join(dir, "notes-7"));
      running = await restart(running);
      for (const [index, { worker_id, session_id, expires }] of workers.entries()) {
        const answer = await execute(running, "durable:note", { worker_id, session_id });
        if (index === 7) {
          expect(answer).toMatchObject({ status: 410, body: { meta: { error: "session_lost" } } });
          continue;
        }
        expect(answer).toMatchObject({ status: 200, body: { data: { lines: 2 }, meta: { session_id } } });
        const { sessions } = (await post(running, "/api/v1/session/list", { worker_id })).body.data;
        expect(sessions).toHaveLength(1);
        expect(Date.parse(sessions[0].expires_at)).toBeGreaterThanOrEqual(Date.parse(expires) - 1_000);
      }
      await post(running, "/api/v1/session/destroy", { worker_id: "w1", resource_type: "durable" });
      running = await restart(running);
      const gone = await execute(running, "durable:note", { worker_id: "w1", session_id: workers[1]?.session_id });
      expect(gone.body.meta.error).toBe("session_not_found");
      expect((await execute(running, "durable:note", workers[2])).body.data).toEqual({ lines: 3 });
    },
    TIMEOUT_MS,
  );

  it(
    "F01: a session that cannot come back is lost to who names it, once and for all, and told to who does not",
    async () => {
      let running = await start();
      const created = await post(running, "/api/v1/session/create", { resource_type: "counter" });
      const { session_id } = created.body.data;
      for (let turn = 0; turn < 2; turn += 1) {
        running = await restart(running);
        expect(await execute(running, "counter:incr", { session_id })).toMatchObject({
          status: 410,
          body: { code: 4009, meta: { error: "session_lost", outcome: "infra_error" } },
        });
        const stranger = await execute(running, "counter:incr", { session_id, worker_id: "w2" });
        expect(stranger.body.meta.error).toBe("session_not_found");
        if (turn > 0) continue;
        expect((await execute(running, "counter:incr")).body).toMatchObject({
          data: { value: 1 },
          meta: { lost_session: session_id, temporary_session: true },
        });
      }
    },
    TIMEOUT_MS,
  );
});

describe("one data folder", () => {
  it(
    "F11: a server told to stop lets a keyed call end, and the next one has its answer",
    async () => {
      let running = await start();
      const call = { params: workParams(), request_id: "k" };
      const answering = execute(running, "work:once", call);
      await expect.poll(() => lines("effects")).toBe(1);
      running.child.kill("SIGTERM");
      await expect
        .poll(() => execute(running, "echo", { params: { message: "m" } }).then(({ status }) => status))
        .toBe(503);
      await writeFile(join(dir, "go"), "");
      const answer = await answering;
      expect(answer.body.data).toEqual({ runs: 1 });
      expect(await running.ended).toBe(0);
      running = await start();
      expect(await execute(running, "work:once", call)).toEqual(answer);
      expect(await lines("effects")).toBe(1);
    },
    TIMEOUT_MS,
  );

  it(
    "F11: a server told to stop cuts short at its deadline what would never end, tells its readers so, and ends with 0",
    async () => {
      let running = await start({ TOOLYARD_DRAIN_MS: "1000" });
      const params = workParams();
      const request = { worker_id: "w1", action: "work:once", params, stream: true, on_disconnect: "detach" };
      const streamed = await fetch(`${running.url}/execute`, { method: "POST", body: JSON.stringify(request) });
      const callId = streamed.headers.get("toolyard-call-id");
      const job = await execute(running, "work:once", { params, async_mode: true });
      const events = await fetch(`${running.url}/api/v1/events?after=0`);
      const answering = execute(running, "work:once", { params, request_id: "k" });
      await expect.poll(() => lines("effects")).toBe(3);
      running.child.kill("SIGTERM");
      const unknown = { code: 5032, meta: { error: "unknown_outcome", outcome: "infra_error", retryable: false } };
      expect(await answering).toMatchObject({ status: 500, body: unknown });
      const told = await streamed.text();
      expect(JSON.parse(told.split("event: result\ndata: ")[1] ?? "")).toMatchObject(unknown);
      // The log's readers see every end before theirs.
      expect((await events.text()).match(/event: call\.failed/g)).toHaveLength(3);
      expect(await running.ended).toBe(0);
      running = await start();
      expect(await execute(running, "work:once", { params, request_id: "k" })).toMatchObject({ body: unknown });
      const get = async (path: string) => (await fetch(running.url + path)).text();
      expect(JSON.parse(await get(`/api/v1/jobs/${job.body.data.job_id}`)).data).toMatchObject({
        state: "unknown",
        result: unknown,
      });
      expect(await get(`/api/v1/calls/${callId}/stream`)).toContain('"error":"unknown_outcome"');
      expect(await lines("effects")).toBe(3);
    },
    TIMEOUT_MS,
  );

  it(
    "is for one server at a time",
    async () => {
      await start();
      const config = `${root}/configs/fixtures.json`;
      const second = await runCli(["serve", "--config", config, "--port", "0", "--data", join(dir, "data")]);
      expect([second.code, second.stdout]).toEqual([1, ""]);
      expect(second.stderr).toMatch(/data/);
    },
    TIMEOUT_MS,
  );
});
