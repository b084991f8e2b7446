"""Calls over the accessibility bus, many of them on their way at once: one at a time a window of a browser would take seconds."""

import os

from gi.repository import Gio, GLib

from agent_failure import Failure

AT_ONCE = 400
# What a program may take for one answer; one that does not answer is asked nothing more by this request.
ANSWER_MS = 1000


class Bus:
    """To be used in one thread only."""

    def __init__(self):
        self.context = GLib.MainContext.get_thread_default()
        if self.context is None:
            self.context = GLib.MainContext()
            self.context.push_thread_default()
        try:
            self.connection = self.open()
        except GLib.Error as reason:
            raise Failure("unavailable", f"there is no accessibility bus: {reason.message}") from reason

    @property
    def is_closed(self):
        return self.connection.is_closed() or self.session.is_closed()

    def open(self):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        address = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
        if address == "":
            raise Failure("unavailable", "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        session = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)

        def ask(interface, method, args, path="/org/a11y/bus"):
            reply = session.call_sync(
                "org.a11y.Bus", path, interface, method, args, None, Gio.DBusCallFlags.NONE, 10_000, None
            )
            return reply.unpack()

        (found,) = ask("org.a11y.Bus", "GetAddress", None)
        for name in ("IsEnabled", "ScreenReaderEnabled"):
            value = GLib.Variant("(ssv)", ("org.a11y.Status", name, GLib.Variant("b", True)))
            ask("org.freedesktop.DBus.Properties", "Set", value)
        # Kept: programs are told that somebody reads them for as long as somebody does.
        self.session = session
        return Gio.DBusConnection.new_for_address_sync(found, flags, None, None)

    def gather(self, calls, request, hung):
        """
        Makes calls (name, path, interface, method, arguments) and returns their answers, `None` for what failed, until the
        request's deadline. Programs that do not answer at all are added to `hung`, and not called.
        """
        answers = [None] * len(calls)
        state = {"next": 0, "open": 0}
        flags = Gio.DBusCallFlags.NO_AUTO_START

        def send():
            while state["open"] < AT_ONCE and state["next"] < len(calls):
                index = state["next"]
                state["next"] += 1
                name, path, interface, method, args = calls[index]
                if name in hung:
                    continue
                state["open"] += 1
                limit = max(1, min(ANSWER_MS, int(request.left() * 1000)))
                self.connection.call(name, path, interface, method, args, None, flags, limit, None, answer, index)

        def answer(connection, result, index):
            state["open"] -= 1
            try:
                answers[index] = connection.call_finish(result).unpack()
            except GLib.Error as error:
                if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.TIMED_OUT):
                    hung.add(calls[index][0])

        send()
        while state["open"] > 0:
            self.context.iteration(True)
            if request.cancelled or request.left() <= 0:
                # What is still on its way times out at once.
                state["next"] = len(calls)
            send()
        return answers

    def call(self, name, path, interface, method, args, request, seconds=5):
        """One call; raises GLib.Error."""
        limit = max(1, int(min(seconds, request.left()) * 1000))
        flags = Gio.DBusCallFlags.NO_AUTO_START
        return self.connection.call_sync(name, path, interface, method, args, None, flags, limit, None).unpack()

    def pid(self, name, request):
        args = GLib.Variant("(s)", (name,))
        bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        try:
            return self.call(*bus, "GetConnectionUnixProcessID", args, request)[0]
        except GLib.Error:
            return None
