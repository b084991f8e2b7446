import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { ToolyardError } from "../core/errors.ts";

/** Who may reach the server under which name, beside loopback. */
export interface GuardOptions {
  /** The address it is bound to. */
  readonly host: string;
  /** Further names that a Host header may carry, without port. */
  readonly allowedHosts: readonly string[];
  /** Origins, `https://app.example`, whose pages may call. */
  readonly allowedOrigins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"] as const;

/** Keeps foreign web pages out: a Host that is not the server's own (DNS rebinding) or an Origin that is not allowed. */
export class HostGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #everyAddress: boolean;

  constructor({ host, allowedHosts, allowedOrigins }: GuardOptions) {
    this.#hosts = new Set([
      ...LOOPBACK,
      host.toLowerCase(),
      `[${host.toLowerCase()}]`,
      ...allowedHosts.map((name) => name.toLowerCase()),
    ]);
    this.#everyAddress = host === "0.0.0.0" || host === "::";
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  }

  /** Says why a request is refused, if it is. */
  check({ headers }: IncomingMessage): ToolyardError | undefined {
    const { host, origin } = headers;
    if (host === undefined || !this.#isOwn(withoutPort(host.toLowerCase()))) {
      return new ToolyardError("forbidden", "The Host header names no host of this server", {
        suggestion: "Call it by localhost, or list the name in the config's server.allowed_hosts.",
      });
    }
    if (origin === undefined || this.allows(origin) || isSameOrigin(origin, host)) return undefined;
    return new ToolyardError("forbidden", "Pages of this Origin may not call this server", {
      suggestion: "List the origin in the config's server.allowed_origins.",
    });
  }

  /** Rebinding needs a name: on every address, a client may call by the address itself. */
  #isOwn(host: string): boolean {
    return this.#hosts.has(host) || (this.#everyAddress && isIP(host.replace(/^\[|\]$/g, "")) !== 0);
  }

  /** Whether the config lists the origin, or all of them by `*`. */
  allows(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase()) || this.#origins.has("*");
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}

function isSameOrigin(origin: string, host: string): boolean {
  return (
    origin.toLowerCase() === `http://${host.toLowerCase()}` || origin.toLowerCase() === `https://${host.toLowerCase()}`
  );
}
