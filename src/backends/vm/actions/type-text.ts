import { ToolyardError } from "../../../core/errors.ts";
import { isOnUsKeyboard, toKeysym } from "../keys/keysyms.ts";
import type { ActionDriver } from "./action-driver.ts";
import type { Hands } from "./hands.ts";

/**
 * How many characters outside the layout are typed before the keys that they were given are taken back. A display gives each a
 * spare key of its keymap and then has none left (TigerVNC 1.12 after 22), and drops what comes after without a word.
 */
const MAX_SPARE_KEYS = 14;
/** What programs are given to look up the keys that they were sent, before those come to mean something else. */
const LOOK_UP_MS = 150;

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
    for (const keysym of keysyms) {
      signal.throwIfAborted();
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
    const outside = new Set([...this.#spare, ...keysyms.filter((keysym) => !isOnUsKeyboard(keysym))]);
    if (outside.size <= MAX_SPARE_KEYS) return;
    throw new ToolyardError(
      "limit_exceeded",
      `${outside.size} different characters are outside the keyboard's layout`,
      {
        details: { limit: "spare_keys", spare_keys: MAX_SPARE_KEYS },
        suggestion: "Put such a text into a file of the desktop, or through its clipboard.",
      },
    );
  }

  async #makeRoomFor(keysym: number, signal: AbortSignal): Promise<void> {
    if (isOnUsKeyboard(keysym) || this.#spare.has(keysym)) return;
    if (this.#spare.size >= MAX_SPARE_KEYS) {
      await this.#driver.capture(signal, { x: 0, y: 0, width: 1, height: 1 });
      await this.#driver.sleep(LOOK_UP_MS, signal);
      await this.#driver.freeKeys?.(signal);
      this.#spare.clear();
    }
    this.#spare.add(keysym);
  }
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
