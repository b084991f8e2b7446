import type { AnyRoute } from "../route.ts";
import type { AuditTrail } from "./audit-trail.ts";
import type { Identity } from "./identity.ts";

/** Tells whose something is, by its id. */
export type OwnerOf = (id: string) => string | undefined;

/** The fields by which a body or a path names what is a tenant's. */
const FIELDS = ["session_id", "target_session_id", "job_id", "call_id"] as const;
/** Items of one batch that are looked at. */
const MAX_ITEMS = 100;

/** Notes in the audit trail who named a session, job or call of another tenant; they were answered as for an id that nobody has. */
export class CrossingWatch {
  readonly #ownerOf: OwnerOf;
  readonly #audit: AuditTrail;

  constructor(ownerOf: OwnerOf, audit: AuditTrail) {
    this.#ownerOf = ownerOf;
    this.#audit = audit;
  }

  /** Looks at a request that was refused, once its answer is made. */
  observe({ tenant, keyId }: Identity, { operation }: Pick<AnyRoute, "operation">, body: unknown): void {
    for (const id of namedIn(body)) {
      const owner = this.#ownerOf(id);
      if (owner === undefined || owner === tenant) continue;
      this.#audit.recordFlood("tenant.crossing", `${keyId}`, { tenant, keyId, data: { operation, id, owner } });
    }
  }
}

function namedIn(body: unknown): readonly string[] {
  if (typeof body !== "object" || body === null) return [];
  const own = FIELDS.flatMap((field) => {
    const id: unknown = Reflect.get(body, field);
    return typeof id === "string" ? [id] : [];
  });
  const items = "actions" in body && Array.isArray(body.actions) ? body.actions.slice(0, MAX_ITEMS) : [];
  return [...own, ...items.flatMap((item) => namedIn(item))];
}
