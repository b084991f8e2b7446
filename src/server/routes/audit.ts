import { ToolyardError } from "../../core/errors.ts";
import type { AuditStore } from "../../core/store.ts";
import type { AuditTrail } from "../auth/audit-trail.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** Who did what at the edge, newest first. */
export function auditRoutes(store: AuditStore, trail: AuditTrail): readonly AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/api/v1/audit",
      access: "server:admin",
      operation: "audit:list",
      summary: "List the audit trail, newest first",
      description: `\`limit\` is ${DEFAULT_LIMIT} by default and ${MAX_LIMIT} at most; \`tenant\` keeps one tenant's entries.`,
      enveloped: true,
      queryNames: { limit: false, tenant: false },
      async handle({ query }) {
        const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
        if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
          throw new ToolyardError("invalid_input", `limit takes a number from 1 to ${MAX_LIMIT}`);
        }
        await trail.flush();
        const entries = await store.list({ limit, tenant: query.get("tenant") ?? undefined });
        const listed = entries.map(({ keyId, ...entry }) => ({ ...entry, key_id: keyId }));
        return succeed({ operation: "audit:list" }, { entries: listed, count: listed.length });
      },
    }),
  ];
}
