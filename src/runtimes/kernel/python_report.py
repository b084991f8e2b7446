"""Tells values and exceptions of user code as text, bounded whatever they do."""

import sys
import traceback

TEXT_LIMIT = 64 * 1024


def render(value):
    try:
        return value if isinstance(value, str) else repr(value)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        return f"<{type(value).__name__}: its repr raised {type(error).__name__}>"


def clip(text):
    text = str(text).encode("utf-8", "replace").decode("utf-8")
    if len(text) <= TEXT_LIMIT:
        return text
    half = TEXT_LIMIT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def exit_code(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    try:
        print(error.code, file=sys.stderr)
    except Exception:
        pass
    return 1


def describe(error, own_files, cell):
    """Tells an exception with true line numbers and without the frames of this file; the line is one of the cell."""
    try:
        # First, for what is printed below takes even an interrupt of a slow message for a failed one.
        message = clip(render_message(error))
        told = traceback.TracebackException(type(error), error, error.__traceback__, limit=-30)
        strip(told, own_files)
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == cell else None
        # Not from what is told, which leaves out the start of a long stack.
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == cell:
                line = number
        text = "".join(told.format())
        facts = {"name": type(error).__name__, "message": message, "traceback": clip(text)}
        if isinstance(line, int):
            facts["line"] = line
        return facts
    except Exception:
        return {"name": type(error).__name__, "message": "the exception could not be printed", "traceback": ""}


def strip(told, own_files):
    """Takes our own frames out of an exception, of those that it came from, and of those in its group."""
    waiting, seen = [told], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        part.stack[:] = [frame for frame in part.stack if frame.filename not in own_files]
        waiting += [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or [])]


def render_message(error):
    try:
        return str(error.msg) if isinstance(error, SyntaxError) else str(error)
    except Exception as second:
        return f"<its message raised {type(second).__name__}>"


def flush():
    for stream in {sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__}:
        try:
            stream.flush()
        except BaseException:
            pass
