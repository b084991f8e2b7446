"""Walks trees of accessible objects, level by level, with all questions of a level on their way at once."""

import math

from gi.repository import GLib

from agent_states import SHOWING, to_bits, to_names

ATSPI = "org.a11y.atspi."
PROPERTIES = "org.freedesktop.DBus.Properties"
ROOT = "/org/a11y/atspi/accessible/root"
REGISTRY = "org.a11y.atspi.Registry"
ON_SCREEN = GLib.Variant("(u)", (0,))
# A table may claim a row for each that there could be.
MAX_CHILDREN = 2000
FIRST_CHILDREN = 200
NAME_CHARACTERS = 1000


def ask(address, interface, method, args=None):
    return (*address, ATSPI + interface, method, args)


def get_all(address, interface):
    return (*address, PROPERTIES, "GetAll", GLib.Variant("(s)", (ATSPI + interface,)))


def get_one(address, interface, name):
    return (*address, PROPERTIES, "Get", GLib.Variant("(ss)", (ATSPI + interface, name)))


class Node:
    def __init__(self, address, parent, depth):
        self.address = address
        self.parent = parent
        self.depth = depth
        self.children = []
        self.name = self.description = self.role = ""
        self.bits = 0
        self.interfaces = set()
        self.box = self.text = self.value = None
        self.actions = []
        self.child_count = 0

    def take(self, facts, role, interfaces, extents):
        facts = facts[0] if facts else {}
        self.name = str(facts.get("Name", ""))[:NAME_CHARACTERS]
        self.description = str(facts.get("Description", ""))[:NAME_CHARACTERS]
        self.child_count = int(facts.get("ChildCount", 0))
        self.role = str(role[0])[:100] if role else "unknown"
        self.interfaces = {name.removeprefix(ATSPI) for name in interfaces[0]} if interfaces else set()
        if extents and extents[0][2] > 0 and extents[0][3] > 0 and abs(extents[0][0]) < 1 << 20:
            self.box = list(extents[0])

    @property
    def is_showing(self):
        # Programs, which a walk begins at, have no state of their own.
        return self.parent is None or bool(self.bits >> SHOWING & 1)

    def states(self):
        return to_names(self.bits)


class Walk:
    """`visit` is told of each node and answers whether it is to be kept; the walk ends when enough are."""

    def __init__(self, bus, request, *, max_depth, max_nodes, hidden, texts=True, text_characters=2000):
        self.bus = bus
        self.request = request
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.hidden = hidden
        self.texts = texts
        self.text_characters = text_characters
        self.seen = 0
        self.hung = set()
        self.truncated = None

    def run(self, addresses, is_enough=lambda node: False):
        """Returns the top nodes; `truncated` says what cut it short."""
        tops = [Node(address, None, 0) for address in addresses]
        level = tops
        known = set(addresses)
        while level:
            shown = self.read(level)
            for node in shown:
                if node.parent is not None:
                    node.parent.children.append(node)
            deeper = [node for node in shown if node.depth < self.max_depth and node.child_count > 0]
            if any(node.depth >= self.max_depth and node.child_count > 0 for node in shown):
                self.truncated = self.truncated or "max_depth"
            found = self.read_more(shown, deeper)
            if self.out_of_time() or any(is_enough(node) for node in shown):
                break
            level = []
            for node, children in found:
                for address in children:
                    if address[1] != "/org/a11y/atspi/null" and address not in known:
                        known.add(address)
                        level.append(Node(address, node, node.depth + 1))
        return tops

    def out_of_time(self):
        if self.request.cancelled or self.request.left() <= 0:
            self.truncated = "deadline_ms"
            return True
        return False

    def read(self, level):
        """Reads the nodes of a level that are shown, as many as there is room for, and returns them."""
        states = self.bus.gather([ask(node.address, "Accessible", "GetState") for node in level], self.request, self.hung)
        for node, reply in zip(level, states):
            node.bits = to_bits(reply[0]) if reply else 0
        # Most of a long page is not, and need not be asked for more.
        nodes = [node for node in level if self.hidden or node.is_showing]
        room = self.max_nodes - self.seen
        if len(nodes) > room:
            self.truncated = self.truncated or "max_nodes"
            nodes = nodes[:room]
        self.seen += len(nodes)
        calls = []
        for node in nodes:
            calls.append(get_all(node.address, "Accessible"))
            calls.append(ask(node.address, "Accessible", "GetRoleName"))
            calls.append(ask(node.address, "Accessible", "GetInterfaces"))
            calls.append(ask(node.address, "Component", "GetExtents", ON_SCREEN))
        answers = self.bus.gather(calls, self.request, self.hung)
        for index, node in enumerate(nodes):
            node.take(*answers[index * 4 : index * 4 + 4])
        return nodes

    def read_more(self, shown, deeper):
        """Reads texts, values and actions of those that have them, and who their children are."""
        calls, takers, children = [], [], {}

        def later(call, take):
            calls.append(call)
            takers.append(take)

        for node in shown if self.texts else ():
            if "Text" in node.interfaces:
                args = GLib.Variant("(ii)", (0, self.text_characters))
                later(ask(node.address, "Text", "GetText", args), lambda reply, node=node: set_text(node, reply))
            if "Value" in node.interfaces:
                later(get_one(node.address, "Value", "CurrentValue"), lambda reply, node=node: set_value(node, reply))
            if "Action" in node.interfaces:
                later(ask(node.address, "Action", "GetActions"), lambda reply, node=node: set_actions(node, reply))
        for node in deeper:
            children[node.address] = []
            add = children[node.address].extend
            if node.child_count <= MAX_CHILDREN:
                later(ask(node.address, "Accessible", "GetChildren"), lambda reply, add=add: add(reply[0]))
                continue
            self.truncated = self.truncated or "children"
            for index in range(FIRST_CHILDREN):
                args = GLib.Variant("(i)", (index,))
                later(ask(node.address, "Accessible", "GetChildAtIndex", args), lambda reply, add=add: add(reply))
        for take, reply in zip(takers, self.bus.gather(calls, self.request, self.hung)):
            if reply is not None:
                take(reply)
        return [(node, [tuple(child) for child in children[node.address][:MAX_CHILDREN]]) for node in deeper]


def set_text(node, reply):
    # What another object stands for is told as that object.
    text = str(reply[0]).replace("\ufffc", "")
    node.text = text or None


def set_value(node, reply):
    # Alone: Chromium dies of being asked for all that a slider's value has.
    value = reply[0]
    node.value = float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def set_actions(node, reply):
    node.actions = [str(name)[:100] for name, _, _ in reply[0][:20]]
