import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { mergeSegments, packEvents, SEGMENT_LIMITS } from "../../src/store/sqlite/event-segment.ts";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { SegmentTable } from "../../src/store/sqlite/segment-table.ts";
import { SegmentTail } from "../../src/store/sqlite/segment-tail.ts";
import { event, events } from "../kit/store-records.ts";

describe("event segments", () => {
  it("hold as many events, and as much of them, as the limits allow", () => {
    const counts = packEvents(events(1, SEGMENT_LIMITS.events + 1)).map(({ eventCount }) => eventCount);
    expect(counts).toEqual([SEGMENT_LIMITS.events, 1]);
    const large = "x".repeat(SEGMENT_LIMITS.bytes / 2);
    const segments = packEvents([1, 2, 3, 4].map((id) => event(id, { data: { large } })));
    expect(segments.map(({ firstId, lastId }) => [firstId, lastId])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
  });

  it("are the same, merged or written at once", () => {
    const parts = [events(1, 3), events(4, 4), events(5, 20)].flatMap(packEvents);
    const [whole] = packEvents(events(1, 20));
    const { names, ...merged } = mergeSegments(parts);
    expect({ ...merged, names: names.length }).toEqual({ ...whole, names: whole?.names.length });
  });

  it("are few, also when each event came alone", () => {
    const database = new Database(":memory:");
    migrate(database);
    const table = new SegmentTable(database);
    const tail = new SegmentTail(table);
    for (const each of events(1, 4_096)) for (const segment of packEvents([each])) tail.push(segment);
    const sizes = table.newestSizes(10_000);
    expect(sizes.reduce((sum, { eventCount }) => sum + eventCount, 0)).toBe(4_096);
    expect(sizes.length).toBeLessThanOrEqual(4_096 / 32);
    database.close();
  });
});
