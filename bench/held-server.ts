// The server of the load benchmarks in a process of its own: a tool that takes a while, once it is let go.
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";

const { Backend, tool } = await import("../dist/index.js");
const { startServer } = await import("../dist/server/server.js");
const { createLogger } = await import("../dist/log/logger.js");
const { openStore } = await import("../dist/store/open-store.js");
const { defaultLimits } = await import("../dist/engine/limits.js");
const { defaultHttpLimits } = await import("../dist/server/http-limits.js");

let gate = Promise.withResolvers<void>();
gate.resolve();

class Held extends Backend {
  readonly resource = "held";
  async pause({ ms }: { ms: number }) {
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
/** Processor time of the main thread in each turn of the event loop that did something, since it was asked for. */
const turnsMs: number[] = [];
let watching = false;
function watchTurns(last: number): void {
  const { user, system } = process.threadCpuUsage();
  const now = (user + system) / 1000;
  if (now - last > IDLE_TURN_MS) turnsMs.push(now - last);
  if (watching) setImmediate(watchTurns, now);
}
const IDLE_TURN_MS = 0.2;

process.on("message", (message) => {
  if (message === "watch") {
    watching = true;
    turnsMs.length = 0;
    setImmediate(() => watchTurns(Number.POSITIVE_INFINITY));
  }
  if (message === "unwatch") watching = false;
  if (message === "open") gate.resolve();
  if (message === "close") gate = Promise.withResolvers<void>();
  const { running, queued } = server.engine.admission.report();
  const { user, system } = process.cpuUsage();
  process.send?.({
    running,
    queued,
    rss: process.memoryUsage.rss(),
    cpuMs: (user + system) / 1000,
    turnsMs: message === "unwatch" ? turnsMs : [],
  });
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url: server.url });
