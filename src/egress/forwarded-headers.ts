import type { IncomingMessage } from "node:http";
import { HOP_BY_HOP } from "../core/hop-by-hop.ts";

/** What the proxy itself says of an answer (RFC 9209): one that a site sends would pass for the proxy's. */
export const PROXY_STATUS = "proxy-status";
const NOT_FORWARDED: ReadonlySet<string> = new Set([...HOP_BY_HOP, PROXY_STATUS]);

/** The headers of a message that a proxy passes on, repeated ones included. */
export function forwardedHeaders({ headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = (headersDistinct["connection"] ?? []).flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  const forwarded: Record<string, string[]> = {};
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (values === undefined || NOT_FORWARDED.has(name) || named.includes(name)) continue;
    forwarded[name] = values;
  }
  return forwarded;
}
