import { ToolyardError } from "../../../core/errors.ts";
import { isOnUsKeyboard, toKeysym } from "../keys/keysyms.ts";
import type { ActionDriver } from "./action-driver.ts";
import type { Hands } from "./hands.ts";
import { settle, type Settling } from "./settle.ts";

/**
 * How many characters outside the layout are typed before the keys that they were given are taken back. A display gives each a
 * spare key of its keymap and then has none left (TigerVNC 1.12 after 22), and drops what comes after without a word.
 */
export const MAX_SPARE_KEYS = 18;
const FLUSH_EVERY = 100;
/**
 * When programs have looked up the keys that they were sent, as far as can be seen: they ask for the keymap as it is when they
 * get to it, not as it was, so that a key that means something else by then would be read as that.
 */
const LOOKED_UP: Settling = { quietMs: 900, maxMs: 4_000 };

/** Types text by keys, whatever its script is. */
export class Typist {
  readonly #driver: ActionDriver;
  readonly #hands: Hands;
  readonly #spare = new Set<number>();

  constructor(driver: ActionDriver, hands: Hands) {
    this.#driver = driver;
    this.#hands = hands;
  }

  /**
   * Types a text; line ends are Enter and tabs Tab.
   *
   * @throws ToolyardError before anything is typed: `invalid_input` for a character that cannot be typed, `limit_exceeded` when
   *   there are more than the keymap has room for and nothing can take it back.
   */
  async type(text: string, delayMs: number, signal: AbortSignal): Promise<void> {
    const keysyms = toTypedKeys(text);
    this.#assertRoom(keysyms);
    if (keysyms.some((keysym) => !isOnUsKeyboard(keysym))) this.#hands.wakeKeyboard();
    for (const [index, keysym] of keysyms.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- the display is to keep up, and the signal to be heard
      if (index % FLUSH_EVERY === FLUSH_EVERY - 1) await this.#flush(signal);
      // oxlint-disable-next-line no-await-in-loop -- one character after another
      await this.#makeRoomFor(keysym, signal);
      this.#hands.key(keysym, true);
      this.#hands.key(keysym, false);
      // oxlint-disable-next-line no-await-in-loop -- one character after another
      if (delayMs > 0) await this.#driver.sleep(delayMs, signal);
    }
  }

  #assertRoom(keysyms: readonly number[]): void {
    if (this.#driver.freeKeys !== undefined) return;
    const outside = new Set([...this.#spare, ...outsideLayout(keysyms)]);
    const room = this.#driver.spareKeys ?? MAX_SPARE_KEYS;
    if (outside.size <= room) return;
    throw new ToolyardError(
      "limit_exceeded",
      `${outside.size} different characters are outside the keyboard's layout`,
      {
        details: { limit: "spare_keys", spare_keys: room },
        suggestion: "Put such a text into a file of the desktop, or through its clipboard.",
      },
    );
  }

  async #flush(signal: AbortSignal): Promise<void> {
    await this.#driver.capture(signal, { x: 0, y: 0, width: 1, height: 1 });
  }

  async #makeRoomFor(keysym: number, signal: AbortSignal): Promise<void> {
    if (isOnUsKeyboard(keysym) || this.#spare.has(keysym)) return;
    if (this.#spare.size >= MAX_SPARE_KEYS) {
      await this.#flush(signal);
      await settle(this.#driver, LOOKED_UP, signal);
      await this.#driver.freeKeys?.(signal);
      this.#spare.clear();
      this.#hands.wakeKeyboard();
    }
    this.#spare.add(keysym);
  }
}

function outsideLayout(keysyms: readonly number[]): readonly number[] {
  return keysyms.filter((keysym) => !isOnUsKeyboard(keysym));
}

/**
 * How many different characters of a text are outside the layout; throws as {@link Typist.type} does for what cannot be typed.
 */
export function countOutsideLayout(text: string): number {
  return new Set(outsideLayout(toTypedKeys(text))).size;
}

function toTypedKeys(text: string): readonly number[] {
  return [...text.replace(/\r\n/g, "\n")].map((character) => {
    const keysym = toKeysym(character);
    if (keysym !== undefined) return keysym;
    const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    throw new ToolyardError("invalid_input", `the character U+${point} cannot be typed`, {
      suggestion: "Leave control characters and halves of surrogate pairs out of the text; press keys with key.",
    });
  });
}
