import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { event, HOSTILE, job, readAll, session } from "../kit/store-records.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-same-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const name = fc.oneof(
  fc.constantFrom("a", "b", "c"),
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: "binary", maxLength: 3 }),
);
const few = fc.constantFrom("a", "b", "c");
const time = fc.integer({ min: 0, max: 40 });
const TYPES = ["call.started", "call.completed", "session.created"] as const;
const HOUR_MS = 3_600_000;

/** What a step may use: the same store, and the id and seqs that the one writer of the log would give next. */
interface Log {
  nextId: number;
  readonly seqs: Map<string, number>;
}
type Step = (store: Store, log: Log) => Promise<unknown>;

const appends = fc
  .array(fc.record({ tenant: few, worker_id: name, session_id: few, call_id: name, type: fc.constantFrom(...TYPES) }), {
    maxLength: 90,
  })
  .map(
    (batch): Step =>
      (store, log) =>
        store.events.append(
          batch.map((fields) => {
            const seq = (log.seqs.get(fields.session_id) ?? 0) + 1;
            log.seqs.set(fields.session_id, seq);
            return event(log.nextId++, { ...fields, seq, data: { [fields.call_id]: fields.worker_id } });
          }),
        ),
  );

const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const filter = fc.record({
  tenant: fc.option(few),
  worker_id: optional(name),
  session_id: optional(few),
  call_id: optional(name),
  types: optional(fc.subarray([...TYPES])),
});

const begins = fc.tuple(few, name, few, few, time, fc.boolean());
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: appends },
  {
    weight: 4,
    arbitrary: fc.tuple(filter, fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 50 })).map(
      ([wanted, afterId, pageSize]): Step =>
        (store) =>
          readAll(store, wanted, { afterId, pageSize }),
    ),
  },
  fc.tuple(fc.option(few), fc.nat(300)).map(
    ([tenant, id]): Step =>
      (store) =>
        store.events.get(tenant, id),
  ),
  fc.tuple(fc.nat(300), fc.nat(400)).map(
    ([maxEvents, age]): Step =>
      (store) =>
        store.events.trim({ maxEvents, maxAgeMs: HOUR_MS }, Date.parse(event(age).ts) + HOUR_MS),
  ),
  fc.constant<Step>((store) => store.events.bounds()),
  // Of sessions that are not live a trim may forget the counts.
  fc.constant<Step>(async (store) => {
    const live = (await store.sessions.live()).map(({ id }) => id);
    return [...(await store.events.lastSeqs(live))].toSorted();
  }),
  begins.map(
    ([tenant, key, fingerprint, instance, keptAt, retakeUnknown]): Step =>
      (store) =>
        store.idempotency.begin({ tenant, key, fingerprint, instance, keptAt }, { retakeUnknown }),
  ),
  fc.tuple(few, name, name, time).map(
    ([tenant, key, answer, keptAt]): Step =>
      (store) =>
        store.idempotency.finish(tenant, key, answer, keptAt),
  ),
  fc.tuple(few, name).map(
    ([tenant, key]): Step =>
      (store) =>
        store.idempotency.release(tenant, key),
  ),
  fc.tuple(few, name).map(
    ([tenant, key]): Step =>
      (store) =>
        store.idempotency.get(tenant, key),
  ),
  few.map(
    (instance): Step =>
      (store) =>
        store.idempotency.markUnknown(instance),
  ),
  time.map(
    (before): Step =>
      (store) =>
        store.idempotency.prune(before),
  ),
  fc
    .record({
      id: name,
      tenant: few,
      workerId: few,
      state: fc.constantFrom("queued", "running", "completed"),
      progress: fc.option(name),
      instance: few,
      createdAt: time,
      endedAt: fc.option(time),
    })
    .map(
      (fields): Step =>
        (store) =>
          store.jobs.put(job(fields)),
    ),
  fc.tuple(few, optional(few), fc.nat(5)).map(
    ([tenant, workerId, limit]): Step =>
      (store) =>
        store.jobs.list(tenant, { workerId, limit }),
  ),
  fc.tuple(few, time).map(
    ([instance, at]): Step =>
      (store) =>
        store.jobs.markUnknown(instance, at),
  ),
  time.map(
    (before): Step =>
      (store) =>
        store.jobs.prune(before),
  ),
  fc.tuple(few, few, time).map(
    ([id, tenant, createdAt]): Step =>
      (store) =>
        store.sessions.put(session({ id, tenant, createdAt })),
  ),
  fc.tuple(few, name, time).map(
    ([id, reason, at]): Step =>
      (store) =>
        store.sessions.end(id, `ended ${reason}`, at),
  ),
  fc.tuple(few, time).map(
    ([id, at]): Step =>
      (store) =>
        store.sessions.renew(new Map([[id, at]])),
  ),
  fc.constant<Step>((store) => store.sessions.live()),
  fc.tuple(few, few).map(
    ([tenant, id]): Step =>
      (store) =>
        store.sessions.get(tenant, id),
  ),
);

/** Reads what came back as its text; `JSON` leaves out what is undefined, as a caller over HTTP sees it. */
async function play(store: Store, script: readonly Step[]): Promise<string[]> {
  const log: Log = { nextId: 1, seqs: new Map() };
  const results: string[] = [];
  for (const step of script) results.push(JSON.stringify(await step(store, log), sortFields) ?? "nothing");
  await store.close();
  return results;
}

function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

it("gives the same answers from memory and from sqlite, whatever happens", async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 60 }), async (script) => {
      const dataDir = join(root, String((count += 1)));
      const kept = await play(createMemoryStore(), script);
      expect(await play(await openStore({ driver: "sqlite", dataDir }), script)).toEqual(kept);
      rmSync(dataDir, { recursive: true });
    }),
    { numRuns: 100 },
  );
});
