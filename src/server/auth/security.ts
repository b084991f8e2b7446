import { type Clock, systemClock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import type { Store } from "../../core/store.ts";
import { AuditTrail } from "./audit-trail.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { KeyAdmin } from "./key-admin.ts";
import { KeyRing } from "./key-ring.ts";
import { OpenStreams } from "./open-streams.ts";
import { TicketBox } from "./ticket-box.ts";
import { type RateLimit, TokenBuckets } from "./token-buckets.ts";

/** What the config's `security` section comes to. */
export interface SecurityOptions {
  /** `undefined`: as soon as there is a key. */
  readonly authRequired?: boolean | undefined;
  /** One key of the tenant `default` with every scope. */
  readonly apiKey?: string | undefined;
  /** What each key may do, or each address where no key is asked for; no limit by default. */
  readonly rateLimit?: RateLimit | undefined;
}

/** What guards the doors of one server. */
export interface Security {
  readonly door: Doorkeeper;
  readonly ring: KeyRing;
  readonly tickets: TicketBox;
  readonly streams: OpenStreams;
  readonly audit: AuditTrail;
  readonly keys: KeyAdmin;
  /** Takes note of a key that was made: where the config leaves it open, callers need one from now on. */
  onKeyCreated(): void;
  /** Takes note of a key that was changed. */
  onKeyChanged(id: string): void;
}

export interface SecurityDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  /** The address to listen on. */
  readonly host: string;
  readonly allowedOrigins: readonly string[];
}

/** Failed attempts of one address that are answered as such. */
const FAILURES: RateLimit = { requestsPerMinute: 120, burst: 120 };

/** The server will not start, as it would stand open. One line says what to do. */
export class UnsafeStartError extends Error {
  override readonly name = "UnsafeStartError";
}

/**
 * Sets up keys, tickets, limits and audit, and decides whether callers need a key.
 *
 * @throws UnsafeStartError
 */
export async function createSecurity(options: SecurityOptions, deps: SecurityDeps): Promise<Security> {
  const { store, logger, clock = systemClock } = deps;
  const { apiKey, authRequired, rateLimit } = options;
  const records = await store.keys.list();
  const now = clock.date().getTime();
  const isGood = records.some(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt ?? now + 1) > now);
  const required = authRequired ?? (apiKey !== undefined || records.length > 0);
  checkStart({ required, off: authRequired === false, hasKey: isGood || apiKey !== undefined, ...deps });

  const audit = new AuditTrail(store.audit, clock, logger);
  const ring = new KeyRing({ keys: store.keys, clock, configKey: apiKey });
  const tickets = new TicketBox(clock);
  const streams = new OpenStreams({ clock, logger, stillGood: (identity) => ring.stillGood(identity) });
  const door = new Doorkeeper({
    ring,
    tickets,
    audit,
    required,
    rate: rateLimit === undefined ? undefined : new TokenBuckets(rateLimit, clock),
    failures: new TokenBuckets(FAILURES, clock),
  });
  return {
    door,
    ring,
    tickets,
    streams,
    audit,
    keys: new KeyAdmin({ keys: store.keys, audit, clock }),
    onKeyCreated: () => {
      if (authRequired === undefined) door.require();
    },
    onKeyChanged: (id) => {
      ring.forget(id);
      tickets.forget(id);
      void streams.check();
    },
  };
}

const REMEDIES = 'make one with "toolyard keys create --name NAME", or set security.auth.api_key in the config';

function checkStart(start: {
  readonly required: boolean;
  /** Whether the config says so. */
  readonly off: boolean;
  readonly hasKey: boolean;
  readonly host: string;
  readonly allowedOrigins: readonly string[];
}): void {
  const { required, off, hasKey, host, allowedOrigins } = start;
  if (required && !hasKey) {
    throw new UnsafeStartError(`the server asks for an API key, and there is none that is good: ${REMEDIES}`);
  }
  const remedies = off ? `take security.auth.enabled: false out of the config, and ${REMEDIES}` : REMEDIES;
  if (required) return;
  if (!isLoopback(host)) {
    throw new UnsafeStartError(`it does not listen on ${host} without an API key: ${remedies}`);
  }
  if (allowedOrigins.includes("*")) {
    throw new UnsafeStartError(`it does not let every web page call without an API key: ${remedies}`);
  }
}

/** Whether only this machine reaches the address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
