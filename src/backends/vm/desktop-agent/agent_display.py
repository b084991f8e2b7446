"""The agent's own connection to the X server, which one thread holds: requests go there, events come from there."""

import os
import queue
import select
import threading
import time

from Xlib import X, display, error

from agent_failure import Failure


class DisplayThread:
    def __init__(self):
        try:
            self.display = display.Display()
        except Exception as reason:
            raise Failure("unavailable", f"the display cannot be reached: {reason}") from reason
        # Windows vanish between two requests; whoever needs to know asks.
        self.display.set_error_handler(lambda *_: None)
        self.screen = self.display.screen()
        self.root = self.screen.root
        self.atoms = {}
        self.listeners = {}
        self.jobs = queue.Queue()
        self.replace_others()
        self.wake_reader, self.wake_writer = os.pipe()
        os.set_blocking(self.wake_reader, False)
        threading.Thread(target=self.loop, name="x", daemon=True).start()

    def atom(self, name):
        if name not in self.atoms:
            self.atoms[name] = self.display.intern_atom(name)
        return self.atoms[name]

    def replace_others(self):
        """Ends an agent that an earlier server has left on this display, as the next one ends this."""
        mine = self.atom("_TOOLYARD_AGENT")
        window = self.root.create_window(-10, -10, 1, 1, 0, X.CopyFromParent)
        window.set_selection_owner(mine, X.CurrentTime)
        self.display.sync()
        self.listen(X.SelectionClear, lambda cleared: os._exit(0) if cleared.atom == mine else None)

    def run(self, request, work):
        """Does work in the thread of the connection and returns what it came to."""
        done = threading.Event()
        box = {}

        def job():
            try:
                request.check()
                box["result"] = work(request)
            except (error.BadWindow, error.BadDrawable, error.BadMatch):
                box["error"] = Failure("stale", "the window is gone")
            except Exception as reason:
                box["error"] = reason
            done.set()

        self.jobs.put(job)
        os.write(self.wake_writer, b"j")
        # The work ends by its own deadline; this is for a server that does not answer at all.
        if not done.wait(max(0, request.left()) + 2):
            raise Failure("timeout", "the display does not answer")
        if "error" in box:
            raise box["error"]
        return box["result"]

    def loop(self):
        try:
            while True:
                self.take_events()
                try:
                    os.read(self.wake_reader, 4096)
                except BlockingIOError:
                    pass
                while not self.jobs.empty():
                    self.jobs.get()()
                self.display.flush()
                if self.display.pending_events() == 0 and self.jobs.empty():
                    select.select([self.display.fileno(), self.wake_reader], [], [], self.next_turn())
        except BaseException:
            # Without a display there is nothing that it could do.
            os._exit(3)

    def next_turn(self):
        return 5

    def take_events(self):
        while self.display.pending_events() > 0:
            event = self.display.next_event()
            for listener in list(self.listeners.get(event.type, ())):
                listener(event)

    def listen(self, kind, listener):
        self.listeners.setdefault(kind, []).append(listener)

    def wait_for(self, is_met, until):
        """Takes events until something is so; answers whether it became so. Only in the connection's thread."""
        while True:
            self.take_events()
            if is_met():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            self.display.flush()
            if self.display.pending_events() == 0:
                select.select([self.display.fileno()], [], [], min(left, 0.02))

    def property(self, window, name, kind=X.AnyPropertyType, words=1024):
        found = window.get_full_property(self.atom(name), kind, sizehint=words)
        return None if found is None else found.value

    def tell(self, window, kind, data):
        """Sends a message to the window manager."""
        from Xlib.protocol import event

        message = event.ClientMessage(window=window, client_type=self.atom(kind), data=(32, (data + [0] * 5)[:5]))
        self.root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self.display.sync()
