import { isEnvelope } from "../client/envelope.ts";
import { listField } from "../client/format/fields.ts";
import { systemClock } from "../core/clock.ts";
import { StoreError } from "../core/store.ts";
import type { KeyListing, KeyRequest, NewKey } from "../server/auth/key-admin.ts";
import { CommandError, type Terminal } from "./command.ts";
import { askServer, toRefusal } from "./server-connection.ts";

/** Works on keys, wherever they are kept. */
export interface KeyDoor {
  create(request: KeyRequest): Promise<NewKey & { readonly closes_server?: boolean }>;
  list(): Promise<readonly KeyListing[]>;
  revoke(id: string): Promise<KeyListing>;
  rotate(id: string, graceMs: number | undefined): Promise<NewKey>;
}

/** Where the command line says that the keys are. */
export interface KeyPlace {
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
  readonly dataDir: string | undefined;
  readonly terminal: Terminal;
}

const DEFAULT_DATA_DIR = ".toolyard";
/** Who works on the data folder itself stands behind no key. */
const OPERATOR = { tenant: null, keyId: null } as const;

/**
 * Opens the data folder, or the server that holds it; a url names the server at once.
 *
 * @throws StoreError, CommandError
 */
export async function withKeys<T>(place: KeyPlace, work: (keys: KeyDoor) => Promise<T>): Promise<T> {
  const url = place.url ?? (place.dataDir === undefined ? place.terminal.environment["TOOLYARD_URL"] : undefined);
  if (url !== undefined) return work(serverKeys({ ...place, url }));
  try {
    return await withFolder(place.dataDir ?? DEFAULT_DATA_DIR, work);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "locked") throw error;
    // The server of a folder that is not the usual one may be anywhere; another one must not get its keys.
    if (place.dataDir !== undefined && place.terminal.environment["TOOLYARD_URL"] === undefined) {
      throw new CommandError(`a server uses ${place.dataDir} and keeps its keys: name the server with --url`);
    }
    return work(serverKeys(place));
  }
}

async function withFolder<T>(dataDir: string, work: (keys: KeyDoor) => Promise<T>): Promise<T> {
  const [{ openStore }, { AuditTrail }, { KeyAdmin }, { createLogger }] = await Promise.all([
    import("../store/open-store.ts"),
    import("../server/auth/audit-trail.ts"),
    import("../server/auth/key-admin.ts"),
    import("../log/logger.ts"),
  ]);
  const store = await openStore({ driver: "sqlite", dataDir });
  const logger = createLogger({ level: "error" });
  const audit = new AuditTrail(store.audit, systemClock, logger);
  const admin = new KeyAdmin({ keys: store.keys, audit, clock: systemClock });
  try {
    return await work({
      create: (request) => admin.create(request, OPERATOR),
      list: () => admin.list(),
      revoke: (id) => admin.revoke(id, OPERATOR),
      rotate: (id, graceMs) => admin.rotate(id, OPERATOR, graceMs),
    });
  } finally {
    await audit.flush();
    await store.close();
    logger.flush();
  }
}

function serverKeys({ url, apiKey, terminal }: KeyPlace): KeyDoor {
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const answer = await askServer({ url, apiKey, path, terminal, ...(body !== undefined && { body }) });
    if (!isEnvelope(answer.body) || answer.body.code !== 0) throw toRefusal(answer);
    return answer.body.data;
  };
  // The protocol says what each path answers; the server checks it in its own tests.
  const askFor = async <T>(path: string, body?: object): Promise<T> => (await ask(path, body)) as T;
  return {
    create: ({ expiresInMs, ...request }) =>
      askFor("/api/v1/keys", { ...request, ...(expiresInMs !== undefined && { expires_in: expiresInMs / 1000 }) }),
    list: async () => listField(await ask("/api/v1/keys"), "keys") as readonly KeyListing[],
    revoke: (id) => askFor(`/api/v1/keys/${encodeURIComponent(id)}/revoke`, {}),
    rotate: (id, graceMs) =>
      askFor(`/api/v1/keys/${encodeURIComponent(id)}/rotate`, graceMs === undefined ? {} : { grace: graceMs / 1000 }),
  };
}
