import { afterAll, expect, it } from "vitest";
import type { SandboxRuntime } from "../../src/core/runtime.ts";
import { openCodeSession } from "../backends/code/code-session.ts";

/** What the suite may ask of the runtime under attack: a runtime of its own for each case. */
export type MakeRuntime = () => SandboxRuntime;

/** A session in a small box, and shorthands for what attackers do. */
export async function openVictim(
  make: MakeRuntime,
  sessionConfig: Record<string, unknown> = {},
  whenOver?: (close: () => Promise<void>) => void,
) {
  const config = { pids: 64, memory_mib: 256, disk_mib: 32, ...sessionConfig };
  const opened = await openCodeSession([make()], {}, config, whenOver);
  const { call } = opened;
  return {
    ...opened,
    sh: (command: string, timeoutMs = 20_000) => call("bash:run", { command, timeout_ms: timeoutMs }),
    py: (code: string, timeoutMs = 20_000) => call("code:run", { language: "python", code, timeout_ms: timeoutMs }),
  };
}

/** One box for the cases of a suite that leave it in order, emptied for each: a box a case would cost more than the cases. */
export function shareVictim(make: MakeRuntime): () => Promise<Victim> {
  const closers: (() => Promise<void>)[] = [];
  let opening: Promise<Victim> | undefined;
  afterAll(async () => {
    await Promise.all(closers.map((close) => close()));
  });
  return async () => {
    opening ??= openVictim(make, {}, (close) => void closers.push(close));
    const victim = await opening;
    const { commands } = await victim.call("bash:list", {});
    for (const { id } of commands) await victim.call("bash:kill", { id });
    await victim.call("code:restart", {});
    await victim.sh("find /workspace /tmp /dev/shm -mindepth 1 -delete");
    return victim;
  };
}
type Victim = Awaited<ReturnType<typeof openVictim>>;

/** Answers what a call came to, as a result or as a typed error; anything else fails the test. */
async function outcomeOf(work: Promise<object>): Promise<Record<string, unknown>> {
  return work.then(
    (result) => ({ ...result }),
    (error: unknown) => {
      expect(error).toMatchObject({ error: expect.any(String), outcome: expect.stringMatching(/limit|infra_error/) });
      return { ...Object(error) };
    },
  );
}

/** The session still works, or says in a typed way that its sandbox is dead. */
async function stillAnswers({ sh }: Victim): Promise<void> {
  const after = await outcomeOf(sh("echo alive"));
  if (after["error"] === undefined) expect(after).toMatchObject({ stdout: "alive\n" });
  else expect(after).toMatchObject({ error: "sandbox_dead" });
}

/** What hostile code does to a box's processes, memory and disk; every runtime with a shell must bear it. */
export function attackResources(make: MakeRuntime): void {
  const shared = shareVictim(make);

  it("A01 holds a fork bomb, and nobody else feels it", async () => {
    const [victim, other] = [await openVictim(make), await openVictim(make)];
    const bomb = outcomeOf(victim.sh(":(){ :|:& };:", 3000));
    expect(await other.sh("echo fine")).toMatchObject({ stdout: "fine\n" });
    await bomb;
    await stillAnswers(victim);
  });

  it("A02 names the limit when code takes more memory than there is", async () => {
    const victim = await openVictim(make, { memory_mib: 128 });
    const taken = await outcomeOf(victim.py("x = bytearray(1 << 30)\nlen(x)"));
    if (taken["error"] === null) throw new Error("a gigabyte was had of 128 MiB");
    expect(JSON.stringify(taken)).toMatch(/[Mm]emory/);
    await stillAnswers(victim);
  });

  it("A03 stays typed when what takes the memory is a child", async () => {
    const victim = await openVictim(make, { memory_mib: 128 });
    const taken = await outcomeOf(victim.sh(`python3 -c 'x = b"x" * (1 << 30); print(len(x))'`));
    expect(taken).not.toMatchObject({ exit_code: 0 });
    await stillAnswers(victim);
  });

  it("A04 stops code that spins at its time, with its state kept", async () => {
    const { py } = await shared();
    await py("kept = 1");
    await expect(py("while True: pass", 500)).rejects.toMatchObject({ error: "timeout", outcome: "limit" });
    expect(await py("kept")).toMatchObject({ result: 1 });
  });

  it("A05 leaves nothing alive of what ran out of time, however it hid", async () => {
    const { sh } = await shared();
    const hide = [
      "setsid sleep 4712 &",
      "nohup sleep 4712 >/dev/null 2>&1 &",
      "(trap '' TERM INT HUP; sleep 4712) &",
      "( (sleep 4712 &) & )",
    ].join("\n");
    await expect(sh(`${hide}\nsleep 4712`, 500)).rejects.toMatchObject({ error: "timeout" });
    const left = await sh("grep -al 'sleep.471[2]' /proc/[0-9]*/cmdline 2>/dev/null; true");
    expect(left).toMatchObject({ stdout: "" });
  });

  it("A06 A07 keeps head and tail of a flood, and counts it exactly", async () => {
    const { sh } = await openVictim(make, { output_bytes: 10_000 });
    const size = 32 << 20;
    const flood = await sh(
      `printf START; head -c ${size} /dev/zero | tr '\\0' x; printf END; yes e | head -c 100000 >&2`,
      60_000,
    );
    if (flood.background) throw new Error("it ran in the background");
    expect(flood.truncated).toEqual({ stdout: true, stderr: true, stdout_bytes: size + 8, stderr_bytes: 100_000 });
    expect(flood.stdout).toMatch(/^START[^]*END$/);
    expect(flood.stdout.length).toBeLessThan(11_000);
  });

  it("A09 gives an end of input to who reads it", async () => {
    const { sh, py } = await shared();
    expect(await sh("cat; read x; echo $?")).toMatchObject({ stdout: "1\n" });
    expect(await py("input()")).toMatchObject({ error: { name: "EOFError" } });
  });

  it("A10 A12 fills no more than its own disk, and gets it back", async () => {
    const { sh, call } = await openVictim(make);
    for (const folder of ["/workspace", "/dev/shm"]) {
      const filled = await outcomeOf(sh(`dd if=/dev/zero of=${folder}/big bs=1M count=2000`));
      expect(filled).not.toMatchObject({ exit_code: 0 });
      if (filled["error"] === undefined) expect(filled["stderr"]).toMatch(/No space left/);
      if (folder === "/workspace") {
        await expect(call("file:write", { path: "more", content: "x".repeat(4 << 20) })).rejects.toMatchObject({
          error: "limit_exceeded",
        });
      }
      expect(await sh(`rm -f ${folder}/big; echo again > ${folder}/small; cat ${folder}/small`)).toMatchObject({
        stdout: "again\n",
      });
    }
  });

  it("A11 makes no end of files", async () => {
    const victim = await openVictim(make);
    const code = "import os\nos.makedirs('many')\nfor n in range(10**7): open(f'many/{n}', 'w').close()";
    const made = await outcomeOf(victim.py(code, 3000));
    expect(made["error"]).not.toBeNull();
    await stillAnswers(victim);
  });

  it("A13 runs out of its own descriptors only", async () => {
    const { py } = await shared();
    const many = await py("files = []\nwhile True: files.append(open('/dev/null'))");
    expect(many).toMatchObject({ error: { name: "OSError", message: expect.stringMatching(/Too many open files/) } });
    expect(await py("files.clear(); 1")).toMatchObject({ result: 1 });
  });

  it("A14 survives kill -9 -1 and rm -rf of the system, or says that it is dead", async () => {
    const victim = await openVictim(make);
    await outcomeOf(victim.sh("kill -9 -1"));
    await stillAnswers(victim);
    await outcomeOf(victim.sh("rm -rf /bin /usr/bin /usr/sbin 2>/dev/null; true"));
    await stillAnswers(victim);
  });

  it("A18 is free of what nobody waited for", async () => {
    const { sh } = await shared();
    await sh("for n in $(seq 200); do ( (true) & ) ; done; true");
    const count = "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l";
    await expect.poll(() => sh(count), { timeout: 30_000 }).toMatchObject({ stdout: "0\n" });
  });

  it("A19 writes nothing any more once its session is over", async () => {
    const { backend, session, sh, call } = await openVictim(make);
    await call("bash:run", { command: "while :; do date > beat; sleep 0.01; done", background: true });
    await sh("true");
    const box = backend.sandbox(session);
    await backend.cleanup(session);
    expect(await box.closed).toMatchObject({ expected: true });
    await expect(sh("cat beat")).rejects.toMatchObject({ error: expect.stringMatching(/sandbox_dead|cancelled/) });
  });

  it("A20 cannot set the clock", async () => {
    const { sh } = await shared();
    const before = Date.now();
    expect(await sh("date -s '2001-01-01'")).not.toMatchObject({ exit_code: 0 });
    expect(Date.now()).toBeGreaterThanOrEqual(before);
  });
}

/** What hostile code says; every runtime with a shell must take it for data. */
export function attackResults(make: MakeRuntime): void {
  const shared = shareVictim(make);

  it("A08 takes bytes that are no text for what they are", async () => {
    const { sh, call } = await shared();
    const done = await sh("head -c 10000 /dev/urandom | tee noise");
    if (done.background) throw new Error("it ran in the background");
    expect(done.truncated.stdout_bytes).toBe(10_000);
    const read = await call("file:read", { path: "noise" });
    expect(read).toMatchObject({ encoding: "base64", length: 10_000 });
    const { stdout } = { stdout: "", ...(await sh("base64 -w0 noise")) };
    expect(read.content).toBe(stdout);
  });

  it("A15 cannot be spoken for by what it writes to any descriptor", async () => {
    const victim = await shared();
    await victim.sh("kept=1");
    const forged = `import json, os, struct
frame = json.dumps({"t": "done", "x": 1, "value": "forged", "status": "ok"}).encode()
for fd in range(1, 64):
    try: os.write(fd, struct.pack(">I", len(frame)) + frame)
    except OSError: pass
"mine"`;
    const answer = await outcomeOf(victim.py(forged, 5000));
    expect(answer["result"] ?? null).not.toBe("forged");
    await stillAnswers(victim);
  });

  it("A16 bounds what poisons a result", async () => {
    const { py } = await shared();
    const cyclic = await py("a = []; a.append(a); a");
    expect(cyclic).toMatchObject({ error: null });
    expect(await py("float('nan')")).toMatchObject({ error: null, text: "nan" });
    const raising = await py(
      "class Bad:\n  def __repr__(self): raise RuntimeError('no')\n  def __del__(self): raise RuntimeError('never')\nBad()",
    );
    expect(raising).toMatchObject({ result: null });
    const slow = "import time\nclass Slow:\n  def __repr__(self): time.sleep(600)\nSlow()";
    await expect(py(slow, 500)).rejects.toMatchObject({ error: "timeout" });
    expect(await py("'x' * (64 << 20)")).toMatchObject({ truncated: { result: true } });
    expect(await py("1 + 1")).toMatchObject({ result: 2 });
  });

  it("A17 tells exits and signals exactly, and the session goes on", async () => {
    const { py } = await shared();
    expect(await py("import os; os._exit(3)")).toMatchObject({ exit_code: 3, state_lost: true });
    expect(await py("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")).toMatchObject({
      signal: "SIGSEGV",
      error: { name: "InterpreterExited" },
    });
    expect(await py("import sys; sys.exit('x')")).toMatchObject({ error: { name: "SystemExit", message: "x" } });
    expect(await py("2")).toMatchObject({ result: 2 });
  });

  it("B06 sees nothing of another session", async () => {
    const [one, two] = [await openVictim(make), await openVictim(make)];
    await one.sh("echo secret-of-one > /tmp/note; echo secret-of-one > /dev/shm/note; echo secret-of-one > note");
    await one.call("bash:run", { command: "exec -a secret-of-one sleep 60", background: true });
    const look =
      "cat /tmp/note /dev/shm/note note 2>/dev/null; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/net/unix | tr '\\0' '\\n'";
    const seen = await two.sh(`{ ${look}; } | grep -c secret-of-[o]ne`);
    expect(seen).toMatchObject({ stdout: "0\n" });
  });
}
