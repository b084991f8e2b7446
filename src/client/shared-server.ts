import { resolve } from "node:path";
import { type SpawnedServer, spawnServer, type SpawnOptions } from "./spawn.ts";

/** One holder's share of a server that this process started. */
export interface ServerShare {
  readonly server: SpawnedServer;
  /** Gives the share back; the last one stops the server. Safe to call more than once. */
  release(): Promise<void>;
}

interface SharedServer {
  readonly starting: Promise<SpawnedServer>;
  holders: number;
}

const servers = new Map<string, SharedServer>();

/**
 * Takes a share in the server with these options, started by the first to ask.
 *
 * @throws ServerStartError when it did not start; the next to ask tries again.
 */
export async function acquireServer(options: SpawnOptions): Promise<ServerShare> {
  const key = keyOf(options);
  const shared = servers.get(key) ?? start(key, options);
  shared.holders += 1;
  const server = await shared.starting;
  let released = false;
  return {
    server,
    release: async () => {
      if (released) return;
      released = true;
      shared.holders -= 1;
      if (shared.holders > 0) return;
      forget(key, shared);
      await server.stop();
    },
  };
}

function start(key: string, options: SpawnOptions): SharedServer {
  const shared: SharedServer = { starting: spawnServer(options), holders: 0 };
  servers.set(key, shared);
  // One that failed to start or that died is not handed to the next who asks.
  shared.starting.then(
    (server) => server.ended.then(() => forget(key, shared)),
    () => forget(key, shared),
  );
  return shared;
}

function forget(key: string, shared: SharedServer): void {
  if (servers.get(key) === shared) servers.delete(key);
}

function keyOf({ configPath, dataDir, port, entry }: SpawnOptions): string {
  const path = (file: string | undefined) => (file === undefined ? null : resolve(file));
  return JSON.stringify([path(configPath), path(dataDir), port ?? 0, entry?.href ?? null]);
}
