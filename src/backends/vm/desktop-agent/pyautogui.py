"""
What code for pyautogui needs of it, spoken to the X server by XTEST.

Points count in the pixels of the last screenshot, as those of every other action do. Nothing fails at the screen's corners:
`FAILSAFE` is there to be set and has no effect.
"""

import contextlib
import sys
import time

from pyautogui_keys import KEY_NAMES, KEYBOARD_KEYS, Keyboard, isValidKey
from pyautogui_screen import Point, Screen, Size
from pyautogui_tweens import TWEENS, linear

__version__ = "0.9.54"
PAUSE = 0.1
FAILSAFE = False
MINIMUM_DURATION = 0.1
MINIMUM_SLEEP = 0.05
LEFT, MIDDLE, RIGHT, PRIMARY, SECONDARY = "left", "middle", "right", "primary", "secondary"
BUTTONS = {"left": 1, "primary": 1, "middle": 2, "right": 3, "secondary": 3, 1: 1, 2: 2, 3: 3, "x1": 8, "x2": 9}
# Between the events of a movement that takes its time.
STEP_SECONDS = 0.01
DRAG_SECONDS = 0.1


class PyAutoGUIException(Exception):
    pass


class FailSafeException(PyAutoGUIException):
    pass


class ImageNotFoundException(PyAutoGUIException):
    pass


globals().update(TWEENS)
_screen = Screen()
_keyboard = Keyboard(_screen)


def count_points_in(width, height):
    """Tells how large the screenshots are that points count in."""
    _screen.shown = (width, height)


def finish():
    _screen.sync()


def _pause(seconds=None):
    _screen.sync()
    time.sleep(PAUSE if seconds is None else seconds)


def size():
    return Size(*(_screen.shown or _screen.size()))


resolution = size


def position(x=None, y=None):
    at = _screen.position()
    return Point(at[0] if x is None else int(x), at[1] if y is None else int(y))


def onScreen(x, y=None):
    x, y = _pair(x, y)
    width, height = size()
    return 0 <= x < width and 0 <= y < height


def sleep(seconds):
    time.sleep(seconds)


def countdown(seconds):
    for left in range(seconds, 0, -1):
        print(left, end=" ", flush=True)
        time.sleep(1)
    print()


def _pair(x, y):
    if isinstance(x, (tuple, list)) and len(x) in (2, 4):
        if len(x) == 4:
            return x[0] + x[2] // 2, x[1] + x[3] // 2
        return x[0], x[1]
    return x, y


def _move(x, y, duration, tween):
    x, y = _pair(x, y)
    start = _screen.position()
    end = (start[0] if x is None else int(x), start[1] if y is None else int(y))
    steps = int(duration / STEP_SECONDS) if duration > MINIMUM_DURATION else 1
    for step in range(1, steps + 1):
        share = tween(step / steps)
        _screen.move(round(start[0] + (end[0] - start[0]) * share), round(start[1] + (end[1] - start[1]) * share))
        if steps > 1:
            _screen.sync()
            time.sleep(duration / steps)


def moveTo(x=None, y=None, duration=0.0, tween=linear, logScreenshot=False, _pause=True):
    _move(x, y, duration, tween)
    _after(_pause)


def moveRel(xOffset=0, yOffset=0, duration=0.0, tween=linear, logScreenshot=False, _pause=True):
    dx, dy = _pair(xOffset, yOffset)
    at = _screen.position()
    _move(at[0] + (dx or 0), at[1] + (dy or 0), duration, tween)
    _after(_pause)


move = moveRel


def _after(wanted):
    _screen.sync()
    if wanted:
        time.sleep(PAUSE)


def _button(button):
    number = BUTTONS.get(button.lower() if isinstance(button, str) else button)
    if number is None:
        raise PyAutoGUIException(f"button must be left, middle or right, not {button!r}")
    return number


def click(
    x=None, y=None, clicks=1, interval=0.0, button=PRIMARY, duration=0.0, tween=linear, logScreenshot=None, _pause=True
):
    if isinstance(x, str):
        x, y = locateCenterOnScreen(x)
    number = _button(button)
    if x is not None or y is not None:
        _move(x, y, duration, tween)
    for _ in range(clicks):
        _screen.button(number, True)
        _screen.button(number, False)
        _screen.sync()
        if interval > 0:
            time.sleep(interval)
    _after(_pause)


def leftClick(x=None, y=None, interval=0.0, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    click(x, y, 1, interval, LEFT, duration, tween, logScreenshot, _pause)


def rightClick(x=None, y=None, interval=0.0, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    click(x, y, 1, interval, RIGHT, duration, tween, logScreenshot, _pause)


def middleClick(x=None, y=None, interval=0.0, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    click(x, y, 1, interval, MIDDLE, duration, tween, logScreenshot, _pause)


def doubleClick(x=None, y=None, interval=0.0, button=LEFT, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    click(x, y, 2, interval, button, duration, tween, logScreenshot, _pause)


def tripleClick(x=None, y=None, interval=0.0, button=LEFT, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    click(x, y, 3, interval, button, duration, tween, logScreenshot, _pause)


def mouseDown(x=None, y=None, button=PRIMARY, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    if x is not None or y is not None:
        _move(x, y, duration, tween)
    _screen.button(_button(button), True)
    _after(_pause)


def mouseUp(x=None, y=None, button=PRIMARY, duration=0.0, tween=linear, logScreenshot=None, _pause=True):
    if x is not None or y is not None:
        _move(x, y, duration, tween)
    _screen.button(_button(button), False)
    _after(_pause)


def dragTo(
    x=None, y=None, duration=0.0, tween=linear, button=PRIMARY, logScreenshot=None, _pause=True, mouseDownUp=True
):
    number = _button(button)
    if mouseDownUp:
        _screen.button(number, True)
    try:
        # Programs want to see a way.
        _move(x, y, max(duration, DRAG_SECONDS + STEP_SECONDS), tween)
    finally:
        if mouseDownUp:
            _screen.button(number, False)
    _after(_pause)


def dragRel(
    xOffset=0, yOffset=0, duration=0.0, tween=linear, button=PRIMARY, logScreenshot=None, _pause=True, mouseDownUp=True
):
    dx, dy = _pair(xOffset, yOffset)
    at = _screen.position()
    dragTo(at[0] + (dx or 0), at[1] + (dy or 0), duration, tween, button, logScreenshot, _pause, mouseDownUp)


drag = dragRel


def _wheel(up, down, clicks, x, y, wanted):
    if x is not None or y is not None:
        _move(x, y, 0, linear)
    for _ in range(min(1000, abs(int(clicks)))):
        _screen.button(up if clicks > 0 else down, True)
        _screen.button(up if clicks > 0 else down, False)
    _after(wanted)


def scroll(clicks, x=None, y=None, logScreenshot=None, _pause=True):
    _wheel(4, 5, clicks, x, y, _pause)


vscroll = scroll


def hscroll(clicks, x=None, y=None, logScreenshot=None, _pause=True):
    _wheel(7, 6, clicks, x, y, _pause)


def keyDown(key, logScreenshot=None, _pause=True):
    _keyboard.press(key)
    _after(_pause)


def keyUp(key, logScreenshot=None, _pause=True):
    _keyboard.release(key)
    _after(_pause)


def press(keys, presses=1, interval=0.0, logScreenshot=None, _pause=True):
    several = [keys] if isinstance(keys, str) else list(keys)
    for _ in range(presses):
        for key in several:
            if len(key) == 1:
                _keyboard.type(key)
            else:
                _keyboard.press(key)
                _keyboard.release(key)
        if interval > 0:
            _screen.sync()
            time.sleep(interval)
    _after(_pause)


@contextlib.contextmanager
def hold(keys, logScreenshot=None, _pause=True):
    several = [keys] if isinstance(keys, str) else list(keys)
    for key in several:
        _keyboard.press(key)
    _after(_pause)
    try:
        yield
    finally:
        for key in reversed(several):
            _keyboard.release(key)
        _after(_pause)


def write(message, interval=0.0, logScreenshot=None, _pause=True):
    """Text of any script; of a list each is a key's name."""
    _keyboard.prepare("".join(each for each in message if len(each) == 1))
    for each in message:
        if len(each) == 1:
            _keyboard.type(each)
        else:
            press(each, _pause=False)
        if interval > 0:
            _screen.sync()
            time.sleep(interval)
    _after(_pause)


typewrite = write


def hotkey(*args, logScreenshot=None, interval=0.0, _pause=True):
    keys = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    # The key that is marked with the letter, whatever its case.
    keys = [key.lower() if len(key) > 1 or len(keys) > 1 else key for key in keys]
    pressed = []
    try:
        for key in keys:
            _keyboard.press(key)
            pressed.append(key)
            if interval > 0:
                _screen.sync()
                time.sleep(interval)
    finally:
        for key in reversed(pressed):
            _keyboard.release(key)
    _after(_pause)


shortcut = hotkey


def screenshot(imageFilename=None, region=None, allScreens=False):
    image = _screen.picture(region)
    if imageFilename is not None:
        image.save(imageFilename)
    return image


def pixel(x, y):
    return screenshot(region=(x, y, 1, 1)).getpixel((0, 0))


def pixelMatchesColor(x, y, expectedRGBColor, tolerance=0):
    found = pixel(x, y)
    return all(abs(one - other) <= tolerance for one, other in zip(found, expectedRGBColor))


def locateOnScreen(image, *args, **options):
    raise PyAutoGUIException("images are not searched for on this desktop: find elements by vm:find_element")


locateCenterOnScreen = locateAllOnScreen = locate = locateOnScreen


def alert(*args, **options):
    raise PyAutoGUIException("nobody would answer a dialog here")


confirm = prompt = password = alert


def displayMousePosition(*args, **options):
    print(position())


def failSafeCheck():
    pass


if __name__ == "__main__":
    sys.exit("it is a module")
