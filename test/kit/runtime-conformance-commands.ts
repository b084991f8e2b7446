import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxInstance, SandboxRuntime } from "../../src/core/runtime.ts";
import type { CommandResult, CommandSpec, ProcessLog, SandboxProcess } from "../../src/core/sandbox-process.ts";

const never = new AbortController().signal;

/** Takes an ability that the suite was told the runtime has. */
export function ability<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`the sandbox has no ${name}`);
  return found;
}

/** Runs a command, or a line of shell, to its end. */
export function exec(
  sandbox: SandboxInstance,
  command: string | readonly string[],
  options: Partial<CommandSpec> & { readonly signal?: AbortSignal } = {},
): Promise<CommandResult> {
  const { signal = never, ...spec } = options;
  const words = typeof command === "string" ? ["sh", "-c", command] : command;
  return ability(sandbox.exec?.({ command: words, ...spec }, { signal }), "exec");
}

/** Starts a line of shell that runs on by itself. */
export function spawn(
  sandbox: SandboxInstance,
  line: string,
  spec: Partial<CommandSpec> = {},
): Promise<SandboxProcess> {
  return ability(sandbox.spawn?.({ command: ["sh", "-c", line], ...spec }, never), "spawn");
}

/** Reads a process's log from its start until it has ended, or holds a text. */
export async function readLog(process: SandboxProcess, until?: string): Promise<string> {
  let text = "";
  let cursor = 0;
  for (;;) {
    // One after another on purpose: each read goes on where the last one ended.
    // oxlint-disable-next-line no-await-in-loop
    const log: ProcessLog = await process.read({ cursor, waitMs: 5000, signal: never });
    text += log.chunks.map(({ data }) => Buffer.from(data).toString()).join("");
    cursor = log.cursor;
    if (log.ended || (until !== undefined && text.includes(until))) return text;
  }
}

/** Counts live processes of the sandbox whose command line begins with a text. */
export async function countProcesses(sandbox: SandboxInstance, text: string): Promise<number> {
  const { stdout } = await exec(
    sandbox,
    `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done | grep -c '^${text}'`,
  );
  return Number(stdout.text);
}

/** What a runtime whose sandboxes run commands must do. */
export function describeCommands(name: string, create: () => SandboxRuntime): void {
  describe(`${name} runs commands as agreed`, () => {
    let runtime: SandboxRuntime;
    let sandbox: SandboxInstance;
    beforeAll(async () => {
      runtime = create();
      sandbox = await runtime.create({ environment: { GREETING: "hello" }, limits: { pids: 64 } }, never);
    });
    afterAll(async () => {
      await sandbox.stop();
      await runtime.close?.();
    });

    it("keeps both streams apart and tells the exit code", async () => {
      const result = await exec(sandbox, "echo out; echo err >&2; exit 3");
      expect(result).toMatchObject({
        exitCode: 3,
        signal: null,
        timedOut: false,
        limit: null,
        stdout: { text: "out\n", bytes: 4, truncated: false },
        stderr: { text: "err\n", bytes: 4, truncated: false },
      });
    });

    it("puts no shell between, and names what it cannot run as a shell would", async () => {
      expect((await exec(sandbox, ["printf", "%s|", "a b", "$HOME", "*"])).stdout.text).toBe("a b|$HOME|*|");
      const missing = await exec(sandbox, ["no-such-program"]);
      expect(missing).toMatchObject({ exitCode: 127, stderr: { text: expect.stringContaining("no-such-program") } });
      expect(await exec(sandbox, ["/tmp"])).toMatchObject({ exitCode: 126 });
      expect(await exec(sandbox, "true", { cwd: "/no/such/folder" })).toMatchObject({ exitCode: 127 });
    });

    it("applies its folder and its variables, over the sandbox's own", async () => {
      const environment = { EXTRA: "a=b\nc" };
      const { stdout } = await exec(sandbox, 'pwd; printf "%s" "$GREETING $EXTRA"', { cwd: "/tmp", environment });
      expect(stdout.text).toBe("/tmp\nhello a=b\nc");
    });

    it("A09 gives it the input and then its end, and an end at once where there is none", async () => {
      const input = Buffer.alloc(3_000_000, "x");
      expect((await exec(sandbox, "wc -c", { input })).stdout.text.trim()).toBe("3000000");
      expect((await exec(sandbox, "cat; echo after")).stdout.text).toBe("after\n");
      expect(await exec(sandbox, "head -c 1 >/dev/null", { input })).toMatchObject({ exitCode: 0 });
    });

    it("A06 A07 A08 bounds what it keeps, counts exactly, and replaces what is no UTF-8", async () => {
      const line = "head -c 5000000 /dev/zero | tr '\\0' 'x'; yes | head -c 2000001 >&2";
      const { stdout, stderr } = await exec(sandbox, line, { outputBytes: 1000 });
      expect(stdout).toMatchObject({ bytes: 5_000_000, truncated: true });
      expect(stderr).toMatchObject({ bytes: 2_000_001, truncated: true });
      expect(stdout.text).toMatch(/^x{500}\n… 4999000 bytes left out …\nx{500}$/);
      const odd = await exec(sandbox, "printf '\\342\\202'; sleep 0.05; printf '\\254|\\377|'");
      expect(odd.stdout).toEqual({ text: "€|\ufffd|", bytes: 6, truncated: false });
    });

    it("shows output as it comes", async () => {
      const seen: string[] = [];
      const gate = Promise.withResolvers<void>();
      const onOutput = (stream: string, text: string) => {
        seen.push(`${stream}:${text}`);
        gate.resolve();
      };
      const command = ["sh", "-c", "echo first; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo second >&2"];
      const running = ability(sandbox.exec?.({ command }, { signal: never, onOutput }), "exec");
      await gate.promise;
      expect(seen).toEqual(["stdout:first\n"]);
      await exec(sandbox, "touch /tmp/go");
      await running;
      expect(seen).toEqual(["stdout:first\n", "stderr:second\n"]);
    });

    it("A05 leaves nothing alive after the timeout, however it hid", async () => {
      const hide =
        "echo begun; (setsid sh -c 'trap \"\" TERM INT HUP; sleep 7777') & nohup sleep 7777 >/dev/null 2>&1 & " +
        "(setsid env -i sh -c 'env -i setsid sleep 7777 & ' &) ; sh -c 'sleep 7777 & exit' ; sleep 7777";
      const result = await exec(sandbox, hide, { timeoutMs: 1000 });
      expect(result).toMatchObject({ timedOut: true, signal: "SIGKILL", stdout: { text: "begun\n" } });
      expect(await countProcesses(sandbox, "sleep 7777")).toBe(0);
    });

    it("kills the tree when the signal fires, and answers cancelled", async () => {
      const abort = new AbortController();
      const started = Promise.withResolvers<void>();
      const running = ability(
        sandbox.exec?.(
          { command: ["sh", "-c", "sleep 7778 & echo on; wait"] },
          { signal: abort.signal, onOutput: () => started.resolve() },
        ),
        "exec",
      );
      await started.promise;
      abort.abort();
      await expect(running).rejects.toMatchObject({ error: "cancelled" });
      expect(await countProcesses(sandbox, "sleep 7778")).toBe(0);
      await expect(exec(sandbox, "true", { signal: AbortSignal.abort() })).rejects.toMatchObject({
        error: "cancelled",
      });
    });

    it("A02 ends a command that holds more memory than allowed, and names the limit", async () => {
      const small = await runtime.create({ limits: { memoryMiB: 96 } }, never);
      const hog = 'b=bytearray(b"x") * (70 << 20); import time; time.sleep(60)';
      const line = `python3 -c '${hog}' & python3 -c '${hog}' & wait`;
      expect(await exec(small, line, { timeoutMs: 45_000 })).toMatchObject({ limit: "memory", timedOut: false });
      expect(await exec(small, "echo well")).toMatchObject({ exitCode: 0 });
      await small.stop();
    });

    it("A01 holds a fork bomb, and works again once it was killed", async () => {
      const bomb = "bomb() { bomb | bomb & }; bomb; sleep 5";
      await exec(sandbox, bomb, { timeoutMs: 600 });
      expect(await exec(sandbox, "echo well")).toMatchObject({ exitCode: 0, stdout: { text: "well\n" } });
    });

    it("A17 tells the signal that ended it", async () => {
      expect(await exec(sandbox, "kill -SEGV $$")).toMatchObject({ exitCode: null, signal: "SIGSEGV" });
    });

    it("gives it a terminal", async () => {
      const terminal = { columns: 97, rows: 13 };
      const { stdout } = await exec(sandbox, "test -t 0 && test -t 1 && stty size; echo $TERM", { terminal });
      expect(stdout.text).toBe("13 97\r\nxterm-256color\r\n");
    });

    it("runs many at once", async () => {
      const results = await Promise.all(Array.from({ length: 8 }, (_, n) => exec(sandbox, `sleep 0.1; echo ${n}`)));
      expect(results.map(({ stdout }) => stdout.text)).toEqual(Array.from({ length: 8 }, (_, n) => `${n}\n`));
    });
  });
}

/** What a runtime whose sandboxes have processes of their own must do. */
export function describeProcesses(name: string, create: () => SandboxRuntime): void {
  describe(`${name} keeps processes as agreed`, () => {
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

    it("tells what it started, what that wrote in order, and how it ended", async () => {
      const line = "echo a; read x; echo b >&2; read x; echo c; exit 4";
      const process = await spawn(sandbox, line, { keepInput: true });
      expect(process.exit).toBeNull();
      await readLog(process, "a");
      await process.write(Buffer.from("\n"));
      await readLog(process, "b");
      await process.write(Buffer.from("\n"));
      expect(await readLog(process)).toBe("a\nb\nc\n");
      expect(await process.exited).toEqual({ exitCode: 4, signal: null, timedOut: false });
      expect(process.exit).toMatchObject({ exitCode: 4 });
      const whole = await process.read({ cursor: 0, signal: never });
      expect(whole.chunks.map(({ stream }) => stream)).toEqual(["stdout", "stderr", "stdout"]);
      expect(whole).toMatchObject({ cursor: 6, skipped: 0, ended: true });
      const listed = await ability(sandbox.processes?.(never), "processes");
      expect(listed.find(({ id }) => id === process.id)).toMatchObject({
        pid: process.pid,
        command: process.command,
        exit: { exitCode: 4 },
      });
      await process.remove();
      expect((await ability(sandbox.processes?.(never), "processes")).map(({ id }) => id)).not.toContain(process.id);
      await expect(process.read({ cursor: 0, signal: never })).rejects.toMatchObject({ error: "unknown_name" });
    });

    it("waits for output, up to the time that was asked for or the signal", async () => {
      const process = await spawn(sandbox, "read line; echo got $line; read line", { keepInput: true });
      expect(await process.read({ cursor: 0, waitMs: 20, signal: never })).toMatchObject({ chunks: [], ended: false });
      const abort = new AbortController();
      const waiting = process.read({ cursor: 0, waitMs: 60_000, signal: abort.signal });
      abort.abort();
      await expect(waiting).rejects.toMatchObject({ error: "cancelled" });
      const reading = process.read({ cursor: 0, waitMs: 60_000, signal: never });
      await process.write(Buffer.from("it\n"));
      expect(Buffer.concat((await reading).chunks.map(({ data }) => data)).toString()).toBe("got it\n");
      await process.endInput();
      expect(await process.exited).toMatchObject({ exitCode: 1 });
      await expect(process.write(Buffer.from("late"))).rejects.toMatchObject({ error: "conflict" });
    });

    it("A06 forgets the start of a long log, and says how much", async () => {
      const process = await spawn(sandbox, "head -c 5000000 /dev/zero; echo end");
      await process.exited;
      const first = await process.read({ cursor: 10, maxBytes: 100, signal: never });
      expect(first.skipped).toBeGreaterThan(3_000_000);
      expect(first.cursor).toBe(10 + first.skipped + 100);
      const last = await process.read({ cursor: 5_000_000, signal: never });
      expect(last).toMatchObject({ skipped: 0, ended: true, cursor: 5_000_004 });
    });

    it("signals its group, and kills all that it started", async () => {
      const process = await spawn(sandbox, "trap 'echo caught; exit 7' TERM; setsid sleep 7779 & echo on; wait");
      await readLog(process, "on");
      await expect.poll(() => countProcesses(sandbox, "sleep 7779")).toBe(1);
      await process.kill("SIGTERM");
      expect(await process.exited).toMatchObject({ exitCode: 7 });
      expect(await countProcesses(sandbox, "sleep 7779")).toBe(1);
      await process.kill("SIGKILL");
      expect(await countProcesses(sandbox, "sleep 7779")).toBe(0);
      await expect(process.kill("SIGNOPE")).rejects.toMatchObject({ error: "invalid_input" });
      const other = await spawn(sandbox, "sleep 7780");
      await other.kill("SIGKILL");
      expect(await other.exited).toEqual({ exitCode: null, signal: "SIGKILL", timedOut: false });
    });

    it("kills it at its timeout", async () => {
      const process = await spawn(sandbox, "setsid sleep 7781 & sleep 7781", { timeoutMs: 200 });
      expect(await process.exited).toMatchObject({ timedOut: true, signal: "SIGKILL" });
      expect(await countProcesses(sandbox, "sleep 7781")).toBe(0);
    });

    it("gives it a terminal that can be written to and resized", async () => {
      const terminal = { columns: 80, rows: 24 };
      const process = await spawn(sandbox, "stty -echo; echo on; read x; stty size; echo $x; cat", { terminal });
      await readLog(process, "on");
      await process.resize(132, 50);
      await process.write(Buffer.from("typed\n"));
      expect(await readLog(process, "typed")).toContain("50 132");
      await process.endInput();
      expect(await process.exited).toMatchObject({ exitCode: 0 });
      const plain = await spawn(sandbox, "sleep 5");
      await expect(plain.resize(1, 1)).rejects.toMatchObject({ error: "conflict" });
      await plain.remove();
    });

    it("lets kernels and processes die without each other (A05)", async () => {
      const python = await sandbox.openKernel("bash", never);
      const process = await spawn(sandbox, "(setsid sleep 7782 &); sleep 7783");
      await expect.poll(() => countProcesses(sandbox, "sleep 778[23]")).toBe(2);
      const code = "(setsid sleep 7784 &); trap '' INT; sleep 7785";
      await python.run({ code, deadlineMs: 200 }, { signal: never });
      expect(await countProcesses(sandbox, "sleep 778[45]")).toBe(0);
      expect(await countProcesses(sandbox, "sleep 778[23]")).toBe(2);
      await python.run({ code: "kept=1; setsid sleep 7786 & disown", deadlineMs: 30_000 }, { signal: never });
      await process.remove();
      expect(await countProcesses(sandbox, "sleep 778[23]")).toBe(0);
      await expect.poll(() => countProcesses(sandbox, "sleep 7786")).toBe(1);
      const kept = await python.run({ code: "echo $kept", deadlineMs: 30_000 }, { signal: never });
      expect(kept.stdout.text).toBe("1\n");
      await python.stop();
    });

    it("has room for a bounded number, and forgets ended ones first", async () => {
      const roomy = await runtime.create({ limits: { pids: 400 } }, never);
      const ended = await spawn(roomy, "true");
      await ended.exited;
      const sleepers: SandboxProcess[] = [];
      const refused = await (async () => {
        for (;;) {
          // oxlint-disable-next-line no-await-in-loop
          sleepers.push(await spawn(roomy, "exec sleep 7787"));
        }
      })().catch((error: unknown) => error);
      expect(refused).toMatchObject({ error: "limit_exceeded", details: { limit: expect.stringMatching(/^p/) } });
      await expect(ended.read({ cursor: 0, signal: never })).rejects.toMatchObject({ error: "unknown_name" });
      await sleepers[0]?.remove();
      expect((await spawn(roomy, "sleep 7787")).exit).toBeNull();
      await roomy.stop();
    });

    it("A18 collects what nobody waits for", async () => {
      const zombies =
        "import os\nfor _ in range(300):\n    if os.fork() == 0:\n        os.fork() or os._exit(0)\n        os._exit(0)";
      await exec(sandbox, ["python3", "-c", zombies]);
      // The last of them may be on their way out still.
      const left = async () => (await exec(sandbox, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ' Z '")).stdout.text;
      await expect.poll(left).toBe("0\n");
    });
  });
}
