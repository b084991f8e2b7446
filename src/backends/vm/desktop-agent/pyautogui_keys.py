"""The keyboard of pyautogui: its names of keys, and text of any script by keys that the layout has to spare."""

import time

# X11's names, by pyautogui's.
NAMED = {
    "\t": "Tab", "\n": "Return", "\r": "Return", "\x1b": "Escape", "\b": "BackSpace", "alt": "Alt_L", "altleft": "Alt_L",
    "altright": "Alt_R", "apps": "Menu", "backspace": "BackSpace", "browserback": "XF86Back", "browserforward": "XF86Forward",
    "browserhome": "XF86HomePage", "browserrefresh": "XF86Reload", "capslock": "Caps_Lock", "clear": "Clear",
    "command": "Super_L", "ctrl": "Control_L", "ctrlleft": "Control_L", "ctrlright": "Control_R", "control": "Control_L",
    "del": "Delete", "delete": "Delete", "down": "Down", "end": "End", "enter": "Return", "esc": "Escape",
    "escape": "Escape", "help": "Help", "home": "Home", "insert": "Insert", "left": "Left", "numlock": "Num_Lock",
    "option": "Alt_L", "optionleft": "Alt_L", "optionright": "Alt_R", "pagedown": "Page_Down", "pageup": "Page_Up",
    "pause": "Pause", "pgdn": "Page_Down", "pgup": "Page_Up", "print": "Print", "printscreen": "Print", "prntscrn": "Print",
    "prtsc": "Print", "prtscr": "Print", "return": "Return", "right": "Right", "scrolllock": "Scroll_Lock", "select": "Select",
    "shift": "Shift_L", "shiftleft": "Shift_L", "shiftright": "Shift_R", "space": "space", "super": "Super_L", "tab": "Tab",
    "up": "Up", "win": "Super_L", "winleft": "Super_L", "winright": "Super_R", "add": "KP_Add", "decimal": "KP_Decimal",
    "divide": "KP_Divide", "multiply": "KP_Multiply", "separator": "KP_Separator", "subtract": "KP_Subtract",
    "volumedown": "XF86AudioLowerVolume", "volumemute": "XF86AudioMute", "volumeup": "XF86AudioRaiseVolume",
}  # fmt: skip
NAMED |= {f"f{number}": f"F{number}" for number in range(1, 25)}
NAMED |= {f"num{digit}": f"KP_{digit}" for digit in range(10)}
KEY_NAMES = [chr(code) for code in range(32, 127)] + list(NAMED)
KEYBOARD_KEYS = KEY_NAMES
# Numbers of X11 that python-xlib knows no names of.
NUMBERS = {
    "XF86Back": 0x1008FF26, "XF86Forward": 0x1008FF27, "XF86HomePage": 0x1008FF18, "XF86Reload": 0x1008FF29,
    "XF86AudioLowerVolume": 0x1008FF11, "XF86AudioMute": 0x1008FF12, "XF86AudioRaiseVolume": 0x1008FF13,
}  # fmt: skip
SHIFT = "Shift_L"
# What programs may take to hear of a key that has been given another meaning.
NOTICE_SECONDS = 0.15
SETTLE_SECONDS = 1.0


def isValidKey(key):
    return key.lower() in NAMED or len(key) == 1


class Keyboard:
    def __init__(self, screen):
        self.screen = screen
        self.given = []

    def press(self, key):
        self.send(self.number(key), True)

    def release(self, key):
        self.send(self.number(key), False)

    def type(self, character):
        keysym = self.number(character)
        self.prepare(character)
        keycode, shifted = self.find(keysym)
        shift, _ = self.find(self.number("shift"))
        if shifted:
            self.fake(shift, True)
        self.fake(keycode, True)
        self.fake(keycode, False)
        if shifted:
            self.fake(shift, False)

    def prepare(self, text):
        """Gives each character that the layout has no key for a spare one, all of them before the first is typed."""
        missing = []
        for character in text:
            keysym = self.number(character)
            if keysym not in missing and self.find(keysym) is None:
                missing.append(keysym)
        if not missing:
            return
        spare = self.spare()
        if not spare and not self.given:
            raise RuntimeError("the keyboard has no key to spare for that text")
        if len(missing) > len(spare):
            # Each when it is needed: more than there are keys.
            missing = missing[:1]
        if not spare:
            # Those that were given first are taken back, once programs have looked up what was typed with them.
            self.screen.sync()
            time.sleep(SETTLE_SECONDS)
            spare, self.given = self.given, []
        for keysym, keycode in zip(missing, spare):
            self.screen.display.change_keyboard_mapping(keycode, [[keysym] * 4])
            self.given.append(keycode)
        self.screen.sync()
        time.sleep(NOTICE_SECONDS)

    def spare(self):
        first, mapping = self.mapping()
        # The eight of a mouse's or a joystick's that come first are none.
        return [first + index for index, keysyms in enumerate(mapping) if not any(keysyms) and first + index > 8]

    def find(self, keysym):
        """The key that gives it, and whether with shift; plain ones first."""
        first, mapping = self.mapping()
        for column in (0, 1):
            for index, keysyms in enumerate(mapping):
                if len(keysyms) > column and keysyms[column] == keysym:
                    return first + index, column == 1
        return None

    def mapping(self):
        display = self.screen.display.display
        first = display.info.min_keycode
        return first, self.screen.display.get_keyboard_mapping(first, display.info.max_keycode - first + 1)

    def number(self, key):
        """The keysym of a key's name or of a character."""
        from Xlib import XK

        name = NAMED.get(key) or (NAMED.get(key.lower()) if len(key) > 1 else None)
        if name is not None:
            return NUMBERS.get(name) or XK.string_to_keysym(name)
        if len(key) != 1:
            raise ValueError(f"there is no key {key!r}")
        point = ord(key)
        return point if point < 0x100 else 0x01000000 + point

    def send(self, keysym, down):
        found = self.find(keysym)
        if found is None:
            raise ValueError("the keyboard has no such key")
        self.fake(found[0], down)

    def fake(self, keycode, down):
        from Xlib import X
        from Xlib.ext import xtest

        xtest.fake_input(self.screen.display, X.KeyPress if down else X.KeyRelease, keycode)
