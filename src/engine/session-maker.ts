import type { Clock } from "../core/clock.ts";
import type { SessionRow } from "../core/store.ts";
import type { LifecycleDeps } from "./lifecycle.ts";
import { hasSessions, type Mount } from "./mount.ts";
import { toSessionConfig } from "./session-config.ts";
import type { StoredHandle } from "./session-journal.ts";
import { toSessionId, toSessionName } from "./session-name.ts";
import type { SessionProjects } from "./session-projects.ts";
import { SessionQuota } from "./session-quota.ts";
import { SessionRecord } from "./session-record.ts";
import type { CreateRequest } from "./session-request.ts";
import type { SessionTable } from "./session-table.ts";
import type { SessionTimes } from "./session-times.ts";

/** Makes the records of sessions and puts them into the table. */
export class SessionMaker {
  readonly #mounts: ReadonlyMap<string, Mount>;
  readonly #table: SessionTable;
  readonly #times: SessionTimes;
  readonly #clock: Clock;
  readonly #quota: SessionQuota;
  readonly #projects: SessionProjects;

  constructor(
    mounts: ReadonlyMap<string, Mount>,
    table: SessionTable,
    times: SessionTimes,
    deps: LifecycleDeps & { readonly projects: SessionProjects },
  ) {
    this.#mounts = mounts;
    this.#projects = deps.projects;
    this.#table = table;
    this.#times = times;
    this.#clock = deps.clock;
    this.#quota = new SessionQuota(deps.limits);
  }

  /**
   * Makes a session that is yet to be initialized, in the place of the worker's last one on the resource.
   *
   * @throws ToolyardError invalid_input for a config that the backend refuses, overloaded when there are too many sessions;
   *   then nothing has changed.
   */
  make(request: CreateRequest, temporary: boolean): SessionRecord {
    const { resource, workerId, tenant, customName } = request;
    const mount = this.#mounts.get(resource);
    const config = mount === undefined ? request.config : toSessionConfig(mount.backend, request.config);
    this.#quota.take(request);
    const name = toSessionName(resource, workerId, this.#table.count(request, resource), customName);
    const ttlMs = this.#times.toTtl(request.ttlMs);
    const now = this.#clock.now();
    const id = toSessionId(name);
    this.#projects.set(id, request.project);
    const record = new SessionRecord({
      id,
      name,
      workerId,
      tenant,
      resource,
      config,
      mount,
      customName,
      temporary,
      ttlMs,
      autoExtend: request.autoExtend ?? true,
      createdAt: this.#clock.date(),
      usedAt: now,
      project: request.project,
      expiresAt: now + ttlMs,
    });
    this.#table.add(record);
    return record;
  }

  /** Makes a session anew that an earlier run of the server left; `undefined` when its backend cannot take it over. */
  restore(row: SessionRow, stored: StoredHandle, timeLeftMs: number): SessionRecord | undefined {
    const mount = this.#mounts.get(row.resource);
    if (mount?.backend.adopt === undefined || !hasSessions(mount.backend)) return undefined;
    this.#quota.take(row);
    const { id, name, workerId, tenant, resource, ttlMs } = row;
    this.#projects.set(id, stored.project);
    const record = new SessionRecord({
      id,
      name,
      workerId,
      tenant,
      resource,
      config: JSON.parse(row.config),
      mount,
      customName: undefined,
      temporary: false,
      ttlMs,
      autoExtend: stored.autoExtend,
      createdAt: new Date(row.createdAt),
      usedAt: this.#clock.now(),
      project: stored.project,
      expiresAt: this.#clock.now() + timeLeftMs,
    });
    this.#table.add(record);
    return record;
  }

  /** Makes room for another session once the cleanup of this one is over. */
  forget(record: SessionRecord): void {
    this.#quota.give(record);
  }
}
