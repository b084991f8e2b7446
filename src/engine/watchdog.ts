import type { Logger } from "../core/context.ts";
import type { EventBus } from "./bus.ts";

/** The last time the event loop was held. */
export interface LoopBlock {
  readonly ms: number;
  /** The tools that ran while the loop was held; the first is the likeliest. */
  readonly tools: readonly string[];
  readonly at: string;
}

const TICK_MS = 50;

/**
 * Notices that the event loop was held, and names the tool that held it.
 *
 * A tool whose first, synchronous part held the loop is known for certain; one that held it after an `await` is among
 * those that were running then.
 */
export class LoopWatchdog {
  readonly #lagMs: number;
  readonly #logger: Logger;
  readonly #bus: EventBus;
  readonly #running: () => readonly string[];
  readonly #suspects = new Set<string>();
  #lastTick = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #last: LoopBlock | undefined;

  constructor(options: {
    readonly lagMs: number;
    readonly logger: Logger;
    readonly bus: EventBus;
    readonly running: () => readonly string[];
  }) {
    this.#lagMs = options.lagMs;
    this.#logger = options.logger;
    this.#bus = options.bus;
    this.#running = options.running;
  }

  get lastBlock(): LoopBlock | undefined {
    return this.#last;
  }

  start(): void {
    this.#lastTick = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Told of every synchronous part of a tool. */
  observe(tool: string, startedAt: number, endedAt: number): void {
    if (endedAt - startedAt >= this.#lagMs) this.#suspects.add(tool);
  }

  /** Told of every call that ends: one that ends while the loop is late may have held it. */
  ended(tool: string): void {
    if (performance.now() - this.#lastTick >= this.#lagMs + TICK_MS) this.#suspects.add(tool);
  }

  #tick(): void {
    const now = performance.now();
    const lateMs = now - this.#lastTick - TICK_MS;
    this.#lastTick = now;
    if (lateMs >= this.#lagMs) {
      const tools = this.#suspects.size > 0 ? [...this.#suspects] : [...new Set(this.#running())];
      this.#last = { ms: Math.round(lateMs), tools, at: new Date().toISOString() };
      const advice = tools.length > 0 ? '; run such a backend with "thread": true' : ", by no tool";
      this.#logger.warn({ ms: this.#last.ms, tools }, `the event loop was held${advice}`);
      if (this.#bus.watched) this.#bus.emit({ type: "loop.blocked", ts: this.#last.at, data: { ...this.#last } });
    }
    this.#suspects.clear();
  }
}
