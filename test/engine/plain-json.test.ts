import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toPlainJson } from "../../src/engine/plain-json.ts";

const bounds = { maxBytes: 100_000, maxDepth: 50 };
const plain = (value: unknown) => toPlainJson(value, bounds);

describe("making a result plain", () => {
  it("passes on what JSON can hold, as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
        const result = plain(value);
        expect(result.lossy).toEqual([]);
        expect(JSON.stringify(result.value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("makes of any value at all something that JSON holds, or refuses it", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
        (value) => {
          let text: string | undefined;
          try {
            text = JSON.stringify(plain(value).value);
          } catch (error) {
            expect(error).toHaveProperty("error");
            return;
          }
          expect(() => JSON.parse(text)).not.toThrow();
        },
      ),
    );
  });

  it("says what it changed, and where", () => {
    const value = { a: [Number.NaN, { b: 1n }], bytes: Buffer.from("hi"), all: new Set([Infinity]), at: new Date(0) };
    expect(plain(value)).toEqual({
      value: { a: [null, { b: "1" }], bytes: "aGk=", all: [null], at: "1970-01-01T00:00:00.000Z" },
      lossy: [
        "data.a[0]: NaN",
        "data.a[1].b: bigint",
        "data.bytes: 2 bytes, as base64",
        "data.all: Set",
        "data.all[0]: Infinity",
      ],
    });
  });

  it("lists no more changes than one can read", () => {
    expect(plain(Array.from({ length: 500 }, () => Number.NaN)).lossy).toHaveLength(100);
  });

  it("gives a copy, which later changes of the original do not reach", () => {
    const live = { list: [1], nested: { value: 1 } };
    const { value } = plain(live);
    live.list.push(2);
    live.nested.value = 2;
    expect(value).toEqual({ list: [1], nested: { value: 1 } });
  });

  it("refuses a value that holds itself, and takes one that holds another twice", () => {
    const twice = { shared: 1 };
    expect(plain({ a: twice, b: twice }).value).toEqual({ a: { shared: 1 }, b: { shared: 1 } });
    const cycle: Record<string, unknown> = {};
    cycle["self"] = [cycle];
    expect(() => plain(cycle)).toThrow(expect.objectContaining({ error: "result_invalid" }));
  });

  it("refuses what is nested too deep, even by toJSON, and names the limit", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 60; level += 1) deep = [deep];
    const endless = { toJSON: (): unknown => endless };
    for (const value of [deep, endless]) {
      expect(() => plain(value)).toThrow(
        expect.objectContaining({ error: "limit_exceeded", details: { limit: "result_depth", maximum: 50 } }),
      );
    }
  });

  it("refuses what is too large, and names the limit", () => {
    const sparse: unknown[] = [];
    sparse.length = 4_000_000_000;
    for (const value of [
      "x".repeat(100_001),
      new Uint8Array(80_000),
      Array.from({ length: 30_000 }, () => 1),
      sparse,
    ]) {
      expect(() => plain(value)).toThrow(
        expect.objectContaining({ error: "limit_exceeded", details: { limit: "result_bytes", maximum: 100_000 } }),
      );
    }
  });

  it("keeps a key named __proto__ a key", () => {
    const { value } = plain(JSON.parse('{"__proto__": {"polluted": [1]}}'));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":[1]}}');
  });

  it("takes undefined for null, and leaves it out of objects", () => {
    expect(plain(undefined).value).toBeNull();
    expect(JSON.stringify(plain({ a: undefined, b: [undefined] }).value)).toBe('{"b":[null]}');
  });
});
