// The server of the load benchmarks in a process of its own: a tool that takes a while, once it is let go.
import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { z } from "zod";

const { Backend, tool } = await import("../dist/index.js");
const { startServer } = await import("../dist/server/server.js");
const { createLogger } = await import("../dist/log/logger.js");
const { openStore } = await import("../dist/store/open-store.js");
const { defaultLimits } = await import("../dist/engine/limits.js");
const { defaultHttpLimits } = await import("../dist/server/http-limits.js");
const { boundYoungSpace } = await import("../dist/cli/young-space.js");

// As `toolyard serve` does.
boundYoungSpace();

let gate = Promise.withResolvers<void>();
gate.resolve();

class Held extends Backend {
  readonly resource = "held";
  async pause({ ms }: { ms: number }) {
    noteTurn();
    await gate.promise;
    if (ms > 0) await pause(ms);
    return { ms };
  }
}
// Node strips types but does not transform decorators, so they are applied by hand in their TC39 shape.
tool({ description: "Take a while.", params: z.object({ ms: z.number() }) })(Held.prototype.pause, {});

// Everything as by default: the event log goes to sqlite in a data folder, beside the server's log.
const dataDir = process.argv[3] ?? ".";
const server = await startServer({
  store: await openStore({ driver: "sqlite", dataDir }),
  mounts: [{ resource: "held", backend: new Held({ config: {} }) }],
  limits: { ...defaultLimits, ...JSON.parse(process.argv[2] ?? "{}") },
  http: defaultHttpLimits,
  host: "127.0.0.1",
  port: 0,
  logger: createLogger({ level: "info" }),
  info: { title: "bench", description: "", version: "0" },
  configDir: ".",
});
/** Processor time of the main thread in each turn of the event loop that started a call, while somebody watches. */
const turnsMs: number[] = [];
let watching = false;
let noting = false;
let lastCpuMs = 0;
function noteTurn(): void {
  // Once a turn, at its end: a look in every turn would keep the loop busy, and its garbage be measured with it.
  if (!watching || noting) return;
  noting = true;
  setImmediate(() => {
    noting = false;
    const { user, system } = process.threadCpuUsage();
    const cpuMs = (user + system) / 1000;
    if (lastCpuMs > 0) turnsMs.push(cpuMs - lastCpuMs);
    lastCpuMs = cpuMs;
  });
}
/** How late the event loop was, and how long its garbage collections stopped it, while somebody watched. */
const late = monitorEventLoopDelay({ resolution: 1 });
const pausesMs: number[] = [];
new PerformanceObserver((list) => pausesMs.push(...list.getEntries().map(({ duration }) => duration))).observe({
  entryTypes: ["gc"],
});
const NS_PER_MS = 1e6;

process.on("message", (message) => {
  if (message === "watch") {
    turnsMs.length = 0;
    lastCpuMs = 0;
    watching = true;
    late.reset();
    late.enable();
    pausesMs.length = 0;
  }
  if (message === "unwatch") {
    watching = false;
    late.disable();
  }
  if (message === "open") gate.resolve();
  if (message === "close") gate = Promise.withResolvers<void>();
  const { running, queued } = server.engine.admission.report();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  process.send?.({
    running,
    queued,
    rss,
    heapUsed,
    external,
    young: young?.physical_space_size ?? 0,
    cpuMs: (user + system) / 1000,
    turnsMs: message === "unwatch" ? turnsMs : [],
    lateMs: [late.percentile(99) / NS_PER_MS, late.max / NS_PER_MS],
    longestPauseMs: Math.max(0, ...pausesMs),
  });
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url: server.url });
