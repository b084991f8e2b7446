import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { parseJsonWithComments } from "../../src/config/json-with-comments.ts";

const parse = (source: string): unknown => parseJsonWithComments(source, "c.json");

describe("parseJsonWithComments", () => {
  it("takes comments, trailing commas and a byte order mark", () => {
    expect(parse('\uFEFF{ // one\n "a": [1, 2,], /* two */ "url": "http://x//y", }')).toEqual({
      a: [1, 2],
      url: "http://x//y",
    });
  });

  it.each([
    ['{\n  "a": x\n}', 'c.json:2:8: expected a value, found "x"'],
    ['{\n  "a": 1\n  "b": 2\n}', 'c.json:3:3: expected "," or "}", found "\\""'],
    ['{ "a": [1, 2 }', 'c.json:1:14: expected "," or "]", found "}"'],
    ["{ a: 1 }", 'c.json:1:3: expected a name in double quotes, found "a"'],
    ['{ "a" 1 }', 'c.json:1:7: expected ":", found "1"'],
    ['{ "a": ', "c.json:1:8: expected a value, found the end of the file"],
    ["{} {}", 'c.json:1:4: expected the end of the file, found "{"'],
    ["", "c.json:1:1: expected a value, found the end of the file"],
    ['{ "a": 1, "a": 2 }', 'c.json:1:11: the key "a" is there twice'],
    ["[01]", 'c.json:1:2: expected a value, found "0"'],
  ])("names line and column of the first mistake in %j", (source, message) => {
    expect(() => parse(source)).toThrow(message);
  });

  it("counts lines and columns through comments", () => {
    expect(() => parse("{\n  /* one\n two */ // three\n  oops\n}")).toThrow("c.json:4:3:");
  });

  it("refuses absurd nesting instead of overflowing", () => {
    expect(() => parse("[".repeat(100_000))).toThrow(/deeper than 100/);
  });

  it("reads whatever JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const source = JSON.stringify(value, null, indent);
        expect(parse(source)).toEqual(JSON.parse(source));
      }),
    );
  });

  it("agrees with JSON.parse on every damaged text: a value or a ConfigError with a position", () => {
    const damaged = fc
      .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom("", ",", "]", "}", '"', "0", "\\", "\n", "x", ":"))
      .map(([value, at, text]) => {
        const source = JSON.stringify(value);
        const cut = at % (source.length + 1);
        return source.slice(0, cut) + text + source.slice(cut + 1);
      })
      // Trailing commas are ours to take.
      .filter((source) => !/,\s*[\]}]/.test(source));
    fc.assert(
      fc.property(damaged, (source) => {
        const wanted = attempt(() => JSON.parse(source));
        const found = attempt(() => parse(source));
        if (found.error instanceof ConfigError && found.error.message.includes("twice")) return;
        expect(found.value).toEqual(wanted.value);
        if (wanted.error !== undefined) expect(String(found.error)).toMatch(/^ConfigError: c\.json:\d+:\d+: /);
      }),
      { numRuns: 3000 },
    );
  });
});

function attempt(read: () => unknown): { value?: unknown; error?: unknown } {
  try {
    return { value: read() };
  } catch (error) {
    return { error };
  }
}
