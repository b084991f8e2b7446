import { ToolyardError } from "../core/errors.ts";
import type { Outbound, OutboundRules } from "../core/outbound.ts";
import { AddressPolicy } from "./addresses.ts";
import { connectTo, type Dial, findAllowed, type Lookup } from "./connect.ts";
import { HostList } from "./host-list.ts";

/** Stands for the network in tests. */
export interface OutboundNetwork {
  readonly lookup?: Lookup;
  readonly dial?: Dial;
}

const EVERYWHERE = new AddressPolicy(["0.0.0.0/0", "::/0"]);
const PUBLIC = new AddressPolicy();

/**
 * Makes the connections of tools that read the web: to public addresses, and to the private hosts that the config lists.
 *
 * @throws ToolyardError `invalid_input` for an entry that is no host pattern.
 */
export function createOutbound({ ports, privateHosts }: OutboundRules, network: OutboundNetwork = {}): Outbound {
  const listed = new HostList(privateHosts);
  const policyOf = (host: string, port: number): AddressPolicy => {
    const isListed = listed.allows(host, port);
    if (!isListed && !ports.includes(port)) {
      throw new ToolyardError("address_refused", `${host}:${port} may not be reached: the port is not allowed`, {
        details: { host, port, ports },
      });
    }
    return isListed ? EVERYWHERE : PUBLIC;
  };
  return {
    connect: async (host, port, signal) => connectTo(host, port, { policy: policyOf(host, port), signal, ...network }),
    async check(host, port, signal) {
      await findAllowed(host, port, { policy: policyOf(host, port), signal, ...network });
    },
  };
}
