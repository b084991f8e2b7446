import { KEYSYMS } from "./keysyms.ts";

type PressKey = (keysym: number, down: boolean) => void;

const SHIFTED = new Set([...'~!@#$%^&*()_+{}|:"<>?ABCDEFGHIJKLMNOPQRSTUVWXYZ'].map((it) => it.charCodeAt(0)));
const SHIFTS: ReadonlySet<number> = new Set([KEYSYMS.shift, KEYSYMS.shift + 1]);

/**
 * Presses the keys of a machine's own keyboard, of the layout `us`: a machine knows keys, not characters, so that a shift goes with
 * those that need one. An X server with VNC does that by itself.
 */
export function onUsKeyboard(press: PressKey): PressKey {
  const shifts = new Set<number>();
  const lent = new Set<number>();
  return (keysym, down) => {
    if (SHIFTS.has(keysym)) {
      if (down) shifts.add(keysym);
      else shifts.delete(keysym);
    }
    const lend = down && SHIFTED.has(keysym) && shifts.size === 0;
    if (lend && lent.size === 0) press(KEYSYMS.shift, true);
    if (lend) lent.add(keysym);
    press(keysym, down);
    if (down || !lent.delete(keysym)) return;
    if (lent.size === 0 && shifts.size === 0) press(KEYSYMS.shift, false);
  };
}
