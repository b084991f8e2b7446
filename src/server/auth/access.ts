import { outOfScope, SERVER_RESOURCE } from "../../core/scopes.ts";
import type { Access } from "../route.ts";
import { demand, type Identity } from "./identity.ts";

/**
 * Refuses a caller whose key can do nothing on this path; what it may do on which resource is the handler's question.
 *
 * @throws ToolyardError forbidden
 */
export function checkAccess(identity: Identity, access: Access = "server:admin"): void {
  if (identity.scopes === undefined || access === "anyone" || access === "key") return;
  if (access === "server:admin") return demand(identity, "admin", SERVER_RESOURCE);
  if (access === "server:read") return demand(identity, "read", SERVER_RESOURCE);
  if (!identity.scopes.allowsSome(access)) throw outOfScope(access, "*");
}
