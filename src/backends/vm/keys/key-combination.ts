import { ToolyardError } from "../../../core/errors.ts";
import { findKey } from "./key-names.ts";
import { KEYSYMS, toKeysym, toShifted } from "./keysyms.ts";

/** No hand has more fingers, and no shortcut more keys. */
const MAX_KEYS = 8;

/**
 * The keysyms of a combination, in the order of their pressing: `ctrl+shift+s`, `Ctrl-Alt-Delete`, `ctrl++`, `Return`.
 *
 * @throws ToolyardError `invalid_input` for a key that no table knows.
 */
export function parseCombination(combination: string): readonly number[] {
  return toKeysyms(splitCombination(combination));
}

/**
 * The keysyms of keys that are held together, each by any of its spellings.
 *
 * @throws ToolyardError `invalid_input` for a key that no table knows, and for none or too many.
 */
export function toKeysyms(names: readonly string[]): readonly number[] {
  if (names.length === 0) throw new ToolyardError("invalid_input", "a combination of no keys");
  if (names.length > MAX_KEYS) {
    throw new ToolyardError("invalid_input", `a combination of ${names.length} keys; at most ${MAX_KEYS} go together`);
  }
  const keys = names.map((name) => ({ name, key: findKey(name) }));
  const shift = keys.some(({ key }) => key !== undefined && "keysym" in key && key.keysym === KEYSYMS.shift);
  const isCombination = keys.length > 1;
  return keys.map(({ name, key }) => {
    if (key !== undefined && "keysym" in key) return key.keysym;
    const keysym = key && toKeysym(inCombination(key.character, { shift, isCombination }));
    if (keysym === undefined) throw unknownKey(name);
    return keysym;
  });
}

/** `Ctrl+S` means the key that is marked S: only a shift that is named makes it a capital. */
function inCombination(character: string, { shift, isCombination }: { shift: boolean; isCombination: boolean }) {
  if (shift) return toShifted(character);
  return isCombination && /^[A-Z]$/.test(character) ? character.toLowerCase() : character;
}

/** Parts at `+`, which is also a key; at `-` only where that cuts known keys. */
function splitCombination(combination: string): readonly string[] {
  if (findKey(combination) !== undefined) return [combination];
  const parts = splitAt(combination, "+");
  if (parts.every((part) => findKey(part) !== undefined)) return parts;
  const dashed = splitAt(combination, "-");
  return dashed.length > 1 && dashed.every((part) => findKey(part) !== undefined) ? dashed : parts;
}

function splitAt(combination: string, separator: "+" | "-"): string[] {
  const parts = combination.split(separator).map((part) => part.trim());
  // "ctrl++" is ctrl and the key between the two.
  if (parts.length >= 2 && parts.at(-1) === "" && parts.at(-2) === "") return [...parts.slice(0, -2), separator];
  return parts;
}

function unknownKey(name: string): ToolyardError {
  return new ToolyardError("invalid_input", `there is no key ${JSON.stringify(name.slice(0, 40))}`, {
    suggestion:
      'Name keys as in "ctrl+shift+s", "Return", "Page_Down", "F5", or give the one character that they type.',
  });
}
