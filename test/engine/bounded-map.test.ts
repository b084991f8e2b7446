import { describe, expect, it } from "vitest";
import { BoundedMap } from "../../src/engine/bounded-map.ts";

describe("a bounded map", () => {
  it("holds the newest entries and forgets the oldest", () => {
    const map = new BoundedMap<number, string>(10);
    for (let key = 0; key < 100; key += 1) map.set(key, String(key));
    for (let key = 91; key < 100; key += 1) expect(map.get(key)).toBe(String(key));
    for (let key = 0; key < 80; key += 1) expect(map.get(key)).toBeUndefined();
  });

  it("gives the last value of a key, and none after its deletion, however old the first was", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    expect(map.get("a")).toBe(3);
    map.delete("a");
    expect([map.get("a"), map.get("b")]).toEqual([undefined, 2]);
  });
});
