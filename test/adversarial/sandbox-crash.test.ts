import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { startCodeServer } from "../kit/code-server.ts";

const TIMEOUT_MS = 180_000;
const SESSIONS = 12;
const { local } = await createRuntimeSelector().status(AbortSignal.timeout(60_000));
const why = local?.available === true ? "" : ` (skipped: ${local?.reason})`;

async function folderOf(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `toolyard-${name}-`));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** How many processes of this machine run with these words in their command. */
async function countProcesses(words: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.replaceAll("\0", " ").includes(words)).length;
}

describe.skipIf(local?.available !== true)(`a server that is killed with sandboxes in local${why}`, () => {
  it(
    `F01, F02: ${SESSIONS} sessions are lost with the word for it, no process of theirs is left, and another server's go on`,
    async () => {
      const folder = await folderOf("crash");
      const first = await startCodeServer({ folder, runtime: "local", settings: { pool: { min: 2 } } });
      onTestFinished(() => first.kill());
      // A number that no other sleep of this machine has.
      const sleep = `sleep 98${String(process.pid).padStart(7, "0")}`;
      const workers = await Promise.all(
        Array.from({ length: SESSIONS }, async (_, index) => {
          const worker = `w${index}`;
          const session = await first.createSession(worker);
          const started = await first.call(worker, "code:run", { language: "bash", code: `${sleep} & echo on` });
          expect(started.body.data).toMatchObject({ stdout: "on\n" });
          return { worker, session };
        }),
      );
      expect(await countProcesses(sleep)).toBe(SESSIONS);
      const other = await startCodeServer({ folder: await folderOf("other"), runtime: "local" });
      onTestFinished(() => other.kill());
      const foreign = { session_id: await other.createSession("w0") };
      await other.call("w0", "code:run", { language: "python", code: "x = 41" }, foreign);
      const cut = first.call("w0", "code:run", { language: "python", code: "import time; time.sleep(1000)" });
      const answered = cut.then(
        () => "answered",
        () => "cut off",
      );
      await first.kill();
      expect(await answered).toBe("cut off");
      await expect.poll(() => countProcesses(sleep), { timeout: 30_000 }).toBe(0);

      const next = await startCodeServer({ folder, runtime: "local" });
      onTestFinished(() => next.kill());
      const run = { language: "python", code: "1 + 1" };
      for (const { worker, session } of workers) {
        // One after another, as the answers are read.
        // oxlint-disable-next-line no-await-in-loop
        expect(await next.call(worker, "code:run", run, { session_id: session })).toMatchObject({
          status: 410,
          body: { code: 4009, meta: { error: "session_lost", outcome: "infra_error" } },
        });
      }
      expect((await next.call("w0", "code:run", run)).body).toMatchObject({
        data: { result: 2 },
        meta: { lost_session: workers[0]?.session },
      });
      await next.stop();
      const recalled = await other.call("w0", "code:run", { language: "python", code: "x + 1" }, foreign);
      expect(recalled.body).toMatchObject({ data: { result: 42, state_lost: false } });
      await other.stop();
    },
    TIMEOUT_MS,
  );
});
