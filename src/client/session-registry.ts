import type { SessionDetails } from "./answers.ts";
import { ServerError } from "./errors/server-error.ts";
import { expectData, expectEnvelope } from "./expect-answer.ts";
import { LIFECYCLE_TIMEOUT_MS, QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { Exchange, Transport } from "./transport.ts";

/** Which sessions are meant; all of the tenant's when nothing is said. */
export interface SessionFilter {
  readonly workerId?: string | undefined;
  readonly resource?: string | undefined;
}

/** The server's live sessions by their ids, whichever worker's they are, as far as the API key reaches. */
export class SessionRegistry {
  readonly #transport: () => Transport | Promise<Transport>;

  constructor(transport: () => Transport | Promise<Transport>) {
    this.#transport = transport;
  }

  /** @throws ServerError `session_not_found`, `session_expired` or `session_lost` when it does not live. */
  async get(sessionId: string): Promise<SessionDetails> {
    return this.#ask<SessionDetails>("GET", `/api/v1/session/${encodeURIComponent(sessionId)}`);
  }

  /** Lists those that live. */
  async active(filter: SessionFilter = {}): Promise<readonly SessionDetails[]> {
    const path = `/api/v1/sessions?${toQuery(filter)}`;
    return (await this.#ask<{ readonly sessions: readonly SessionDetails[] }>("GET", path)).sessions;
  }

  /** Ends one after its running calls, which `force` cancels; answers whether there was one. */
  async close(sessionId: string, { force = false }: { readonly force?: boolean } = {}): Promise<boolean> {
    const path = `/api/v1/session/${encodeURIComponent(sessionId)}?force=${force}`;
    try {
      await this.#ask("DELETE", path);
      return true;
    } catch (error) {
      if (error instanceof ServerError && GONE.has(error.error)) return false;
      throw error;
    }
  }

  /** Ends those that the filter names; answers their ids. */
  async closeAll(filter: SessionFilter & { readonly force?: boolean } = {}): Promise<readonly string[]> {
    const path = `/api/v1/sessions?${toQuery(filter)}&force=${filter.force ?? false}`;
    return (await this.#ask<{ readonly closed: readonly string[] }>("DELETE", path)).closed;
  }

  /** Ends expired sessions in the background, as a server does from its start. Needs the scope `server:admin`. */
  async startCleanup(): Promise<void> {
    await this.#ask("POST", "/api/v1/server/cleanup", { enabled: true });
  }

  /** Leaves expired sessions until somebody asks for them; nobody meets one. Needs the scope `server:admin`. */
  async stopCleanup(): Promise<void> {
    await this.#ask("POST", "/api/v1/server/cleanup", { enabled: false });
  }

  async #ask<T>(method: Exchange["method"], path: string, body?: object): Promise<T> {
    const timeoutMs = method === "DELETE" ? LIFECYCLE_TIMEOUT_MS : QUICK_TIMEOUT_MS;
    const exchange = { method, path, timeoutMs, repeatable: true, ...(body !== undefined && { body }) };
    return expectData<T>(expectEnvelope(await (await this.#transport()).exchange(exchange), method));
  }
}

const GONE: ReadonlySet<string> = new Set(["session_not_found", "session_expired", "session_lost"]);

function toQuery({ workerId, resource }: SessionFilter): URLSearchParams {
  const query = new URLSearchParams();
  if (workerId !== undefined) query.set("worker_id", workerId);
  if (resource !== undefined) query.set("resource_type", resource);
  return query;
}
