import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { containersOf } from "../kit/containers.ts";
import { startCodeServer } from "../kit/code-server.ts";
import { describeDocker } from "../kit/docker-engine.ts";
import { TtydClient } from "../kit/ttyd-client.ts";

const TIMEOUT_MS = 120_000;
const POLL = { timeout: 60_000 };

describeDocker("a server that is killed with terminals in docker", () => {
  it(
    "F01: the next one has them, running on, with what they showed and what they wrote meanwhile",
    async () => {
      // Short: a unix socket's path is bounded.
      const folder = await mkdtemp(join(tmpdir(), "ty-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const start = async () => {
        const server = await startCodeServer({ folder, runtime: "docker", settings: { pull: false } });
        onTestFinished(() => server.kill());
        return server;
      };
      const first = await start();
      const containers = containersOf(join(folder, "data", "docker"));
      const session = await first.createSession("w1");
      const loop = 'echo before; i=0; while read -r line; do i=$((i+1)); echo "got $i $line"; done';
      const begun = await first.call("w1", "terminal:start", { command: loop, columns: 60, rows: 9 });
      expect(begun.body).toMatchObject({ data: { terminal_id: "t1", running: true } });
      await first.call("w1", "terminal:write", { text: "one", enter: true });
      const lines = async (server: typeof first): Promise<string> =>
        (await server.call("w1", "terminal:read", {}, { session_id: session })).body.data.screen.lines.join("\n");
      await expect.poll(() => lines(first), POLL).toContain("got 1 one");
      const watching = await TtydClient.open(`${first.url}/ws/term/${session}`);
      await expect.poll(() => watching.output, POLL).toContain("got 1 one");
      await first.kill();
      expect((await watching.closed).code).toBe(1006);

      const next = await start();
      const again = await TtydClient.open(`${next.url}/ws/term/${session}`);
      onTestFinished(() => again.socket.terminate());
      await expect.poll(() => again.output, POLL).toContain("got 1 one");
      again.type("two\r");
      await expect.poll(() => again.output, POLL).toContain("got 2 two");
      expect(await lines(next)).toMatch(/before[^]*got 1 one[^]*got 2 two/);
      const status = await next.call("w1", "terminal:status", {});
      expect(status.body.data.terminals).toMatchObject([
        { terminal_id: "t1", pid: begun.body.data.pid, columns: 60, rows: 9, viewers: 1 },
      ]);
      const second = await next.call("w1", "terminal:start", {});
      expect(second.body.data.terminal_id).toBe("t2");
      const stopped = await next.call("w1", "terminal:stop", { terminal_id: "t1" });
      expect(stopped.body.data).toMatchObject({ running: false });
      expect((await again.closed).code).toBe(1000);
      await next.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "code" });
      await next.stop();
      expect(await containers.list()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
