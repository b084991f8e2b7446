import { duplexPair } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ExecutionHooks } from "../../src/core/runtime.ts";
import { ConnectionLost, SupervisorConnection } from "../../src/runtimes/kernel/connection.ts";
import { encodeFrame, FrameDecoder, MAX_FRAME_BYTES } from "../../src/runtimes/kernel/frame.ts";
import { DEFAULT_LIMITS, MAX_CODE_LENGTH } from "../../src/runtimes/kernel/limits.ts";
import { echo } from "../kit/runtime-conformance.ts";

const READY = { t: "ready", v: 1, versions: {} };
const STREAM = { bytes: 0, omitted: 0, tail: "" };
const END = {
  t: "end",
  status: "ok",
  value: 1,
  text: "1",
  value_truncated: false,
  lossy: [],
  displays: [],
  displays_omitted: 0,
  error: null,
  limit: null,
  exit_code: null,
  signal: null,
  state_lost: false,
  usage: { duration_ms: 1, stdout: STREAM, stderr: STREAM },
};

const open: SupervisorConnection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close("stopped", "the test is over");
});

/** A connection whose other side the test plays by hand. */
function connect(limits = {}) {
  const [ours, theirs] = duplexPair();
  const kill = vi.fn<(why: string, message: string) => void>();
  const connection = new SupervisorConnection(ours, { limits: { ...DEFAULT_LIMITS, ...limits }, graceMs: 50, kill });
  open.push(connection);
  const decoder = new FrameDecoder();
  const received: unknown[] = [];
  const waiting: ((frame: unknown) => void)[] = [];
  theirs.on("error", () => {});
  theirs.on("data", (bytes: Buffer) => {
    for (const frame of decoder.push(bytes)) {
      const next = waiting.shift();
      if (next === undefined) received.push(frame);
      else next(frame);
    }
  });
  return {
    connection,
    kill,
    theirs,
    send: (...frames: readonly unknown[]) => theirs.write(Buffer.concat(frames.map(encodeFrame))),
    next: () =>
      new Promise<unknown>((resolve) => {
        if (received.length > 0) resolve(received.shift());
        else waiting.push(resolve);
      }),
    run: (hooks: Partial<ExecutionHooks> = {}, deadlineMs = 60_000) =>
      connection.execute("k", "python", { code: "c", deadlineMs }, { signal: new AbortController().signal, ...hooks }),
  };
}

describe("the host's side of the protocol", () => {
  it("greets, runs and reads the end", async () => {
    const { connection, send, next, run } = connect();
    expect(await next()).toMatchObject({ t: "hello", v: 1 });
    send(READY);
    await connection.ready;
    const running = run();
    expect(await next()).toMatchObject({ t: "exec", x: 1, k: "k", language: "python", code: "c" });
    send({ ...END, x: 1 });
    expect(await running).toMatchObject({ status: "ok", value: 1 });
  });

  const VIOLATIONS: Record<string, readonly unknown[]> = {
    "a frame before ready": [{ ...END, x: 1 }],
    "another version": [{ ...READY, v: 2 }],
    "a second ready": [READY, READY],
    "the end of an execution that is not live": [READY, { ...END, x: 2 }],
    "a forged second end (seed defect 12)": [READY, { ...END, x: 1 }, { ...END, x: 1 }],
    "a call of an execution that is not live": [READY, { t: "call", x: 7, i: 0, tool: "echo", args: {} }],
    "a call's id used twice": [
      READY,
      { t: "call", x: 1, i: 3, tool: "echo", args: {} },
      { t: "call", x: 1, i: 3, tool: "echo", args: {} },
    ],
    "a call's id that goes back": [
      READY,
      { t: "call", x: 1, i: 3, tool: "echo", args: {} },
      { t: "call", x: 1, i: 2, tool: "echo", args: {} },
    ],
    "output out of order": [READY, { t: "out", x: 1, stream: "stdout", seq: 1, data: "late" }],
    "more output than its limit": [READY, { t: "out", x: 1, stream: "stdout", seq: 0, data: "x".repeat(70_000) }],
    "an unknown frame": [READY, { t: "res", x: 1, i: 0, ok: true, value: 1 }],
    "arguments that are no object": [READY, { t: "call", x: 1, i: 0, tool: "echo", args: [1] }],
    "a reset that nobody asked for": [READY, { t: "reset", k: "k" }],
  };
  for (const [name, frames] of Object.entries(VIOLATIONS)) {
    it(`A15 kills the sandbox for ${name}`, async () => {
      const { connection, kill, send, run } = connect();
      const running = run({ onCall: echo }).catch((error: unknown) => error);
      send(...frames);
      await expect.poll(() => kill).toHaveBeenCalledOnce();
      expect(kill.mock.calls[0]?.[0]).toBe("violation");
      const ended = await running;
      if (!(ended instanceof ConnectionLost)) expect(ended).toMatchObject({ status: "ok", value: 1 });
      await expect(run()).rejects.toBeInstanceOf(ConnectionLost);
      expect(connection.lost?.why).toBe("violation");
    });
  }

  it("kills the sandbox for a frame over the cap", async () => {
    const { kill, theirs } = connect();
    const header = Buffer.alloc(4);
    header.writeUInt32BE(MAX_FRAME_BYTES + 1);
    theirs.write(header);
    await expect.poll(() => kill.mock.calls[0]?.[0]).toBe("violation");
  });

  it("kills the sandbox when more calls are in flight than allowed", async () => {
    const { kill, send, run } = connect({ callsInFlight: 2 });
    run({ onCall: () => new Promise(() => {}) }).catch(() => {});
    send(READY, ...[0, 1, 2].map((i) => ({ t: "call", x: 1, i, tool: "echo", args: {} })));
    await expect.poll(() => kill).toHaveBeenCalledOnce();
  });

  it("starts calls that arrive in one write together, and answers each by its id (seed defects 5 and 6)", async () => {
    const { send, next, run } = connect();
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const started: number[] = [];
    void run({
      onCall: async (call) => {
        started.push(call.index);
        await gates[call.index]?.promise;
        return echo(call);
      },
    }).catch(() => {});
    send(READY, ...[0, 1, 2].map((i) => ({ t: "call", x: 1, i, tool: "echo", args: { i } })));
    await expect.poll(() => started).toEqual([0, 1, 2]);
    await next();
    await next();
    for (const i of [2, 0, 1]) {
      gates[i]?.resolve();
      // oxlint-disable-next-line no-await-in-loop
      expect(await next()).toEqual({ t: "res", x: 1, i, ok: true, value: { i } });
    }
  });

  it("masks what a tool threw, and passes a typed failure on", async () => {
    const { send, next, run } = connect();
    void run({
      onCall: async (call) => {
        if (call.tool === "crash") throw new Error("/etc/secret");
        return echo(call);
      },
    }).catch(() => {});
    send(READY, { t: "call", x: 1, i: 0, tool: "crash", args: {} }, { t: "call", x: 1, i: 1, tool: "vm:x", args: {} });
    await next();
    await next();
    const answers = [await next(), await next()];
    expect(JSON.stringify(answers)).not.toContain("secret");
    expect(answers).toContainEqual(
      expect.objectContaining({ i: 0, ok: false, error: expect.objectContaining({ type: "internal_error" }) }),
    );
    expect(answers).toContainEqual(
      expect.objectContaining({ i: 1, ok: false, error: expect.objectContaining({ type: "forbidden", code: 4030 }) }),
    );
  });

  it("A15 kills a sandbox that calls on and on and reads none of its answers", async () => {
    const { kill, theirs, send, run } = connect();
    send(READY);
    theirs.pause();
    const data = "x".repeat(4 * 1024 * 1024);
    const running = run({ onCall: async () => ({ ok: true, data, meta: {} }) as never }).catch(
      (error: unknown) => error,
    );
    for (let i = 0; i < 40; i += 1) send({ t: "call", x: 1, i, tool: "t", args: {} });
    await expect.poll(() => kill).toHaveBeenCalledOnce();
    expect(kill.mock.calls[0]).toEqual(["violation", "the sandbox does not read what it is sent"]);
    expect(await running).toBeInstanceOf(ConnectionLost);
  });

  it("answers a result that is too large, or is not JSON, with an error", async () => {
    const { send, next, run } = connect();
    void run({
      onCall: async (call) => {
        const answer = await echo({ ...call, tool: "echo" });
        return answer.ok ? { ...answer, data: call.index === 0 ? "x".repeat(MAX_FRAME_BYTES) : 1n } : answer;
      },
    }).catch(() => {});
    send(READY, { t: "call", x: 1, i: 0, tool: "a", args: {} }, { t: "call", x: 1, i: 1, tool: "b", args: {} });
    await next();
    await next();
    expect(await next()).toMatchObject({ i: 0, ok: false, error: { type: "result_invalid" } });
    expect(await next()).toMatchObject({ i: 1, ok: false, error: { type: "result_invalid" } });
  });

  it("kills a sandbox that does not end at its deadline, and keeps what it wrote", async () => {
    const { kill, send, run } = connect();
    const running = run({}, 300);
    send(READY, { t: "out", x: 1, stream: "stdout", seq: 0, data: "so far" });
    await expect(running).rejects.toMatchObject({ why: "unresponsive", partial: { stdout: { text: "so far" } } });
    expect(kill).toHaveBeenCalledOnce();
  });

  it("reads nothing more while a watcher of output is busy", async () => {
    const { send, run } = connect();
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    const running = run({
      onOutput: (_, text) => {
        seen.push(text);
        return gate.promise;
      },
    });
    send(READY, { t: "out", x: 1, stream: "stdout", seq: 0, data: "first" });
    await expect.poll(() => seen).toEqual(["first"]);
    send({ ...END, x: 1 });
    const early = await Promise.race([
      running.then(() => "ended"),
      new Promise((resolve) => setImmediate(() => resolve("waiting"))),
    ]);
    expect(early).toBe("waiting");
    gate.resolve();
    expect(await running).toMatchObject({ status: "ok" });
  });

  it("fails what runs when the channel closes", async () => {
    const { theirs, send, run } = connect();
    const running = run();
    send(READY);
    theirs.end();
    await expect(running).rejects.toMatchObject({ why: "closed" });
  });

  it("asks once for the end of a kernel that two callers stop", async () => {
    const { connection, kill, send, next } = connect();
    await next();
    send(READY);
    await connection.ready;
    const stops = [connection.reset("k"), connection.reset("k"), connection.reset("l")];
    expect([await next(), await next()]).toEqual(["k", "l"].map((k) => ({ t: "reset", k })));
    send({ t: "reset", k: "k" }, { t: "reset", k: "l" });
    await Promise.all(stops);
    const later = connection.reset("k");
    expect(await next()).toEqual({ t: "reset", k: "k" });
    send({ t: "reset", k: "k" });
    await later;
    expect(kill).not.toHaveBeenCalled();
  });

  it("refuses code that is too large, and starts no clock for it", async () => {
    const { connection, kill, send, next } = connect();
    send(READY);
    await connection.ready;
    await next();
    const execute = (code: string, deadlineMs: number) =>
      connection.execute("k", "bash", { code, deadlineMs }, { signal: new AbortController().signal });
    vi.useFakeTimers();
    try {
      await expect(execute("x".repeat(MAX_CODE_LENGTH + 1), 1)).rejects.toMatchObject({ error: "payload_too_large" });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
    const running = execute("\0".repeat(MAX_CODE_LENGTH), 60_000);
    const { x } = (await next()) as { x: number };
    send({ ...END, x });
    expect(await running).toMatchObject({ status: "ok" });
    expect(kill).not.toHaveBeenCalled();
  });
});
