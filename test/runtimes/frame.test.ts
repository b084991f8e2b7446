import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Capture } from "../../src/runtimes/kernel/capture.ts";
import { encodeFrame, FrameDecoder, MAX_FRAME_BYTES, ProtocolViolation } from "../../src/runtimes/kernel/frame.ts";
import { parseSandboxFrame } from "../../src/runtimes/kernel/messages.ts";

/** Cuts bytes at the given places, in any order and number. */
function chunk(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

describe("frames", () => {
  it("survive any chunking", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.array(fc.nat()), (messages, cuts) => {
        const decoder = new FrameDecoder();
        const bytes = Buffer.concat(messages.map(encodeFrame));
        const decoded = chunk(bytes, cuts).flatMap((part) => decoder.push(part));
        expect(decoded).toEqual(JSON.parse(JSON.stringify(messages)));
        expect(decoder.pendingBytes).toBe(0);
      }),
    );
  });

  it("that arrive in one write are all there at once (seed defect 5)", () => {
    const both = Buffer.concat([encodeFrame({ i: 1 }), encodeFrame({ i: 2 })]);
    expect(new FrameDecoder().push(both)).toEqual([{ i: 1 }, { i: 2 }]);
  });

  it("refuse a length over the cap before anything is buffered for it", () => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(MAX_FRAME_BYTES + 1);
    expect(() => new FrameDecoder().push(header)).toThrow(ProtocolViolation);
    expect(() => encodeFrame("x".repeat(MAX_FRAME_BYTES))).toThrow(RangeError);
  });

  it("A15 hold few pieces of a frame that comes byte by byte", () => {
    const concat = vi.spyOn(Buffer, "concat");
    const decoder = new FrameDecoder();
    const message = "x".repeat(20_000);
    const bytes = encodeFrame(message);
    for (const byte of bytes.subarray(0, -1)) decoder.push(Buffer.from([byte]));
    concat.mockClear();
    expect(decoder.push(bytes.subarray(-1))).toEqual([message]);
    const pieces = concat.mock.calls.map(([list]) => list.length);
    concat.mockRestore();
    expect(Math.max(...pieces)).toBeLessThan(32);
  });

  it("refuse what is not UTF-8 or not JSON", () => {
    const framed = (payload: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, payload.length]), payload]);
    expect(() => new FrameDecoder().push(framed(Buffer.from([0x22, 0xff, 0x22])))).toThrow(ProtocolViolation);
    expect(() => new FrameDecoder().push(framed(Buffer.from("NaN")))).toThrow(ProtocolViolation);
    expect(() => new FrameDecoder().push(framed(Buffer.alloc(0)))).toThrow(ProtocolViolation);
  });

  it("meet random bytes with a violation or with patience, never with another error (fuzz)", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (parts) => {
        const decoder = new FrameDecoder();
        try {
          for (const part of parts) decoder.push(Buffer.from(part));
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolViolation);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("messages", () => {
  const anyMessage = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        t: fc.constantFrom("ready", "call", "out", "idle", "end", "pong", "reset", "exec", "res"),
        x: fc.oneof(fc.nat(), fc.jsonValue()),
        i: fc.oneof(fc.nat(), fc.jsonValue()),
        tool: fc.oneof(fc.string(), fc.jsonValue()),
        args: fc.jsonValue(),
        stream: fc.constantFrom("stdout", "stderr", "__proto__"),
        seq: fc.nat(),
        data: fc.oneof(fc.string(), fc.jsonValue()),
        usage: fc.jsonValue(),
        versions: fc.jsonValue(),
        pending: fc.jsonValue(),
      },
      { requiredKeys: ["t"] },
    ),
  );

  it("are checked whole: what passes has every field of its type (fuzz)", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        try {
          const frame = parseSandboxFrame(JSON.parse(JSON.stringify(message)));
          if (frame.t === "call")
            expect([typeof frame.x, typeof frame.i, typeof frame.tool, typeof frame.args]).toEqual([
              "number",
              "number",
              "string",
              "object",
            ]);
          if (frame.t === "out") expect([typeof frame.data, typeof frame.seq]).toEqual(["string", "number"]);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolViolation);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("of the host's own kind are refused when the sandbox sends them", () => {
    for (const t of ["hello", "exec", "res", "cancel", "bye", "constructor", "__proto__"]) {
      expect(() => parseSandboxFrame({ t, x: 1, i: 1, ok: true, value: 1 })).toThrow(ProtocolViolation);
    }
  });
});

describe("capture", () => {
  it("A06 keeps head and tail with exact counts, whatever is written (property)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 40 }), { maxLength: 40 }),
        fc.integer({ min: 8, max: 200 }),
        (texts, limit) => {
          const capture = new Capture(limit);
          const head = texts.map((text) => capture.feed(text)).join("");
          const { bytes, omitted, tail } = capture.finish();
          const exact = Buffer.concat(texts.map((text) => Buffer.from(text)));
          expect(bytes).toBe(exact.length);
          expect(Buffer.byteLength(head) + omitted + Buffer.byteLength(tail)).toBe(bytes);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(limit);
          // Strings were cut between characters, so both ends are ends of the whole.
          expect(exact.toString().startsWith(head)).toBe(true);
          expect(exact.toString().endsWith(tail)).toBe(true);
        },
      ),
    );
  });
});
