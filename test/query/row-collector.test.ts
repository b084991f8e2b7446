import fc from "fast-check";
import { expect, it } from "vitest";
import { toCell, toNumberCell } from "../../src/query/cell.ts";
import { RowCollector } from "../../src/query/row-collector.ts";

it("takes what fits and not a byte more, whatever the rows are", () => {
  const rows = fc.array(
    fc.array(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), { maxLength: 4 }),
  );
  fc.assert(
    fc.property(rows, fc.nat(12), fc.nat(200), (all, maxRows, maxBytes) => {
      const collector = new RowCollector({ maxRows, maxBytes });
      for (const row of all) if (!collector.add(row)) break;
      const { rows: taken, size_bytes: size, truncated, truncated_by: by, row_count: count } = collector.finish([], []);
      expect(taken).toEqual(all.slice(0, taken.length));
      expect(count).toBe(taken.length);
      expect(size).toBe(Buffer.byteLength(JSON.stringify(taken)));
      expect(taken.length).toBeLessThanOrEqual(maxRows);
      if (taken.length > 0) expect(size).toBeLessThanOrEqual(maxBytes);
      // There is more exactly when it says so, and the row that is missing would not have fitted.
      expect(truncated).toBe(taken.length < all.length);
      const next = Buffer.byteLength(JSON.stringify(all.slice(0, taken.length + 1)));
      if (by === "rows") expect(taken.length).toBe(maxRows);
      if (by === "bytes") expect(next).toBeGreaterThan(maxBytes);
    }),
  );
});

it("writes values of engines as JSON that loses nothing", () => {
  expect([1n, 9007199254740991n, 9007199254740993n, -0, NaN, -Infinity].map(toCell)).toEqual([
    ...[1, 9007199254740991, "9007199254740993", -0, "NaN", "-Infinity"],
  ]);
  expect(toCell(Buffer.from([1, 2]))).toEqual({ base64: "AQI=", size_bytes: 2 });
  expect(["1.50", "-0.1", "123456789012345678.9", "1e400", "12"].map(toNumberCell)).toEqual([
    ...[1.5, -0.1, "123456789012345678.9", "1e400", 12],
  ]);
  const [huge, tiny] = [`1${"0".repeat(400)}`, `0.${"0".repeat(400)}1`];
  expect([huge, tiny, "2e3", "0.00", "00100"].map(toNumberCell)).toEqual([huge, tiny, 2000, 0, 100]);
  fc.assert(
    fc.property(fc.bigInt(), (value) => {
      expect(BigInt(String(toCell(value)))).toBe(value);
    }),
  );
});
