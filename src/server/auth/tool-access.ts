import { ToolyardError } from "../../core/errors.ts";
import { outOfScope, type Verb } from "../../core/scopes.ts";
import type { Catalog } from "../../engine/catalog.ts";
import { type Identity, mayDo } from "./identity.ts";

/** Whether the caller may do it with a tool's resource; nothing is refused for a tool that there is not. */
export function mayUse(catalog: Catalog, identity: Identity, verb: Verb, action: string): boolean {
  if (identity.scopes === undefined) return true;
  const resource = resourceOf(catalog, action);
  return resource === undefined || mayDo(identity, verb, resource);
}

/**
 * Refuses a caller who may not do it with a tool's resource, where the executor is not asked: a stored answer, a job.
 *
 * @throws ToolyardError forbidden
 */
export function demandUse(catalog: Catalog, identity: Identity, verb: Verb, action: string): void {
  if (!mayUse(catalog, identity, verb, action)) throw outOfScope(verb, resourceOf(catalog, action) ?? "*");
}

function resourceOf(catalog: Catalog, action: string): string | undefined {
  try {
    return catalog.resolve(action).mount.resource;
  } catch (error) {
    if (ToolyardError.is(error)) return undefined;
    throw error;
  }
}
