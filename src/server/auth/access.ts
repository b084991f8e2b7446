import { outOfScope, SERVER_RESOURCE } from "../../core/scopes.ts";
import type { Access } from "../route.ts";
import { isSafeName } from "../../core/protocol.ts";
import { demand, type Identity } from "./identity.ts";

/**
 * Refuses a caller whose key can do nothing on this path; what it may do on which resource is the handler's question.
 * The `resource`, where it is known, is for the advice.
 *
 * @throws ToolyardError forbidden
 */
export function checkAccess(identity: Identity, access: Access = "server:admin", resource = "*"): void {
  if (identity.scopes === undefined || access === "anyone" || access === "key") return;
  if (access === "server:admin") return demand(identity, "admin", SERVER_RESOURCE);
  if (access === "server:read") return demand(identity, "read", SERVER_RESOURCE);
  if (!identity.scopes.allowsSome(access)) throw outOfScope(access, resource);
}

/** Names the resource that a body is about, for the advice to who is refused. */
export function resourceOf(body: unknown): string | undefined {
  const { resource_type: resource, action }: { resource_type?: unknown; action?: unknown } = Object(body);
  const full = typeof action === "string" && action.includes(":") ? action.slice(0, action.indexOf(":")) : undefined;
  const name = typeof resource === "string" ? resource : full;
  return name !== undefined && isSafeName(name) ? name : undefined;
}
