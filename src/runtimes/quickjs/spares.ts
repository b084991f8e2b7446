import { type EngineProcess, setKeepsAlive, startEngine } from "./engine-process.ts";

const REFILL_AFTER_MS = 50;

/** Keeps engines that have already started, so that a session's first call does not wait for one. */
export class SpareEngines {
  readonly #size: number;
  readonly #spares: EngineProcess[] = [];
  #refill: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(size: number) {
    this.#size = size;
  }

  /** Takes a started engine, or starts one; its replacement follows. */
  claim(): EngineProcess {
    let engine = this.#spares.shift();
    // One that died while it waited.
    while (engine !== undefined && (engine.process.exitCode !== null || engine.process.signalCode !== null)) {
      engine = this.#spares.shift();
    }
    engine ??= startEngine();
    setKeepsAlive(engine, true);
    // Not at once: a starting engine would take the processor from the call that claimed this one.
    this.#refill ??= setTimeout(() => this.fill(), REFILL_AFTER_MS).unref();
    return engine;
  }

  /** Starts what is missing. */
  fill(): void {
    clearTimeout(this.#refill);
    this.#refill = undefined;
    while (!this.#closed && this.#spares.length < this.#size) {
      const engine = startEngine();
      setKeepsAlive(engine, false);
      this.#spares.push(engine);
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#refill);
    for (const { process: child } of this.#spares.splice(0)) child.kill("SIGKILL");
  }
}
