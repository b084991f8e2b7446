import { KEYSYMS } from "./keysyms.ts";

export type KeyName = keyof typeof KEYSYMS;

/** The spellings of models and harnesses, without case, `_`, `-` and spaces: X11's, pyautogui's, the browsers', Apple's. */
const SPELLINGS: Readonly<Record<KeyName, string>> = {
  shift: "shift shiftl shiftr shiftleft shiftright lshift rshift leftshift rightshift",
  ctrl: "ctrl control controll controlr ctrlleft ctrlright controlleft controlright lctrl rctrl lcontrol rcontrol ctl",
  alt: "alt altl altr altleft altright lalt ralt option opt optionleft optionright",
  super:
    "super superl superr win winleft winright windows windowskey meta metal metar metaleft metaright cmd command " +
    "commandleft commandright os osleft osright lsuper rsuper lwin rwin",
  altgr: "altgr altgraph isolevel3shift modeswitch",
  caps_lock: "capslock caps",
  num_lock: "numlock",
  scroll_lock: "scrolllock scrolllk",
  enter: "enter return linefeed ret",
  tab: "tab isolefttab",
  backspace: "backspace bksp back_space",
  escape: "escape esc",
  delete: "delete del forwarddelete",
  insert: "insert ins",
  home: "home",
  end: "end",
  page_up: "pageup pgup prior",
  page_down: "pagedown pgdn pgdown next",
  left: "left arrowleft leftarrow",
  up: "up arrowup uparrow",
  right: "right arrowright rightarrow",
  down: "down arrowdown downarrow",
  space: "space spacebar",
  print_screen: "printscreen print prtsc prtscr prntscrn sysrq snapshot",
  pause: "pause break pausebreak",
  menu: "menu apps contextmenu",
  help: "help",
  clear: "clear",
  kp_enter: "kpenter numpadenter numenter",
  back: "back browserback xf86back goback",
  forward: "forward browserforward xf86forward goforward",
  refresh: "browserrefresh xf86refresh xf86reload",
  home_page: "browserhome xf86homepage",
  search: "browsersearch xf86search",
  volume_mute: "volumemute audiovolumemute xf86audiomute",
  volume_down: "volumedown audiovolumedown xf86audiolowervolume",
  volume_up: "volumeup audiovolumeup xf86audioraisevolume",
  media_play: "playpause mediaplaypause xf86audioplay",
  media_stop: "stop mediastop xf86audiostop",
  media_previous: "prevtrack mediatrackprevious xf86audioprev",
  media_next: "nexttrack mediatracknext xf86audionext",
};

/** Characters that have names of their own in X11, in pyautogui or in the browsers. */
const CHARACTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    plus: "+",
    minus: "-",
    hyphen: "-",
    equal: "=",
    equals: "=",
    comma: ",",
    period: ".",
    dot: ".",
    slash: "/",
    backslash: "\\",
    semicolon: ";",
    colon: ":",
    apostrophe: "'",
    quote: "'",
    quotedbl: '"',
    doublequote: '"',
    grave: "`",
    backtick: "`",
    backquote: "`",
    asciitilde: "~",
    tilde: "~",
    bracketleft: "[",
    bracketright: "]",
    braceleft: "{",
    braceright: "}",
    parenleft: "(",
    parenright: ")",
    less: "<",
    greater: ">",
    bar: "|",
    pipe: "|",
    exclam: "!",
    at: "@",
    numbersign: "#",
    hash: "#",
    dollar: "$",
    percent: "%",
    asciicircum: "^",
    caret: "^",
    ampersand: "&",
    asterisk: "*",
    underscore: "_",
    question: "?",
    eurosign: "€",
    multiply: "*",
    add: "+",
    subtract: "-",
    divide: "/",
    decimal: ".",
  }),
);

const NAMES: ReadonlyMap<string, number> = new Map(
  Object.entries(SPELLINGS).flatMap(([name, spellings]) => {
    // Object.entries forgets that the keys are those of KEYSYMS.
    const keysym = KEYSYMS[name as KeyName];
    return spellings.split(" ").map((spelling) => [squeeze(spelling), keysym] as const);
  }),
);

/** A key as it was named: the character that it types, or the number of one that types none. */
export type NamedKey = { readonly character: string } | { readonly keysym: number };

/** Finds a key by any of its spellings: one character, a name, F1 to F24, a digit of the number pad, X11's `U20AC` or `0x20ac`. */
export function findKey(spelling: string): NamedKey | undefined {
  if (spelling === " ") return { character: " " };
  const plain = spelling.trim();
  if ([...plain].length === 1) return { character: plain };
  const name = squeeze(plain);
  const keysym = NAMES.get(name);
  if (keysym !== undefined) return keysym === KEYSYMS.space ? { character: " " } : { keysym };
  const character = CHARACTERS.get(name) ?? CHARACTERS.get(name.replace(/^(kp|numpad|num)/, ""));
  if (character !== undefined) return { character };
  const [, code] = /^(?:key)([a-z])$/.exec(name) ?? /^(?:digit|kp|numpad|num)(\d)$/.exec(name) ?? [];
  if (code !== undefined) return { character: code };
  const [, f] = /^f(\d{1,2})$/.exec(name) ?? [];
  if (f !== undefined && Number(f) >= 1 && Number(f) <= 24) return { keysym: 0xff_be + Number(f) - 1 };
  const [, hex] = /^(?:u\+?|0x0*100|0x)([0-9a-f]{4,6})$/.exec(name) ?? [];
  const point = hex === undefined ? Number.NaN : Number.parseInt(hex, 16);
  return point <= 0x10_ff_ff && point >= 0x20 ? { character: String.fromCodePoint(point) } : undefined;
}

function squeeze(spelling: string): string {
  return spelling.toLowerCase().replace(/(?<=.)[_\- ](?=.)/g, "");
}
