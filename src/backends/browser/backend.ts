import type { z } from "zod";
import { Backend, type BackendHealth, type BackendSetup } from "../../core/backend.ts";
import type { LifecycleContext, SessionRequest } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { firstServing } from "../../core/first-runtime.ts";
import type { RuntimeSelector, SandboxInstance, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { asBrowserBox, NEEDED } from "./chromium/start-chromium.ts";
import { BrowserConfig, createSessionSchema, toSandboxSpec } from "./config.ts";
import { BrowserSession, type BrowserSessionOptions } from "./session.ts";
import { InputTools } from "./tools/input-tools.ts";
import { NavigationTools } from "./tools/navigation-tools.ts";
import { ReadingTools } from "./tools/reading-tools.ts";
import { StateTools } from "./tools/state-tools.ts";

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
  readonly #groups: readonly object[] = [new NavigationTools(), new InputTools(), new ReadingTools(), new StateTools()];

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = BrowserConfig.safeParse(setup.config).data ?? BrowserConfig.parse({});
    this.sessionSchema = createSessionSchema(this.#config);
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(...this.#groups);
  }

  override async initialize(request: SessionRequest, { signal }: LifecycleContext): Promise<BrowserSession> {
    const config = createSessionSchema(this.#config).parse(request.config);
    const { sessionId, workerId } = request;
    const spec = { sessionId, workerId, ...toSandboxSpec(this.#config, config) };
    const { max_tabs: maxTabs, timeout_ms: timeoutMs } = this.#config;
    const options: BrowserSessionOptions = {
      width: config.width ?? this.#config.width,
      height: config.height ?? this.#config.height,
      userAgent: config.user_agent ?? this.#config.user_agent,
      locale: config.locale ?? this.#config.locale,
      timezone: config.timezone ?? this.#config.timezone,
      maxTabs,
      timeoutMs,
    };
    return this.#first(signal, async (runtime) => {
      const box = await runtime.create(this.#toSpec(spec, runtime), signal);
      try {
        return await BrowserSession.open(asBrowserBox(box), options, signal);
      } catch (error) {
        await box.stop();
        throw error;
      }
    });
  }

  override async cleanup({ data }: Session<BrowserSession | undefined>): Promise<void> {
    await data?.close();
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    try {
      return await this.#first(signal, async ({ name }) => ({ up: true, details: { runtime: name } }));
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { up: false, reason: `${error.message} ${error.suggestion}` };
    }
  }

  override sandbox({ data }: Session<BrowserSession>): SandboxInstance {
    data.assertAlive();
    return data.box;
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
