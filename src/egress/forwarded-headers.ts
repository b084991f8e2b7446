import type { IncomingMessage } from "node:http";
import { HOP_BY_HOP } from "../core/hop-by-hop.ts";

const NOT_FORWARDED: ReadonlySet<string> = new Set(HOP_BY_HOP);

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
