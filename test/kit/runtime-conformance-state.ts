import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxInstance, SandboxRuntime } from "../../src/core/runtime.ts";
import { ability, exec, readLog, spawn } from "./runtime-conformance-commands.ts";

const never = new AbortController().signal;

/** What a fresh sandbox shows of itself, as far as it does not change by itself. */
const FINGERPRINT = `
env | sort
pwd; umask; id; ulimit -a
names=$(cat /proc/[0-9]*/comm); echo "$names" | sort | uniq -c
for d in /workspace /tmp /dev/shm /dev/mqueue; do stat -c '%n %a %u %F' $d; find $d -mindepth 1 | sort; done 2>/dev/null
python3 -c 'import ctypes; print(ctypes.CDLL(None).mq_open(b"/left", 2))'
tail -n +2 -q /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg
cat /proc/net/tcp /proc/net/unix | grep -c :
python3 -c 'import sys, builtins; print(sorted(sys.modules), print is builtins.print, sys.path)'
git config --global --list 2>&1; crontab -l 2>&1 | head -1
`;

/** Leaves something of every kind behind. */
const LITTER = `
echo x > f; echo y > .hidden; mkdir -p deep/er; chmod 0 deep/er deep; ln -s /etc/passwd link; mkfifo pipe
echo z > /tmp/t; echo z > /tmp/.h; echo z > /dev/shm/s; chmod 0700 /workspace; chmod 0755 /tmp
(mkdir abyss; cd abyss; for i in $(seq 200); do mkdir dddddddddddddddddddddddddddddd; cd dddddddddddddddddddddddddddddd; done)
mkdir -p .config/git; printf '[user]\\nname = me\\n' > .gitconfig; echo 'export LEFT=1' > .bashrc; export LEFT=1
mkdir -p .local/lib/python3/site-packages; echo 'print = None' > .local/lib/python3/site-packages/sitecustomize.py
python3 -c 'import ctypes; l = ctypes.CDLL(None); l.shmget(1, 4096, 0o1666); l.semget(2, 1, 0o1666); l.msgget(3, 0o1666); l.mq_open(b"/left", 0o102, 0o666, None)'
(setsid sleep 8888 &) ; (setsid python3 -m http.server 4321 >/dev/null 2>&1 &)
`;

/** What a runtime must do whose sandboxes tell their figures and can be reset and pinged. */
export function describeState(name: string, create: () => SandboxRuntime): void {
  describe(`${name} tells and resets its state as agreed`, () => {
    let runtime: SandboxRuntime;
    let sandbox: SandboxInstance;
    beforeAll(async () => {
      runtime = create();
      sandbox = await runtime.create({}, never);
    });
    afterAll(async () => {
      await sandbox.stop();
      await runtime.close?.();
    });
    const stats = () => ability(sandbox.stats?.(never), "stats");

    it("tells what it uses", async () => {
      const before = await stats();
      expect(before.uptimeSeconds).toBeGreaterThan(0);
      expect(before.memoryLimitBytes).toBeGreaterThan(before.memoryBytes);
      expect(before.pidsLimit).toBeGreaterThanOrEqual(before.pids);
      const process = await spawn(
        sandbox,
        "head -c 5000000 /dev/zero > /workspace/f; python3 -c 'x = bytearray(b\"x\" * 60000000); print(1, flush=True); input()'",
        { keepInput: true },
      );
      await readLog(process, "1");
      const after = await stats();
      expect(after.diskBytes - before.diskBytes).toBeGreaterThanOrEqual(5_000_000);
      expect(after.memoryBytes - before.memoryBytes).toBeGreaterThan(50_000_000);
      expect(after.pids).toBeGreaterThan(before.pids);
      await process.remove();
      expect((await stats()).cpuSeconds).toBeGreaterThan(0);
    });

    it("tells what user code left running from what serves its files", async () => {
      const { files } = sandbox;
      for (let round = 0; round < 20; round += 1) {
        // One after another: what serves a list is on its way out when the next look comes.
        // oxlint-disable-next-line no-await-in-loop
        await Promise.all(["/workspace", "/tmp"].map((path) => files?.list(path, { depth: 2, limit: 9 }, never)));
        // oxlint-disable-next-line no-await-in-loop
        expect((await stats()).userProcesses).toBe(0);
      }
      const process = await spawn(sandbox, "sleep 100");
      expect((await stats()).userProcesses).toBeGreaterThan(0);
      await process.remove();
    });

    it("answers pings, until it is gone", async () => {
      expect(await ability(sandbox.ping?.(never), "ping")).toBe(true);
      expect(await ability(sandbox.ping?.(AbortSignal.abort()), "ping")).toBe(false);
      const doomed = await runtime.create({}, never);
      await doomed.stop();
      expect(await ability(doomed.ping?.(never), "ping")).toBe(false);
    });

    it("B11 leaves nothing behind when it is reset: it is as a fresh one", async () => {
      const used = await runtime.create({}, never);
      const fresh = await exec(used, FINGERPRINT);
      const kernel = await used.openKernel("bash", never);
      await kernel.run({ code: LITTER, deadlineMs: 30_000 }, { signal: never });
      await ability(used.files, "files").write("another", Buffer.from("x"), {}, never);
      const process = await spawn(used, "sleep 8889");
      const busy = kernel.run({ code: "sleep 60", deadlineMs: 60_000 }, { signal: never });
      const command = exec(used, "sleep 8890").catch((error: unknown) => error);
      await ability(used.reset?.(never), "reset");
      expect(await busy).toMatchObject({ status: "cancelled", stateLost: true });
      expect(await command).toMatchObject({ error: "cancelled" });
      await expect(process.read({ cursor: 0, signal: never })).rejects.toMatchObject({ error: "unknown_name" });
      expect(await ability(used.processes?.(never), "processes")).toEqual([]);
      // What wiped it may be on its way out still.
      const now = async () => (await exec(used, FINGERPRINT)).stdout.text;
      await expect.poll(now).toBe(fresh.stdout.text);
      const opened = await used.openKernel("bash", never);
      const left = await opened.run({ code: "echo ${LEFT-nothing}", deadlineMs: 30_000 }, { signal: never });
      expect(left).toMatchObject({ stdout: { text: "nothing\n" }, stateLost: false });
      await ability(used.reset?.(never), "reset");
      await expect.poll(now).toBe(fresh.stdout.text);
      await used.stop();
    });
  });
}

/** What a runtime must do whose sandboxes can be paused. */
export function describePause(name: string, create: () => SandboxRuntime): void {
  describe(`${name} pauses as agreed`, () => {
    it("freezes every process and lets it go on, with its state", async () => {
      const runtime = create();
      const sandbox = await runtime.create({}, never);
      const python = await sandbox.openKernel("bash", never);
      await python.run({ code: "kept=1", deadlineMs: 30_000 }, { signal: never });
      const process = await spawn(sandbox, "while :; do echo tick; sleep 0.01; done");
      await readLog(process, "tick");
      await ability(sandbox.pause?.(never), "pause");
      await ability(sandbox.pause?.(never), "pause");
      await expect(exec(sandbox, "true", { signal: AbortSignal.timeout(500) })).rejects.toMatchObject({
        error: expect.stringMatching(/conflict|cancelled/),
      });
      await ability(sandbox.resume?.(never), "resume");
      await ability(sandbox.resume?.(never), "resume");
      const { cursor } = await process.read({ cursor: 0, maxBytes: 1 << 20, signal: never });
      const more = await process.read({ cursor, waitMs: 5000, signal: never });
      expect(more.cursor).toBeGreaterThan(cursor);
      const kept = await python.run({ code: "echo $kept", deadlineMs: 30_000 }, { signal: never });
      expect(kept).toMatchObject({ stdout: { text: "1\n" }, stateLost: false });
      await sandbox.stop();
      await runtime.close?.();
    });
  });
}
