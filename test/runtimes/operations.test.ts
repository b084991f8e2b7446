import { type Duplex, duplexPair } from "node:stream";
import fc from "fast-check";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { SupervisorConnection } from "../../src/runtimes/kernel/connection.ts";
import {
  BinaryFrame,
  encodeBinaryHeader,
  encodeFrame,
  FrameDecoder,
  ProtocolViolation,
} from "../../src/runtimes/kernel/frame.ts";
import { DEFAULT_LIMITS } from "../../src/runtimes/kernel/limits.ts";
import { connectTo } from "../../src/runtimes/kernel/operation-stream.ts";
import { parseOperationFrame } from "../../src/runtimes/kernel/operation-messages.ts";
import { listProcesses } from "../../src/runtimes/kernel/supervised-commands.ts";
import { SupervisedFiles } from "../../src/runtimes/kernel/supervised-files.ts";

const never = new AbortController().signal;
const READY = { t: "ready", v: 1, versions: {} };
const bytes = (stream: number, data: Uint8Array) => Buffer.concat([encodeBinaryHeader(stream, data.length), data]);

const open: SupervisorConnection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close("stopped", "the test is over");
});

/** A connection whose other side the test plays by hand. */
function connect() {
  const [ours, theirs] = duplexPair();
  const kill = vi.fn<(why: string, message: string) => void>();
  const connection = new SupervisorConnection(ours, { limits: DEFAULT_LIMITS, graceMs: 50, kill });
  open.push(connection);
  const decoder = new FrameDecoder();
  const received: unknown[] = [];
  theirs.on("error", () => {});
  theirs.on("data", (chunk: Buffer) => received.push(...decoder.push(chunk)));
  theirs.write(encodeFrame(READY));
  const send = (...frames: readonly (object | Buffer)[]) =>
    theirs.write(Buffer.concat(frames.map((frame) => (Buffer.isBuffer(frame) ? frame : encodeFrame(frame)))));
  return { files: new SupervisedFiles(connection.operations), connection, kill, send, received };
}

describe("frames of bytes", () => {
  it("survive any chunking, among others", () => {
    const part = fc.oneof(fc.jsonValue(), fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 50 })));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 8 }), (parts, cuts) => {
        const isBytes = (each: unknown): each is [number, Uint8Array] =>
          Array.isArray(each) && each.length === 2 && each[1] instanceof Uint8Array;
        const whole = Buffer.concat(parts.map((each) => (isBytes(each) ? bytes(...each) : encodeFrame(each))));
        const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
        const decoder = new FrameDecoder();
        const decoded = [0, ...places].flatMap((start, index) =>
          decoder.push(whole.subarray(start, places[index] ?? whole.length)),
        );
        const plain = decoded.map((each) => (each instanceof BinaryFrame ? [each.stream, [...each.data]] : each));
        expect(plain).toEqual(
          parts.map((each) => (isBytes(each) ? [each[0], [...each[1]]] : JSON.parse(JSON.stringify(each)))),
        );
      }),
    );
  });

  it("without a stream, or over the cap, are violations", () => {
    expect(() => new FrameDecoder().push(Buffer.from([0x80, 0, 0, 3]))).toThrow(ProtocolViolation);
    expect(() => new FrameDecoder().push(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toThrow(ProtocolViolation);
  });
});

describe("operations", () => {
  it("are checked whole (fuzz)", () => {
    const anything = fc.record(
      {
        t: fc.constantFrom("re", "ev", "win", "fin", "dial", "op", "__proto__"),
        r: fc.oneof(fc.nat(), fc.jsonValue()),
        n: fc.oneof(fc.nat(), fc.jsonValue()),
        ok: fc.oneof(fc.boolean(), fc.jsonValue()),
        error: fc.oneof(fc.jsonValue(), fc.record({ type: fc.constantFrom("conflict", "nope"), message: fc.string() })),
      },
      { requiredKeys: ["t"] },
    );
    fc.assert(
      fc.property(anything, (message) => {
        try {
          expect(typeof parseOperationFrame(message).r).toBe("number");
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolViolation);
        }
      }),
      { numRuns: 500 },
    );
  });

  const VIOLATIONS: Readonly<Record<string, readonly (object | Buffer)[]>> = {
    "the answer to nothing": [{ t: "re", r: 9, ok: true, value: null }],
    "a second answer": [
      { t: "re", r: 1, ok: true, value: null },
      { t: "re", r: 1, ok: true, value: null },
    ],
    "bytes of nothing": [bytes(9, Buffer.from("x"))],
    "more bytes than were granted": [bytes(1, Buffer.alloc(11))],
    "an event that nobody asked for": [{ t: "ev", r: 1, value: {} }],
    "an error that the table does not have": [
      { t: "re", r: 1, ok: false, error: { type: "internal_error", message: "m", limit: null } },
    ],
    "more room than was used": [{ t: "win", r: 1, n: 1 }],
    "bytes after their end": [{ t: "fin", r: 1 }, bytes(1, Buffer.from("x"))],
    "a connection that nobody waits for": [{ t: "dial", r: 0x8000_0000 }],
    "an answer of the wrong shape": [{ t: "re", r: 2, ok: true, value: { path: 1 } }],
    "an answer to a ping that nobody sent": [{ t: "pong", n: 7 }],
  };
  for (const [name, frames] of Object.entries(VIOLATIONS)) {
    it(`A15 kill the sandbox for ${name}`, async () => {
      const { files, kill, send } = connect();
      const reading = files.read("f", { offset: 0, length: 10 }, never).catch((error: unknown) => error);
      const looking = files.stat("f", never).catch((error: unknown) => error);
      send(...frames);
      await expect.poll(() => kill).toHaveBeenCalledOnce();
      expect(kill.mock.calls[0]?.[0]).toBe("violation");
      await reading;
      expect(await looking).toMatchObject({ error: "sandbox_dead" });
    });
  }

  it("send no more than the other side has granted", async () => {
    const { files, received, send } = connect();
    const writing = files.write("f", Buffer.alloc(3 << 20), {}, never);
    const sent = () =>
      received.reduce<number>((total, frame) => total + (frame instanceof BinaryFrame ? frame.data.length : 0), 0);
    await expect.poll(() => sent()).toBe(1 << 20);
    send({ t: "win", r: 1, n: 100 });
    await expect.poll(() => sent()).toBe((1 << 20) + 100);
    send({ t: "re", r: 1, ok: false, error: { type: "limit_exceeded", message: "full", limit: "disk" } });
    await expect(writing).rejects.toMatchObject({ error: "limit_exceeded", details: { limit: "disk" } });
  });

  it("end for their caller when the signal fires, once the sandbox has ended them", async () => {
    const { files, received, send } = connect();
    const abort = new AbortController();
    const reading = files.grep({ path: ".", pattern: "x", limit: 1 }, abort.signal);
    abort.abort();
    await expect.poll(() => received).toContainEqual({ t: "stop", r: 1 });
    send({ t: "re", r: 1, ok: false, error: { type: "cancelled", message: "m", limit: null } });
    await expect(reading).rejects.toMatchObject({ error: "cancelled" });
  });

  it("A15 that carry a connection cannot end the server by bytes after their end", async () => {
    const { connection, kill, send } = connect();
    const connecting = connectTo(connection.operations, 80, never);
    send({ t: "ev", r: 1, value: { open: true } }, { t: "fin", r: 1 }, bytes(1, Buffer.from("x")));
    await connecting.catch(() => {});
    await expect.poll(() => kill).toHaveBeenCalledOnce();
    expect(kill.mock.calls[0]?.[0]).toBe("violation");
  });

  it("A15 drop what still comes once the caller has given up on a sandbox that does not end them", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { connection, kill, send } = connect();
    const over = new AbortController();
    const came: unknown[] = [];
    const take = (value: unknown) => void came.push(value);
    const options = { signal: over.signal, window: 10, parse: () => null, onData: take, onEvent: take };
    const { result } = connection.operations.begin("files.watch", {}, options);
    over.abort();
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(result).rejects.toMatchObject({ error: "cancelled" });
    send({ t: "ev", r: 1, value: {} }, bytes(1, Buffer.from("x")), { t: "re", r: 1, ok: true, value: 1 });
    const pinged = connection.ping(never);
    send({ t: "pong", n: 1 });
    expect(await pinged).toBe(true);
    expect(came).toEqual([]);
    expect(kill).not.toHaveBeenCalled();
  });

  it("let the other side send on in large steps, so that it cannot ask for a frame with every byte", async () => {
    const { connection, received, send } = connect();
    const stream = await new Promise<Duplex>((resolve, reject) => {
      connectTo(connection.operations, 80, never).then(resolve, reject);
      send({ t: "ev", r: 1, value: { open: true } });
    });
    let count = 0;
    stream.on("data", (data: Buffer) => (count += data.length));
    const total = 100_000;
    for (let sent = 0; sent < total; sent += 500) {
      send(bytes(1, Buffer.alloc(500)));
      // oxlint-disable-next-line no-await-in-loop -- each part is to come by itself
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => count).toBe(total);
    const grants = received.filter((frame) => (frame as { t?: string }).t === "win");
    expect(grants).toHaveLength(1);
  });

  it("wait once for the end of a process, however often it is listed", async () => {
    const { connection, received, send } = connect();
    const facts = { id: "p1", pid: 7, command: ["sleep"], started_at: 1, exit: null };
    for (let round = 0; round < 20; round += 1) {
      const listing = listProcesses(connection.operations, never);
      // oxlint-disable-next-line no-await-in-loop
      const asked = () => received.filter((frame) => (frame as { op?: string }).op === "processes")[round];
      // oxlint-disable-next-line no-await-in-loop
      await expect.poll(asked, { interval: 1 }).toBeDefined();
      send({ t: "re", r: (asked() as { r: number }).r, ok: true, value: [facts] });
      // oxlint-disable-next-line no-await-in-loop
      const [process] = await listing;
      if (round < 19) continue;
      const waits = received.filter((frame) => (frame as { op?: string }).op === "process.wait") as { r: number }[];
      expect(waits).toHaveLength(1);
      send({ t: "re", r: waits[0]?.r, ok: true, value: { exit_code: 3, signal: null, timed_out: false } });
      expect(await process?.exited).toMatchObject({ exitCode: 3 });
      expect(process?.exit).toMatchObject({ exitCode: 3 });
    }
  });
});
