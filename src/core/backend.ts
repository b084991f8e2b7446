import type { z } from "zod";
import type { OpenChatModel } from "./chat-model.ts";
import type { LifecycleContext, SessionRequest } from "./context.ts";
import type { SessionDesktop } from "./desktop.ts";
import type { OpenOutbound } from "./outbound.ts";
import type { RuntimeRequest, RuntimeSelector, SandboxInstance, SandboxSpec } from "./runtime.ts";
import type { Session } from "./session.ts";
import { type BoundTool, scanTools } from "./tool.ts";

/** What the composition root hands to a backend's constructor, which must do no work and no I/O. */
export interface BackendSetup<C = Readonly<Record<string, unknown>>> {
  /** The `config` of the backend's entry in the config file. */
  readonly config: C;
  /** The config's `apis` section: the settings of API tools, each under its name. */
  readonly apis?: Readonly<Record<string, unknown>>;
  /** Where sandboxes run; asked by backends that need one. */
  readonly runtimes?: RuntimeSelector;
  /** A folder of the server's for what must outlive it, made by who writes there first; absent when nothing is to. */
  readonly dataDir?: string;
  /** Makes connections to the outside that go only where rules let them. */
  readonly openOutbound?: OpenOutbound;
  /** Makes a model that is asked through an endpoint of the config's. */
  readonly openChatModel?: OpenChatModel;
}

/** What a backend's sessions ask for when their callers say nothing. */
export interface UsualSandbox {
  readonly request: RuntimeRequest;
  readonly spec: SandboxSpec;
}

/** What a health check found; the reason says why not and what to do. */
export interface BackendHealth {
  readonly up: boolean;
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * A plugin: it owns a resource and the resource's tools.
 *
 * `D` is what `initialize` makes for a session. A backend without `initialize` has no sessions, and calls make none.
 * Hooks are given a deadline through their context's signal; what they leave behind after it is cleaned up.
 *
 * @example
 * ```ts
 * export default class Counter extends Backend<{ value: number }> {
 *   readonly resource = "counter";
 *   override async initialize() { return { value: 0 }; }
 *   @tool({ description: "Add one." })
 *   incr(_: object, { session }: ToolContext<{ value: number }>) { return { value: ++session.data.value }; }
 * }
 * ```
 */
export abstract class Backend<D = void, C = Readonly<Record<string, unknown>>> {
  /** The prefix of its tools; an entry of the config may mount it under another name. */
  abstract readonly resource: string;
  /** Whether calls of one session run one after another or together. */
  readonly concurrency: "serial" | "parallel" = "serial";
  /** One line for listings. */
  readonly description: string = "";
  /** Checks the entry's `config` at start-up, with errors that name the file and the key; unchecked when absent. */
  readonly configSchema?: z.ZodType;
  /** The strict object schema of what a caller may set per session; anything goes when absent. */
  readonly sessionSchema?: z.ZodObject;
  readonly config: C;
  protected readonly runtimes: RuntimeSelector | undefined;

  constructor(setup: BackendSetup<C>) {
    this.config = setup.config;
    this.runtimes = setup.runtimes;
  }

  /** Lists its tools; a backend whose tools are known only at run time overrides it. */
  tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(this);
  }

  /** What most of its sessions' sandboxes are made from, so that pools hold such ones ready; asked once, at the start. */
  get usualSandbox(): UsualSandbox | undefined {
    return undefined;
  }

  /** Prepares what all sessions share, once per server; one that failed is tried again by the next call. */
  warmup?(context: LifecycleContext): Promise<void>;
  /** Makes one session's state; runs once per session however many calls wait for it. */
  initialize?(request: SessionRequest, context: LifecycleContext): Promise<D>;
  /** Frees one session's state; also called after a failed `initialize`, so it must bear `data` being undefined. */
  cleanup?(session: Session<D>, context: LifecycleContext): Promise<void>;
  /** Frees what all sessions share, once per server, after every `cleanup`. */
  shutdown?(context: LifecycleContext): Promise<void>;
  /** Says whether it can serve now; read by `/ready`. */
  health?(context: LifecycleContext): Promise<BackendHealth>;
  /** Brings a session back to fresh without a new one. */
  reset?(session: Session<D>, context: LifecycleContext): Promise<void>;
  /** The sandbox behind a session, for the server's routes to its files, ports and terminals. */
  sandbox?(session: Session<D>): SandboxInstance;
  /**
   * The desktop behind a session, for who watches it and works at it from outside.
   *
   * @throws ToolyardError `conflict` while it is stopped.
   */
  desktop?(session: Session<D>): SessionDesktop;
  /** Says in JSON, or promises to, what `adopt` will need to find the session again; asked once, when an explicit session has been made. */
  handle?(session: Session<D>): unknown;
  /** Re-attaches to a session that a crashed server left, whose `data` is what `handle` said; `null` when it is lost. */
  adopt?(session: Session, context: LifecycleContext): Promise<D | null>;
}

/** A backend of any session type, as the engine holds it. */
// The engine hands back only what the same backend's `initialize` made, so the type is erased here once.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyBackend = Backend<any, any>;
