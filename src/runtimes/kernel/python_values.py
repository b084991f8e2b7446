"""Makes JSON of values of user code, and says what JSON could not hold."""

import json
import math
import re

MAX_LOSSY = 100
MAX_DEPTH = 100
MAX_SAFE = 2**53 - 1
LONG_NUMBER = re.compile(r"\d{16}")
# Of which `json` makes the same as the walk below, at a fraction of the cost.
PLAIN = (str, int, float, bool, type(None))


class TooLarge(Exception):
    """More than the limit, whatever is left."""


def to_json(value, limit):
    """Returns the value as JSON holds it, whether it was too large, and `path: what` for each part that JSON cannot hold."""
    try:
        encoded = json.dumps(value, allow_nan=False)
        if len(encoded) > limit:
            return None, True, []
        # The other side reads numbers as doubles.
        if LONG_NUMBER.search(encoded) is None:
            return json.loads(encoded), False, []
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass
    walk = Walk(limit)
    try:
        return walk.visit(value, "$", 0), False, walk.lossy
    except TooLarge:
        return None, True, []
    except RecursionError:
        return None, False, ["$: nested too deeply"]


class Walk:
    def __init__(self, limit):
        self.left = limit
        self.lossy = []
        self.parents = set()

    def visit(self, value, path, depth):
        kind = type(value)
        if value is None or kind is bool:
            return self.count(value, 5)
        if isinstance(value, str):
            return self.count(str(value), len(value) + 2)
        if isinstance(value, int):
            if abs(value) > MAX_SAFE:
                self.note(path, "an integer beyond 2**53, as text")
                return self.visit(int.__repr__(value) if value.bit_length() < 10_000 else "a huge integer", path, depth)
            return self.count(int(value), 8)
        if isinstance(value, float):
            if not math.isfinite(value):
                self.note(path, float.__repr__(value))
                return self.count(None, 4)
            return self.count(float(value), 8)
        if depth > MAX_DEPTH:
            raise RecursionError
        if id(value) in self.parents:
            return self.lose(path, "a cycle")
        self.parents.add(id(value))
        try:
            return self.visit_container(value, path, depth)
        finally:
            self.parents.discard(id(value))

    def visit_container(self, value, path, depth):
        if isinstance(value, dict):
            return {key: self.visit(item, f"{path}.{key}", depth + 1) for key, item in self.pairs(value, path)}
        if isinstance(value, (set, frozenset)):
            self.note(path, type(value).__name__)
            value = list(value)
        if isinstance(value, (list, tuple)):
            return [self.visit(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(self.counted(value))]
        plain = self.plain(value)
        if plain is not None:
            return self.visit(plain, path, depth + 1)
        return self.lose(path, type(value).__name__)

    def pairs(self, value, path):
        for key, item in self.counted(value.items()):
            if not isinstance(key, PLAIN):
                self.note(path, f"a key of type {type(key).__name__}, left out")
                continue
            text = key if isinstance(key, str) else json.dumps(key)
            self.count(None, len(text) + 4)
            yield text, item

    def counted(self, items):
        for item in items:
            self.count(None, 2)
            yield item

    def plain(self, value):
        """What numpy's own numbers and arrays hold, as Python's."""
        if not type(value).__module__.startswith("numpy"):
            return None
        if getattr(value, "nbytes", 0) > self.left * 8:
            raise TooLarge
        try:
            plain = value.tolist()
        except Exception:
            return None
        return None if type(plain) is type(value) else plain

    def lose(self, path, what):
        self.note(path, what)
        return self.count(None, 4)

    def note(self, path, what):
        if len(self.lossy) < MAX_LOSSY:
            self.lossy.append(f"{path[:200]}: {what}")

    def count(self, value, size):
        self.left -= size
        if self.left < 0:
            raise TooLarge
        return value
