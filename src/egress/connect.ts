import { lookup as systemLookup } from "node:dns/promises";
import { connect as connectSocket, isIP, type Socket } from "node:net";
import { ToolyardError } from "../core/errors.ts";
import type { AddressPolicy } from "./addresses.ts";
import { normalizeHost } from "./host-list.ts";

/** Resolves a name to all of its addresses. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** Asks the system, as every other program does. */
export const lookupSystem: Lookup = async (name) => {
  const found = await systemLookup(name, { all: true });
  return found.map(({ address }) => address);
};

/** Opens a socket to an address. */
export type Dial = (address: string, port: number) => Socket;

const dialSystem: Dial = (address, port) => connectSocket({ host: address, port });

export interface ConnectOptions {
  readonly policy: AddressPolicy;
  readonly signal: AbortSignal;
  readonly lookup?: Lookup;
  readonly dial?: Dial;
}

/**
 * Resolves a host to those of its addresses that the policy allows, of which there is at least one.
 *
 * @throws as {@link connectTo}
 */
export async function findAllowed(host: string, port: number, options: ConnectOptions): Promise<readonly string[]> {
  const { policy, signal, lookup = lookupSystem } = options;
  const name = normalizeHost(host)?.replace(/^\[|\]$/g, "");
  if (name === undefined || name === "") throw new ToolyardError("invalid_url", `"${host}" is no host`);
  const addresses = isIP(name) === 0 ? await resolve(name, lookup, signal) : [name];
  signal.throwIfAborted();
  const allowed = addresses.filter((address) => policy.allows(address));
  if (allowed.length > 0) return allowed;
  throw new ToolyardError("address_refused", `${host} is not at a public address`, { details: { host, port } });
}

/**
 * Connects to a host at an address that the policy allows. The name is resolved once, and the connection is made to the very
 * address that was judged, so that a resolver which answers differently the second time gains nothing.
 *
 * @throws ToolyardError `address_refused` when it has no address that may be reached, `invalid_url` for what is no host,
 *   `upstream_failed` when it cannot be resolved or reached, the signal's reason.
 */
export async function connectTo(host: string, port: number, options: ConnectOptions): Promise<Socket> {
  const { signal, dial = dialSystem } = options;
  const allowed = await findAllowed(host, port, options);
  const failures: unknown[] = [];
  for (const address of allowed) {
    try {
      // One after another on purpose: nearly every host has one that answers first.
      // oxlint-disable-next-line no-await-in-loop
      return await open(dial(address, port), signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  const [first] = failures;
  const reason = first instanceof Error && "code" in first ? String(first.code) : String(first);
  throw new ToolyardError("upstream_failed", `${host}:${port} cannot be reached: ${reason}`, { cause: first });
}

async function resolve(name: string, lookup: Lookup, signal: AbortSignal): Promise<readonly string[]> {
  const abort = Promise.withResolvers<never>();
  const onAbort = () => abort.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([lookup(name), abort.promise]);
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new ToolyardError("upstream_failed", `${name} cannot be resolved: ${reason}`, { cause });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function open(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((settle, reject) => {
    const abort = () => socket.destroy(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    const done = () => signal.removeEventListener("abort", abort);
    socket.once("connect", () => {
      done();
      socket.removeListener("error", fail);
      settle(socket);
    });
    const fail = (error: Error) => {
      done();
      reject(error);
    };
    socket.once("error", fail);
  });
}
