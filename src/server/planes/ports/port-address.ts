/** Where a request for an exposed port says that it wants to go. */
export type PortAddress =
  | {
      readonly kind: "path";
      readonly sessionId: string;
      readonly port: number;
      readonly rest: string;
      readonly prefix: string;
    }
  | { readonly kind: "host"; readonly id: string; readonly rest: string; readonly prefix: "" };

const PATH = /^\/ports\/([^/?]{1,768})\/([1-9]\d{0,4})(\/[^?]*)?(\?.*)?$/;

/** Takes `/ports/{session_id}/{port}/…` apart; `undefined` for what has not its shape. */
export function parsePortPath(url: string): PortAddress | undefined {
  const [, session, digits, path = "", query = ""] = PATH.exec(url) ?? [];
  const port = Number(digits);
  if (session === undefined || port > 65_535) return undefined;
  try {
    const sessionId = decodeURIComponent(session);
    return { kind: "path", sessionId, port, rest: `${path || "/"}${query}`, prefix: `/ports/${session}/${digits}` };
  } catch {
    return undefined;
  }
}

/** Takes the ticket out of a request's path, where it has exactly this name; the rest stays as it is, byte for byte. */
export function takeTicket(rest: string): { readonly rest: string; readonly ticket: string | undefined } {
  const start = rest.indexOf("?");
  if (start === -1) return { rest, ticket: undefined };
  const pairs = rest.slice(start + 1).split("&");
  const at = pairs.findIndex((pair) => pair.startsWith("ticket="));
  if (at === -1) return { rest, ticket: undefined };
  const [pair = ""] = pairs.splice(at, 1);
  const query = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  return { rest: rest.slice(0, start) + query, ticket: pair.slice("ticket=".length) };
}

/** A config's `server.ports_origin`: `http://*.localhost:18890`, whose star stands for one exposed port. */
export class PortsOrigin {
  readonly scheme: string;
  readonly #suffix: string;
  readonly #port: string;

  /** @throws TypeError for what has not the shape. */
  constructor(text: string) {
    const [, scheme, suffix, port] = PORTS_ORIGIN.exec(text) ?? [];
    if (scheme === undefined || suffix === undefined) throw new TypeError(`${text} is no origin with a star`);
    this.scheme = scheme;
    this.#suffix = suffix.toLowerCase();
    this.#port = port ?? "";
  }

  /** Whether a Host header names an exposed port, and which one. */
  idOf(host: string | undefined): string | undefined {
    const name = host?.toLowerCase().replace(/:\d+$/, "");
    if (name === undefined || !name.endsWith(this.#suffix)) return undefined;
    const label = name.slice(0, -this.#suffix.length);
    return label === "" || label.includes(".") ? undefined : label;
  }

  /** The origin of one exposed port; `ownPort` is the server's, for a plain http origin that names none. */
  of(id: string, ownPort: number): string {
    const port = this.#port === "" && this.scheme === "http" ? `:${ownPort}` : this.#port;
    return `${this.scheme}://${id}${this.#suffix}${port}`;
  }
}

/** The shape of `server.ports_origin`. */
export const PORTS_ORIGIN = /^(https?):\/\/\*(\.[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:\d{1,5})?$/i;
