import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RfbViolation } from "../../src/server/planes/desktops/rfb-violation.ts";
import { ViewerHandshake } from "../../src/server/planes/desktops/viewer-handshake.ts";
import { ViewerInput } from "../../src/server/planes/desktops/viewer-input.ts";
import { ViewerMessages } from "../../src/server/planes/desktops/viewer-messages.ts";
import * as rfb from "../kit/rfb-viewer.ts";

/** The kinds that change something, of those that a display understands. */
const INPUT_KINDS = new Set([4, 5, 6, 250, 251, 255]);

/** Reads a stream as TigerVNC does, without a look at our parser; the kinds of its messages, and what is left of the last. */
function readAsDisplay(data: Buffer): { readonly kinds: number[]; readonly left: number } {
  const kinds: number[] = [];
  let at = 0;
  while (at < data.length) {
    const left = data.length - at;
    const kind = data[at] ?? -1;
    const sizes: Record<number, () => number> = {
      0: () => 20,
      2: () => (left < 4 ? left + 1 : 4 + 4 * data.readUInt16BE(at + 2)),
      3: () => 10,
      4: () => 8,
      5: () => 6,
      6: () => (left < 8 ? left + 1 : 8 + Math.abs(data.readInt32BE(at + 4))),
      150: () => 10,
      248: () => (left < 9 ? left + 1 : 9 + data.readUInt8(at + 8)),
      251: () => (left < 8 ? left + 1 : 8 + 16 * data.readUInt8(at + 6)),
      255: () => 12,
    };
    const size = sizes[kind]?.();
    if (size === undefined) throw new Error(`the display is sent the kind ${kind}`);
    if (size > left) return { kinds, left };
    kinds.push(kind);
    at += size;
  }
  return { kinds, left: 0 };
}

/** What a display gets of chunks, and whether the viewer was refused in the end. */
function passThrough(chunks: readonly Uint8Array[], input: ViewerInput): { readonly passed: Buffer; refused: boolean } {
  const messages = new ViewerMessages();
  const passed: Buffer[] = [];
  try {
    for (const chunk of chunks) {
      messages.push(chunk);
      for (let message = messages.next(); message !== undefined; message = messages.next()) {
        passed.push(input.pass(message));
      }
    }
  } catch (error) {
    expect(error).toBeInstanceOf(RfbViolation);
    return { passed: Buffer.concat(passed), refused: true };
  }
  return { passed: Buffer.concat(passed), refused: false };
}

const viewOnly = () => new ViewerInput({ viewOnly: true, mayResize: true, admit: () => true });

/** Cuts a text of bytes anywhere. */
const split = (data: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (data.length + 1)))].toSorted((left, right) => left - right);
  return [0, ...places].map((from, index) => data.subarray(from, places[index] ?? data.length));
};

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((data) => Buffer.from(data));
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const message = fc.oneof(
  fc.tuple(u32, fc.boolean()).map(([keysym, down]) => rfb.key(keysym, down)),
  fc.tuple(u32, u32, fc.boolean()).map(([keysym, code, down]) => rfb.qemuKey(keysym, code, down)),
  fc.tuple(fc.nat(65_535), fc.nat(65_535), fc.nat(255)).map(([x, y, mask]) => rfb.pointer(x, y, mask)),
  bytes(300).map((text) => rfb.cutText(text)),
  bytes(300).map((text) => rfb.cutText(text, -text.length)),
  fc.array(fc.integer({ min: -800, max: 300 }), { maxLength: 20 }).map((list) => rfb.encodings(...list)),
  fc.boolean().map((incremental) => rfb.updateRequest(incremental)),
  bytes(64).map((payload) => rfb.fence(payload)),
  fc.constantFrom(rfb.pixelFormat(), rfb.continuousUpdates(), rfb.power(), rfb.desktopSize(800, 600)),
);
const cuts = fc.array(fc.nat(4_000), { maxLength: 40 });

describe("a viewer's messages", () => {
  it("are cut alike, however their bytes are split into frames", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), cuts, (list, at) => {
        const messages = new ViewerMessages();
        const cut: Buffer[] = [];
        for (const chunk of split(Buffer.concat(list), at)) {
          messages.push(chunk);
          for (let next = messages.next(); next !== undefined; next = messages.next()) cut.push(next);
        }
        expect(cut.map((whole) => whole.toString("hex"))).toEqual(list.map((whole) => whole.toString("hex")));
        expect(messages.heldBytes).toBe(0);
      }),
    );
  });

  it("F06: smuggle no input past view-only, whatever they are and however they are split", () => {
    const hostile = fc.oneof(
      message,
      bytes(40),
      fc.tuple(message, fc.nat(40)).map(([whole, end]) => whole.subarray(0, end)),
    );
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 30 }), cuts, (list, at) => {
        const { passed } = passThrough(split(Buffer.concat(list), at), viewOnly());
        const { kinds, left } = readAsDisplay(passed);
        expect(kinds.filter((kind) => INPUT_KINDS.has(kind))).toEqual([]);
        // Only whole messages pass: a display never waits in the middle of one for bytes that another kind could give.
        expect(left).toBe(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it("F06: pass in control exactly as they are, but for what they say that they understand", () => {
    const input = fc.constantFrom(
      rfb.key(97, true),
      rfb.key(97, false),
      rfb.pointer(1, 2, 1),
      rfb.cutText(Buffer.from("x")),
    );
    fc.assert(
      fc.property(fc.array(input, { maxLength: 20 }), cuts, (list, at) => {
        const admitted = new ViewerInput({ viewOnly: false, mayResize: false, admit: () => true });
        const { passed } = passThrough(split(Buffer.concat(list), at), admitted);
        expect(passed.equals(Buffer.concat(list))).toBe(true);
      }),
    );
  });

  it("are refused when nobody can tell where they end, or they never would", () => {
    const refused = (data: Uint8Array) => passThrough([data], viewOnly()).refused;
    expect(refused(Buffer.of(1))).toBe(true);
    expect(refused(Buffer.of(255, 1, 0, 0))).toBe(true);
    expect(refused(rfb.cutText(Buffer.alloc(0), 2 ** 31 - 1))).toBe(true);
    expect(refused(rfb.cutText(Buffer.alloc(0), -(2 ** 31)))).toBe(true);
    expect(refused(rfb.fence(Buffer.alloc(65)))).toBe(true);
    expect(refused(Buffer.of(2, 0, 255, 255))).toBe(true);
    expect(refused(rfb.updateRequest())).toBe(false);
  });

  it("hold no more than one message of them, and cost no more in many pieces than in one", () => {
    const messages = new ViewerMessages();
    const text = rfb.cutText(Buffer.alloc(500_000));
    let early = 0;
    for (let at = 0; at < text.length - 1; at += 7) {
      messages.push(text.subarray(at, Math.min(at + 7, text.length - 1)));
      if (messages.next() !== undefined) early += 1;
    }
    expect(early).toBe(0);
    messages.push(text.subarray(-1));
    expect(messages.next()?.length).toBe(text.length);
    expect(messages.heldBytes).toBe(0);
  });
});

describe("a viewer's input", () => {
  it("never has the display hear of what would give messages another shape, nor a watcher of clipboards", () => {
    const list = [0, 7, 16, -239, -223, -308, -316, -259, -309, -258, 0xc0_a1_e5_ce, -25, -250];
    const kept = (input: ViewerInput) => [...input.pass(rfb.encodings(...list)).subarray(4)].length / 4;
    const control = new ViewerInput({ viewOnly: false, mayResize: false, admit: () => true });
    expect(control.pass(rfb.encodings(...list))).toEqual(
      rfb.encodings(0, 7, 16, -239, -223, -308, -258, 0xc0_a1_e5_ce, -25, -250),
    );
    expect(kept(viewOnly())).toBe(8);
  });

  it("lets go of what it holds at the first thing that it may no longer do, and of the rest nothing passes", () => {
    let allowed = true;
    const input = new ViewerInput({ viewOnly: false, mayResize: false, admit: () => allowed });
    input.pass(rfb.key(0xffe1, true));
    input.pass(rfb.qemuKey(97, 30, true));
    input.pass(rfb.pointer(10, 20, 1));
    allowed = false;
    // Moving on with the button down.
    expect(input.pass(rfb.pointer(99, 99, 1))).toEqual(
      Buffer.concat([rfb.key(0xffe1, false), rfb.qemuKey(97, 30, false), rfb.pointer(10, 20, 0)]),
    );
    expect(input.pass(rfb.key(97, true)).length).toBe(0);
    expect(input.pass(rfb.key(0xffe1, false)).length).toBe(0);
    expect(input.release().length).toBe(0);
  });

  it("may always let a key go that it pressed, and holds down only so many", () => {
    let allowed = true;
    const input = new ViewerInput({ viewOnly: false, mayResize: false, admit: () => allowed });
    for (let keysym = 1; keysym <= 100; keysym += 1) input.pass(rfb.key(keysym, true));
    allowed = false;
    expect(input.pass(rfb.key(7, false))).toEqual(rfb.key(7, false));
    expect(input.release().length).toBe(63 * 8);
  });

  it("resizes only where that was asked for, and never switches the machine off", () => {
    const may = new ViewerInput({ viewOnly: false, mayResize: true, admit: () => true });
    const mayNot = new ViewerInput({ viewOnly: false, mayResize: false, admit: () => true });
    expect(may.pass(rfb.desktopSize(800, 600))).toEqual(rfb.desktopSize(800, 600));
    expect(mayNot.pass(rfb.desktopSize(800, 600)).length).toBe(0);
    expect(may.pass(rfb.power()).length).toBe(0);
  });
});

describe("a viewer's handshake", () => {
  const speak = (words: Buffer, at: readonly number[]) => {
    const handshake = new ViewerHandshake();
    const replies: Buffer[] = [];
    let rest: Buffer | undefined;
    for (const chunk of split(words, at)) {
      const { reply, rest: behind } = handshake.push(chunk);
      replies.push(reply);
      if (behind !== undefined) {
        rest = behind;
        break;
      }
    }
    return { replies: Buffer.concat(replies), rest };
  };

  it("speaks 3.3, 3.7 and 3.8, without a password, however it is split", () => {
    fc.assert(
      fc.property(cuts, (at) => {
        const ok = Buffer.alloc(4);
        expect(speak(Buffer.from("RFB 003.008\n\u0001\u0001"), at).replies).toEqual(
          Buffer.concat([Buffer.of(1, 1), ok]),
        );
        expect(speak(Buffer.from("RFB 003.889\n\u0001\u0001"), at).replies).toEqual(
          Buffer.concat([Buffer.of(1, 1), ok]),
        );
        expect(speak(Buffer.from("RFB 003.007\n\u0001\u0000"), at).replies).toEqual(Buffer.of(1, 1));
        expect(speak(Buffer.from("RFB 003.003\n\u0001"), at).replies).toEqual(Buffer.of(0, 0, 0, 1));
      }),
    );
  });

  it("gives back what was said behind it, and takes no other kind of security", () => {
    expect(speak(Buffer.from("RFB 003.008\n\u0001\u0001rest"), []).rest?.toString()).toBe("rest");
    expect(() => speak(Buffer.from("RFB 003.008\n\u0010"), [])).toThrow(RfbViolation);
    expect(() => speak(Buffer.from("GET / HTTP/1.1\r\n"), [])).toThrow(RfbViolation);
  });
});
