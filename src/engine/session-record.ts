import type { Session } from "../core/session.ts";
import type { ToolyardError } from "../core/errors.ts";
import { Cancellation } from "./deadline.ts";
import type { Mount } from "./mount.ts";
import { SerialQueue } from "./serial-queue.ts";

/** Why a session ended. */
export type EndReason =
  | "destroyed"
  | "disconnected"
  | "expired"
  | "lost"
  | "temporary"
  | "failed"
  | "cancelled"
  | "shutdown"
  | "replaced";

export type SessionState = "initializing" | "active" | "ending" | "ended";

/** What a call holds while it uses a session. */
export interface LeaseHolder {
  cancel(reason: ToolyardError): void;
}

const AT_ONCE = Promise.resolve();

/** One session as the router keeps it. Only the router changes it. */
export class SessionRecord {
  readonly id: string;
  readonly name: string;
  readonly workerId: string;
  readonly tenant: string;
  readonly resource: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** `undefined` when no backend stands behind the resource, or one without sessions. */
  readonly mount: Mount | undefined;
  /** Both are set anew by who adopts a temporary session. */
  ttlMs: number;
  autoExtend: boolean;
  readonly createdAt: Date;
  readonly turns: SerialQueue | undefined;
  readonly holders = new Set<LeaseHolder>();
  /** Cancelled when nobody waits for the initialize any more. */
  readonly initialization = new Cancellation();
  customName: string | undefined;
  /** Made for a call, and gone with its last lease. */
  temporary: boolean;
  /** What tools and hooks see of it. */
  view: Session<unknown>;
  /** A label of its tenant's, for the event log. */
  readonly project: string | undefined;
  /** The event log knows of it. */
  told = false;
  /** What stands behind it, for events that are told when it is gone. */
  sandbox: { readonly id: string } | undefined;
  /** Whether the initialize is over and went well. */
  initialized = false;
  state: SessionState = "initializing";
  /** When it was used last, by the monotonic clock. */
  usedAt: number;
  /** By the monotonic clock. */
  expiresAt: number;
  /** Settles with the initialize; rejects with what may be answered. */
  ready: Promise<void> = AT_ONCE;
  /** Settles once the cleanup is over. */
  ended: Promise<void> | undefined;
  endReason: EndReason | undefined;
  onDrained: (() => void) | undefined;
  #onEnding: Set<() => void> | undefined;

  constructor(facts: {
    readonly id: string;
    readonly name: string;
    readonly workerId: string;
    readonly tenant: string;
    readonly resource: string;
    readonly config: Readonly<Record<string, unknown>>;
    readonly mount: Mount | undefined;
    readonly customName: string | undefined;
    readonly temporary: boolean;
    readonly ttlMs: number;
    readonly autoExtend: boolean;
    readonly createdAt: Date;
    readonly expiresAt: number;
    readonly usedAt: number;
    readonly project: string | undefined;
  }) {
    this.id = facts.id;
    this.name = facts.name;
    this.workerId = facts.workerId;
    this.tenant = facts.tenant;
    this.resource = facts.resource;
    this.config = facts.config;
    this.mount = facts.mount;
    this.customName = facts.customName;
    this.temporary = facts.temporary;
    this.ttlMs = facts.ttlMs;
    this.autoExtend = facts.autoExtend;
    this.createdAt = facts.createdAt;
    this.usedAt = facts.usedAt;
    this.project = facts.project;
    this.expiresAt = facts.expiresAt;
    this.view = this.#toView(undefined);
    this.turns = facts.mount?.backend.concurrency === "serial" ? new SerialQueue() : undefined;
  }

  /** Notes that its state has been made, or found again. */
  activate(): void {
    this.initialized = true;
    if (this.state === "initializing") this.state = "active";
  }

  /** Takes what `initialize` made, which tools and hooks see from now on. */
  keep(data: unknown): void {
    this.view = this.#toView(data);
  }

  /** Called back at once when it begins to end, while leases still hold it. */
  get onEnding(): Set<() => void> {
    // Few sessions have anything that must know, and most live for one call.
    return (this.#onEnding ??= new Set());
  }

  /** Tells those who must know that it begins to end. */
  tellEnding(): void {
    const told = this.#onEnding;
    if (told === undefined) return;
    this.#onEnding = undefined;
    for (const tell of told) tell();
  }

  get leased(): boolean {
    return this.holders.size > 0;
  }

  get ending(): boolean {
    return this.state === "ending" || this.state === "ended";
  }

  /** Written out, as copying the last view costs several times as much. */
  #toView(data: unknown): Session<unknown> {
    const { id, name, workerId, tenant, resource, config } = this;
    return { id, name, workerId, tenant, resource, config, data };
  }
}
