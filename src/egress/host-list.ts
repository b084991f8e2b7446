import { ToolyardError } from "../core/errors.ts";

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const ENTRY = /^(\*\.)?([^*:/@\s]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);

interface Entry {
  readonly host: string;
  readonly subdomains: boolean;
  readonly port: number | undefined;
}

/** The hosts that a sandbox may reach; an empty list allows none. */
export class HostList {
  readonly #entries: readonly Entry[];
  /** `*` lists every host; which addresses may be reached is decided by them as ever. */
  readonly #everyHost: boolean;

  /** @throws ToolyardError `invalid_input` for an entry that is none. */
  constructor(entries: readonly string[]) {
    this.#everyHost = entries.includes("*");
    this.#entries = entries.filter((entry) => entry !== "*").map(toEntry);
  }

  /** Says whether a host and port are on the list; without a port an entry means 80 and 443. */
  allows(host: string, port: number): boolean {
    if (this.#everyHost && WEB_PORTS.has(port) && normalizeHost(host) !== null) return true;
    return this.#find(host, port) !== undefined;
  }

  /** Says whether the list names this very port, so that what is spoken there need not be HTTP or TLS. */
  namesPort(host: string, port: number): boolean {
    return this.#find(host, port)?.port !== undefined;
  }

  #find(host: string, port: number): Entry | undefined {
    const name = normalizeHost(host);
    if (name === null) return undefined;
    const matching = this.#entries.filter(
      (entry) =>
        (entry.port === undefined ? WEB_PORTS.has(port) : entry.port === port) &&
        (entry.subdomains ? name.endsWith(`.${entry.host}`) : name === entry.host),
    );
    return matching.find((entry) => entry.port !== undefined) ?? matching[0];
  }
}

/** Writes a host as URLs do: lower case, punycode, addresses in their one form, no dot at the end; `null` for what is no host. */
export function normalizeHost(host: string): string | null {
  if (host === "" || /[/\\@?#\s]/.test(host)) return null;
  try {
    const { hostname } = new URL(`http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}/`);
    const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
    // URLs take "." and "a.." for hosts, which are nobody's.
    return name === "" || name.endsWith(".") ? null : name;
  } catch {
    return null;
  }
}

function toEntry(text: string): Entry {
  const [, wildcard, written = "", portText] = ENTRY.exec(text) ?? [];
  const host = normalizeHost(written);
  const port = portText === undefined ? undefined : Number(portText);
  const isAddress = host !== null && (host.startsWith("[") || /^[\d.]+$/.test(host));
  const isName = host !== null && host.length <= 253 && host.split(".").every((label) => LABEL.test(label));
  const isPort = port === undefined || (port >= 1 && port <= 65_535);
  if (host === null || !isPort || !(isName || isAddress) || (wildcard !== undefined && isAddress)) {
    throw new ToolyardError("invalid_input", `"${text}" is no host that a sandbox may be allowed to reach`, {
      suggestion: "Write example.org, *.example.org, or either with a port: example.org:8080.",
    });
  }
  return { host, subdomains: wildcard !== undefined, port };
}
