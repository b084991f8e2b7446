import { systemClock } from "../../src/core/clock.ts";
import type { Store } from "../../src/core/store.ts";
import { AuditTrail } from "../../src/server/auth/audit-trail.ts";
import { KeyAdmin, type KeyRequest, type NewKey } from "../../src/server/auth/key-admin.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { recordingLogger } from "./recording-logger.ts";
import { type Answer, type TestServer, testServer, type TestServerOptions } from "./test-server.ts";

/** What the holder of a key sees of a server. */
export interface KeyHolder {
  readonly key: string;
  readonly id: string;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  execute(action: string, params?: object, more?: object): Promise<Answer>;
}

export interface KeyedServer<Name extends string> extends TestServer {
  readonly store: Store;
  readonly holders: Readonly<Record<Name, KeyHolder>>;
}

/** Sends with a key, or with none. */
export function holderOf(server: TestServer, { key, id }: { readonly key: string; readonly id: string }): KeyHolder {
  const headers = { authorization: `Bearer ${key}` };
  const post = (path: string, body: unknown, more: Record<string, string> = {}) =>
    server.post(path, body, { ...headers, ...more });
  return {
    key,
    id,
    post,
    get: async (path) => {
      const response = await fetch(server.url + path, { headers });
      // Every answer of the server is JSON; one that is not fails the test here.
      return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
    },
    execute: (action, params = {}, more = {}) => post("/execute", { worker_id: "w1", action, params, ...more }),
  };
}

/** Makes keys in a store as `toolyard keys` does. */
export async function makeKeys<Name extends string>(
  store: Store,
  wanted: Readonly<Record<Name, Partial<KeyRequest>>>,
  clock = systemClock,
): Promise<Readonly<Record<Name, NewKey>>> {
  const audit = new AuditTrail(store.audit, clock, recordingLogger());
  const admin = new KeyAdmin({ keys: store.keys, audit, clock });
  const made: [string, NewKey][] = [];
  for (const [name, request] of Object.entries<Partial<KeyRequest>>(wanted)) {
    made.push([name, await admin.create({ name, ...request }, { tenant: null, keyId: null })]);
  }
  await audit.flush();
  // The same names as `wanted`.
  return Object.fromEntries(made) as Record<Name, NewKey>;
}

/** Starts a real server whose store holds these keys, to be ended by `await using`. */
export async function keyedServer<Name extends string>(
  wanted: Readonly<Record<Name, Partial<KeyRequest>>>,
  options: TestServerOptions = {},
): Promise<KeyedServer<Name>> {
  const store = options.store ?? createMemoryStore();
  const keys = await makeKeys(store, wanted, options.clock);
  const server = await testServer({ ...options, store });
  const holders = Object.entries<NewKey>(keys).map(([name, key]) => [name, holderOf(server, key)]);
  // The same names as `wanted`.
  return { ...server, store, holders: Object.fromEntries(holders) as Record<Name, KeyHolder> };
}
