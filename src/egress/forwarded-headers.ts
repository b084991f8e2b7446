import type { IncomingMessage } from "node:http";

/** Headers that mean one connection only (RFC 9110 section 7.6.1), and what is for the proxy itself. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers of a message that a proxy passes on, repeated ones included. */
export function forwardedHeaders({ headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = (headersDistinct["connection"] ?? []).flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  const forwarded: Record<string, string[]> = {};
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (values === undefined || HOP_BY_HOP.has(name) || named.includes(name)) continue;
    forwarded[name] = values;
  }
  return forwarded;
}
