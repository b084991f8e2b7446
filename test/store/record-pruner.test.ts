import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { job } from "../kit/store-records.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-pruner-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const tenant = "t";

/** Keeps an answer under each key, as old as its place. */
async function keep({ idempotency }: Store, keys: readonly string[], answer = "{}"): Promise<void> {
  await Promise.all(
    keys.map(async (key, keptAt) => {
      await idempotency.begin({ tenant, key, fingerprint: "f", instance: "i", keptAt });
      await idempotency.finish(tenant, key, answer, keptAt);
    }),
  );
}

const keysTo = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`);

/** Counts the turns of the event loop that the work leaves to others. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let over = false;
  void work.finally(() => (over = true));
  for (; !over; turns += 1) await nextTurn();
  return turns;
}

describe("old records of a database", () => {
  it("go a megabyte at a time, whether answers of keyed calls or jobs", async () => {
    const store = await openStore({ driver: "sqlite", dataDir: join(root, "large") });
    const answer = "x".repeat(524_288);
    await keep(store, keysTo(40), answer);
    const jobs = Array.from({ length: 40 }, (_, index) =>
      store.jobs.put(job({ id: `j${index}`, state: "completed", answer, endedAt: index })),
    );
    await Promise.all(jobs);
    expect(await turnsOf(store.idempotency.prune(39))).toBeGreaterThanOrEqual(19);
    expect(await turnsOf(store.jobs.prune(39))).toBeGreaterThanOrEqual(19);
    expect(await store.idempotency.get(tenant, "k38")).toBeNull();
    expect(await store.idempotency.get(tenant, "k39")).toMatchObject({ answer });
    expect(await store.jobs.list(job({}).tenant, { limit: 10 })).toMatchObject([{ id: "j39" }]);
    await store.close();
  });

  it("go in parts, also where none of the first thousands is old, and never what was renewed meanwhile or runs", async () => {
    const store = await openStore({ driver: "sqlite", dataDir: join(root, "many") });
    const keys = keysTo(5_000);
    await keep(store, keys);
    await store.idempotency.begin({ tenant, key: "running", fingerprint: "f", instance: "i", keptAt: 0 });
    const young = keys.slice(0, 3_000).map((key) => ({ tenant, key }));
    await store.idempotency.renew(young, 1_000_000);
    const pruning = store.idempotency.prune(4_900);
    const renewing = store.idempotency.renew([{ tenant, key: "k4800" }], 1_000_000);
    expect(await turnsOf(pruning)).toBeGreaterThanOrEqual(4);
    await renewing;
    expect(await pruning).toBe(1_899);
    const left = await Promise.all(
      ["k0", "k2999", "k3000", "k4799", "k4800", "k4900", "running"].map((key) => store.idempotency.get(tenant, key)),
    );
    expect(left.map((record) => record?.key)).toEqual([
      "k0",
      "k2999",
      undefined,
      undefined,
      "k4800",
      "k4900",
      "running",
    ]);
    expect(await store.idempotency.prune(4_900)).toBe(0);
    await store.close();
  });
});
