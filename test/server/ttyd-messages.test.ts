import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseClientMessage } from "../../src/server/planes/terminals/ttyd-messages.ts";

const parse = (text: string) => parseClientMessage(Buffer.from(text, "utf8"));

describe("a viewer's messages", () => {
  it("are ttyd's", () => {
    expect(parse("0ls\r")).toEqual({ kind: "input", data: Buffer.from("ls\r") });
    expect(parse('1{"columns":80,"rows":24}')).toEqual({ kind: "resize", columns: 80, rows: 24 });
    expect(parse("2")).toEqual({ kind: "pause" });
    expect(parse("3")).toEqual({ kind: "resume" });
    expect(parse('{"AuthToken":"x","columns":80,"rows":24}')).toEqual({ kind: "hello", columns: 80, rows: 24 });
    expect(parse('{"AuthToken":"x"}')).toEqual({ kind: "hello", columns: undefined, rows: undefined });
  });

  it.each([
    "",
    "4",
    "9x",
    "1",
    "1{}",
    '1{"columns":0,"rows":24}',
    '1{"columns":80,"rows":1e9}',
    '1{"columns":"80","rows":2}',
    "{",
    "{1",
  ])("mean nothing when they are %j", (text) => expect(parse(text)).toBeUndefined());

  it("F06: of any bytes never throw, and let only sizes through that a terminal can have", () => {
    const started = fc
      .tuple(fc.constantFrom(...'01234{["\0'), fc.uint8Array({ maxLength: 200 }))
      .map(([kind, rest]) => Buffer.concat([Buffer.from(kind), rest]));
    const json = fc.tuple(fc.constantFrom("1", ""), fc.json()).map(([kind, text]) => Buffer.from(kind + text));
    const sized = fc
      .record({ columns: fc.oneof(fc.integer(), fc.double(), fc.string()), rows: fc.integer() })
      .map((size) => Buffer.from(`1${JSON.stringify(size)}`));
    fc.assert(
      fc.property(fc.oneof(started, json, sized), (message) => {
        const parsed = parseClientMessage(message);
        if (parsed?.kind === "resize") {
          for (const side of [parsed.columns, parsed.rows]) {
            expect(Number.isInteger(side) && side >= 1 && side <= 1_000).toBe(true);
          }
        }
        if (parsed?.kind === "input") expect(parsed.data).toEqual(message.subarray(1));
      }),
      { numRuns: 2_000 },
    );
  });
});
