// A server in a process of its own, which tells its parent what it holds when asked.
import { readdirSync } from "node:fs";
import { defaultLimits } from "../../src/engine/limits.ts";
import { openStore } from "../../src/store/open-store.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const [dataDir = ""] = process.argv.slice(2);
const store = await openStore({ driver: "sqlite", dataDir });
const server = await testServer({
  backends: [new CounterBackend(), new ScriptedBackend()],
  store,
  limits: { ...defaultLimits, eventLogEvents: 1_000 },
  logger: silentLogger(),
});

process.on("message", () => {
  for (let turn = 0; turn < 3; turn += 1) globalThis.gc?.();
  const { router, executor } = server.engine;
  process.send?.({
    heapBytes: process.memoryUsage().heapUsed,
    files: readdirSync("/proc/self/fd").length,
    sessions: router.sessionCount + router.endingCount,
    calls: executor.activeCount,
  });
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url: server.url });

/** The kit's own logger keeps every line. */
function silentLogger() {
  const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
  return logger;
}
