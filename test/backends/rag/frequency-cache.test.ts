import { expect, it } from "vitest";
import { FrequencyCache } from "../../../src/backends/rag/index/frequency-cache.ts";

it("asks for each term of a segment once, and forgets when it is full", () => {
  const cache = new FrequencyCache();
  let asked = 0;
  const get = (segment: number, term: string) => cache.get(segment, term, () => (asked += 1));
  expect([get(1, "copper"), get(1, "copper"), get(2, "copper"), get(1, "zinc"), get(2, "copper")]).toEqual([
    1, 1, 2, 3, 2,
  ]);
  expect(cache.get(3, "none", () => 0)).toBe(0);
  expect(cache.get(3, "none", () => 7)).toBe(0);
  for (let index = 0; index < 70_000; index += 1) get(4, `t${index}`);
  const before = asked;
  get(1, "copper");
  expect(asked).toBe(before + 1);
});
