import type { PortAddress } from "./port-address.ts";

/** The cookie by which a browser that came with a ticket goes on. */
export const TICKET_COOKIE = "toolyard_ticket";
/** What the cookies of a sandbox are called on the server's own origin, where they meet those of others. */
const PREFIX = "toolyard_port.";

type Kind = PortAddress["kind"];

/** Finds the tickets among a request's cookies. */
export function ticketsIn(header: string | undefined): readonly string[] {
  return pairsOf(header).flatMap(([name, value]) => (name === TICKET_COOKIE ? [value] : []));
}

/**
 * Keeps of a request's cookies what the sandbox itself has set. On an origin of its own that is all but the ticket; on the
 * server's own, where a browser sends whatever any other service of the same host has set, only what is named for it.
 */
export function toSandboxCookies(header: string | undefined, kind: Kind): string | undefined {
  const kept = pairsOf(header).flatMap(([name, value]) => {
    if (name === TICKET_COOKIE) return [];
    if (kind === "host") return [`${name}=${value}`];
    return name.startsWith(PREFIX) ? [`${name.slice(PREFIX.length)}=${value}`] : [];
  });
  return kept.length === 0 ? undefined : kept.join("; ");
}

/** Rewrites a cookie that a sandbox sets, so that it is the exposed port's alone; `undefined` for one that may not be. */
export function toClientCookie(
  text: string,
  { kind, prefix }: Pick<PortAddress, "kind" | "prefix">,
): string | undefined {
  const [pair = "", ...attributes] = text.split(";").map((part) => part.trim());
  const equals = pair.indexOf("=");
  const name = pair.slice(0, equals).trim();
  if (equals < 1 || name === TICKET_COOKIE || /[\s"(),/:<=>?@[\\\]{}]/.test(name)) return undefined;
  const kept = attributes.filter((attribute) => !/^(?:domain|path)\b/i.test(attribute));
  const path = attributes.find((attribute) => /^path=\//i.test(attribute))?.slice("path=".length);
  if (kind === "host") return [pair, ...kept, `Path=${path ?? "/"}`].join("; ");
  const own = path === undefined || path.includes("..") ? `${prefix}/` : `${prefix}${path}`;
  return [PREFIX + pair, ...kept, `Path=${own}`].join("; ");
}

/** The cookie that a ticket becomes. */
export function toTicketCookie(
  ticket: string,
  seconds: number,
  { prefix }: Pick<PortAddress, "prefix">,
  secure: boolean,
): string {
  const attributes = [`Path=${prefix}/`, `Max-Age=${Math.max(0, Math.floor(seconds))}`, "HttpOnly", "SameSite=Lax"];
  return [`${TICKET_COOKIE}=${ticket}`, ...attributes, ...(secure ? ["Secure"] : [])].join("; ");
}

function pairsOf(header: string | undefined): readonly (readonly [string, string])[] {
  return (header ?? "").split(";").flatMap((part) => {
    const equals = part.indexOf("=");
    return equals < 1 ? [] : [[part.slice(0, equals).trim(), part.slice(equals + 1).trim()] as const];
  });
}
