"""Checks what kernels say, as strictly as the host checks us (messages.ts): a frame that it would refuse ends the sandbox.

Nothing of a kernel's own bytes is passed on: what leaves is built anew from the fields that were checked.
"""

import time

from supervisor_wire import MAX_FRAME, Violation, encode

MAX_INTEGER = 2**53 - 1
# Characters of a text that a kernel tells; its own clipping stays below.
MAX_TEXT = 128 * 1024
# Characters of each stream's end that an `end` keeps when all of it is too large for a frame.
SHORT_TAIL = 256 * 1024
MAX_LOSSY = 100
MAX_LOSSY_TEXT = 400
# "execution status", with room to spare.
MAX_LINE = 64


def is_count(value):
    # A bool is an int to Python, and no number to the host.
    return type(value) is int and 0 <= value <= MAX_INTEGER


def check_call(kernel, message, calls_in_flight):
    """Builds the call that a kernel makes, and counts it."""
    index, tool, args = message.get("i"), message.get("tool"), message.get("args")
    if not is_count(index) or index <= kernel.last_call:
        raise Violation("a call's id is malformed or was used before")
    if not isinstance(tool, str) or not isinstance(args, dict):
        raise Violation("a call is malformed")
    if kernel.calls_in_flight >= calls_in_flight:
        raise Violation("more calls are in flight than allowed")
    frame = encode_bounded({"t": "call", "x": kernel.x, "i": index, "tool": tool, "args": args})
    kernel.last_call = index
    kernel.calls_in_flight += 1
    return frame


def check_idle(kernel, message):
    pending = message.get("pending")
    if not isinstance(pending, list) or not all(is_count(index) for index in pending):
        raise Violation("an idle is malformed")
    return encode_bounded({"t": "idle", "x": kernel.x, "pending": pending})


def check_done(message):
    """Takes what a kernel says of its execution apart, and only as far as it has the right types."""
    error, text, code = message.get("error"), message.get("text"), message.get("exit_code")
    if error is not None:
        line = error.get("line")
        error = {key: str(error[key])[:MAX_TEXT] for key in ("name", "message", "traceback")}
        if is_count(line):
            error["line"] = line
    return {
        "value": message.get("value"),
        "value_truncated": message.get("value_truncated") is True,
        "lossy": check_lossy(message.get("lossy", [])),
        "text": text[:MAX_TEXT] if isinstance(text, str) else None,
        "error": error,
        "exit_code": code if is_count(code) else None,
    }


def check_lossy(lossy):
    if not isinstance(lossy, list) or not all(isinstance(path, str) for path in lossy):
        raise Violation("a list of what was lost is malformed")
    return [path[:MAX_LOSSY_TEXT] for path in lossy[:MAX_LOSSY]]


def encode_bounded(message):
    frame = encode(message)
    # A number may be longer here than the kernel wrote it.
    if len(frame) - 4 > MAX_FRAME:
        raise Violation("a frame is over the cap")
    return frame


def encode_end(kernel, status, facts):
    """Encodes the `end` of what is live, without its value and with shorter tails where no frame could hold it."""
    usage = {stream: capture.finish() for stream, capture in kernel.captures.items()}
    usage["duration_ms"] = round((time.monotonic() - kernel.started) * 1000, 3)
    message = {
        "t": "end", "x": kernel.x, "status": status, "value": None, "text": None, "value_truncated": False, "lossy": [], "error": None,
        "displays": kernel.displays.shown, "displays_omitted": kernel.displays.omitted,
        "limit": kernel.limit if status == "limit" else None, "exit_code": None, "signal": None,
        **facts, "state_lost": facts.get("state_lost", False) or kernel.lost_before, "usage": usage,
    }  # fmt: skip
    frame = encode(message)
    if len(frame) - 4 <= MAX_FRAME:
        return frame
    for stream in ("stdout", "stderr"):
        tail = usage[stream]["tail"]
        left_out = len(tail[:-SHORT_TAIL].encode("utf-8", "replace"))
        usage[stream] = {**usage[stream], "tail": tail[-SHORT_TAIL:], "omitted": usage[stream]["omitted"] + left_out}
    frame = encode({**message, "value": None, "value_truncated": True})
    if len(frame) - 4 <= MAX_FRAME:
        return frame
    shown = len(message["displays"]) + message["displays_omitted"]
    return encode({**message, "value": None, "value_truncated": True, "displays": [], "displays_omitted": shown})


class LineDecoder:
    """Cuts what a shell says into (execution, exit code) pairs."""

    def __init__(self):
        self.rest = b""

    def push(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        # User code inherits the shell's channel: what is no line must not pile up here.
        if len(self.rest) > MAX_LINE:
            raise Violation("a line is over the cap")
        for line in lines:
            if len(line) > MAX_LINE:
                raise Violation("a line is over the cap")
            x, status = (int(part) for part in line.split())
            if not 0 <= status <= 255:
                raise Violation("an exit code is malformed")
            yield x, status
