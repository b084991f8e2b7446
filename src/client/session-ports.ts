import { expectData, expectEnvelope } from "./expect-answer.ts";
import type { FindSession } from "./session-files.ts";
import { QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { Exchange } from "./transport.ts";

/** A way in to a port of a sandbox; times are ISO 8601. */
export interface PortListing {
  readonly id: string;
  readonly port: number;
  readonly created_at: string;
  readonly expires_at: string;
}

/** A way in at its birth, the only time that its ticket is told. */
export interface ExposedUrl extends PortListing {
  /** Opens in a browser, and for any HTTP or WebSocket client. */
  readonly url: string;
  readonly ticket: string;
}

/** The ports of a session's sandbox that are open to the outside. */
export class SessionPorts {
  readonly #find: FindSession;

  constructor(find: FindSession) {
    this.#find = find;
  }

  /**
   * Opens a way in to a port that something in the sandbox listens on, now or later.
   *
   * @param options `ttlMs`: milliseconds until it closes; the server's default, an hour, when absent.
   */
  async expose(port: number, { ttlMs }: { readonly ttlMs?: number | undefined } = {}): Promise<ExposedUrl> {
    return this.#ask<ExposedUrl>("", { method: "POST", body: { port, ttl_ms: ttlMs } });
  }

  /** Closes every way in to a port; answers how many there were. */
  async unexpose(port: number): Promise<number> {
    const { closed } = await this.#ask<{ readonly closed: number }>(`/${port}`, { method: "DELETE", repeatable: true });
    return closed;
  }

  /** Lists those that are open. */
  async list(): Promise<readonly PortListing[]> {
    const { ports } = await this.#ask<{ readonly ports: readonly PortListing[] }>("", {
      method: "GET",
      repeatable: true,
    });
    return ports;
  }

  async #ask<T>(rest: string, request: Pick<Exchange, "method"> & Partial<Exchange>): Promise<T> {
    const { transport, sessionId } = await this.#find();
    const path = `/api/v1/session/${encodeURIComponent(sessionId)}/ports${rest}`;
    const exchange = { timeoutMs: QUICK_TIMEOUT_MS, repeatable: false, ...request, path };
    return expectData<T>(expectEnvelope(await transport.exchange(exchange), exchange.method));
  }
}
