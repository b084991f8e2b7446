import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-shrinker-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const MIB = 1_048_576;

/** Keeps thirty megabytes of answers, and forgets them. */
async function keepAndForget(dataDir: string): Promise<{ readonly fullBytes: number; readonly leftBytes: number }> {
  const file = join(dataDir, "toolyard.db");
  const store = await openStore({ driver: "sqlite", dataDir });
  const answer = "x".repeat(MIB);
  for (let index = 0; index < 30; index += 1) {
    const key = `k${index}`;
    await store.idempotency.begin({ tenant: "t", key, fingerprint: "f", instance: "i", keptAt: 1 });
    await store.idempotency.finish("t", key, answer, 1);
  }
  await store.close();
  const fullBytes = statSync(file).size;
  const again = await openStore({ driver: "sqlite", dataDir });
  expect(await again.idempotency.prune(2)).toBe(30);
  await again.close();
  return { fullBytes, leftBytes: statSync(file).size };
}

describe("the database", () => {
  it("gives the room of what it forgot back to the file system", async () => {
    const { fullBytes, leftBytes } = await keepAndForget(join(root, "new"));
    expect(fullBytes).toBeGreaterThan(30 * MIB);
    expect(leftBytes).toBeLessThan(6 * MIB);
  });

  it("does so, too, where an earlier version made it", async () => {
    const dataDir = join(root, "old");
    await (await openStore({ driver: "sqlite", dataDir })).close();
    const database = new Database(join(dataDir, "toolyard.db"));
    database.pragma("auto_vacuum = NONE");
    database.exec("VACUUM");
    expect(database.pragma("auto_vacuum", { simple: true })).toBe(0);
    database.close();
    expect((await keepAndForget(dataDir)).leftBytes).toBeLessThan(6 * MIB);
  });

  it("keeps a third of its room, which a full store that forgets its oldest quarter takes again", async () => {
    const dataDir = join(root, "full");
    const store = await openStore({ driver: "sqlite", dataDir });
    for (let index = 0; index < 40; index += 1) {
      const key = `k${index}`;
      await store.idempotency.begin({ tenant: "t", key, fingerprint: "f", instance: "i", keptAt: index });
      await store.idempotency.finish("t", key, "x".repeat(MIB), index);
    }
    expect(await store.idempotency.prune(10)).toBe(10);
    const spare = new Database(join(dataDir, "toolyard.db"), { readonly: true });
    expect(Number(spare.pragma("freelist_count", { simple: true })) * 4_096).toBeGreaterThan(9 * MIB);
    expect(await store.idempotency.prune(30)).toBe(20);
    expect(Number(spare.pragma("freelist_count", { simple: true })) * 4_096).toBeLessThan(6 * MIB);
    spare.close();
    await store.close();
  });
});
