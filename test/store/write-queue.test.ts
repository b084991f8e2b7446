import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { WriteQueue } from "../../src/store/sqlite/write-queue.ts";

function setUp() {
  const database = new Database(":memory:");
  database.exec("CREATE TABLE numbers (n INTEGER UNIQUE)");
  const insert = database.prepare("INSERT INTO numbers VALUES (?)");
  const numbers = () => database.prepare("SELECT n FROM numbers ORDER BY n").pluck().all();
  return { database, insert, numbers, queue: new WriteQueue(database) };
}

describe("write queue", () => {
  it("leaves nothing of a write that fails, and all of those beside it", async () => {
    const { queue, insert, numbers } = setUp();
    let rollbacks = 0;
    queue.onRollback(() => (rollbacks += 1));
    const writes = [
      queue.write(() => insert.run(1).changes),
      queue.write(() => {
        insert.run(2);
        throw new Error("no");
      }),
      queue.write(() => insert.run(3).changes),
      queue.write(() => insert.run(3).changes),
    ];
    const results = await Promise.allSettled(writes);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    expect(results[1]).toMatchObject({ reason: { name: "StoreError", reason: "failed" } });
    expect(numbers()).toEqual([1, 3]);
    expect(rollbacks).toBe(3);
  });

  it("says that the disk is full, and goes on when it no longer is", async () => {
    const { database, queue, insert, numbers } = setUp();
    database.exec("CREATE TABLE blobs (b BLOB)");
    const pages = Number(database.pragma("page_count", { simple: true }));
    database.pragma(`max_page_count = ${pages + 1}`);
    const blob = database.prepare("INSERT INTO blobs VALUES (zeroblob(100000))");
    const both = await Promise.allSettled([queue.write(() => insert.run(1)), queue.write(() => blob.run())]);
    expect(both).toMatchObject([{ status: "fulfilled" }, { reason: { name: "StoreError", reason: "full" } }]);
    database.pragma("max_page_count = 1000000");
    await queue.write(() => blob.run());
    expect(numbers()).toEqual([1]);
  });

  it("rejects its writes and goes on when not even the rollback works", async () => {
    const { database, insert, numbers, queue } = setUp();
    let broken = true;
    const exec = database.exec.bind(database);
    database.exec = (sql) => {
      if (broken && sql === "ROLLBACK") throw new Error("disk I/O error");
      return exec(sql);
    };
    let told = 0;
    queue.onRollback(() => (told += 1));
    const failing = [1, 2].map(() =>
      queue.write(() => {
        insert.run(1);
        throw new Error("no");
      }),
    );
    expect(await Promise.allSettled(failing)).toMatchObject([
      { reason: { name: "StoreError", reason: "failed" } },
      { reason: { name: "StoreError", reason: "failed" } },
    ]);
    expect(told).toBeGreaterThan(0);
    broken = false;
    await queue.write(() => insert.run(3));
    expect(numbers()).toEqual([3]);
  });
});
