"""Tells values and exceptions of user code as text and JSON, bounded whatever they do."""

import json
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


def to_json(value, limit):
    """Returns the value as JSON holds it and whether it was too large; None where JSON cannot hold it."""
    try:
        encoded = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None, False
    if len(encoded) > limit:
        return None, True
    return json.loads(encoded), False


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


def describe(error, own_files):
    """Tells an exception with true line numbers and without the frames of this file."""
    try:
        told = traceback.TracebackException(type(error), error, error.__traceback__, limit=-30)
        line = error.lineno if isinstance(error, SyntaxError) else None
        part = told
        while part is not None:
            part.stack[:] = [frame for frame in part.stack if frame.filename not in own_files]
            part = part.__cause__ or part.__context__
        for frame in told.stack:
            if frame.filename.startswith("<cell "):
                line = frame.lineno
        text = "".join(told.format())
        facts = {"name": type(error).__name__, "message": clip(render_message(error)), "traceback": clip(text)}
        if isinstance(line, int):
            facts["line"] = line
        return facts
    except BaseException:
        return {"name": type(error).__name__, "message": "the exception could not be printed", "traceback": ""}


def render_message(error):
    return str(error.msg) if isinstance(error, SyntaxError) else str(error)


def flush():
    for stream in {sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__}:
        try:
            stream.flush()
        except BaseException:
            pass
