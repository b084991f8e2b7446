// One server of the dispatch benchmark in a process of its own: `bare` is a Hono route without Toolyard, `toolyard` the real thing.
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

const kind = process.argv[2];

async function startBare(): Promise<string> {
  const app = new Hono();
  app.post("/execute", async (c) => {
    const body = await c.req.json<{ params: { message?: string } }>();
    return c.json({ code: 0, message: "success", data: { result: body.params.message ?? null } });
  });
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startToolyard(): Promise<string> {
  const { Backend, tool } = await import("../dist/index.js");
  const { startServer } = await import("../dist/server/server.js");
  const { default: CodeBackend } = await import("../dist/backends/code/backend.js");
  const { createRuntimeSelector } = await import("../dist/runtimes/selector.js");
  const { createLogger } = await import("../dist/log/logger.js");
  const { openStore } = await import("../dist/store/open-store.js");
  const { defaultLimits } = await import("../dist/engine/limits.js");
  const { defaultHttpLimits } = await import("../dist/server/http-limits.js");
  const { boundYoungSpace } = await import("../dist/cli/young-space.js");

  // As `toolyard serve` does.
  boundYoungSpace();

  class Echo extends Backend {
    readonly resource = "bench";
    echo({ message }: { message: string }) {
      return { result: message };
    }
  }
  class Counter extends Backend<{ value: number }> {
    readonly resource = "counter";
    override readonly concurrency = "parallel";
    override async initialize() {
      return { value: 0 };
    }
    override async cleanup() {}
    incr(_: object, { session }: { session: { data: { value: number } } }) {
      return { value: ++session.data.value };
    }
  }
  // Node strips types but does not transform decorators, so they are applied by hand in their TC39 shape.
  tool({ description: "Echo.", name: "echo", params: z.object({ message: z.string() }) })(Echo.prototype.echo, {});
  tool({ description: "Count." })(Counter.prototype.incr, {});

  const runtimes = createRuntimeSelector();
  // Everything as by default: the event log goes to sqlite in a data folder.
  const dataDir = mkdtempSync(join(tmpdir(), "toolyard-bench-data-"));
  process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  const server = await startServer({
    store: await openStore({ driver: "sqlite", dataDir }),
    mounts: [new Echo({ config: {} }), new Counter({ config: {} }), new CodeBackend({ config: {}, runtimes })].map(
      (backend) => ({
        resource: backend.resource,
        backend,
      }),
    ),
    limits: defaultLimits,
    http: defaultHttpLimits,
    host: "127.0.0.1",
    port: 0,
    logger: createLogger({ level: "info" }),
    info: { title: "bench", description: "", version: "0" },
    configDir: ".",
    runtimes: async () => runtimes.status(AbortSignal.timeout(10_000)),
  });
  // A log that is stopped takes no more events, and nobody makes them.
  if (kind === "toolyard-without-log") await server.engine.log.stop();
  return server.url;
}

process.on("message", (message) => {
  if (message === "cpu") process.send?.({ cpu: process.cpuUsage() });
  if (message === "memory") {
    globalThis.gc?.();
    process.send?.({ memory: process.memoryUsage() });
  }
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url: await (kind === "bare" ? startBare() : startToolyard()) });
