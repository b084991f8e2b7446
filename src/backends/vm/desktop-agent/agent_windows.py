"""Windows, as a window manager that knows EWMH tells of them and changes them."""

import time

from Xlib import X, Xutil

from agent_failure import Failure

# What a window manager may take to do what it is asked.
PATIENCE = 1.0
ATTEMPTS = 3
MAX_WINDOWS = 500
TITLE_CHARACTERS = 500
FROM_PAGER = 2
NORTH_WEST = 1


class Windows:
    def __init__(self, connection):
        self.connection = connection
        self.display = connection.display
        self.root = connection.root

    def handlers(self):
        return {
            "list_windows": self.list,
            "active_window": self.active,
            "window_info": lambda request: self.describe(self.find(request)),
            "activate_window": self.activate,
            "close_window": self.close,
            "minimize_window": self.minimize,
            "maximize_window": self.maximize,
            "place_window": self.place,
            "pointer": self.pointer,
        }

    def list(self, _request):
        active = self.active_id()
        found = []
        for number in self.ids():
            try:
                found.append(self.describe(number, active))
            except Failure:
                continue
        return {"windows": found}

    def active(self, _request):
        number = self.active_id()
        if number not in self.ids():
            return {"window": None}
        try:
            return {"window": self.describe(number, number)}
        except Failure:
            return {"window": None}

    def activate(self, request):
        number = self.find(request)
        # The current time would be the user's; a pager's wish needs none.
        self.connection.tell(self.window(number), "_NET_ACTIVE_WINDOW", [FROM_PAGER, X.CurrentTime, 0])
        self.wait(request, lambda: self.active_id() == number)
        return self.describe(number)

    def close(self, request):
        number = self.find(request)
        self.connection.tell(self.window(number), "_NET_CLOSE_WINDOW", [X.CurrentTime, FROM_PAGER])
        return {"closed": self.wait(request, lambda: number not in self.ids())}

    def minimize(self, request):
        number = self.find(request)
        self.connection.tell(self.window(number), "WM_CHANGE_STATE", [Xutil.IconicState])
        self.wait(request, lambda: "minimized" in self.describe(number)["states"])
        return self.describe(number)

    def maximize(self, request):
        number = self.find(request)
        both = [self.connection.atom(f"_NET_WM_STATE_MAXIMIZED_{way}") for way in ("VERT", "HORZ")]
        self.connection.tell(self.window(number), "_NET_WM_STATE", [1, *both, FROM_PAGER])
        self.wait(request, lambda: "maximized" in self.describe(number)["states"])
        return self.describe(number)

    def place(self, request):
        """Moves a window's frame to x and y, or gives the frame a width and a height."""
        number = self.find(request)
        before = self.describe(number)
        wanted = {key: request.args[key] for key in ("x", "y", "width", "height") if key in request.args}
        # What is not asked for stays as it is now, whatever comes of the rest.
        wanted = {**before["box"], **wanted} if "maximized" not in before["states"] else wanted
        if "maximized" in before["states"]:
            both = [self.connection.atom(f"_NET_WM_STATE_MAXIMIZED_{way}") for way in ("VERT", "HORZ")]
            self.connection.tell(self.window(number), "_NET_WM_STATE", [0, *both, FROM_PAGER])
        for _ in range(ATTEMPTS):
            # Its frame may have come only now: it is reckoned with anew each time.
            self.send_place(number, wanted)
            # A program may insist on whole characters or a least size: then it stays as it has become.
            if self.wait(request, lambda: all(self.describe(number)["box"][key] == wanted[key] for key in wanted), 0.25):
                break
        return self.describe(number)

    def send_place(self, number, wanted):
        # All four of them: Fluxbox takes the frame's height for the window's when it is told of a place alone.
        box = {**self.describe(number)["box"], **wanted}
        left, right, top, bottom = self.frame(self.window(number))
        width, height = max(1, box["width"] - left - right), max(1, box["height"] - top - bottom)
        flags = NORTH_WEST | 0xF << 8 | FROM_PAGER << 12
        self.connection.tell(self.window(number), "_NET_MOVERESIZE_WINDOW", [flags, box["x"], box["y"], width, height])

    def pointer(self, _request):
        at = self.root.query_pointer()
        return {"x": at.root_x, "y": at.root_y}

    def ids(self):
        for name in ("_NET_CLIENT_LIST_STACKING", "_NET_CLIENT_LIST"):
            found = self.connection.property(self.root, name)
            if found is not None and len(found) > 0:
                return [int(number) for number in found][-MAX_WINDOWS:]
        return []

    def active_id(self):
        found = self.connection.property(self.root, "_NET_ACTIVE_WINDOW")
        return int(found[0]) if found is not None and len(found) > 0 else 0

    def find(self, request):
        number = request.args.get("id")
        if number not in self.ids():
            raise Failure("stale", f"there is no window {number}")
        return number

    def window(self, number):
        return self.display.create_resource_object("window", number)

    def frame(self, window):
        found = self.connection.property(window, "_NET_FRAME_EXTENTS")
        return [int(side) for side in found[:4]] if found is not None and len(found) >= 4 else [0, 0, 0, 0]

    def describe(self, number, active=None):
        try:
            return self.look_at(number, self.active_id() if active is None else active)
        except Failure:
            raise
        except Exception as reason:
            raise Failure("stale", f"the window {number} is gone") from reason

    def look_at(self, number, active):
        window = self.window(number)
        size = window.get_geometry()
        # Whatever the window manager has put around it, this is where it is on the screen.
        corner = self.root.translate_coords(window, 0, 0)
        left, right, top, bottom = self.frame(window)
        title = self.connection.property(window, "_NET_WM_NAME")
        if title is None:
            title = self.connection.property(window, "WM_NAME")
        names = self.connection.property(window, "WM_CLASS")
        pid = self.connection.property(window, "_NET_WM_PID")
        return {
            "id": number,
            "title": as_text(title)[:TITLE_CHARACTERS],
            "class": [as_text(name)[:200] for name in names.split(b"\0")[:2]] if isinstance(names, bytes) else [],
            "pid": int(pid[0]) if pid is not None and len(pid) > 0 else None,
            "box": {
                "x": corner.x - left,
                "y": corner.y - top,
                "width": size.width + left + right,
                "height": size.height + top + bottom,
            },
            "active": number == active,
            "states": self.states(window),
        }

    def states(self, window):
        atoms = self.connection.property(window, "_NET_WM_STATE")
        found = {self.display.get_atom_name(atom) for atom in (atoms if atoms is not None else [])}
        state = self.connection.property(window, "WM_STATE")
        iconic = state is not None and len(state) > 0 and state[0] == Xutil.IconicState
        facts = {
            "minimized": iconic or "_NET_WM_STATE_HIDDEN" in found,
            "maximized": {"_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"} <= found,
            "fullscreen": "_NET_WM_STATE_FULLSCREEN" in found,
            "modal": "_NET_WM_STATE_MODAL" in found,
        }
        return [name for name, is_so in facts.items() if is_so]

    def wait(self, request, is_met, seconds=PATIENCE):
        def met():
            try:
                return is_met()
            except Failure:
                return True

        return self.connection.wait_for(met, min(request.until, time.monotonic() + seconds))


def as_text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""
