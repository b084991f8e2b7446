import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { Egress, EgressDoor } from "../core/egress.ts";
import { AddressPolicy } from "./addresses.ts";
import type { Dial, Lookup } from "./connect.ts";
import { EgressProxy } from "./proxy.ts";
import { HostList } from "./host-list.ts";

/** What bounds the connections of one sandbox. */
export interface EgressLimits {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** How long a client may take to say whom it speaks to. */
  readonly openingTimeoutMs: number;
  /** How long a connection may carry nothing. */
  readonly idleTimeoutMs: number;
}

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  connections: 64,
  connectTimeoutMs: 10_000,
  openingTimeoutMs: 10_000,
  idleTimeoutMs: 300_000,
};

export interface EgressOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ranges beside the public addresses, in CIDR notation. */
  readonly allowedAddresses?: readonly string[];
  readonly limits?: Partial<EgressLimits>;
  readonly lookup?: Lookup;
  readonly dial?: Dial;
}

/**
 * Makes the way out of sandboxes that have no network: an HTTP proxy on their own loopback, whose connections the host makes.
 *
 * So names are resolved by the host only, for hosts on the list only, and nothing else leaves a sandbox, DNS included.
 *
 * @throws ToolyardError `invalid_input` for a range that is none.
 */
export function createEgress(options: EgressOptions): Egress {
  const addresses = new AddressPolicy(options.allowedAddresses);
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...options.limits };
  const { clock, logger, lookup, dial } = options;
  return {
    open({ allow, sessionId }): EgressDoor {
      const hosts = new HostList(allow);
      return new EgressProxy({
        hosts,
        addresses,
        limits,
        clock,
        lookup,
        dial,
        logger: logger.child({ session_id: sessionId }),
      });
    },
  };
}
