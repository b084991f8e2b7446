import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import { Scopes } from "../../core/scopes.ts";
import type { KeyRecord, KeyStore } from "../../core/store.ts";
import { type ApiKey, digestOf, parseKey } from "./api-key.ts";
import { DEFAULT_TENANT, type Identity } from "./identity.ts";

export interface KeyRingOptions {
  readonly keys: KeyStore;
  readonly clock: Clock;
  /** One key from the config, of the tenant `default` with every scope. */
  readonly configKey?: string | undefined;
  /** Compares two digests; replaced by tests that watch it. */
  readonly compare?: (left: Buffer, right: Buffer) => boolean;
}

/** The id by which the config's key appears in the audit trail. */
export const CONFIG_KEY_ID = "config";

/** How long a key that was found is believed without asking the store: so long a revocation elsewhere may go unseen. */
const BELIEVED_MS = 1_000;
const MAX_BELIEVED = 1_000;

interface KnownKey {
  readonly digest: Buffer;
  readonly identity: Identity;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly until: number;
}

/**
 * Tells whose key it is that a request carries.
 *
 * Whatever is wrong with a key costs the same work and gives the same answer, unless the caller has proved to hold it.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #compare: (left: Buffer, right: Buffer) => boolean;
  readonly #configDigest: Buffer | undefined;
  readonly #configIdentity: Identity = { tenant: DEFAULT_TENANT, keyId: CONFIG_KEY_ID, scopes: new Scopes(["*"]) };
  readonly #believed = new Map<string, KnownKey>();
  /** Stands in for the digest of a key that is not there: nobody knows what it is the digest of. */
  readonly #nobody = randomBytes(32);

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#compare = options.compare ?? timingSafeEqual;
    this.#configDigest = options.configKey === undefined ? undefined : digestOf(options.configKey);
  }

  /**
   * Tells whose key it is; at once when it was seen in the last second.
   *
   * @throws ToolyardError unauthenticated
   */
  identify(text: string): Identity | Promise<Identity> {
    if (this.#configDigest !== undefined && this.#compare(digestOf(text), this.#configDigest)) {
      return this.#configIdentity;
    }
    const key = parseKey(text) ?? { id: "", secret: text };
    const known = this.#believed.get(key.id);
    if (known !== undefined && known.until > this.#options.clock.now()) return this.#check(key, known);
    return this.#load(key.id).then((loaded) => this.#check(key, loaded));
  }

  /** Asks the store again before a key is believed, as it was changed. */
  forget(id: string): void {
    this.#believed.delete(id);
  }

  /** Whether a text is a key, or has a key's shape: it must not reach anybody else. */
  isOwn(credential: string): boolean {
    const isConfigKey = this.#configDigest !== undefined && this.#compare(digestOf(credential), this.#configDigest);
    return isConfigKey || credential.startsWith("ty_");
  }

  /** Whether the key behind a stream that is open is still good; streams ask from time to time. */
  async stillGood({ keyId }: Identity): Promise<boolean> {
    if (keyId === null || keyId === CONFIG_KEY_ID) return true;
    const record = await this.#options.keys.get(keyId);
    if (record === null || record.revokedAt !== null) return false;
    return record.expiresAt === null || record.expiresAt > this.#options.clock.date().getTime();
  }

  #check({ secret }: ApiKey, known: KnownKey | undefined): Identity {
    const matches = this.#compare(digestOf(secret), known?.digest ?? this.#nobody);
    if (!matches || known === undefined) throw new ToolyardError("unauthenticated", "The API key is not valid");
    if (known.revokedAt !== null) throw new ToolyardError("unauthenticated", "The API key was revoked");
    if (known.expiresAt !== null && known.expiresAt <= this.#options.clock.date().getTime()) {
      throw new ToolyardError("unauthenticated", "The API key has expired");
    }
    return known.identity;
  }

  async #load(id: string): Promise<KnownKey | undefined> {
    const { keys, clock } = this.#options;
    const record = await keys.get(id);
    if (record === null) return undefined;
    const known = toKnown(record, clock.now() + BELIEVED_MS);
    if (known === undefined) return undefined;
    if (this.#believed.size >= MAX_BELIEVED) this.#believed.clear();
    this.#believed.set(id, known);
    return known;
  }
}

function toKnown(record: KeyRecord, until: number): KnownKey | undefined {
  const digest = Buffer.from(record.hash, "hex");
  if (digest.length !== 32) return undefined;
  const { id, tenant, expiresAt, revokedAt } = record;
  return { digest, expiresAt, revokedAt, until, identity: { tenant, keyId: id, scopes: new Scopes(record.scopes) } };
}
