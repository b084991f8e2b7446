import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HOP_BY_HOP } from "../../../core/hop-by-hop.ts";
import type { PortAddress } from "./port-address.ts";
import { toClientCookie, toSandboxCookies } from "./port-cookies.ts";

/** What names Toolyard's own credentials and addresses, or is made anew. */
const NOT_INWARD = new Set([
  ...HOP_BY_HOP,
  "host",
  "cookie",
  "origin",
  "referer",
  "authorization",
  "x-api-key",
  "expect",
  "forwarded",
]);
/** What would speak for the whole origin or the whole host. */
const NOT_OUTWARD = new Set([
  ...HOP_BY_HOP,
  "alt-svc",
  "clear-site-data",
  "nel",
  "origin-trial",
  "public-key-pins",
  "referrer-policy",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "strict-transport-security",
]);

/**
 * On the server's own origin a page of a sandbox gets an origin of its own, which is nobody's: it cannot read, script or be
 * taken for anything that is the server's.
 */
const SANDBOX_POLICY = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads";

/** What the headers of a request become on their way into the sandbox. */
export function toSandboxHeaders(
  { headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">,
  port: number,
  { kind, prefix }: PortAddress,
  options: { readonly authorization: string | undefined; readonly scheme: string },
): Record<string, string | string[]> {
  const named = connectionNames(headers);
  const kept = toPairs(rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase();
    return !NOT_INWARD.has(lower) && !named.has(lower) && !lower.startsWith("x-forwarded-");
  });
  const cookie = toSandboxCookies(headers.cookie, kind);
  return {
    ...gather(kept),
    host: `localhost:${port}`,
    // Dev servers compare it with the host.
    ...(headers.origin !== undefined && { origin: `http://localhost:${port}` }),
    ...(cookie !== undefined && { cookie }),
    ...(options.authorization !== undefined && { authorization: options.authorization }),
    ...(headers.host !== undefined && { "x-forwarded-host": headers.host }),
    "x-forwarded-proto": options.scheme,
    ...(prefix !== "" && { "x-forwarded-prefix": prefix }),
  };
}

/** What the headers of a sandbox's answer become on their way out, as a flat list of names and values. */
export function toClientHeaders(
  { headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">,
  port: number,
  address: PortAddress,
): string[] {
  const named = connectionNames(headers);
  const kept = toPairs(rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (NOT_OUTWARD.has(lower) || named.has(lower)) return [];
    if (lower === "set-cookie") {
      const cookie = toClientCookie(value, address);
      return cookie === undefined ? [] : [name, cookie];
    }
    if (lower === "location" || lower === "content-location") return [name, toClientLocation(value, port, address)];
    return [name, value];
  });
  const own = ["referrer-policy", address.kind === "path" ? "no-referrer" : "same-origin"];
  return address.kind === "path" ? [...kept, ...own, "content-security-policy", SANDBOX_POLICY] : [...kept, ...own];
}

/** Leads to the exposed port what a sandbox says leads to its own loopback; all else is left as it is. */
export function toClientLocation(location: string, port: number, { prefix }: Pick<PortAddress, "prefix">): string {
  const own = new RegExp(`^http://(?:localhost|127\\.0\\.0\\.1):${port}(?=[/?#]|$)`, "i");
  const local = location.replace(own, "");
  if (local === location && !/^\/(?![/\\])/.test(location)) return location;
  return `${prefix}${local.startsWith("/") ? "" : "/"}${local}`;
}

function connectionNames({ connection }: IncomingHttpHeaders): ReadonlySet<string> {
  return new Set((connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
}

function toPairs(rawHeaders: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}

function gather(pairs: readonly (readonly [string, string])[]): Record<string, string | string[]> {
  const gathered = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase();
    gathered.set(lower, [...(gathered.get(lower) ?? []), value]);
  }
  return Object.fromEntries(
    [...gathered].map(([name, values]) => [name, values.length === 1 ? values.join("") : values]),
  );
}
