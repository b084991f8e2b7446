import { Backend, type BackendHealth, type BackendSetup } from "../../core/backend.ts";
import { systemClock } from "../../core/clock.ts";
import type { LifecycleContext, SessionRequest } from "../../core/context.ts";
import type { SessionDesktop } from "../../core/desktop.ts";
import type { SandboxInstance } from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import { ownTerminalTools, TerminalTools } from "../../core/terminal-tools.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { AliasTools } from "./alias-tools.ts";
import { assertAllowed, toOperatorOptions, VmConfig, VmSessionConfig } from "./config.ts";
import { abilityOf } from "./desktop/desktop-ability.ts";
import { DesktopNews } from "./desktop-news.ts";
import { Desktop } from "./desktop/desktop.ts";
import { LocalDesktopProvider } from "./desktop/local-provider.ts";
import type { DesktopProvider } from "./desktop/provider.ts";
import { Episode } from "./episode/episode.ts";
import { EpisodeTools } from "./episode/episode-tools.ts";
import { remembered } from "./episode/remember-tools.ts";
import { KnownTools } from "./known-tools.ts";
import type { VmSession } from "./session.ts";
import { toSessionDesktop } from "./session-desktop.ts";
import { StreamTools } from "./stream-tools.ts";
import { UnionTools } from "./union-tools.ts";

/** Gives each session a desktop of its own that is seen and worked with as a person does, by screenshots, mouse and keys. */
export default class VmBackend extends Backend<VmSession> {
  readonly resource = "vm";
  override readonly description =
    "A desktop per session: screenshots, mouse and keyboard, in the words of any model's API.";
  override readonly configSchema = VmConfig;
  override readonly sessionSchema = VmSessionConfig;
  readonly #config: VmConfig;
  readonly #provider: DesktopProvider;
  readonly #groups: readonly object[] = [
    new KnownTools(),
    new UnionTools(),
    new AliasTools(),
    new EpisodeTools(),
    new StreamTools(),
  ];
  readonly #terminals = ownTerminalTools(new TerminalTools<VmSession>(({ session }) => this.sandbox(session)));

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = VmConfig.safeParse(setup.config).data ?? VmConfig.parse({});
    this.#provider = new LocalDesktopProvider();
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return new Map([...remembered(scanTools(...this.#groups)), ...this.#terminals]);
  }

  override async initialize(
    { workerId, sessionId, config }: SessionRequest,
    { signal, emit }: LifecycleContext,
  ): Promise<VmSession> {
    assertAllowed(this.#config, this.#provider);
    const wanted = VmSessionConfig.parse(config);
    const size = { width: wanted.width ?? this.#config.width, height: wanted.height ?? this.#config.height };
    const options = { ...toOperatorOptions(this.#config, wanted), clock: systemClock };
    const desktop = await Desktop.open(this.#provider, { sessionId, workerId, ...size }, options, signal);
    const news = new DesktopNews(sessionId, emit);
    news.started(desktop.running, desktop.operator.driver.size);
    return { desktop, episode: new Episode(systemClock, wanted.instruction), news };
  }

  override async cleanup({ data }: Session<VmSession | undefined>): Promise<void> {
    data?.news.stopped("session_ended");
    await data?.desktop.close();
  }

  override sandbox({ data }: Session<VmSession>): SandboxInstance {
    return abilityOf(data.desktop.running, "box");
  }

  override desktop({ data }: Session<VmSession>): SessionDesktop {
    return toSessionDesktop(data.desktop);
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    const reason = await this.#provider.check(signal);
    return reason === undefined ? { up: true, details: { provider: this.#provider.name } } : { up: false, reason };
  }
}
