import { ToolyardError } from "../../../core/errors.ts";
import { KEYSYMS } from "../keys/keysyms.ts";
import type { Point } from "../screen/view.ts";
import type { MouseButton } from "./action.ts";
import type { ActionDriver } from "./action-driver.ts";

const BUTTONS = { left: 1, middle: 2, right: 4 } as const;
const WHEEL = { up: 8, down: 16, left: 32, right: 64 } as const;
/** Between two events of a movement that takes its time. */
const STEP_MS = 10;

/** What is held down at a display, from one action to the next. */
export class Hands {
  readonly #driver: ActionDriver;
  #buttons = 0;
  readonly #keys = new Set<number>();

  constructor(driver: ActionDriver) {
    this.#driver = driver;
  }

  moveTo({ x, y }: Point): void {
    this.#driver.pointer(x, y, this.#buttons);
  }

  /** Moves along a path in a straight line from point to point, evenly in time. */
  async moveAlong(path: readonly Point[], durationMs: number, signal: AbortSignal): Promise<void> {
    const stepsOfEach = Math.max(1, Math.round(durationMs / STEP_MS / Math.max(1, path.length)));
    const pauseMs = durationMs / (stepsOfEach * Math.max(1, path.length));
    for (const target of path) {
      const from = this.#driver.position;
      for (let step = 1; step <= stepsOfEach; step += 1) {
        const share = step / stepsOfEach;
        this.moveTo({
          x: Math.round(from.x + (target.x - from.x) * share),
          y: Math.round(from.y + (target.y - from.y) * share),
        });
        // oxlint-disable-next-line no-await-in-loop -- a movement takes its time
        if (pauseMs > 0) await this.#driver.sleep(pauseMs, signal);
      }
    }
  }

  /** RFB knows three buttons; the two at the side of a mouse are pressed as the keys that mean the same. */
  button(button: MouseButton, down: boolean): void {
    if (button === "back" || button === "forward") return this.key(KEYSYMS[button], down);
    this.#buttons = down ? this.#buttons | BUTTONS[button] : this.#buttons & ~BUTTONS[button];
    this.moveTo(this.#driver.position);
  }

  click(button: MouseButton, count: number): void {
    for (let index = 0; index < count; index += 1) {
      this.button(button, true);
      this.button(button, false);
    }
  }

  wheel(direction: keyof typeof WHEEL, clicks: number): void {
    const { x, y } = this.#driver.position;
    for (let index = 0; index < clicks; index += 1) {
      this.#driver.pointer(x, y, this.#buttons | WHEEL[direction]);
      this.#driver.pointer(x, y, this.#buttons);
    }
  }

  key(keysym: number, down: boolean): void {
    if (down) this.#keys.add(keysym);
    else this.#keys.delete(keysym);
    this.#driver.key(keysym, down);
  }

  /**
   * Makes the display's keyboard the one in use, by a tap of shift. An X server copies a keyboard's keymap at its first key after
   * another's, and a key that was added for that very character would be lost in it.
   */
  wakeKeyboard(): void {
    if (this.#keys.size > 0) return;
    this.key(KEYSYMS.shift, true);
    this.key(KEYSYMS.shift, false);
  }

  /** Does something with keys held, in their order, and lets go of those that were not held before, whatever happens. */
  async holding<T>(keysyms: readonly number[], work: () => Promise<T> | T): Promise<T> {
    const pressed = keysyms.filter((keysym) => !this.#keys.has(keysym));
    try {
      for (const keysym of pressed) this.key(keysym, true);
      return await work();
    } finally {
      letGo(() => {
        for (const keysym of pressed.toReversed()) this.key(keysym, false);
      });
    }
  }

  /** Does something with a button held, and lets go of it whatever happens. */
  async pressing<T>(button: MouseButton, work: () => Promise<T>): Promise<T> {
    try {
      this.button(button, true);
      return await work();
    } finally {
      letGo(() => this.button(button, false));
    }
  }

  /** Holds nothing, as at a display that has just started. */
  forget(): void {
    this.#keys.clear();
    this.#buttons = 0;
  }

  /** Lets go of everything. */
  releaseAll(): void {
    for (const keysym of this.#keys) this.key(keysym, false);
    if (this.#buttons !== 0) {
      this.#buttons = 0;
      this.moveTo(this.#driver.position);
    }
  }
}

/** Nothing is held at a display that is gone. */
function letGo(release: () => void): void {
  try {
    release();
  } catch (error) {
    if (!ToolyardError.is(error) || error.error !== "sandbox_dead") throw error;
  }
}
