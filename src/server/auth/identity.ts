import { outOfScope, Scopes, SERVER_RESOURCE, type Verb } from "../../core/scopes.ts";

/** Who stands behind a request. */
export interface Identity {
  readonly tenant: string;
  /** The id of the API key; `null` where the server asks for none. */
  readonly keyId: string | null;
  /** What the key may do; `undefined` where the server asks for no key: everything. */
  readonly scopes: Scopes | undefined;
}

/** The tenant of callers without a key, and the one whose keys may run the server. */
export const DEFAULT_TENANT = "default";

/** Everyone, where the server asks for no key. */
export const ANYONE: Identity = { tenant: DEFAULT_TENANT, keyId: null, scopes: undefined };

/** Whether the caller may do it; the server itself is run by keys of the tenant `default` alone. */
export function mayDo({ tenant, scopes }: Identity, verb: Verb, resource: string): boolean {
  if (scopes === undefined) return true;
  if (resource === SERVER_RESOURCE && tenant !== DEFAULT_TENANT) return false;
  return scopes.allows(verb, resource);
}

/**
 * Refuses a caller who may not do it on this resource.
 *
 * @throws ToolyardError forbidden
 */
export function demand(identity: Identity, verb: Verb, resource: string): void {
  if (!mayDo(identity, verb, resource)) throw outOfScope(verb, resource);
}

/** The same caller, who may only look at what they may do something with. */
export function toReader(identity: Identity): Identity {
  const patterns = identity.scopes?.patterns ?? ["*"];
  return { ...identity, scopes: new Scopes(patterns.map((pattern) => `${pattern.split(":", 1)[0]}:read`)) };
}
