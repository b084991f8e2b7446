/** X11's numbers of the keys that stand for no character, by our names of them. */
export const KEYSYMS = {
  shift: 0xff_e1,
  ctrl: 0xff_e3,
  alt: 0xff_e9,
  super: 0xff_eb,
  altgr: 0xfe_03,
  caps_lock: 0xff_e5,
  num_lock: 0xff_7f,
  scroll_lock: 0xff_14,
  enter: 0xff_0d,
  tab: 0xff_09,
  backspace: 0xff_08,
  escape: 0xff_1b,
  delete: 0xff_ff,
  insert: 0xff_63,
  home: 0xff_50,
  end: 0xff_57,
  page_up: 0xff_55,
  page_down: 0xff_56,
  left: 0xff_51,
  up: 0xff_52,
  right: 0xff_53,
  down: 0xff_54,
  space: 0x20,
  print_screen: 0xff_61,
  pause: 0xff_13,
  menu: 0xff_67,
  help: 0xff_6a,
  clear: 0xff_0b,
  kp_enter: 0xff_8d,
  back: 0x10_08_ff_26,
  forward: 0x10_08_ff_27,
  refresh: 0x10_08_ff_29,
  home_page: 0x10_08_ff_18,
  search: 0x10_08_ff_1b,
  volume_mute: 0x10_08_ff_12,
  volume_down: 0x10_08_ff_11,
  volume_up: 0x10_08_ff_13,
  media_play: 0x10_08_ff_14,
  media_stop: 0x10_08_ff_15,
  media_previous: 0x10_08_ff_16,
  media_next: 0x10_08_ff_17,
} as const;

/** Characters that have a key of their own. */
const CONTROLS: Readonly<Record<string, number>> = {
  "\n": KEYSYMS.enter,
  "\r": KEYSYMS.enter,
  "\t": KEYSYMS.tab,
  "\b": KEYSYMS.backspace,
  "\u001b": KEYSYMS.escape,
  "\u007f": KEYSYMS.delete,
};

/** The keysym of one character, `undefined` for a control character that no key types and for half of a pair. */
export function toKeysym(character: string): number | undefined {
  const control = CONTROLS[character];
  if (control !== undefined) return control;
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return undefined;
  if (point >= 0xd8_00 && point <= 0xdf_ff) return undefined;
  // Latin 1 has the numbers that X11 had before Unicode.
  return point < 0x1_00 ? point : 0x1_00_00_00 + point;
}

/** Whether a keyboard of the layout `us` types it without help. */
export function isOnUsKeyboard(keysym: number): boolean {
  return (keysym >= 0x20 && keysym < 0x7f) || (keysym >= 0xfe_00 && keysym <= 0xff_ff) || keysym >= 0x10_00_00_00;
}

const SHIFTED: ReadonlyMap<string, string> = new Map(
  [..."`1234567890-=[]\\;',./"].map((plain, index) => [plain, '~!@#$%^&*()_+{}|:"<>?'[index] ?? plain]),
);

/** What a key gives with shift on the layout `us`: a VNC server takes the shift away again when it is told of the plain character. */
export function toShifted(character: string): string {
  const upper = character.toUpperCase();
  return SHIFTED.get(character) ?? ([...upper].length === 1 ? upper : character);
}
