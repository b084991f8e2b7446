import type { ToolListing } from "../core/caller.ts";
import type * as answers from "./answers.ts";
import type { HttpServiceClient } from "./http-client.ts";
import type { SandboxSessions } from "./sandbox-sessions.ts";
import { SessionDesktop } from "./session-desktop.ts";
import { SessionFiles } from "./session-files.ts";
import { type ExposedUrl, SessionPorts } from "./session-ports.ts";
import { SessionRegistry } from "./session-registry.ts";
import { SessionTerminals } from "./session-terminals.ts";

/** What a sandbox works with once it is started. */
export interface StartedSandbox {
  readonly client: HttpServiceClient;
  readonly sessions: SandboxSessions;
}

/** The resource whose sandbox is meant when none is named. */
const BOX = "code";
/** The resource whose desktop is meant when none is named. */
const DESKTOP = "vm";

/** What a sandbox asks of its server beside calls and its own sessions. */
export abstract class SandboxServices {
  /** The files of the worker's sandbox on `code`; its session is made if there is none. */
  readonly files: SessionFiles = this.filesOf(BOX);
  /** The ports of the worker's sandbox on `code`, as with {@link files}. */
  readonly ports: SessionPorts = this.portsOf(BOX);
  /** The terminals of the worker's sandbox on `code`, as with {@link files}. */
  readonly terminals: SessionTerminals = this.terminalsOf(BOX);
  /** The worker's desktop on `vm`; its session is made if there is none. */
  readonly desktop: SessionDesktop = this.desktopOf(DESKTOP);
  /** The server's live sessions by their ids, of all workers. */
  readonly sessions: SessionRegistry = new SessionRegistry(async () => (await this.started()).client.transport);

  /** Starts it on its first use. */
  protected abstract started(): Promise<StartedSandbox>;

  /** The files of the worker's sandbox on a resource. */
  filesOf(resource: string): SessionFiles {
    return new SessionFiles(() => this.#place(resource));
  }

  /** The ports of the worker's sandbox on a resource. */
  portsOf(resource: string): SessionPorts {
    return new SessionPorts(() => this.#place(resource));
  }

  /** The terminals of the worker's sandbox on a resource, beside a desktop say. */
  terminalsOf(resource: string): SessionTerminals {
    return new SessionTerminals(() => this.#place(resource));
  }

  /** The worker's desktop on a resource. */
  desktopOf(resource: string): SessionDesktop {
    return new SessionDesktop(() => this.#place(resource));
  }

  /**
   * Opens a port of the worker's sandbox to the outside: what listens on it, now or later, is reached under the `url`.
   *
   * @example
   * ```ts
   * await sandbox.execute("bash:run", { command: "python3 -m http.server 8000", background: true });
   * const { url } = await sandbox.expose(8000);
   * ```
   */
  async expose(
    port: number,
    { resource = BOX, ttlMs }: { readonly resource?: string; readonly ttlMs?: number } = {},
  ): Promise<ExposedUrl> {
    return this.portsOf(resource).expose(port, { ttlMs });
  }

  /** Prepares backends ahead of their first call; all of them when none is named. */
  async warmup(backends?: string | readonly string[]): Promise<answers.WarmupReport> {
    const { client } = await this.started();
    return client.warmup(typeof backends === "string" ? [backends] : backends);
  }

  /** Says which backends are warm. */
  async warmupStatus(): Promise<answers.WarmupStatus> {
    return (await this.started()).client.warmupStatus();
  }

  /** Tells the server that the worker is alive; done by itself every `heartbeatIntervalMs`. */
  async heartbeat(): Promise<answers.HeartbeatReport> {
    return (await this.started()).client.heartbeat();
  }

  /** Moves the expiry of one session, or of all of the worker's when no resource is given. */
  async refresh(resource?: string, options: { readonly ttlMs?: number } = {}): Promise<answers.SessionRefreshed> {
    return (await this.started()).client.refreshSession(resource, options);
  }

  /** Lists the worker's sessions, of one resource or of all. */
  async listSessions(resource?: string): Promise<readonly answers.SessionListing[]> {
    return (await this.started()).client.listSessions(resource);
  }

  /** Lists the tools with their schemas. */
  async tools(options: { readonly includeHidden?: boolean } = {}): Promise<readonly ToolListing[]> {
    return (await this.started()).client.listTools(options);
  }

  /** Lists what the worker holds. */
  async status(): Promise<answers.WorkerStatus> {
    return (await this.started()).client.getStatus();
  }

  async #place(resource: string) {
    const { client, sessions } = await this.started();
    return { transport: client.transport, sessionId: await sessions.ensure(resource) };
  }
}
