import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { PoolReport, SandboxInstance, SandboxSpec } from "../../core/runtime.ts";
import { answers, freshFingerprintOf, renew, runsCommands, startKernels } from "./member-check.ts";
import { FailurePause } from "./pause.ts";
import type { PoolOptions } from "./pool-options.ts";
import { type Template, toTemplate, toTemplateKey } from "./template-key.ts";
import { type Member, TemplatePool } from "./template-pool.ts";

const CHECK_EVERY_MS = 30_000;
/** An answer that is younger needs no other before a claim. */
const FRESH_MS = 1_000;
/** Members that do not answer, after which a claim stops trying others and leaves them to the next round of checks. */
const MAX_BAD = 2;
/** How long after a claim its successor is started: a session's first call, and a burst of them, come before what nobody waits for. */
const REFILL_AFTER_MS = 100;
/** A member that dies sooner than this tells of a fault that its successor will have, too. */
const EARLY_DEATH_MS = 10_000;
/** What sessions ask for beside the default; further kinds are made on demand. */
const MAX_TEMPLATES = 16;
const RESET_MS = 10_000;

/**
 * Holds started sandboxes of each kind that sessions ask for, and starts new ones as they are claimed.
 *
 * The kinds that backends name as usual are held from the first fill on, or else the runtime's default; another kind is learned when it is asked for a second time, and
 * forgotten when nobody asks any more.
 */
export class WarmPool {
  readonly #create: (spec: SandboxSpec, signal: AbortSignal) => Promise<SandboxInstance>;
  readonly #clock: Clock;
  readonly #options: Required<PoolOptions>;
  readonly #templates = new Map<string, TemplatePool>();
  readonly #closing = new AbortController();
  readonly #pause: FailurePause;
  readonly #filling = new Set<Promise<void>>();
  #held: Set<TemplatePool> | undefined;
  #onDemand = 0;
  #claimed = 0;
  #misses = 0;
  #evicted = 0;
  #cancelRound: (() => void) | undefined;
  #cancelRefill: (() => void) | undefined;

  constructor(
    create: (spec: SandboxSpec, signal: AbortSignal) => Promise<SandboxInstance>,
    options: PoolOptions,
    clock: Clock,
  ) {
    this.#create = create;
    this.#clock = clock;
    this.#options = { parallel: 4, idleMs: 300_000, pingMs: 1_000, reuse: false, kernels: [], ...options };
    this.#pause = new FailurePause(clock, () => this.fill());
    this.#templates.set(toTemplateKey({}), new TemplatePool({}, options.min, clock.now()));
  }

  get report(): PoolReport {
    const pools = [...this.#templates.values()];
    return {
      ready: sum(pools.map(({ ready }) => ready.length)),
      starting: this.#filling.size,
      target: Math.min(sum(pools.map(({ target }) => target)), this.#options.max),
      claimed: this.#claimed,
      misses: this.#misses,
      evicted: this.#evicted,
      failures: this.#pause.failures,
    };
  }

  /** Takes a member that fits the spec and answers; `undefined` when one must be made. Its successor is started soon. */
  async claim(spec: SandboxSpec, signal: AbortSignal): Promise<Member | undefined> {
    const pool = this.#poolFor(toTemplate(spec));
    if (pool === undefined) {
      this.#misses += 1;
      return undefined;
    }
    pool.usedAt = this.#clock.now();
    try {
      const member = (await this.#takeWell(pool, signal)) ?? (await this.#miss(pool, signal));
      if (member !== undefined) this.#pause.lift();
      return member;
    } finally {
      this.#fillSoon(pool);
    }
  }

  /** Runs the making of a sandbox outside the pool, which leaves it room meanwhile. */
  async onDemand<T>(make: () => Promise<T>): Promise<T> {
    this.#onDemand += 1;
    try {
      const made = await make();
      this.#pause.lift();
      return made;
    } finally {
      this.#onDemand -= 1;
      this.fill();
    }
  }

  /** Takes a member back that was used, if it can be made as good as new; ends it otherwise. */
  async giveBack(spec: SandboxSpec, { instance, fingerprint, createdAt }: Member): Promise<void> {
    const pool = this.#poolFor(toTemplate(spec));
    const { signal } = this.#closing;
    const wanted = pool !== undefined && this.#room > 0 && !signal.aborted;
    const renewed =
      wanted && (await renew(instance, fingerprint, this.#clock, RESET_MS)) && (await this.#prepare(instance));
    if (!renewed || this.#room <= 0 || signal.aborted) return instance.stop();
    this.#keep(pool, { instance, fingerprint, createdAt, checkedAt: this.#clock.now() });
  }

  /** Starts the refill once no claim has come for a moment, or at once when there is nothing left to claim. */
  #fillSoon(pool: TemplatePool): void {
    this.#cancelRefill?.();
    if (pool.ready.length === 0) return this.fill();
    this.#cancelRefill = this.#clock.after(REFILL_AFTER_MS, () => this.fill());
  }

  /** Holds this kind at all times from the next fill on, and the default kind only where it is told so, too. */
  hold(spec: SandboxSpec): void {
    const template = toTemplate(spec);
    const key = toTemplateKey(template);
    const pool = this.#templates.get(key) ?? new TemplatePool(template, 0, this.#clock.now());
    this.#templates.set(key, pool);
    this.#held ??= new Set();
    this.#held.add(pool);
    for (const each of this.#templates.values()) each.min = this.#held.has(each) ? this.#options.min : 0;
    pool.extra = Math.max(pool.extra, 0);
  }

  /** Starts what is missing, as far as the bounds allow; from now on it is kept up. */
  fill(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancelRound ??= this.#clock.after(CHECK_EVERY_MS, () => void this.#round());
    while (!this.#pause.holds && this.#room > 0) {
      if (this.#filling.size >= Math.max(1, this.#options.parallel - this.#onDemand)) return;
      const [pool] = [...this.#templates.values()].toSorted((left, right) => right.missing - left.missing);
      if (pool === undefined || pool.missing <= 0) return;
      const filling = this.#start(pool).finally(() => {
        this.#filling.delete(filling);
        this.fill();
      });
      this.#filling.add(filling);
    }
  }

  /** Ends every member; further claims miss. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#pause.lift();
    this.#cancelRound?.();
    this.#cancelRefill?.();
    const ended = [...this.#templates.values()].flatMap((pool) => this.#drain(pool, 0));
    await Promise.all([...ended, ...this.#filling]);
  }

  /** How many more may be held. */
  get #room(): number {
    const held = sum([...this.#templates.values()].map(({ ready }) => ready.length));
    return this.#options.max - held - this.#filling.size;
  }

  #poolFor(template: Template): TemplatePool | undefined {
    const key = toTemplateKey(template);
    const known = this.#templates.get(key);
    if (known !== undefined || this.#templates.size >= MAX_TEMPLATES) return known;
    const pool = new TemplatePool(template, 0, this.#clock.now());
    // What is asked for once may never be asked for again: the first miss is free.
    pool.extra = -1;
    this.#templates.set(key, pool);
    return pool;
  }

  async #takeWell(pool: TemplatePool, signal: AbortSignal): Promise<Member | undefined> {
    for (let bad = 0; bad < MAX_BAD; bad += 1) {
      const member = pool.take();
      if (member === undefined) return undefined;
      // One after another on purpose: nearly always the first one answers.
      // oxlint-disable-next-line no-await-in-loop
      const well = await this.#isWell(member);
      if (!well) {
        this.#evict(member);
        continue;
      }
      if (signal.aborted) {
        pool.add(member);
        throw new ToolyardError("cancelled", "the sandbox was not needed any more");
      }
      this.#claimed += 1;
      return member;
    }
    void this.#checkAll(pool);
    return undefined;
  }

  async #miss(pool: TemplatePool, signal: AbortSignal): Promise<Member | undefined> {
    this.#misses += 1;
    pool.extra = Math.min(pool.extra + 1, this.#options.max - pool.min);
    pool.missedAt = this.#clock.now();
    // One that starts already is ready sooner than another that starts now.
    return pool.canWait ? pool.wait(signal) : undefined;
  }

  async #start(pool: TemplatePool): Promise<void> {
    pool.starting += 1;
    try {
      const instance = await this.#create(pool.template, this.#closing.signal);
      if (this.#closing.signal.aborted) return await instance.stop();
      const fingerprint = this.#options.reuse ? await freshFingerprintOf(instance, this.#clock, RESET_MS) : undefined;
      if (!(await this.#prepare(instance))) {
        await end(instance);
        throw new ToolyardError("runtime_unavailable", "a sandbox of the pool could run nothing");
      }
      const now = this.#clock.now();
      const member: Member = { instance, checkedAt: now, createdAt: now, fingerprint };
      this.#keep(pool, member);
    } catch {
      // Whoever needs one meanwhile makes it on demand, and is told why it failed.
      if (!this.#closing.signal.aborted) this.#pause.fail();
    } finally {
      pool.starting -= 1;
      pool.disappoint();
    }
  }

  /** Pays for what is slow the first time, and starts what a member has started; `false` when it cannot. */
  async #prepare(instance: SandboxInstance): Promise<boolean> {
    const { kernels } = this.#options;
    if (!(await runsCommands(instance, this.#clock, RESET_MS))) return false;
    return kernels.length === 0 || startKernels(instance, kernels, this.#clock, RESET_MS);
  }

  #keep(pool: TemplatePool, member: Member): void {
    pool.add(member);
    void member.instance.closed.then(() => this.#bury(pool, member));
  }

  /** Hears that a sandbox is gone; its place is filled if nobody had claimed it. */
  #bury(pool: TemplatePool, member: Member): void {
    if (!pool.remove(member)) return;
    this.#evicted += 1;
    if (this.#clock.now() - member.createdAt < EARLY_DEATH_MS) this.#pause.fail();
    this.fill();
  }

  #evict({ instance }: Member): void {
    this.#evicted += 1;
    void end(instance);
  }

  async #isWell(member: Member): Promise<boolean> {
    if (this.#clock.now() - member.checkedAt < FRESH_MS) return true;
    const well = await answers(member.instance, this.#clock, this.#options.pingMs);
    if (well) member.checkedAt = this.#clock.now();
    return well;
  }

  async #checkAll(pool: TemplatePool): Promise<void> {
    await Promise.all(
      [...pool.ready].map(async (member) => {
        if (!(await this.#isWell(member)) && pool.remove(member)) this.#evict(member);
      }),
    );
    this.fill();
  }

  /** Looks after the members: those that hang go, and those that nobody needed lately. */
  async #round(): Promise<void> {
    this.#cancelRound = undefined;
    const now = this.#clock.now();
    this.#pause.forget();
    for (const [key, pool] of this.#templates) {
      if (now - pool.missedAt > this.#options.idleMs) {
        pool.extra = Math.min(pool.extra, 0);
        this.#drain(pool, pool.target);
      }
      const forgotten = pool.extra <= 0 && pool.starting === 0 && now - pool.usedAt > this.#options.idleMs;
      if (forgotten && pool.min === 0 && Object.keys(pool.template).length > 0) this.#templates.delete(key);
    }
    await Promise.all([...this.#templates.values()].map((pool) => this.#checkAll(pool)));
    this.fill();
  }

  /** Ends the oldest members above a number. */
  #drain(pool: TemplatePool, keep: number): Promise<void>[] {
    const ended: Promise<void>[] = [];
    while (pool.ready.length > Math.max(0, keep)) {
      const member = pool.takeOldest();
      if (member !== undefined) ended.push(end(member.instance));
    }
    return ended;
  }
}

/** Ends a sandbox that nobody uses; one that cannot be ended is its runtime's to report. */
async function end(instance: SandboxInstance): Promise<void> {
  await instance.stop().catch(() => undefined);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
