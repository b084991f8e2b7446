"""Writes a kernel's variables to a file and brings them back: values by pickling, what cells defined by its source, modules by name.

A pickle runs what it says: it is made and read inside the sandbox only, by the code's own user.
"""

import ast
import importlib
import io
import linecache
import os
import pickle
import random
import sys
import types

FORMAT = 1
OWN_NAMES = {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "tools", "ToolError", "display"}
MAX_REASON = 200


def dump_state(scope, path, limit):
    """Writes what can be kept of the globals; returns their names, and each other one's name with the reason."""
    header, values, skipped = sort_out(scope, limit)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as file:
            pickle.dump(header, file)
            # One memo for all of them: what two variables share is shared again.
            pickler = pickle.Pickler(file, protocol=4)
            for value in values:
                pickler.dump(value)
            size = file.tell()
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    saved = [*header["modules"], *header["imports"], *(name for name, *_ in header["definitions"])]
    return {"bytes": size, "saved": [*saved, *header["early"], *header["late"]], "skipped": tell(skipped)}


def sort_out(scope, limit):
    """Decides how each global is kept; returns the file's header, the values that follow it, and what cannot be kept."""
    sources = find_definitions()
    modules, imports, definitions, early, late, skipped = {}, {}, [], {}, {}, []
    for name, value in list(scope.items()):
        if name in OWN_NAMES:
            continue
        if isinstance(value, types.ModuleType):
            modules[name] = value.__name__
        elif is_imported(value):
            imports[name] = (value.__module__, value.__qualname__)
        elif is_definition(value):
            source = sources.get(name)
            reason = refuse(value, source)
            if reason is None:
                definitions.append((name, *source[:3]))
            else:
                skipped.append((name, reason))
        else:
            scale, reason = weigh(value, limit)
            if reason is None:
                limit -= scale.size
                (late if scale.names_main else early)[name] = value
            else:
                skipped.append((name, reason))
    definitions.sort(key=lambda definition: definition[1])
    header = {"format": FORMAT, "modules": modules, "imports": imports, "definitions": definitions}
    return {**header, "early": list(early), "late": list(late)}, [*early.values(), *late.values()], skipped


def load_state(scope, path):
    """Brings variables back, and gives random numbers a start of their own."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = pickle.load(file)
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError("this is no state that this version wrote")
        restoring = Restoring(scope)
        for name, module in header["modules"].items():
            restoring.put(name, lambda module=module: importlib.import_module(module))
        for name, (module, path_in_module) in header["imports"].items():
            restoring.put(name, lambda module=module, path=path_in_module: find(module, path))
        unpickler = pickle.Unpickler(file)
        # Constants that definitions use come before them, and instances of what they define after.
        restoring.take(unpickler, header["early"])
        again = []
        for definition in header["definitions"]:
            if not restoring.define(*definition):
                again.append(definition)
        restoring.take(unpickler, header["late"])
        for definition in again:
            restoring.define(*definition)
    reseed()
    return {"bytes": size, "saved": restoring.restored, "skipped": tell(restoring.skipped.items())}


class Restoring:
    def __init__(self, scope):
        self.scope = scope
        self.restored = []
        self.skipped = {}
        self.broken = False

    def put(self, name, make):
        try:
            self.scope[name] = make()
        except Exception as error:
            self.skipped[name] = describe(error)
            return False
        self.restored.append(name)
        self.skipped.pop(name, None)
        return True

    def take(self, unpickler, names):
        for name in names:
            if self.broken:
                self.skipped[name] = "it came after one that could not be read"
            elif not self.put(name, unpickler.load):
                # The rest of the file is read from where this one began to fail.
                self.broken = True

    def define(self, name, order, source, cell):
        cell = f"<restored {cell.removeprefix('restored ')} {order}>"
        # So that tracebacks show the lines, and the next dump finds them.
        linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)

        def make():
            exec(compile(source, cell, "exec"), self.scope)
            return self.scope[name]

        return self.put(name, make)


def find(module, path):
    value = importlib.import_module(module)
    for part in path.split("."):
        value = getattr(value, part)
    return value


def reseed():
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        try:
            numpy.random.seed()
        except Exception:
            pass


def is_imported(value):
    """Whether the variable is a function or class that another module holds under its own name."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) or value.__module__ in (None, "__main__"):
        return False
    try:
        return find(value.__module__, value.__qualname__) is value
    except Exception:
        return False


def is_definition(value):
    """Whether the variable is something that a cell defined, so that its source makes it again."""
    if getattr(value, "__module__", None) != "__main__":
        return False
    return isinstance(value, (type, types.FunctionType)) or (hasattr(value, "__wrapped__") and callable(value))


def refuse(value, source):
    """Says why a definition cannot be made again from its source."""
    if source is None:
        return "its source is not known"
    kind = source[3]
    if isinstance(value, type):
        return None if kind in ("class", "call") else "its source is not known"
    if kind == "call":
        return "a function that another one made"
    return None


def find_definitions():
    """Name → (order, source, cell, kind) of what cells define at their top level; the latest wins."""
    found = {}
    order = 0
    for cell, entry in list(linecache.cache.items()):
        if not cell.startswith(("<cell ", "<restored ")) or len(entry) < 3:
            continue
        text = "".join(entry[2])
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError):
            # A top-level await is no syntax of modules.
            try:
                body = compile(text, cell, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).body
            except (SyntaxError, ValueError, RecursionError):
                continue
        for node in body:
            order += 1
            for name, kind in names_of(node):
                found[name] = (order, segment(entry[2], node), cell.strip("<>"), kind)
    return found


def names_of(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [(node.name, "function")]
    if isinstance(node, ast.ClassDef):
        return [(node.name, "class")]
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Lambda, ast.Call)):
        kind = "function" if isinstance(node.value, ast.Lambda) else "call"
        return [(target.id, kind) for target in node.targets if isinstance(target, ast.Name)]
    return []


def segment(lines, node):
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    rows = list(lines[first - 1 : node.end_lineno])
    # Offsets count bytes; another statement may stand on the same line.
    rows[-1] = rows[-1].encode()[: node.end_col_offset].decode() if rows else ""
    if first == node.lineno and rows:
        rows[0] = rows[0].encode()[node.col_offset :].decode()
    return "".join(rows) + "\n"


class Scale(io.RawIOBase):
    """A file that only counts, and refuses what is too much."""

    def __init__(self, limit):
        self.limit = limit
        self.size = 0
        # It holds something that cells defined.
        self.names_main = False

    def writable(self):
        return True

    def write(self, data):
        self.size += len(data)
        self.names_main = self.names_main or b"__main__" in bytes(memoryview(data)[: 1 << 20])
        if self.size > self.limit:
            raise OverflowError
        return len(data)


def weigh(value, limit):
    """Returns the scale that its pickle was put on, or why there can be none."""
    scale = Scale(limit)
    try:
        pickle.Pickler(scale, protocol=4).dump(value)
        return scale, None
    except OverflowError:
        return scale, "the state would be over its limit of bytes"
    except MemoryError:
        return scale, "there is too little memory to write it"
    except Exception as error:
        return scale, describe(error)


def describe(error):
    try:
        return f"{type(error).__name__}: {error}"[:MAX_REASON]
    except Exception:
        return type(error).__name__


def tell(skipped):
    return [{"name": name, "reason": reason} for name, reason in skipped]
