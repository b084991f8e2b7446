import type { ToolListing } from "../core/caller.ts";
import type * as answers from "./answers.ts";
import { isJsonObject } from "./envelope.ts";
import { ProtocolError } from "./errors/protocol-error.ts";
import { expectData, expectEnvelope, expectPlain } from "./expect-answer.ts";
import { Job, type JobStatus } from "./job.ts";
import { SessionFiles } from "./session-files.ts";
import { SessionPorts } from "./session-ports.ts";
import { SessionRegistry } from "./session-registry.ts";
import { LIFECYCLE_TIMEOUT_MS, QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { Exchange, Transport } from "./transport.ts";

/** What a server answers to anyone, whichever worker asks. */
export class ServerClient {
  /** What requests go over; for the classes of this package. */
  readonly transport: Transport;
  #sessions: SessionRegistry | undefined;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** The server's root, without a slash at the end. */
  get baseUrl(): string {
    return this.transport.baseUrl;
  }

  /** The live sessions of all workers. */
  get sessions(): SessionRegistry {
    return (this.#sessions ??= new SessionRegistry(() => this.transport));
  }

  /** The files of a session's sandbox. */
  files(sessionId: string): SessionFiles {
    return new SessionFiles(() => ({ transport: this.transport, sessionId }));
  }

  /** The ports of a session's sandbox. */
  ports(sessionId: string): SessionPorts {
    return new SessionPorts(() => ({ transport: this.transport, sessionId }));
  }

  /** Lists the tools with their schemas. */
  async listTools({ includeHidden = false }: { readonly includeHidden?: boolean } = {}): Promise<
    readonly ToolListing[]
  > {
    const path = `/api/v1/tools?include_hidden=${includeHidden}`;
    const { tools } = await this.#plain<{ readonly tools: readonly ToolListing[] }>({ method: "GET", path });
    return tools;
  }

  /**
   * Gets one tool, with its schemas.
   *
   * @throws ServerError `unknown_name` when there is no such tool.
   */
  async getToolSchema(name: string): Promise<ToolListing> {
    return this.#plain({ method: "GET", path: `/api/v1/tools/${encodeURIComponent(name)}/schema` });
  }

  /** Prepares backends ahead of their first call; all of them when none is named. */
  async warmup(backends?: readonly string[]): Promise<answers.WarmupReport> {
    const body = { backends: backends ?? null };
    return this.#plain({ method: "POST", path: "/api/v1/warmup", body, timeoutMs: LIFECYCLE_TIMEOUT_MS });
  }

  /** Says which backends are warm. */
  async warmupStatus(): Promise<answers.WarmupStatus> {
    return this.#plain({ method: "GET", path: "/api/v1/warmup/status" });
  }

  /** Finds a job by its id, which may be of another client or another day; asks nothing yet. */
  findJob<T = unknown>(id: string): Job<T> {
    return new Job<T>(this.transport, id);
  }

  /** Lists jobs, newest first: of one worker, or of all that the API key sees. */
  async listJobs({ workerId, limit }: { readonly workerId?: string; readonly limit?: number } = {}): Promise<
    readonly JobStatus[]
  > {
    const query = new URLSearchParams();
    if (workerId !== undefined) query.set("worker_id", workerId);
    if (limit !== undefined) query.set("limit", String(limit));
    const exchange = {
      method: "GET",
      path: `/api/v1/jobs?${query}`,
      timeoutMs: QUICK_TIMEOUT_MS,
      repeatable: true,
    } as const;
    const answer = expectEnvelope(await this.transport.exchange(exchange), "GET");
    return expectData<{ readonly jobs: readonly JobStatus[] }>(answer).jobs;
  }

  /** Asks whether the server lives; `timeoutMs` and `maxRetries` are for detecting one that may not be there. */
  async health(options: Pick<Partial<Exchange>, "timeoutMs" | "maxRetries"> = {}): Promise<answers.HealthReport> {
    const exchange = {
      method: "GET",
      path: "/health",
      timeoutMs: QUICK_TIMEOUT_MS,
      repeatable: true,
      ...options,
    } as const;
    const answer = await this.transport.exchange(exchange);
    if (answer.status !== 200 || !isJsonObject(answer.body) || typeof answer.body["status"] !== "string") {
      throw new ProtocolError(answer.status, "GET", answer.url, JSON.stringify(answer.body));
    }
    const health = expectPlain<answers.HealthReport>(answer, "GET");
    this.transport.learn(health.features ?? []);
    return health;
  }

  /** Asks what the server can serve now; a server that is not ready answers, too. */
  async ready(): Promise<answers.ReadyReport> {
    return this.#plain({ method: "GET", path: "/ready", maxRetries: 0 }, [503]);
  }

  /** Stops the server for everyone, after its running calls unless `force` cancels them. */
  async shutdownServer({ force = false, cleanupSessions = true } = {}): Promise<answers.ShutdownReport> {
    const body = { force, cleanup_sessions: cleanupSessions };
    return this.#plain({ method: "POST", path: "/api/v1/server/shutdown", body, timeoutMs: LIFECYCLE_TIMEOUT_MS });
  }

  async #plain<T>(
    request: Pick<Exchange, "method" | "path"> & Partial<Exchange>,
    acceptedStatuses: readonly number[] = [],
  ): Promise<T> {
    const exchange = { timeoutMs: QUICK_TIMEOUT_MS, repeatable: request.method === "GET", ...request };
    return expectPlain<T>(await this.transport.exchange(exchange), exchange.method, acceptedStatuses);
  }
}
