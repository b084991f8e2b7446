import type { z } from "zod";
import { Backend, type BackendHealth, type BackendSetup } from "../../core/backend.ts";
import { systemClock } from "../../core/clock.ts";
import type { LifecycleContext, SessionRequest } from "../../core/context.ts";
import type { SessionDesktop } from "../../core/desktop.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxInstance } from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import { ownTerminalTools, TerminalTools } from "../../core/terminal-tools.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { AgentTools } from "./agent-tools.ts";
import { AliasTools } from "./alias-tools.ts";
import {
  createSessionSchema,
  StoredDesktop,
  toDesktopSpec,
  toOperatorOptions,
  VmConfig,
  type VmSessionConfig,
} from "./config.ts";
import { ProcessTools } from "./processes/process-tools.ts";
import { sleep } from "./desktop/clock-sleep.ts";
import { DesktopNews } from "./desktop-news.ts";
import { Desktop } from "./desktop/desktop.ts";
import { abilityOf } from "./desktop/desktop-ability.ts";
import { DesktopPool } from "./desktop/desktop-pool.ts";
import type { DesktopProvider, DesktopSpec } from "./desktop/provider.ts";
import { look, openDesktop, type ReadyDesktop } from "./desktop/ready-desktop.ts";
import { SandboxDesktopProvider } from "./desktop/sandbox-provider.ts";
import { setUp } from "./desktop/setup.ts";
import { RecordingStore } from "./recording/recording-store.ts";
import { RecordingTools } from "./recording/recording-tools.ts";
import { SessionRecordings } from "./recording/session-recordings.ts";
import { Episode } from "./episode/episode.ts";
import { EpisodeTools } from "./episode/episode-tools.ts";
import { remembered } from "./episode/remember-tools.ts";
import { QemuDesktopProvider } from "./qemu/qemu-provider.ts";
import { FileTools } from "./files/file-tools.ts";
import { KnownTools } from "./known-tools.ts";
import { KeptPictures } from "./screen/kept-pictures.ts";
import { PowerTools } from "./power-tools.ts";
import type { VmSession } from "./session.ts";
import { toSessionDesktop } from "./session-desktop.ts";
import { SnapshotTools } from "./snapshot-tools.ts";
import { StreamTools } from "./stream-tools.ts";
import { withTrees } from "./tree-results.ts";
import { UnionTools } from "./union-tools.ts";
import { WindowTools } from "./window-tools.ts";

/**
 * Gives each session a desktop of its own that is seen and worked with as a person does, by screenshots, mouse and keys.
 *
 * A desktop is a sandbox of one of the server's runtimes with a display in it. One that dies takes its session with it.
 */
export default class VmBackend extends Backend<VmSession> {
  readonly resource = "vm";
  override readonly description =
    "A desktop per session: screenshots, mouse and keyboard, in the words of any model's API.";
  override readonly configSchema = VmConfig;
  override readonly sessionSchema: z.ZodObject;
  readonly #config: VmConfig;
  readonly #provider: DesktopProvider | undefined;
  readonly #pool: DesktopPool | undefined;
  readonly #recordings: RecordingStore;
  readonly #groups: readonly object[];
  readonly #terminals = ownTerminalTools(new TerminalTools<VmSession>(({ session }) => this.sandbox(session)));

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = VmConfig.safeParse(setup.config).data ?? VmConfig.parse({});
    this.sessionSchema = createSessionSchema(this.#config);
    this.#recordings = new RecordingStore(setup.dataDir, this.#config.recordings, systemClock);
    this.#groups = [
      new KnownTools(),
      new UnionTools(),
      new AliasTools(),
      new AgentTools(),
      new WindowTools(),
      new EpisodeTools({
        tools: () => this.tools(),
        reset: (session, signal) => this.#reset(session, signal),
      }),
      new StreamTools(),
      new PowerTools(),
      new ProcessTools(),
      new FileTools(),
      new SnapshotTools(),
      new RecordingTools(this.#recordings),
    ];
    this.#provider = createProvider(this.#config, setup);
    const { pool } = this.#config;
    if (pool !== undefined && this.#provider !== undefined) {
      const usual = toDesktopSpec(this.#config, {});
      this.#pool = new DesktopPool((spec, signal) => this.#make(spec, signal), { ...pool, usual });
    }
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return new Map([...withTrees(remembered(scanTools(...this.#groups))), ...this.#terminals]);
  }

  override async warmup(): Promise<void> {
    this.#pool?.fill();
    await this.#recordings.prune();
  }

  override async initialize(request: SessionRequest, { signal, emit, logger }: LifecycleContext): Promise<VmSession> {
    const config = createSessionSchema(this.#config).parse(request.config);
    const { tenant, sessionId, workerId } = request;
    const bare = toDesktopSpec(this.#config, config);
    const spec = { ...bare, sandbox: { ...bare.sandbox, sessionId, workerId } };
    const ready = (await this.#pool?.claim(spec, signal)) ?? (await this.#make(spec, signal));
    try {
      await setUp(ready.running, config.setup ?? [], nap, signal);
      return this.#toSession(ready, spec, config, { tenant, sessionId, workerId, emit, logger, isNew: true });
    } catch (error) {
      ready.connection.close();
      await ready.running.stop();
      throw error;
    }
  }

  override handle({ data }: Session<VmSession>): unknown {
    const { running, size } = data.desktop;
    const { width, height, dpi } = size;
    return running.handle === undefined ? null : { desktop: running.handle, size: { width, height, dpi } };
  }

  override async adopt(session: Session, { signal, emit, logger }: LifecycleContext): Promise<VmSession | null> {
    const stored = StoredDesktop.safeParse(session.data).data;
    if (stored === undefined) return null;
    const running = await this.#provider?.adopt?.(stored.desktop, signal);
    if (running === undefined || running === null) return null;
    try {
      const connection = await look(running, systemClock, signal);
      const config = createSessionSchema(this.#config).parse(session.config);
      const spec = { ...toDesktopSpec(this.#config, config), ...stored.size };
      const { id: sessionId, tenant, workerId } = session;
      const owner = { tenant, sessionId, workerId, emit, logger, isNew: false };
      return this.#toSession({ running, connection }, spec, config, owner);
    } catch (error) {
      await running.stop();
      signal.throwIfAborted();
      if (ToolyardError.is(error)) return null;
      throw error;
    }
  }

  override async cleanup({ data }: Session<VmSession | undefined>): Promise<void> {
    await data?.recordings.close();
    data?.news.stopped("session_ended");
    await data?.desktop.close();
  }

  override sandbox({ data }: Session<VmSession>): SandboxInstance {
    return abilityOf(data.desktop.running, "box");
  }

  override desktop({ data }: Session<VmSession>): SessionDesktop {
    return toSessionDesktop(data);
  }

  override async shutdown(): Promise<void> {
    await this.#pool?.close();
    await this.#recordings.close();
  }

  override async reset(session: Session<VmSession>, { signal }: LifecycleContext): Promise<void> {
    await this.#reset(session, signal);
    session.data.episode.restart(session.data.instruction);
  }

  async #reset({ data, config }: Session<VmSession>, signal: AbortSignal): Promise<void> {
    const own = createSessionSchema(this.#config).parse(config);
    const { setup = [] } = own;
    // What the last task made of the screen, and of how it is shown, is no part of the next one.
    await data.desktop.wipe(signal, toDesktopSpec(this.#config, own));
    if (!data.news.isUp) data.news.started(data.desktop.running, data.desktop.operator.driver.size);
    await setUp(data.desktop.running, [...this.#config.setup, ...setup], nap, signal);
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    const { pool } = this;
    if (pool !== undefined && pool.ready > 0) return { up: true, details: { provider: this.#config.provider, pool } };
    const reason =
      this.#provider === undefined ? "the server gave the vm backend no runtimes" : await this.#provider.check(signal);
    const more = await this.#provider?.details?.();
    const details = { provider: this.#config.provider, ...more, ...(pool !== undefined && { pool }) };
    return reason === undefined ? { up: true, details } : { up: false, reason };
  }

  /** How the pool stands; absent without one. */
  get pool(): DesktopPool["report"] | undefined {
    return this.#pool?.report;
  }

  /** Starts a desktop of the config's own setup. */
  async #make(spec: DesktopSpec, given: AbortSignal): Promise<ReadyDesktop> {
    if (this.#provider === undefined) {
      throw new ToolyardError("runtime_unavailable", "the server gave the vm backend no runtimes");
    }
    const late = AbortSignal.timeout(this.#config.ready_ms);
    const signal = AbortSignal.any([given, late]);
    try {
      const ready = await openDesktop(this.#provider, spec, systemClock, signal);
      try {
        await setUp(ready.running, this.#config.setup, nap, signal);
        return ready;
      } catch (error) {
        ready.connection.close();
        await ready.running.stop();
        throw error;
      }
    } catch (cause) {
      if (given.aborted || !late.aborted) throw cause;
      const message = `the desktop was not ready within ${this.#config.ready_ms} ms`;
      throw new ToolyardError("dependency_failed", message, { cause, details: { limit: "ready_ms" } });
    }
  }

  #toSession(ready: ReadyDesktop, spec: DesktopSpec, config: VmSessionConfig, owner: Owner): VmSession {
    const { emit, isNew, logger, sessionId } = owner;
    const clock = systemClock;
    const onAgentDeath = (reason: string, complaint: string) =>
      logger.warn({ session_id: sessionId, reason, complaint }, "the agent of a desktop died and is started again");
    const desktop = new Desktop(ready, spec, { ...toOperatorOptions(this.#config, config), clock, onAgentDeath });
    const news = new DesktopNews(owner.sessionId, emit);
    // What is taken up was told of when it started.
    news.started(desktop.running, desktop.operator.driver.size, isNew ? undefined : () => {});
    const instruction = config.instruction ?? null;
    const episode = new Episode(clock, instruction);
    const recorded = { store: this.#recordings, config: this.#config.recordings };
    const recordings = new SessionRecordings({ ...recorded, clock, owner, desktop, episode, emit });
    return { desktop, episode, instruction, news, recordings, pictures: new KeptPictures() };
  }
}

/** Whose a session is, and how its own events are told. */
interface Owner {
  readonly tenant: string;
  readonly sessionId: string;
  readonly workerId: string;
  readonly emit: LifecycleContext["emit"];
  readonly logger: LifecycleContext["logger"];
  readonly isNew: boolean;
}

function nap(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(systemClock, ms, signal);
}

function createProvider(config: VmConfig, { runtimes }: BackendSetup): DesktopProvider | undefined {
  if (config.provider === "qemu" && config.qemu !== undefined) return new QemuDesktopProvider(config.qemu);
  if (runtimes === undefined) return undefined;
  return new SandboxDesktopProvider({
    selector: runtimes,
    runtime: config.provider,
    minIsolation: config.min_isolation,
  });
}
