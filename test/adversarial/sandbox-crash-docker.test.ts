import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { containersOf } from "../kit/containers.ts";
import { describeDocker } from "../kit/docker-engine.ts";
import { type CodeServer, startCodeServer } from "../kit/code-server.ts";

const TIMEOUT_MS = 240_000;
/** A dozen start in seconds; CI asks for as many as the catalogue does. */
const SESSIONS = process.env["CI"] === undefined ? 12 : 50;

const WAVE = 10;

/** Folders are short: a unix socket's path is. */
async function deployment(): Promise<{
  readonly folder: string;
  readonly start: (settings?: object) => Promise<CodeServer>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "ty-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const start = async (settings: object = {}) => {
    const server = await startCodeServer({
      ...{ folder, runtime: "docker", settings: { pull: false, ...settings } },
      // Not the runtime's own: pools must hold what sessions ask for.
      code: { memory_mib: 128, cpus: 0.75 },
    });
    onTestFinished(() => server.kill());
    return server;
  };
  return { folder, start };
}

const stateFolder = (folder: string) => join(folder, "data", "docker");
const python = (code: string) => ({ language: "python", code });

/** Leaves a variable, a file and a process in a new session. */
async function populate(server: CodeServer, worker: string): Promise<string> {
  const session = await server.createSession(worker);
  const code = [
    "import subprocess",
    `x = "${worker}"`,
    "open('mark', 'w').write(x)",
    "child = subprocess.Popen(['sleep', '1000'])",
    "child.pid",
  ].join("\n");
  const answer = await server.call(worker, "code:run", python(code), { session_id: session });
  if (answer.body.data?.error !== null) throw new Error(`no state: ${JSON.stringify(answer.body)}`);
  return session;
}

const recall = python("[x, open('mark').read(), child.poll() is None]");

describeDocker("a server that is killed with sandboxes in docker", () => {
  it(
    `F01: ${SESSIONS} sessions are adopted with variables, files and processes, or lost with the word for it; none is left over`,
    async () => {
      const { folder, start } = await deployment();
      const first = await start();
      const containers = containersOf(stateFolder(folder));
      const workers: { readonly worker: string; readonly session: string }[] = [];
      for (let start = 0; start < SESSIONS; start += WAVE) {
        const wave = Array.from({ length: Math.min(WAVE, SESSIONS - start) }, (_, index) => `w${start + index}`);
        // In waves on purpose: it is not a burst that is tried here.
        // oxlint-disable-next-line no-await-in-loop
        workers.push(
          ...(await Promise.all(wave.map(async (worker) => ({ worker, session: await populate(first, worker) })))),
        );
      }
      // One of a call alone, which nobody can name afterwards.
      const temporary = first.call("temporary", "code:run", python("import time; time.sleep(1000)"));
      void temporary.catch(() => undefined);
      // And one whose code runs when the server dies: the next server's code must not wait for it.
      const busy = first.call("w2", "code:run", python("import time; time.sleep(1000)"), {
        session_id: workers[2]?.session,
      });
      void busy.catch(() => undefined);
      await expect.poll(() => containers.list()).toHaveLength(SESSIONS + 1);
      const doomed = await containers.of(workers[3]?.session ?? "");
      await first.kill();
      await doomed.kill();

      const next = await start();
      for (const { worker, session } of workers) {
        // One after another, as the answers are read.
        // oxlint-disable-next-line no-await-in-loop
        const answer = await next.call(worker, "code:run", recall, { session_id: session, timeout_ms: 60_000 });
        if (worker === "w3") {
          expect(answer).toMatchObject({ status: 410, body: { meta: { error: "session_lost" } } });
          continue;
        }
        expect(answer.body).toMatchObject({
          // Code that ran when its server died was interrupted, which takes what its kernel had started.
          data: { result: [worker, worker, worker !== "w2"], state_lost: false },
          meta: { session_id: session },
        });
      }
      await expect.poll(() => containers.list(), { timeout: 30_000 }).toHaveLength(SESSIONS - 1);
      await next.stop();
      expect(await containers.list()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    "F02: another deployment on the same engine is never touched, by its start, its end or its crash",
    async () => {
      const one = await deployment();
      const other = await deployment();
      const first = await one.start();
      const session = await populate(first, "w1");
      const containers = containersOf(stateFolder(one.folder));
      const before = await containers.list();
      expect(before).toHaveLength(1);
      await first.kill();

      const foreign = await other.start();
      await populate(foreign, "w1");
      await foreign.kill();
      const foreignNext = await other.start();
      await foreignNext.createSession("w2");
      await foreignNext.stop();
      expect(await containersOf(stateFolder(other.folder)).list()).toEqual([]);
      expect(await containers.list()).toEqual(before);

      const next = await one.start();
      expect((await next.call("w1", "code:run", recall, { session_id: session })).body).toMatchObject({
        data: { result: ["w1", "w1", true] },
      });
      await next.stop();
    },
    TIMEOUT_MS,
  );

  it(
    "F01, F10: members of a pool that nobody claimed are reaped, and the next server fills its own",
    async () => {
      const { folder, start } = await deployment();
      const first = await start({ pool: { min: 2, max: 4 } });
      const containers = containersOf(stateFolder(folder));
      await expect.poll(async () => (await first.ready()).pool?.ready).toBe(2);
      const session = await populate(first, "w1");
      await expect.poll(async () => (await first.ready()).pool).toMatchObject({ ready: 2, claimed: 1 });
      const before = await containers.list();
      await first.kill();
      const next = await start({ pool: { min: 2, max: 4 } });
      await expect.poll(async () => (await next.ready()).pool?.ready, { timeout: 30_000 }).toBe(2);
      await expect.poll(() => containers.list(), { timeout: 30_000 }).toHaveLength(3);
      expect((await containers.list()).filter((id) => before.includes(id))).toHaveLength(1);
      expect((await next.call("w1", "code:run", recall, { session_id: session })).body).toMatchObject({
        data: { result: ["w1", "w1", true] },
      });
      await next.stop();
      expect(await containers.list()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
