import { z } from "zod";
import { Backend, type BackendHealth, type BackendSetup } from "../../core/backend.ts";
import type { LifecycleContext, Logger, SessionRequest, ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { firstServing } from "../../core/first-runtime.ts";
import { ReadyPool } from "../../core/ready-pool.ts";
import type { RuntimeSelector, SandboxInstance, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import type { BoundTool } from "../../core/tool.ts";
import { asBrowserBox, NEEDED } from "./chromium/start-chromium.ts";
import { BrowserConfig, type BrowserSpec, createSessionSchema, toBrowserSpec } from "./config.ts";
import { BrowserSession } from "./session.ts";
import { browserTools } from "./tools/browser-tools.ts";

const StoredBrowser = z.object({ runtime: z.string(), handle: z.unknown() });

/**
 * Gives each session a Chromium in a sandbox of its own, worked over its debugger's protocol.
 *
 * The sandbox has no network: pages come through the host's proxy, which judges each address as it connects.
 */
export default class BrowserBackend extends Backend<BrowserSession> {
  readonly resource = "browser";
  override readonly description =
    "A browser per session: pages, forms, tabs, snapshots for agents, screenshots, cookies, downloads.";
  override readonly configSchema = BrowserConfig;
  override readonly sessionSchema: z.ZodObject;
  readonly #config: BrowserConfig;
  readonly #tools = forwarded(browserTools());
  #pool: ReadyPool<BrowserSpec, BrowserSession> | undefined;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = BrowserConfig.safeParse(setup.config).data ?? BrowserConfig.parse({});
    this.sessionSchema = createSessionSchema(this.#config);
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return this.#tools;
  }

  override async warmup({ logger }: LifecycleContext): Promise<void> {
    const { pool } = this.#config;
    if (pool === undefined) return;
    this.#pool ??= new ReadyPool({
      ...pool,
      usual: toBrowserSpec(this.#config, {}),
      make: (spec, signal) => this.#make(spec, logger, signal),
      kindOf: ({ options, sandbox: { sessionId: _session, workerId: _worker, ...sandbox } }) =>
        JSON.stringify([options, sandbox]),
      isAlive: (member, signal) => member.isWell(signal),
      ended: (member) => member.ended,
      discard: (member) => member.close(),
    });
    this.#pool.fill();
  }

  override async initialize(request: SessionRequest, { signal, logger }: LifecycleContext): Promise<BrowserSession> {
    const config = createSessionSchema(this.#config).parse(request.config);
    const { sessionId, workerId } = request;
    const bare = toBrowserSpec(this.#config, config);
    const spec = { ...bare, sandbox: { ...bare.sandbox, sessionId, workerId } };
    return (await this.#pool?.claim(spec, signal)) ?? (await this.#make(spec, logger, signal));
  }

  override handle({ data }: Session<BrowserSession>): unknown {
    const { runtime, handle } = data.box;
    return handle === undefined ? null : { runtime, handle };
  }

  override async adopt(session: Session, { signal, logger }: LifecycleContext): Promise<BrowserSession | null> {
    const stored = StoredBrowser.safeParse(session.data).data;
    if (stored === undefined) return null;
    const box = await this.#selector().get?.(stored.runtime)?.adopt?.(stored.handle, signal);
    if (box === undefined || box === null) return null;
    const config = createSessionSchema(this.#config).parse(session.config);
    try {
      return await BrowserSession.find(asBrowserBox(box), toBrowserSpec(this.#config, config).options, logger, signal);
    } catch (error) {
      await box.stop();
      signal.throwIfAborted();
      logger.warn({ err: error, session_id: session.id }, "a browser of a server before this one is lost");
      return null;
    }
  }

  override async shutdown(): Promise<void> {
    await this.#pool?.close();
  }

  override async cleanup({ data }: Session<BrowserSession | undefined>): Promise<void> {
    await data?.close();
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    const pool = this.#pool?.report;
    try {
      const name = await this.#first(signal, async (runtime) => runtime.name);
      return { up: true, details: { runtime: name, ...(pool !== undefined && { pool }) } };
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { up: false, reason: `${error.message} ${error.suggestion}` };
    }
  }

  override sandbox({ data }: Session<BrowserSession>): SandboxInstance {
    data.assertAlive();
    return data.box;
  }

  async #make({ sandbox, options }: BrowserSpec, logger: Logger, signal: AbortSignal): Promise<BrowserSession> {
    return this.#first(signal, async (runtime) => {
      const box = await runtime.create(this.#toSpec(sandbox, runtime), signal);
      try {
        return await BrowserSession.open(asBrowserBox(box), options, logger, signal);
      } catch (error) {
        await box.stop();
        throw error;
      }
    });
  }

  #first<T>(signal: AbortSignal, work: (runtime: SandboxRuntime) => Promise<T>): Promise<T> {
    const { runtime, min_isolation: minIsolation } = this.#config;
    return firstServing(this.#selector(), { runtime, minIsolation, needed: NEEDED, what: "a browser" }, signal, work);
  }

  #toSpec(spec: SandboxSpec, runtime: SandboxRuntime): SandboxSpec {
    // Sandboxes of namespaces run on the host's own programs: they know no images.
    return runtime.isolation === "container" ? { ...spec, image: this.#config.image } : spec;
  }

  #selector(): RuntimeSelector {
    if (this.runtimes !== undefined) return this.runtimes;
    throw new ToolyardError("runtime_unavailable", "the browser backend was given no runtimes");
  }
}

/** The tools as the server calls them: each is run in the thread of its session's browser. */
function forwarded(tools: ReadonlyMap<string, BoundTool>): ReadonlyMap<string, BoundTool> {
  const forward = (tool: BoundTool): BoundTool => ({
    ...tool,
    invoke: (params, { session, signal }: ToolContext<BrowserSession>) => session.data.run(tool.name, params, signal),
  });
  return new Map([...tools].map(([name, tool]) => [name, forward(tool)]));
}
