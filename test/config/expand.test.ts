import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { expandPlaceholders } from "../../src/config/expand.ts";

const expand = (value: unknown, environment: Record<string, string> = {}): unknown =>
  expandPlaceholders(value, environment, "toolyard.json").value;

describe("expandPlaceholders", () => {
  it("fills in variables anywhere in a string and at any depth", () => {
    expect(expand({ a: ["x-${ONE}-${TWO}"], b: { c: "${ONE}" } }, { ONE: "1", TWO: "2" })).toEqual({
      a: ["x-1-2"],
      b: { c: "1" },
    });
  });

  it("takes the default for a variable that is unset or empty", () => {
    expect(expand(["${A:-x}", "${B:-y}", "${C:-z}", "${D:-}"], { B: "", C: "c" })).toEqual(["x", "y", "c", ""]);
  });

  it("fills in placeholders inside a default", () => {
    expect(expand("${A:-${B:-deep}/${C}}", { C: "c" })).toBe("deep/c");
  });

  it("writes ${ for $${ and leaves what is no placeholder alone", () => {
    expect(expand(["$${HOME}", "${not a name}", "$HOME", "${OPEN", "100$"])).toEqual([
      "${HOME}",
      "${not a name}",
      "$HOME",
      "${OPEN",
      "100$",
    ]);
  });

  it("does not fill in what a variable's own value holds", () => {
    expect(expand("${A}", { A: "${B}" })).toBe("${B}");
  });

  it("names the file, the key and the variable that is not set", () => {
    const place = { apis: { search: { keys: ["a", "${SERPER_API_KEY}"] } } };
    expect(() => expand(place)).toThrow(
      /^toolyard\.json: apis\.search\.keys\[1\]: the environment variable SERPER_API_KEY is not set/,
    );
  });

  it("lets a disabled or underscored entry name variables that are not set", () => {
    const off = { enabled: false, config: { key: "${NOT_SET}" } };
    expect(expand({ off, flagged: { ...off, enabled: "${FLAG:-false}" }, _note: "${NOT_SET}" })).toEqual({
      off,
      flagged: { ...off, enabled: "false" },
      _note: "${NOT_SET}",
    });
  });

  it("tells the values that were one placeholder from text that merely holds one", () => {
    const { placeholders } = expandPlaceholders({ a: "${A:-1}", b: "x${A:-1}", c: "${A:-1}${A:-1}" }, {}, "f");
    expect([...placeholders]).toEqual(["a"]);
  });

  it("never reads a variable from the environment's prototype", () => {
    expect(() => expand("${toString}")).toThrow(ConfigError);
  });

  it("returns any JSON without placeholders as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
        fc.pre(!JSON.stringify(value).includes("$") && !JSON.stringify(value).includes("__proto__"));
        expect(expand(value)).toEqual(value);
      }),
    );
  });

  it("gives a text or names the missing variable for any text at all, and never anything else", () => {
    const piece = fc.constantFrom("${", "}", "$", ":-", "A", "B", "{", "x", "${A}", "${B:-", "$${", " ");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        try {
          expect(typeof expand(pieces.join(""), { A: "1" })).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
          expect(String(error)).toMatch(/variable [ABx]+ is not set/);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("puts any value of a variable in unchanged", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, value) => {
        fc.pre(!before.includes("$"));
        expect(expand(`${before}\${V}`, { V: value })).toBe(before + value);
      }),
    );
  });
});
