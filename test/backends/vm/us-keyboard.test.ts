import { describe, expect, it } from "vitest";
import { KEYSYMS } from "../../../src/backends/vm/keys/keysyms.ts";
import { onUsKeyboard } from "../../../src/backends/vm/keys/us-keyboard.ts";

function pressed(work: (press: (key: string | number, down: boolean) => void) => void): string {
  const seen: string[] = [];
  const name = (keysym: number) => (keysym === KEYSYMS.shift ? "shift" : String.fromCodePoint(keysym));
  const press = onUsKeyboard((keysym, down) => seen.push(`${down ? "+" : "-"}${name(keysym)}`));
  work((key, down) => press(typeof key === "number" ? key : (key.codePointAt(0) ?? 0), down));
  return seen.join(" ");
}

describe("a machine's own keyboard", () => {
  it("is given a shift with what needs one, for as long as that is down", () => {
    const tap = (text: string) =>
      pressed((press) => {
        for (const character of text) {
          press(character, true);
          press(character, false);
        }
      });
    expect(tap("aA1!")).toBe("+a -a +shift +A -A -shift +1 -1 +shift +! -! -shift");
  });

  it("leaves a shift that is held as it is", () => {
    const seen = pressed((press) => {
      press(KEYSYMS.shift, true);
      press("A", true);
      press("A", false);
      press("b", true);
      press("b", false);
      press(KEYSYMS.shift, false);
    });
    expect(seen).toBe("+shift +A -A +b -b -shift");
  });

  it("lets go of its shift with the last of the keys that need it", () => {
    const seen = pressed((press) => {
      press("A", true);
      press("B", true);
      press("A", false);
      press("B", false);
    });
    expect(seen).toBe("+shift +A +B -A -B -shift");
  });
});
