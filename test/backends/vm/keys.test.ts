import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCombination, toKeysyms } from "../../../src/backends/vm/keys/key-combination.ts";
import { findKey } from "../../../src/backends/vm/keys/key-names.ts";
import { toKeysym, toShifted } from "../../../src/backends/vm/keys/keysyms.ts";

const CTRL = 0xff_e3;
const SHIFT = 0xff_e1;
const code = (character: string) => character.charCodeAt(0);

describe("the names of keys", () => {
  it.each([
    [0xff_0d, "Return Enter enter RETURN ret"],
    [0xff_1b, "Escape ESC esc"],
    [0xff_55, "Page_Up PageUp pgup page-up PAGE_UP Prior"],
    [0xff_08, "BackSpace backspace Backspace bksp"],
    [CTRL, "ctrl Control Control_L ctrlleft CTRL ControlLeft"],
    [0xff_eb, "cmd Meta super Super_L win Windows command OS"],
    [0xff_51, "Left ArrowLeft arrow_left LEFT"],
    [0xff_c2, "F5 f5"],
    [0xff_ff, "Delete del DEL"],
  ])("are %i in every spelling: %s", (keysym, spellings) => {
    for (const spelling of spellings.split(" ")) expect(findKey(spelling), spelling).toEqual({ keysym });
  });

  it.each([
    ["+", "plus + KP_Add"],
    ["-", "minus - hyphen"],
    [" ", "space Space spacebar"],
    ["€", "EuroSign € U20AC 0x10020ac"],
    ["7", "7 KP_7 Digit7 numpad7"],
    ["a", "a KeyA"],
  ])("stand for the character %j: %s", (character, spellings) => {
    for (const spelling of spellings.split(" ")) expect(findKey(spelling), spelling).toEqual({ character });
  });

  it("are refused when no table has them", () => {
    for (const name of ["", "no such key", "F25", "Controll-X", "U110000", "__proto__", "constructor"]) {
      expect(findKey(name), name).toBeUndefined();
    }
    expect(() => parseCombination("ctrl+nonsense")).toThrow(/no key "nonsense"/);
    expect(() => parseCombination("ctrl+")).toThrow(/no key/);
    expect(() => toKeysyms([])).toThrow(/no keys/);
  });
});

describe("a combination", () => {
  it.each([
    ["ctrl+s", [CTRL, code("s")]],
    ["Ctrl+S", [CTRL, code("s")]],
    ["ctrl-c", [CTRL, code("c")]],
    ["ctrl+shift+s", [CTRL, SHIFT, code("S")]],
    ["shift+1", [SHIFT, code("!")]],
    ["ctrl++", [CTRL, code("+")]],
    ["ctrl+plus", [CTRL, code("+")]],
    ["ctrl + -", [CTRL, code("-")]],
    ["+", [code("+")]],
    ["A", [code("A")]],
    ["alt+Tab", [0xff_e9, 0xff_09]],
  ])("%s is pressed in its order", (combination, keysyms) => {
    expect(parseCombination(combination)).toEqual(keysyms);
  });

  it("never comes to anything but keys or a refusal, whatever it is", () => {
    const word = fc.oneof(
      fc.string({ maxLength: 12, unit: "binary" }),
      fc.constantFrom("ctrl", "+", "-", "shift", "a"),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        try {
          const keysyms = parseCombination(words.join("+"));
          expect(keysyms.every((keysym) => Number.isInteger(keysym) && keysym > 0 && keysym <= 0x1f_ff_ff_ff)).toBe(
            true,
          );
        } catch (error) {
          expect(error).toMatchObject({ error: "invalid_input" });
        }
      }),
    );
  });
});

describe("the keysym of a character", () => {
  it("is its own for Latin 1 and its code point's beyond, and none for what no key types", () => {
    expect(toKeysym("Å")).toBe(0xc5);
    expect(toKeysym("日")).toBe(0x1_00_65_e5);
    expect(toKeysym("👍")).toBe(0x1_01_f4_4d);
    expect(toKeysym("\n")).toBe(0xff_0d);
    expect(toKeysym("\u0000")).toBeUndefined();
    expect(toKeysym("\ud800")).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }), (text) => {
        const [character = " "] = text;
        const keysym = toKeysym(character) ?? 0;
        if (keysym >= 0x1_00_00_00) expect(String.fromCodePoint(keysym - 0x1_00_00_00)).toBe(character);
        else if (keysym < 0xff) expect(String.fromCodePoint(keysym)).toBe(character);
      }),
    );
  });

  it("with shift is what the key gives then", () => {
    expect([..."a1/é`ß"].map(toShifted).join("")).toBe("A!?É~ß");
  });
});
