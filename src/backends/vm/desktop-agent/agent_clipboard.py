"""The clipboard: the agent itself owns the selections, so that what it sets stays for as long as nobody copies something else."""

import base64
import time

from Xlib import X, Xatom
from Xlib.protocol import event
from Xlib.protocol.request import SetSelectionOwner

from agent_failure import Failure

TEXT_TARGETS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT")
PNG = "image/png"
# Above it a selection goes in pieces, as ICCCM has it; under every X server's longest request.
PIECE = 128 << 10
MAX_BYTES = 8 << 20
# What the owner of a selection may take between two pieces.
PATIENCE = 2.0


class Clipboard:
    def __init__(self, connection):
        self.connection = connection
        self.display = connection.display
        mask = X.PropertyChangeMask
        self.window = connection.root.create_window(-10, -10, 1, 1, 0, X.CopyFromParent, event_mask=mask)
        # The bytes that are offered, by the name of their kind; empty while another program owns the selection.
        self.offered = {}
        self.owned = set()
        self.served = 0
        # Transfers in pieces: (window, property) → what is still to be sent.
        self.sending = {}
        self.notified = None
        self.changed = set()
        connection.listen(X.SelectionRequest, self.on_request)
        connection.listen(X.SelectionClear, self.on_clear)
        connection.listen(X.SelectionNotify, self.on_notify)
        connection.listen(X.PropertyNotify, self.on_property)

    def handlers(self):
        return {"clipboard_get": self.get, "clipboard_set": self.set, "clipboard_served": self.wait_served}

    def set(self, request):
        args = request.args
        if "text" in args:
            text = args["text"].encode("utf-8", "replace")
            # STRING is Latin-1 by ICCCM; who cannot take anything better gets marks for the rest.
            latin = args["text"].encode("latin-1", "replace")
            self.offered = {name: latin if name == "STRING" else text for name in TEXT_TARGETS}
        elif "png" in args:
            self.offered = {PNG: base64.b64decode(args["png"])}
        else:
            return self.clear()
        self.served = 0
        stamp = self.timestamp(request)
        self.own("CLIPBOARD", stamp)
        if args.get("primary", False):
            # What terminals paste. Not otherwise: whoever has something selected would see that undone.
            self.own("PRIMARY", stamp)
        return {"set": True}

    def clear(self):
        for atom in list(self.owned):
            SetSelectionOwner(display=self.display.display, window=X.NONE, selection=atom, time=X.CurrentTime)
        self.display.sync()
        self.owned.clear()
        self.offered = {}
        return {"set": True}

    def own(self, name, stamp):
        atom = self.connection.atom(name)
        self.window.set_selection_owner(atom, stamp)
        if self.display.get_selection_owner(atom) != self.window:
            raise Failure("failed", "another program would not give the clipboard away")
        self.owned.add(atom)

    def get(self, request):
        atom = self.connection.atom("CLIPBOARD")
        owner = self.display.get_selection_owner(atom)
        if owner == X.NONE:
            return {"kind": "none"}
        offered = self.offered if owner == self.window else None
        names = list(offered) if offered is not None else self.targets(request)
        wanted = request.args.get("type", "auto")
        text_name = next((name for name in TEXT_TARGETS if name in names), None)
        if wanted != "image" and text_name is not None:
            data = offered[text_name] if offered is not None else self.convert(text_name, request)
            encoding = "latin-1" if text_name == "STRING" else "utf-8"
            return {"kind": "text", "text": data.decode(encoding, "replace")}
        if wanted != "text" and PNG in names:
            data = offered[PNG] if offered is not None else self.convert(PNG, request)
            return {"kind": "png", "png": base64.b64encode(data).decode()}
        return {"kind": "none"}

    def wait_served(self, request):
        """Waits until a program has taken what is offered."""
        served = self.connection.wait_for(lambda: self.served > 0 and not self.sending, request.until - 0.2)
        return {"served": served}

    def timestamp(self, request):
        """The server's time, by which owners are told apart."""
        atom = self.connection.atom("_TOOLYARD_TIME")
        self.changed.clear()
        self.window.change_property(atom, Xatom.STRING, 8, b"")
        if not self.connection.wait_for(lambda: any(found[1] == atom for found in self.changed), request.until):
            raise Failure("timeout", "the display tells no time")
        return next(found[2] for found in self.changed if found[1] == atom)

    # What others ask of us.

    def on_request(self, asked):
        target = self.display.get_atom_name(asked.target)
        prop = asked.property if asked.property != X.NONE else asked.target
        if asked.selection not in self.owned:
            prop = X.NONE
        elif target == "TARGETS":
            names = ["TARGETS", "TIMESTAMP", *self.offered]
            asked.requestor.change_property(prop, Xatom.ATOM, 32, [self.connection.atom(name) for name in names])
        elif target in self.offered:
            self.hand_over(asked.requestor, prop, asked.target, self.offered[target])
        else:
            prop = X.NONE
        answer = event.SelectionNotify(
            time=asked.time, requestor=asked.requestor, selection=asked.selection, target=asked.target, property=prop
        )
        asked.requestor.send_event(answer)
        self.display.flush()

    def hand_over(self, window, prop, target, data):
        kind = target
        if len(data) <= PIECE:
            window.change_property(prop, kind, 8, data)
            self.count(window)
            return
        # Before the first word of it, so that no deletion is missed.
        window.change_attributes(event_mask=X.PropertyChangeMask)
        self.sending[(window.id, prop)] = [window, kind, data, 0]
        window.change_property(prop, self.connection.atom("INCR"), 32, [len(data)])

    def count(self, window):
        # The server itself has no number of a client in its: a VNC server reads everything that is copied, for its viewers.
        if window.id & ~self.display.display.info.resource_id_mask:
            self.served += 1

    def on_property(self, changed):
        if changed.window == self.window and changed.state == X.PropertyNewValue:
            self.changed.add((self.window.id, changed.atom, changed.time))
            return
        transfer = self.sending.get((changed.window.id, changed.atom))
        if transfer is None or changed.state != X.PropertyDelete:
            return
        window, kind, data, start = transfer
        piece = data[start : start + PIECE]
        window.change_property(changed.atom, kind, 8, piece)
        transfer[3] = start + len(piece)
        if not piece:
            del self.sending[(changed.window.id, changed.atom)]
            self.count(window)
        self.display.flush()

    def on_clear(self, cleared):
        self.owned.discard(cleared.atom)
        if not self.owned:
            self.offered = {}

    # What we ask of others.

    def on_notify(self, answer):
        self.notified = answer

    def targets(self, request):
        atoms = self.convert("TARGETS", request, as_atoms=True)
        return [self.display.get_atom_name(atom) for atom in list(atoms)[:200] if atom > 0]

    def convert(self, target, request, as_atoms=False):
        prop = self.connection.atom("_TOOLYARD_SELECTION")
        self.window.delete_property(prop)
        self.notified = None
        selection = self.connection.atom("CLIPBOARD")
        self.window.convert_selection(selection, self.connection.atom(target), prop, self.timestamp(request))
        until = min(request.until, time.monotonic() + PATIENCE)
        if not self.connection.wait_for(lambda: self.notified is not None, until):
            raise Failure("timeout", "the program that owns the clipboard does not answer")
        if self.notified.property == X.NONE:
            if as_atoms:
                return []
            raise Failure("failed", f"the program that owns the clipboard does not give it as {target}")
        kind, value = self.take(prop)
        if kind == self.connection.atom("INCR"):
            return self.take_pieces(prop, request)
        if as_atoms:
            return value if value is not None and not isinstance(value, bytes) else []
        return value if isinstance(value, bytes) else b""

    def take(self, prop):
        found = self.window.get_full_property(prop, X.AnyPropertyType, sizehint=MAX_BYTES // 4)
        if found is None:
            return None, None
        if isinstance(found.value, bytes) and len(found.value) > MAX_BYTES:
            raise Failure("failed", "the clipboard holds more than 8 MiB")
        return found.property_type, found.value

    def take_pieces(self, prop, request):
        pieces, total = [], 0
        while True:
            self.changed.clear()
            self.window.delete_property(prop)
            until = min(request.until, time.monotonic() + PATIENCE)
            if not self.connection.wait_for(lambda: any(found[1] == prop for found in self.changed), until):
                raise Failure("timeout", "the program that owns the clipboard stopped in the middle")
            _, piece = self.take(prop)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            total += len(piece)
            if total > MAX_BYTES:
                raise Failure("failed", "the clipboard holds more than 8 MiB")
