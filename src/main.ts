import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { settleRuntimes } from "./plugins/open-runtimes.ts";
import { loadBackends } from "./plugins/load-backends.ts";
import { toLimits } from "./config/limits.ts";
import type { Config } from "./config/schema.ts";
import { toSecurity } from "./config/security.ts";
import type { Logger } from "./core/context.ts";
import type { RuntimeSelector } from "./core/runtime.ts";
import type { EngineLimits } from "./engine/limits.ts";
import { type RunningServer, startServer } from "./server/server.ts";
import { systemClock } from "./core/clock.ts";
import { openStore, type StoreDriver } from "./store/open-store.ts";
import { FileRecordings } from "./store/recordings/file-recordings.ts";

export interface StartOptions {
  readonly config: Config;
  /** The folder of the config file: module paths start here, and `init/from-config` reads here only. */
  readonly configDir: string;
  /** Wins over the config's. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** The folder where state is kept; made if it is not there. @default ".toolyard" in the current folder */
  readonly dataDir?: string | undefined;
  /** Wins over the config's; by default `sqlite` when a data folder is given. */
  readonly store?: StoreDriver | undefined;
  readonly logger: Logger;
  readonly runtimes?: RuntimeSelector;
}

const DEFAULT_DATA_DIR = ".toolyard";

/** A whole Toolyard: backends, engine, HTTP. */
export type Toolyard = RunningServer;

/**
 * Starts what a config describes.
 *
 * @throws ConfigError that names the file and the key; Error with Node's code when the port cannot be had.
 */
export async function startToolyard({ config, configDir, logger, ...options }: StartOptions): Promise<Toolyard> {
  const { runtimes } = options;
  // A folder that was named is meant to be used.
  const driver = options.store ?? (options.dataDir === undefined ? config.store.driver : "sqlite");
  const dataDir = resolve(options.dataDir ?? DEFAULT_DATA_DIR);
  const backends = await loadBackends(config, {
    configDir,
    logger,
    ...(runtimes !== undefined && { runtimes }),
    ...(driver === "memory" ? {} : { dataDir }),
  });
  const { engine: limits, http } = toLimits(config.limits);
  const { title, description, allowed_hosts: allowedHosts, ports_origin: portsOrigin } = config.server;
  const store = await openStore({ driver, dataDir });
  const recordings = driver === "memory" ? undefined : openRecordings(dataDir, limits, logger);
  const server = await startServer({
    store,
    recordings,
    mounts: backends.map(({ resource, backend }) => ({ resource, backend })),
    limits,
    http,
    host: options.host ?? config.server.host,
    port: options.port ?? config.server.port,
    logger,
    info: { title, description, version: packageVersion() },
    configDir,
    allowedHosts,
    portsOrigin,
    allowedOrigins: [...config.server.allowed_origins, ...config.security.allowed_origins],
    ...toSecurity(config.security),
    ...(runtimes !== undefined && { runtimes: async () => runtimes.status(AbortSignal.timeout(10_000)) }),
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  if (runtimes !== undefined) {
    const stopping = new AbortController();
    void server.stopped.then(() => stopping.abort());
    const usual = backends.flatMap(({ backend }) => backend.usualSandbox ?? []);
    void server.engine.router.recovery
      .over()
      .then(() => settleRuntimes(runtimes, config, logger, { usual, retryUntil: stopping.signal }));
  }
  if (config.warmup.enabled) warmUp(server, config.warmup.resources, logger);
  const stopped = server.stopped.then(async () => {
    await Promise.all([runtimes?.close(), store.close(), recordings?.close()]);
  });
  return {
    ...server,
    stopped,
    async stop(how) {
      await server.stop(how);
      await stopped;
    },
  };
}

function openRecordings(dataDir: string, limits: EngineLimits, logger: Logger): FileRecordings {
  const { terminalRecordingsBytes: maxBytes, terminalRecordingsAgeMs: maxAgeMs } = limits;
  return new FileRecordings({ folder: join(dataDir, "terminals"), clock: systemClock, logger, maxBytes, maxAgeMs });
}

/** Warms up in the background: `/ready` tells how far it is, and a call that comes meanwhile waits for the same run. */
function warmUp({ engine }: RunningServer, resources: readonly string[] | undefined, logger: Logger): void {
  for (const resource of resources ?? engine.catalog.mounts.keys()) {
    void engine.router
      .lifecycle(resource)
      ?.warmUp()
      .catch(() => logger.warn({ resource }, "warmup at start failed; the next call tries again"));
  }
}

/** The version in the package's own package.json, which lies one level above src and dist alike. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "unknown";
}
