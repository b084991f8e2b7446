import { ToolyardError } from "../../core/errors.ts";
import type { SandboxInstance } from "../../core/runtime.ts";
import type { Template } from "./template-key.ts";

/** A sandbox that waits to be claimed. */
export interface Member {
  readonly instance: SandboxInstance;
  /** By the clock's monotonic time: when it last showed that it works. */
  checkedAt: number;
  readonly createdAt: number;
  /** What a fresh one looks like; only where used ones come back. */
  readonly fingerprint: string | undefined;
}

interface Waiter {
  resolve(member: Member | undefined): void;
}

/** The members of one template, and who waits for one that is starting. */
export class TemplatePool {
  readonly template: Template;
  /** How many it holds however long nobody asks. */
  min: number;
  /** Held on top of `min`, for claims that missed lately. */
  extra = 0;
  starting = 0;
  /** By monotonic time. */
  usedAt: number;
  missedAt = Number.NEGATIVE_INFINITY;
  readonly #ready: Member[] = [];
  readonly #waiters = new Set<Waiter>();

  constructor(template: Template, min: number, now: number) {
    this.template = template;
    this.min = min;
    this.usedAt = now;
  }

  get ready(): readonly Member[] {
    return this.#ready;
  }

  get target(): number {
    return this.min + this.extra;
  }

  /** How many must be started to have what it means to hold; negative when there are too many. */
  get missing(): number {
    return this.target + this.#waiters.size - this.#ready.length - this.starting;
  }

  /** The one that was checked last. */
  take(): Member | undefined {
    return this.#ready.pop();
  }

  /** Takes the oldest one, to end it. */
  takeOldest(): Member | undefined {
    return this.#ready.shift();
  }

  /** Gives a member to who has waited longest, or keeps it. */
  add(member: Member): void {
    const [waiter] = this.#waiters;
    if (waiter === undefined) return void this.#ready.push(member);
    this.#waiters.delete(waiter);
    waiter.resolve(member);
  }

  /** Answers whether it was there. */
  remove(member: Member): boolean {
    const index = this.#ready.indexOf(member);
    if (index < 0) return false;
    this.#ready.splice(index, 1);
    return true;
  }

  /** Whether one that starts now is promised to nobody. */
  get canWait(): boolean {
    return this.starting > this.#waiters.size;
  }

  /** Waits for one that is starting; `undefined` when it could not be made. */
  async wait(signal: AbortSignal): Promise<Member | undefined> {
    const { promise, resolve } = Promise.withResolvers<Member | undefined>();
    const waiter = { resolve };
    this.#waiters.add(waiter);
    const abort = () => {
      // Else a member is on its way already, and its receiver puts it back.
      if (this.#waiters.delete(waiter)) resolve(undefined);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      const member = await promise;
      if (!signal.aborted) return member;
      if (member !== undefined) this.add(member);
      throw new ToolyardError("cancelled", "the sandbox was not needed any more when it was ready");
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Tells as many of those that wait as have nothing to wait for. */
  disappoint(): void {
    for (const waiter of this.#waiters) {
      if (this.#waiters.size <= this.starting) return;
      this.#waiters.delete(waiter);
      waiter.resolve(undefined);
    }
  }
}
