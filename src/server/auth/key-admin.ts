import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import { isSafeName } from "../../core/protocol.ts";
import { isScope, SERVER_RESOURCE } from "../../core/scopes.ts";
import type { KeyRecord, KeyStore } from "../../core/store.ts";
import { digestOf, formatKey, mintKey } from "./api-key.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { DEFAULT_TENANT } from "./identity.ts";

/** What a new key is to be. */
export interface KeyRequest {
  readonly name: string;
  /** @default "default" */
  readonly tenant?: string | undefined;
  /** @default ["*"] */
  readonly scopes?: readonly string[] | undefined;
  /** Milliseconds from now; absent: never. */
  readonly expiresInMs?: number | undefined;
}

/** A key as it may be shown to whoever keeps the keys: all but its secret. */
export interface KeyListing {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly status: "active" | "expired" | "revoked";
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

/** A key at its birth: the only time that it is seen whole. */
export interface NewKey extends KeyListing {
  readonly key: string;
}

/** Who works on the keys, for the audit trail. */
export interface Actor {
  readonly tenant: string | null;
  readonly keyId: string | null;
}

/** How long the old key stays good after a rotation. */
export const ROTATION_GRACE_MS = 3_600_000;

const MAX_SCOPES = 64;

/** Creates, lists, revokes and rotates keys, and writes each step into the audit trail. */
export class KeyAdmin {
  readonly #keys: KeyStore;
  readonly #audit: AuditTrail;
  readonly #clock: Clock;

  constructor({ keys, audit, clock }: { readonly keys: KeyStore; readonly audit: AuditTrail; readonly clock: Clock }) {
    this.#keys = keys;
    this.#audit = audit;
    this.#clock = clock;
  }

  /** @throws ToolyardError invalid_input */
  async create(request: KeyRequest, actor: Actor): Promise<NewKey> {
    const { name, tenant = DEFAULT_TENANT, scopes = ["*"], expiresInMs } = request;
    checkRequest(name, tenant, scopes);
    const now = this.#now();
    const expiresAt = expiresInMs === undefined ? null : now + expiresInMs;
    const created = await this.#write({ name, tenant, scopes, expiresAt });
    this.#audit.record("key.create", "done", { ...actor, data: { id: created.id, name, tenant, scopes, expiresAt } });
    return created;
  }

  /** Lists all keys, oldest first. */
  async list(): Promise<readonly KeyListing[]> {
    return (await this.#keys.list()).map((record) => this.#toListing(record));
  }

  /**
   * Ends a key for good; again changes nothing.
   *
   * @throws ToolyardError unknown_name
   */
  async revoke(id: string, actor: Actor): Promise<KeyListing> {
    const record = await this.#find(id);
    if (record.revokedAt !== null) return this.#toListing(record);
    const revoked = { ...record, revokedAt: this.#now() };
    await this.#keys.put(revoked);
    this.#audit.record("key.revoke", "done", { ...actor, data: { id, name: record.name, tenant: record.tenant } });
    return this.#toListing(revoked);
  }

  /**
   * Makes a key with the same name, tenant, scopes and expiry; the old one stays good for `graceMs`.
   *
   * @throws ToolyardError unknown_name; conflict for a key that is revoked or has expired.
   */
  async rotate(id: string, actor: Actor, graceMs = ROTATION_GRACE_MS): Promise<NewKey> {
    const record = await this.#find(id);
    const { status } = this.#toListing(record);
    if (status !== "active") {
      throw new ToolyardError("conflict", `The key ${id} is ${status}; it cannot be rotated`, {
        suggestion: "Create a new key.",
      });
    }
    const ends = this.#now() + graceMs;
    const { name, tenant, scopes, expiresAt } = record;
    const created = await this.#write({ name, tenant, scopes, expiresAt });
    await this.#keys.put({ ...record, expiresAt: Math.min(ends, expiresAt ?? ends) });
    this.#audit.record("key.rotate", "done", { ...actor, data: { id, successor: created.id, grace_ms: graceMs } });
    return created;
  }

  async #write(wanted: Pick<KeyRecord, "name" | "tenant" | "scopes" | "expiresAt">): Promise<NewKey> {
    const key = mintKey();
    const hash = digestOf(key.secret).toString("hex");
    const record: KeyRecord = { ...wanted, id: key.id, hash, createdAt: this.#now(), revokedAt: null };
    await this.#keys.put(record);
    return { key: formatKey(key), ...this.#toListing(record) };
  }

  async #find(id: string): Promise<KeyRecord> {
    const record = await this.#keys.get(id);
    if (record !== null) return record;
    throw new ToolyardError("unknown_name", "There is no key of this id", {
      suggestion: 'List the ids with "toolyard keys list".',
    });
  }

  #toListing(record: KeyRecord): KeyListing {
    const { id, name, tenant, scopes, expiresAt, revokedAt } = record;
    const expired = expiresAt !== null && expiresAt <= this.#now();
    const date = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
    return {
      id,
      name,
      tenant,
      scopes,
      status: revokedAt !== null ? "revoked" : expired ? "expired" : "active",
      created_at: new Date(record.createdAt).toISOString(),
      expires_at: date(expiresAt),
      revoked_at: date(revokedAt),
    };
  }

  #now(): number {
    return this.#clock.date().getTime();
  }
}

function checkRequest(name: string, tenant: string, scopes: readonly string[]): void {
  for (const [field, text] of Object.entries({ name, tenant })) {
    if (!isSafeName(text))
      throw new ToolyardError("invalid_input", `${field} takes 1 to 256 printable ASCII characters`);
  }
  if (scopes.length === 0 || scopes.length > MAX_SCOPES) {
    throw new ToolyardError("invalid_input", `A key takes 1 to ${MAX_SCOPES} scopes`);
  }
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined) {
    throw new ToolyardError("invalid_input", `${JSON.stringify(wrong.slice(0, 80))} is no scope`, {
      suggestion:
        "Write * or resource:verb, such as code:execute or *:read; the verbs are execute, session, read, admin.",
    });
  }
  if (tenant !== DEFAULT_TENANT && scopes.some((scope) => scope.startsWith(`${SERVER_RESOURCE}:`))) {
    throw new ToolyardError("invalid_input", `Only keys of the tenant ${DEFAULT_TENANT} may run the server`, {
      suggestion: `Leave out the scopes that start with ${SERVER_RESOURCE}:, or the tenant.`,
    });
  }
}
