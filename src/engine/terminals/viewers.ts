import { ToolyardError } from "../../core/errors.ts";
import type { ProcessExit } from "../../core/sandbox-process.ts";

/** Who watches a terminal. Nothing that it does may throw or take long. */
export interface TerminalViewer {
  /** Whether its own terminal answers the questions of programs, and what it types goes in. */
  readonly answers: boolean;
  output(data: Buffer): void;
  title(title: string): void;
  /** Told once, as the last word. */
  ended(exit: ProcessExit | null): void;
}

/** The viewers of one terminal, up to a bound. */
export class Viewers {
  readonly #maximum: number;
  /** Those that have a place, and those of them that have been shown something. */
  readonly #places = new Set<TerminalViewer>();
  readonly #shown = new Set<TerminalViewer>();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get count(): number {
    return this.#places.size;
  }

  /** Whether one of them answers the questions of programs. */
  get answer(): boolean {
    return [...this.#shown].some(({ answers }) => answers);
  }

  /**
   * Keeps a place for one: who comes in the same moment must not slip past the bound.
   *
   * @throws ToolyardError `overloaded` when as many watch as may.
   */
  reserve(viewer: TerminalViewer): void {
    if (this.#places.size >= this.#maximum) {
      throw new ToolyardError("overloaded", `A terminal may have ${this.#maximum} viewers`, {
        details: { limit: "terminal_viewers", maximum: this.#maximum },
      });
    }
    this.#places.add(viewer);
  }

  /** Lets one see what comes from now on, unless it has left. */
  enter(viewer: TerminalViewer): boolean {
    if (!this.#places.has(viewer)) return false;
    this.#shown.add(viewer);
    return true;
  }

  leave(viewer: TerminalViewer): void {
    this.#places.delete(viewer);
    this.#shown.delete(viewer);
  }

  output(data: Buffer): void {
    for (const viewer of this.#shown) viewer.output(data);
  }

  title(title: string): void {
    for (const viewer of this.#shown) viewer.title(title);
  }

  ended(exit: ProcessExit | null): void {
    for (const viewer of this.#shown) viewer.ended(exit);
  }
}
