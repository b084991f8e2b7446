import { ToolyardError } from "../../../core/errors.ts";
import type { EncodedPicture, PictureFormat } from "../screen/picture.ts";
import { type Showing, View } from "../screen/view.ts";
import type { Action } from "./action.ts";
import type { ActionDriver } from "./action-driver.ts";
import { type ActionWatch, onlyLooks } from "./action-watch.ts";
import { ACTION_TABLE } from "./action-table.ts";
import { Hands } from "./hands.ts";
import { takeScreenshot } from "./screenshot.ts";
import { DEFAULT_SETTLING, settle, type Settling } from "./settle.ts";
import { Typist } from "./type-text.ts";

/** How a session shows its screen unless an action says otherwise. */
export interface OperatorOptions {
  readonly showing?: Showing;
  readonly format?: PictureFormat;
  readonly quality?: number | undefined;
  readonly showCursor?: boolean;
  readonly settling?: Settling;
  /** Dots per inch that the display tells its programs. */
  readonly dpi?: number;
  /** Whether the known tools tell the accessibility tree without being asked. */
  readonly accessibilityTree?: boolean;
}

/** What an action came to; only those that look at something have more than their name. */
export interface ActionDone {
  readonly action: Action["action"];
  readonly picture?: EncodedPicture;
  /** The picture is wanted as a link. */
  readonly asLink?: boolean;
  /** In pixels of the screenshots. */
  readonly position?: { readonly x: number; readonly y: number };
  readonly display?: DisplayInfo;
  /** What the desktop's agent found, points in pixels of the screenshots. */
  readonly told?: Readonly<Record<string, unknown>>;
}

/** A display, and how it is shown. */
export interface DisplayInfo {
  readonly width: number;
  readonly height: number;
  readonly screenshot_width: number;
  readonly screenshot_height: number;
  /** Pixels of the screenshot for one of the screen, across. */
  readonly scale: number;
  readonly dpi?: number;
}

/** Why an action of a batch was not done, as the models' own harnesses say it. */
export const NOT_EXECUTED = "Not executed: an earlier computer action in this turn failed.";

export type BatchItem =
  | { readonly ok: true; readonly done: ActionDone }
  | { readonly ok: false; readonly executed: boolean; readonly message: string; readonly error?: ToolyardError };

/** What a batch came to, in the order of its actions. */
export interface BatchDone {
  readonly items: readonly BatchItem[];
  /** The screen after it, when it was asked for. */
  readonly picture?: EncodedPicture;
}

/** Does actions at one display, one after another, in the pixels of what it showed last. */
export class Operator {
  readonly driver: ActionDriver;
  readonly hands: Hands;
  readonly typist: Typist;
  readonly options: OperatorOptions;
  #showing: Showing;
  /** Aborted when somebody else takes the desktop in hand. */
  #hold = new AbortController();

  constructor(driver: ActionDriver, options: OperatorOptions = {}) {
    this.driver = driver;
    this.options = options;
    this.hands = new Hands(driver);
    this.typist = new Typist(driver, this.hands);
    this.#showing = options.showing ?? {};
  }

  /** What points of actions are counted in. */
  get view(): View {
    return new View(this.driver.size, this.#showing);
  }

  /** Counts points from now on in a picture that is shown so. */
  show(showing: Showing): void {
    this.#showing = showing;
  }

  /** Counts points as at the session's begin. */
  showAsUsual(): void {
    this.#showing = this.options.showing ?? {};
  }

  /**
   * Does one action; what it pressed is released also when it fails.
   *
   * @throws ToolyardError `invalid_input` for a point outside the screenshot, an unknown key or a character that no key types;
   *   `limit_exceeded`; `sandbox_dead` when the display is gone; what the watch refuses it with, or {@link letGo} ends it with;
   *   the signal's reason.
   */
  async perform(action: Action, signal: AbortSignal, watch?: ActionWatch): Promise<ActionDone> {
    signal.throwIfAborted();
    const ended = watch?.begin(action);
    let done: ActionDone;
    try {
      const until = onlyLooks(action) ? signal : AbortSignal.any([signal, this.#hold.signal]);
      done = await this.#do(action, until);
    } catch (error) {
      await ended?.({ error });
      throw error;
    }
    await ended?.({ done });
    return done;
  }

  /** Ends the input that is under way, with a reason, and lets go of all that is held. */
  letGo(reason: ToolyardError): void {
    this.#hold.abort(reason);
    this.#hold = new AbortController();
    this.hands.releaseAll();
  }

  async #do(action: Action, signal: AbortSignal): Promise<ActionDone> {
    // The table's row is the one of this action's name, which the type of a union's member cannot say.
    const row = ACTION_TABLE[action.action] as (action: Action, operator: Operator, signal: AbortSignal) => unknown;
    const done = (await row(action, this, signal)) as Omit<ActionDone, "action"> | undefined;
    return { action: action.action, ...done };
  }

  /** Waits until the display has taken all input that was sent. */
  async flush(signal: AbortSignal): Promise<void> {
    await this.driver.capture(signal, { x: 0, y: 0, width: 1, height: 1 });
  }

  /** Waits until the screen is quiet, as long as the session waits for that; answers whether it became so. */
  settle(signal: AbortSignal): Promise<boolean> {
    return settle(this.driver, this.options.settling ?? DEFAULT_SETTLING, signal);
  }

  /** The screen when it has become quiet, in the session's way of showing it. */
  async settledScreenshot(signal: AbortSignal): Promise<EncodedPicture> {
    await this.settle(signal);
    return takeScreenshot(this, { action: "screenshot" }, signal);
  }

  /**
   * Does actions in their order until one fails, and then shows the screen, settled, if asked to.
   *
   * @throws ToolyardError `sandbox_dead` when the display is gone; `control_taken`; the signal's reason. Other failures are told in
   *   the items.
   */
  async batch(
    actions: readonly Action[],
    { screenshot, watch }: { readonly screenshot: boolean; readonly watch?: ActionWatch | undefined },
    signal: AbortSignal,
  ): Promise<BatchDone> {
    const items: BatchItem[] = [];
    for (const action of actions) {
      if (items.some(({ ok }) => !ok)) {
        items.push({ ok: false, executed: false, message: NOT_EXECUTED });
        continue;
      }
      try {
        // oxlint-disable-next-line no-await-in-loop -- in their order
        items.push({ ok: true, done: await this.perform(action, signal, watch) });
      } catch (error) {
        if (!ToolyardError.is(error) || error.outcome === "infra_error" || error.error === "control_taken") throw error;
        items.push({ ok: false, executed: true, message: error.message, error });
      }
    }
    return screenshot ? { items, picture: await this.settledScreenshot(signal) } : { items };
  }
}
