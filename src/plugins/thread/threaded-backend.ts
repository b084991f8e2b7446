import { type AnyBackend, Backend, type BackendHealth } from "../../core/backend.ts";
import type { LifecycleContext, Logger, ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { BoundTool } from "../../core/tool.ts";
import type { BackendSource } from "../backend-source.ts";
import type { Operation, SessionFacts } from "./messages.ts";
import { ThreadHost } from "./thread-host.ts";
import { NeverStartedError, type OperationContext } from "./worker-thread.ts";

/** Where the backend comes from and who hears of its thread. */
export interface ThreadedBackendOptions {
  readonly source: BackendSource;
  readonly resource: string;
  readonly logger: Logger;
  /** The config's settings of API tools. */
  readonly apis?: Readonly<Record<string, unknown>>;
  /** Where the backend may keep what must outlive the server. */
  readonly dataDir?: string;
  /** Milliseconds that an aborted call gives a blocked thread before it is stopped; 1000 by default. */
  readonly graceMs?: number;
}

/** Milliseconds after which a health check answers for a thread that is busy. */
const HEALTH_MS = 500;
/** Milliseconds that a thread may take to say how a session is found again; its creation waits for that. */
const HANDLE_MS = 10_000;
/** Threads that one operation is tried in, when each ends before it begins. */
const MAX_ATTEMPTS = 3;

/**
 * Stands for a backend whose work runs in a worker thread, so that code that blocks holds only its own thread.
 *
 * The backend's tools are scanned here, its methods run there. Session data stays there and dies with the thread: what
 * comes after is answered `session_lost`. A hook that the backend lacks is lacking here too.
 */
export class ThreadedBackend extends Backend<unknown> {
  readonly resource: string;
  override readonly concurrency: "serial" | "parallel";
  override readonly description: string;
  declare readonly configSchema?: NonNullable<AnyBackend["configSchema"]>;
  declare readonly sessionSchema?: NonNullable<AnyBackend["sessionSchema"]>;
  readonly #original: AnyBackend;
  readonly #host: ThreadHost;
  /** The thread that each session lives in. */
  readonly #sessions = new Map<string, number>();
  #warmGeneration: number | undefined;
  #warming: Promise<unknown> = Promise.resolve();

  constructor(original: AnyBackend, options: ThreadedBackendOptions) {
    const { source, resource, logger, apis = {}, dataDir, graceMs = 1_000 } = options;
    super({ config: original.config });
    this.#original = original;
    this.resource = original.resource;
    this.concurrency = original.concurrency;
    this.description = original.description;
    if (original.configSchema !== undefined) this.configSchema = original.configSchema;
    if (original.sessionSchema !== undefined) this.sessionSchema = original.sessionSchema;
    const start = { source, config: original.config, apis, resource, ...(dataDir !== undefined && { dataDir }) };
    this.#host = new ThreadHost({ start, logger, graceMs });
    if (original.warmup !== undefined) this.warmup = (context) => this.#warm(context);
    if (original.initialize !== undefined) {
      this.initialize = async (request, context) => {
        await this.#run({ kind: "initialize", request }, context);
        this.#sessions.set(request.sessionId, this.#host.generation);
      };
    }
    if (original.cleanup !== undefined || original.initialize !== undefined) {
      this.cleanup = (session, context) => this.#cleanUp(session, context);
    }
    if (original.handle !== undefined) {
      this.handle = async (session) => {
        this.#requireSession(session.id);
        const signal = AbortSignal.timeout(HANDLE_MS);
        return this.#host.run({ kind: "handle", session: toFacts(session) }, { signal, logger });
      };
    }
    if (original.adopt !== undefined) {
      this.adopt = async (session, context) => {
        const { data: handle } = session;
        const adopted = await this.#run({ kind: "adopt", session: toFacts(session), handle }, context);
        if (adopted !== true) return null;
        this.#sessions.set(session.id, this.#host.generation);
        // Its data stays in the thread.
        return {};
      };
    }
    if (original.reset !== undefined) {
      this.reset = async (session, context) => {
        this.#requireSession(session.id);
        await this.#host.run({ kind: "reset", session: toFacts(session) }, context);
      };
    }
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    const tools = [...this.#original.tools().values()].map(
      (tool): BoundTool => ({
        ...tool,
        invoke: (params, context) => this.#invoke(tool.name, params, context),
      }),
    );
    return new Map(tools.map((tool) => [tool.name, tool]));
  }

  override async shutdown(context: LifecycleContext): Promise<void> {
    try {
      const reachable = this.#host.running && (await this.#host.responds());
      if (reachable) await this.#host.run({ kind: "shutdown" }, context);
    } finally {
      await this.#host.stop();
    }
  }

  override async health(context: LifecycleContext): Promise<BackendHealth> {
    if (!this.#host.running) return { up: true, details: { thread: "idle" } };
    if (this.#original.health === undefined) return { up: true, details: { thread: "running" } };
    const answered = this.#host.run({ kind: "health" }, context);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<BackendHealth>((resolve) => {
      timer = setTimeout(() => resolve({ up: true, details: { thread: "busy" } }), HEALTH_MS);
    });
    // The worker's end passes the plugin's own answer on.
    return Promise.race([answered as Promise<BackendHealth>, late]).finally(() => clearTimeout(timer));
  }

  async #warm(context: OperationContext): Promise<void> {
    this.#warming = retry(() => {
      this.#host.start();
      this.#warmGeneration = this.#host.generation;
      return this.#host.run({ kind: "warmup" }, context);
    });
    this.#warming.catch(() => (this.#warmGeneration = undefined));
    await this.#warming;
  }

  /** Starts the thread; one that takes the place of a warm one is warmed up first. */
  async #ready(context: OperationContext): Promise<void> {
    this.#host.start();
    if (this.#warmGeneration === undefined) return;
    if (this.#warmGeneration !== this.#host.generation) {
      // The run is shared, so it does not end with the call that happens to need it first.
      const signal = new AbortController().signal;
      this.#warm({ logger: context.logger, signal }).catch(() => undefined);
    }
    await this.#warming;
  }

  /** Runs an operation in a thread that is ready for it. */
  #run(operation: Operation, context: OperationContext): Promise<unknown> {
    return retry(async () => {
      await this.#ready(context);
      return this.#host.run(operation, context);
    });
  }

  async #invoke(tool: string, params: unknown, context: ToolContext<never>): Promise<unknown> {
    // Of any session type at run time, `undefined` included.
    const session = context.session as Session | undefined;
    if (session !== undefined && this.#original.initialize !== undefined) this.#requireSession(session.id);
    const { workerId, tenant, callId, traceId, timeLeftMs, signal, logger } = context;
    return this.#run(
      {
        kind: "tool",
        tool,
        params,
        session: session && toFacts(session),
        call: { workerId, tenant, callId, traceId, timeLeftMs },
      },
      { signal, logger, tool: context },
    );
  }

  async #cleanUp(session: Session<unknown>, context: LifecycleContext): Promise<void> {
    this.#sessions.delete(session.id);
    if (!this.#host.running) return;
    await this.#host.run({ kind: "cleanup", session: toFacts(session) }, context);
  }

  #requireSession(sessionId: string): void {
    if (this.#host.running && this.#sessions.get(sessionId) === this.#host.generation) return;
    throw new ToolyardError("session_lost", `The session ${sessionId} ended with the worker thread that held it`);
  }
}

function toFacts({ id, name, workerId, tenant, resource, config }: Session<unknown>): SessionFacts {
  return { id, name, workerId, tenant, resource, config };
}

/** Tries again in the next thread what never began, since the thread before it ended first. */
async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      // Each attempt needs the outcome of the one before.
      // oxlint-disable-next-line no-await-in-loop
      return await attempt();
    } catch (error) {
      if (!(error instanceof NeverStartedError) || count === MAX_ATTEMPTS) throw error;
    }
  }
}
