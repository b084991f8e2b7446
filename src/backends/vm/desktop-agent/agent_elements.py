"""Elements of programs, as they tell of them over the accessibility bus: trees, search, and what is done to one by its reference."""

import time
from collections import OrderedDict

from gi.repository import GLib

from agent_bus import Bus
from agent_failure import Failure
from agent_states import DEFUNCT, EDITABLE, SHOWING, to_bits
from agent_walk import ON_SCREEN, PROPERTIES, REGISTRY, ROOT, Walk, ask, get_all

MAX_REFS = 20_000
# What a program may take to scroll.
SCROLL_SECONDS = 1.5
ANYWHERE = GLib.Variant("(u)", (6,))


class Elements:
    def __init__(self, first_ref):
        self.bus = Bus()
        self.next_ref = first_ref
        # Both ways; the one that was used longest ago is forgotten first.
        self.addresses = OrderedDict()
        self.refs = {}

    def handlers(self):
        handlers = {
            "tree": self.tree,
            "find": self.find,
            "locate": self.locate,
            "focus": self.focus,
            "invoke": self.invoke,
            "set_value": self.set_value,
            "terminal_text": self.terminal_text,
        }
        return {op: lambda request, work=work: self.on_bus(request, work) for op, work in handlers.items()}

    def on_bus(self, request, work):
        if self.bus.is_closed:
            # The display and all that belongs to it has been started again.
            self.bus = Bus()
        return work(request)

    # Looking.

    def tree(self, request):
        args = request.args
        walk = self.start_walk(request)
        tops = walk.run(self.scope(request))
        nodes = []

        def add(node, parent, depth):
            index = len(nodes)
            nodes.append({**self.describe(node, args.get("text_characters", 1000)), "parent": parent, "depth": depth})
            for child in node.children:
                add(child, index, depth + 1)

        for top in tops:
            add(top, None, 0)
        return {"nodes": nodes, "truncated": walk.truncated, "unresponsive": len(walk.hung)}

    def find(self, request):
        args = request.args
        limit = args.get("limit", 20)
        matching = []

        def is_enough(node):
            if is_match(node, args):
                matching.append(node)
            return len(matching) >= limit

        walk = self.start_walk(request)
        walk.run(self.scope(request), is_enough)
        found = [{**self.describe(node, 1000), "parent": None, "depth": node.depth} for node in matching[:limit]]
        return {"nodes": found, "truncated": walk.truncated, "unresponsive": len(walk.hung)}

    def terminal_text(self, request):
        walk = self.start_walk(request, text_characters=200_000)
        found = []
        tops = walk.run(self.scope(request), lambda node: node.role == "terminal" and bool(found.append(node)))
        names = {id(top): top.name for top in tops}
        found.sort(key=lambda node: "focused" not in node.states())
        if not found:
            return {"text": None, "app": None}
        return {"text": found[0].text or "", "app": names.get(id(top_of(found[0])), "")}

    def start_walk(self, request, text_characters=None):
        args = request.args
        return Walk(
            self.bus,
            request,
            max_depth=args.get("max_depth", 60),
            max_nodes=args.get("max_nodes", 2000),
            hidden=args.get("hidden", False),
            text_characters=text_characters or args.get("text_characters", 1000),
        )

    def scope(self, request):
        """The objects that a request begins at: all programs, one by its name, or a window by what the display knows of it."""
        apps = self.bus.gather([ask((REGISTRY, ROOT), "Accessible", "GetChildren")], request, set())[0]
        addresses = [tuple(child) for child in apps[0]] if apps else []
        app, window = request.args.get("app"), request.args.get("window")
        if app is not None:
            facts = self.bus.gather([get_all(address, "Accessible") for address in addresses], request, set())
            wanted = app.casefold()
            names = [str(fact[0].get("Name", "")).casefold() if fact else "" for fact in facts]
            addresses = [address for address, name in zip(addresses, names) if wanted in name]
        if window is None:
            return addresses
        return self.windows_of(addresses, window, request)

    def windows_of(self, addresses, window, request):
        if window["pid"] is not None:
            addresses = [each for each in addresses if self.bus.pid(each[0], request) == window["pid"]]
        replies = self.bus.gather([ask(each, "Accessible", "GetChildren") for each in addresses], request, set())
        frames = [tuple(child) for reply in replies if reply for child in reply[0]]
        facts = self.bus.gather([get_all(frame, "Accessible") for frame in frames], request, set())
        extents = self.bus.gather([ask(frame, "Component", "GetExtents", ON_SCREEN) for frame in frames], request, set())
        titles = [str(fact[0].get("Name", "")) if fact else "" for fact in facts]
        exact = [frame for frame, title in zip(frames, titles) if title and title == window["title"]]
        if exact:
            return exact
        near = [frame for frame, box in zip(frames, extents) if box and overlap(box[0], window["box"]) > 0.7]
        return near or ([] if window["pid"] is None else frames)

    def describe(self, node, text_characters):
        text = node.text
        return {
            "ref": self.ref(node.address),
            "role": node.role,
            "name": node.name,
            "description": node.description,
            "text": text[:text_characters] if text is not None and text != node.name else None,
            "value": node.value,
            "states": node.states(),
            "box": node.box,
            "actions": node.actions,
        }

    def ref(self, address):
        ref = self.refs.get(address)
        if ref is None:
            ref = f"e{self.next_ref}"
            self.next_ref += 1
            self.refs[address] = ref
        self.addresses[ref] = address
        self.addresses.move_to_end(ref)
        if len(self.addresses) > MAX_REFS:
            _, forgotten = self.addresses.popitem(last=False)
            self.refs.pop(forgotten, None)
        return ref

    # Doing something to one.

    def alive(self, request):
        """The address of the element that a request names."""
        ref = request.args["ref"]
        address = self.addresses.get(ref)
        if address is None:
            raise Failure("stale", f"nothing is known as {ref}")
        states = self.bus.gather([ask(address, "Accessible", "GetState")], request, set())[0]
        request.check()
        if states is None or to_bits(states[0]) >> DEFUNCT & 1:
            raise Failure("stale", f"{ref} is no longer there")
        return address, to_bits(states[0])

    def locate(self, request):
        """Where it is on the screen; what is not shown is scrolled into view first."""
        address, bits = self.alive(request)
        if not bits >> SHOWING & 1:
            self.bus.gather([ask(address, "Component", "ScrollTo", ANYWHERE)], request, set())
        looks = [ask(address, "Accessible", "GetState"), ask(address, "Component", "GetExtents", ON_SCREEN)]
        patience = time.monotonic() + SCROLL_SECONDS
        last = None
        while True:
            states, extents = self.bus.gather(looks, request, set())
            request.check()
            box = list(extents[0]) if extents and extents[0][2] > 0 and extents[0][3] > 0 else None
            showing = states is not None and to_bits(states[0]) >> SHOWING & 1
            # Twice the same: it may still be scrolling.
            if box is not None and showing and box == last:
                return {"box": box}
            if time.monotonic() > patience:
                raise Failure("failed", f"{request.args['ref']} is not on the screen")
            last = box
            time.sleep(0.03)

    def focus(self, request):
        address, _ = self.alive(request)
        return {"done": self.act(ask(address, "Component", "GrabFocus"), request, "take the focus")}

    def invoke(self, request):
        address, _ = self.alive(request)
        (found,) = self.bus.gather([ask(address, "Action", "GetActions")], request, set())
        names = [name for name, _, _ in found[0]] if found else []
        wanted = request.args.get("name")
        if not names:
            raise Failure("failed", "the element has no action of its own: click it instead")
        if wanted is not None and wanted not in names:
            raise Failure("failed", f"the element has no action {wanted}; it has {', '.join(names)}"[:300])
        index = 0 if wanted is None else names.index(wanted)
        args = GLib.Variant("(i)", (index,))
        return {"done": self.act(ask(address, "Action", "DoAction", args), request, "do that"), "name": names[index]}

    def set_value(self, request):
        address, bits = self.alive(request)
        (found,) = self.bus.gather([ask(address, "Accessible", "GetInterfaces")], request, set())
        interfaces = " ".join(found[0]) if found else ""
        value = request.args["value"]
        if "EditableText" in interfaces:
            args = GLib.Variant("(s)", (value,))
            return {"done": self.act(ask(address, "EditableText", "SetTextContents", args), request, "take a text")}
        if "Value" in interfaces:
            try:
                number = GLib.Variant("d", float(value))
            except ValueError as reason:
                raise Failure("invalid", "the element takes a number") from reason
            args = GLib.Variant("(ssv)", ("org.a11y.atspi.Value", "CurrentValue", number))
            self.act((*address, PROPERTIES, "Set", args), request, "take a number")
            return {"done": True}
        # A browser's fields say so and take text by keys only.
        return {"done": False, "editable": bool(bits >> EDITABLE & 1)}

    def act(self, call, request, what):
        try:
            reply = self.bus.call(*call, request)
        except GLib.Error as reason:
            raise Failure("failed", f"the element would not {what}: {reason.message}") from reason
        if reply and reply[0] is False:
            raise Failure("failed", f"the element would not {what}")
        return True


def top_of(node):
    while node.parent is not None:
        node = node.parent
    return node


def plain(text):
    return text.casefold().replace("-", " ").replace("_", " ").strip()


def is_match(node, args):
    role, name, text = (args.get(key) for key in ("role", "name", "text"))
    if role is not None and not is_role(plain(role), plain(node.role), args.get("exact")):
        return False
    equal = (lambda wanted, found: wanted == found) if args.get("exact") else contains
    if name is not None and not equal(name, node.name):
        return False
    return text is None or any(equal(text, each) for each in (node.text or "", node.name, node.description))


def is_role(wanted, found, exact):
    """Its last words will do: a "button" is a push button or a toggle button too, and a "menu" is no menu bar."""
    return wanted == found or (not exact and found.endswith(" " + wanted))


def contains(wanted, found):
    return wanted.casefold() in found.casefold()


def overlap(box, other):
    """The share of the smaller one that both cover."""
    x, y, width, height = box
    across = min(x + width, other["x"] + other["width"]) - max(x, other["x"])
    down = min(y + height, other["y"] + other["height"]) - max(y, other["y"])
    smaller = min(width * height, other["width"] * other["height"])
    return max(0, across) * max(0, down) / smaller if smaller > 0 else 0
