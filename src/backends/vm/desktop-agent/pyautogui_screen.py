"""The screen and the mouse of pyautogui."""

from collections import namedtuple

Point = namedtuple("Point", "x y")
Size = namedtuple("Size", "width height")


class Screen:
    """Connects when it is first used, so that a process that is forked has a connection of its own."""

    def __init__(self):
        self.connection = None
        # The size of the screenshots, where that is not the screen's own.
        self.shown = None

    @property
    def display(self):
        if self.connection is None:
            from Xlib import display

            self.connection = display.Display()
        return self.connection

    @property
    def root(self):
        return self.display.screen().root

    def size(self):
        geometry = self.root.get_geometry()
        return geometry.width, geometry.height

    def position(self):
        at = self.root.query_pointer()
        return self.to_shown(at.root_x, at.root_y)

    def move(self, x, y):
        from Xlib import X
        from Xlib.ext import xtest

        x, y = self.to_screen(x, y)
        xtest.fake_input(self.display, X.MotionNotify, x=x, y=y)

    def button(self, number, down):
        from Xlib import X
        from Xlib.ext import xtest

        xtest.fake_input(self.display, X.ButtonPress if down else X.ButtonRelease, number)

    def sync(self):
        if self.connection is not None:
            self.connection.sync()

    # As the actions map points: a pixel of the picture means the middle of what it shows.

    def to_screen(self, x, y):
        width, height = self.size()
        shown = self.shown or (width, height)
        x, y = min(max(0, x), shown[0] - 1), min(max(0, y), shown[1] - 1)
        return to_middle(x, shown[0], width), to_middle(y, shown[1], height)

    def to_shown(self, x, y):
        width, height = self.size()
        shown = self.shown or (width, height)
        return to_middle(x, width, shown[0]), to_middle(y, height, shown[1])

    def picture(self, region):
        from PIL import Image
        from Xlib import X

        width, height = self.size()
        raw = self.root.get_image(0, 0, width, height, X.ZPixmap, 0xFFFFFFFF)
        image = Image.frombytes("RGB", (width, height), raw.data, "raw", "BGRX")
        if self.shown is not None and tuple(self.shown) != (width, height):
            image = image.resize(tuple(self.shown))
        if region is None:
            return image
        left, top, across, down = (int(each) for each in region)
        return image.crop((left, top, left + across, top + down))


def to_middle(pixel, size, other):
    return min(other - 1, int((int(pixel) + 0.5) * other / size))
