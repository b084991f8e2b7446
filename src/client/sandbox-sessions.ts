import type { Clock } from "../core/clock.ts";
import { ERRORS } from "../core/errors.ts";
import type { ResultMeta, ToolFailure } from "../core/result.ts";
import type { SessionCreated } from "./answers.ts";
import { isJsonObject, toServerError } from "./envelope.ts";
import { ServerError } from "./errors/server-error.ts";
import type { HttpServiceClient } from "./http-client.ts";
import type { SessionOptions } from "./http-client-options.ts";
import { ToolResources } from "./tool-resources.ts";

/** One resource, several, or several with a config each; `custom_name` and `ttl` (seconds) are taken out of a config. */
export type SessionsRequest = string | readonly string[] | Readonly<Record<string, object | null | undefined>>;

/** What came of one session. */
export interface SessionOutcome {
  /** `exists` counts as a success: the worker had the session before. */
  readonly status: "success" | "exists" | "error";
  readonly session_id: string | null;
  readonly session_name: string | null;
  /** Whether the session has the config that was asked for; an existing one keeps its own. */
  readonly config_applied: boolean;
  readonly message: string;
  readonly error?: ToolFailure;
}

/** What came of creating sessions, by resource. */
export interface SessionsCreated {
  readonly status: "success" | "partial" | "error";
  readonly create_time_ms: number;
  readonly total: number;
  readonly success: number;
  readonly sessions: Readonly<Record<string, SessionOutcome>>;
}

/** What came of ending sessions, by resource. */
export interface SessionsDestroyed {
  readonly status: "success" | "partial" | "error";
  readonly total: number;
  readonly success: number;
  readonly details: Readonly<
    Record<
      string,
      { readonly status: "success" | "error"; readonly session_id: string | null; readonly message: string }
    >
  >;
}

/** A session that took another's place. */
export interface SessionReinitialized {
  readonly status: "success";
  readonly resource_type: string;
  /** `null` when there was no session. */
  readonly old_session_id: string | null;
  readonly session_id: string;
  readonly session_name: string;
}

interface Remembered {
  readonly id: string;
  /** Made by this facade, which therefore ends it. */
  readonly own: boolean;
}

/** Makes and ends a facade's sessions, and remembers their ids so that no call runs in another one. */
export class SandboxSessions {
  readonly #client: HttpServiceClient;
  readonly #clock: Clock;
  readonly #remembered = new Map<string, Remembered>();
  readonly #making = new Map<string, Promise<string>>();
  #resources: Promise<ToolResources> | undefined;

  constructor(client: HttpServiceClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** The session that an action must run in; `undefined` when none was created for its resource. */
  async sessionIdFor(action: string): Promise<string | undefined> {
    if (this.#remembered.size === 0) return undefined;
    this.#resources ??= this.#loadResources();
    const resource = (await this.#resources).resourceOf(action) ?? action.split(":", 1)[0];
    return resource === undefined ? undefined : this.#remembered.get(resource)?.id;
  }

  /** The worker's session on a resource, made if there is none; the same for all who ask meanwhile. */
  ensure(resource: string): Promise<string> {
    const known = this.#remembered.get(resource);
    if (known !== undefined) return Promise.resolve(known.id);
    const making = this.#making.get(resource) ?? this.#ensure(resource);
    this.#making.set(resource, making);
    return making;
  }

  async #ensure(resource: string): Promise<string> {
    try {
      const { session_id: id, status } = await this.#make(resource, {}, {});
      this.#remembered.set(resource, { id, own: status !== "exists" });
      return id;
    } finally {
      this.#making.delete(resource);
    }
  }

  async create(request: SessionsRequest, shared: object, options: SessionOptions): Promise<SessionsCreated> {
    const startedAt = this.#clock.now();
    const wanted = toWanted(request, shared);
    const outcomes = await settleEach(wanted, ([resource, config]) => this.#createOne(resource, config, options));
    const success = outcomes.filter(([, outcome]) => outcome.status !== "error").length;
    return {
      status: toStatus(success, outcomes.length),
      create_time_ms: this.#clock.now() - startedAt,
      total: outcomes.length,
      success,
      sessions: Object.fromEntries(outcomes),
    };
  }

  async destroy(resources: string | readonly string[] | undefined): Promise<SessionsDestroyed> {
    const named = typeof resources === "string" ? [resources] : resources;
    const all = named ?? (await this.#client.listSessions()).map((session) => session.resource_type);
    const outcomes = await settleEach(
      all.map((resource) => [resource, undefined] as const),
      async ([resource]) => {
        try {
          const { session_id, message } = await this.#client.destroySession(resource);
          return { status: "success" as const, session_id, message };
        } catch (error) {
          if (!(error instanceof ServerError)) throw error;
          return { status: "error" as const, session_id: null, message: error.message };
        } finally {
          this.#remembered.delete(resource);
        }
      },
    );
    const success = outcomes.filter(([, outcome]) => outcome.status === "success").length;
    return {
      status: toStatus(success, outcomes.length),
      total: outcomes.length,
      success,
      details: Object.fromEntries(outcomes),
    };
  }

  async reinitialize(resource: string, config: object, options: SessionOptions): Promise<SessionReinitialized> {
    const oldSessionId = await this.#endLive(resource);
    const { config: own, options: named } = splitConfig(config, options);
    const created = await this.#make(resource, own, named);
    this.#remembered.set(resource, { id: created.session_id, own: created.status !== "exists" });
    return {
      status: "success",
      resource_type: resource,
      old_session_id: oldSessionId,
      session_id: created.session_id,
      session_name: created.session_name,
    };
  }

  /** Ends the sessions that this facade made, and no others; one that cannot be ended now ends by its ttl. */
  async destroyOwn(): Promise<void> {
    const own = [...this.#remembered].filter(([, session]) => session.own);
    this.#remembered.clear();
    await Promise.allSettled(own.map(([resource, { id }]) => this.#client.destroySession(resource, { sessionId: id })));
  }

  /** Lets go of every session without ending it. */
  forget(): void {
    this.#remembered.clear();
  }

  async #createOne(resource: string, given: object, options: SessionOptions): Promise<SessionOutcome> {
    const { config, options: named } = splitConfig(given, options);
    try {
      const created = await this.#make(resource, config, named);
      const exists = created.status === "exists";
      const known = this.#remembered.get(resource);
      this.#remembered.set(resource, {
        id: created.session_id,
        own: !exists || (known?.own === true && known.id === created.session_id),
      });
      return {
        status: exists ? "exists" : "success",
        session_id: created.session_id,
        session_name: created.session_name,
        config_applied: created.config_applied ?? !exists,
        message: exists
          ? "the session was there already and keeps its config"
          : (created.compatibility_message ?? "the session was created"),
      };
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      const { message, failure } = error;
      return { status: "error", session_id: null, session_name: null, config_applied: false, message, error: failure };
    }
  }

  /** Makes a session; one that the wire makes under a name where nothing is mounted is ended again and refused. */
  async #make(resource: string, config: object, options: SessionOptions): Promise<SessionCreated> {
    const created = await this.#client.createSession(resource, config, options);
    if (created.known_resource !== false) return created;
    const refusal = toUnknownResource(created);
    // Nothing can run in it, and it ends by its ttl if it cannot be ended now.
    await this.#client.destroySession(resource, { sessionId: created.session_id }).catch(() => undefined);
    throw refusal;
  }

  async #endLive(resource: string): Promise<string | null> {
    try {
      return (await this.#client.destroySession(resource)).session_id;
    } catch (error) {
      const gone = error instanceof ServerError && ["session_not_found", "session_expired"].includes(error.error);
      if (gone) return null;
      throw error;
    } finally {
      this.#remembered.delete(resource);
    }
  }

  async #loadResources(): Promise<ToolResources> {
    try {
      return new ToolResources(await this.#client.listTools({ includeHidden: true }));
    } catch (error) {
      // The next call asks again.
      this.#resources = undefined;
      throw error;
    }
  }
}

function toWanted(request: SessionsRequest, shared: object): readonly (readonly [string, object])[] {
  if (typeof request === "string") return [[request, shared]];
  if (isList(request)) return request.map((resource) => [resource, shared] as const);
  return Object.entries(request).map(([resource, config]) => [resource, { ...shared, ...config }] as const);
}

function isList(request: SessionsRequest): request is readonly string[] {
  return Array.isArray(request);
}

function splitConfig(given: object, options: SessionOptions): { config: object; options: SessionOptions } {
  if (!isJsonObject(given)) return { config: given, options };
  const { custom_name: customName, ttl, ...config } = given;
  return {
    config,
    options: {
      ...options,
      ...(typeof customName === "string" ? { customName } : {}),
      ...(typeof ttl === "number" ? { ttlMs: ttl * 1000 } : {}),
    },
  };
}

function toUnknownResource({ resource_type: resource, compatibility_message: message }: SessionCreated): ServerError {
  const meta: ResultMeta = {
    tool: "",
    execution_time_ms: null,
    resource_type: resource,
    session_id: null,
    trace_id: "",
    outcome: "rejected",
    error: "unknown_name",
  };
  const text = message ?? `No backend is mounted as ${resource}`;
  return toServerError({ code: ERRORS.unknown_name.code, message: text, data: null, meta });
}

function toStatus(success: number, total: number): "success" | "partial" | "error" {
  if (success === total) return "success";
  return success === 0 ? "error" : "partial";
}

/** Does all of them together and lets each end, so that nothing is made that nobody remembers; then throws the first failure. */
async function settleEach<V, R>(
  entries: readonly (readonly [string, V])[],
  act: (entry: readonly [string, V]) => Promise<R>,
): Promise<readonly (readonly [string, R])[]> {
  const settled = await Promise.allSettled(entries.map(act));
  return settled.map((one, index) => {
    if (one.status === "rejected") throw one.reason;
    return [entries[index]?.[0] ?? "", one.value] as const;
  });
}
