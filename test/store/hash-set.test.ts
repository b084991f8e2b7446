import fc from "fast-check";
import { expect, it } from "vitest";
import { HashSet } from "../../src/store/sqlite/hash-set.ts";

const hash = fc.oneof(
  fc.nat(0xffff_ffff),
  fc.nat(3),
  // Of one slot, also after it has grown.
  fc.nat(0xffff).map((high) => (high << 16) >>> 0),
);

it("a hash set holds what a set of the same numbers does", () => {
  fc.assert(
    fc.property(fc.array(hash, { maxLength: 5_000 }), (hashes) => {
      const mine = new HashSet();
      for (const each of hashes) mine.add(each);
      const model = new Set(hashes);
      expect(mine.size).toBe(model.size);
      expect([...mine.toArray()].toSorted((a, b) => a - b)).toEqual([...model].toSorted((a, b) => a - b));
    }),
    { numRuns: 50 },
  );
});
