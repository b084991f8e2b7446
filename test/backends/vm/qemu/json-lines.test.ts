import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonLines, JsonLinesViolation, toLine } from "../../../../src/backends/vm/qemu/json-lines.ts";

const message = fc.dictionary(fc.string(), fc.jsonValue()).map((it) => JSON.parse(JSON.stringify(it)));

/** Cuts bytes where the numbers say. */
function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((it) => it % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

describe("the lines of QEMU's protocols", () => {
  it("give back what was sent, wherever the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.nat()), (messages, cuts) => {
        const lines = new JsonLines(1_000_000);
        const read = cut(Buffer.concat(messages.map(toLine)), cuts).flatMap((chunk) => lines.push(chunk));
        expect(read).toEqual(messages);
      }),
    );
  });

  it("leave out what stands before the agent's mark, whatever it is", () => {
    const rubbish = fc.uint8Array().filter((it) => !it.includes(0x0a));
    fc.assert(
      fc.property(rubbish, message, (before, sent) => {
        const read = new JsonLines(1_000_000).push(Buffer.concat([before, Buffer.from([0xff]), toLine(sent)]));
        expect(read).toEqual([sent]);
      }),
    );
  });

  it("take any bytes for messages or for a violation, and hold no more than a line", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        const lines = new JsonLines(100);
        try {
          for (const chunk of chunks)
            for (const read of lines.push(Buffer.from(chunk))) expect(read).toBeTypeOf("object");
        } catch (error) {
          expect(error).toBeInstanceOf(JsonLinesViolation);
        }
      }),
    );
    const lines = new JsonLines(10);
    expect(() => lines.push(Buffer.alloc(11, 0x20))).toThrow("over 10 bytes");
    for (const wrong of ["[]\n", "1\n", "null\n", "{\n", '"a"\n']) {
      expect(() => new JsonLines(100).push(Buffer.from(wrong))).toThrow(JsonLinesViolation);
    }
  });
});
