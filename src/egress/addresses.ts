import ipaddr from "ipaddr.js";
import { ToolyardError } from "../core/errors.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** NAT64 and the like carry an IPv4 address that is reached instead. */
const EMBEDDING_RANGES: ReadonlySet<string> = new Set(["ipv4Mapped", "rfc6145", "rfc6052", "6to4", "teredo"]);

/**
 * Which addresses may be connected to: public ones, and those of the ranges that the config allows.
 *
 * Judges addresses, never names: a name is judged by each address it resolves to, when it is connected to.
 */
export class AddressPolicy {
  readonly #allowed: readonly (readonly [Address, number])[];

  /**
   * @param allowedRanges in CIDR notation, or single addresses.
   * @throws ToolyardError `invalid_input` for what is neither.
   */
  constructor(allowedRanges: readonly string[] = []) {
    this.#allowed = allowedRanges.map(toRange);
  }

  /** Says whether an address as the system writes it may be connected to; what is no address may not. */
  allows(text: string): boolean {
    // A zone says through which interface a link-local address is meant.
    const [bare = ""] = text.split("%", 1);
    if (!ipaddr.isValid(bare)) return false;
    const address = ipaddr.process(bare);
    if (this.#allowed.some((range) => matches(address, range))) return true;
    return isPublic(address);
  }
}

function matches(address: Address, [range, bits]: readonly [Address, number]): boolean {
  if (address instanceof ipaddr.IPv4) return range instanceof ipaddr.IPv4 && address.match(range, bits);
  return range instanceof ipaddr.IPv6 && address.match(range, bits);
}

function isPublic(address: Address): boolean {
  if (address.kind() === "ipv4") return address.range() === "unicast";
  const range = address.range();
  // What stands for an IPv4 address is refused whole: nobody needs to write a public one so.
  return range === "unicast" && !EMBEDDING_RANGES.has(range) && !isCompatible(address);
}

/** `::a.b.c.d`, long deprecated, which some systems still take for the IPv4 address. */
function isCompatible(address: Address): boolean {
  return address
    .toByteArray()
    .slice(0, 12)
    .every((byte) => byte === 0);
}

function toRange(text: string): readonly [Address, number] {
  try {
    if (text.includes("/")) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  } catch (cause) {
    throw new ToolyardError("invalid_input", `"${text}" is neither an address nor a range of them`, {
      cause,
      suggestion: "Write a range as 10.0.0.0/8 or fd00::/8.",
    });
  }
}
