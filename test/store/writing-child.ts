// Writes for ever, and says on standard output what has resolved: its parent kills it.
import { openStore } from "../../src/store/open-store.ts";
import { events, session } from "../kit/store-records.ts";

const store = await openStore({ driver: "sqlite", dataDir: process.argv[2] ?? "" });
let { lastId } = await store.events.bounds();
for (;;) {
  const count = 1 + (lastId % 40);
  const next = lastId + count;
  await Promise.all([
    store.events.append(events(lastId + 1, next)),
    store.sessions.put(session({ id: `s${next}` })),
    store.idempotency.begin({ tenant: "t1", key: `k${next}`, fingerprint: "f", instance: "i1", keptAt: next }),
  ]);
  lastId = next;
  process.stdout.write(`${lastId}\n`);
}
