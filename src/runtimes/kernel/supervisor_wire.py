"""Frames of "ptc-frame/1" and the captured streams, for the supervisor; the host's side is in frame.ts and capture.ts."""

import codecs
import json
import struct

MAX_FRAME = 8 * 1024 * 1024
# In a header's length: the frame holds a stream's number and bytes, and no JSON.
BINARY = 1 << 31
STREAM_BYTES = 4


class Violation(Exception):
    """A kernel broke the protocol."""


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def encode(message):
    text = json.dumps(message, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # Half of a surrogate pair has no UTF-8; the escape that Python puts instead is JSON's own.
    payload = text.encode("utf-8", "backslashreplace")
    return struct.pack(">I", len(payload)) + payload


def encode_bytes(stream, data):
    """Encodes a frame of bytes, which belong to the operation of that number."""
    return struct.pack(">II", BINARY | (STREAM_BYTES + len(data)), stream) + data


class Decoder:
    """Cuts bytes into (message, frame) pairs; takes only what the host would take, for Python knows more of JSON and UTF.

    The message of a frame of bytes is its stream's number. Kernels may not send any.
    """

    def __init__(self, binary=False):
        self.binary = binary
        self.buffer = bytearray()

    def push(self, data):
        self.buffer += data
        while len(self.buffer) >= 4:
            (header,) = struct.unpack_from(">I", self.buffer)
            length = header & ~BINARY
            if length > MAX_FRAME:
                raise Violation("a frame is over the cap")
            if header != length and (not self.binary or length < STREAM_BYTES):
                raise Violation("a frame of bytes is malformed")
            if len(self.buffer) < 4 + length:
                return
            with memoryview(self.buffer) as view:
                frame = bytes(view[: 4 + length])
            del self.buffer[: 4 + length]
            if header != length:
                yield struct.unpack_from(">I", frame, 4)[0], frame
                continue
            try:
                message = json.loads(frame[4:].decode("utf-8"), parse_constant=refuse)
            except (ValueError, RecursionError) as error:
                raise Violation("a frame is not JSON") from error
            if not isinstance(message, dict):
                raise Violation("a frame is not an object")
            yield message, frame


class Capture:
    """Streams the start of one stream, keeps its end for `end`, and counts all of it."""

    def __init__(self, limit):
        self.head_left = limit // 2
        self.tail_size = limit - limit // 2
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.tail = bytearray()
        self.bytes = self.omitted = self.sequence = 0

    def feed(self, data):
        """Takes bytes and returns the text to stream now."""
        self.bytes += len(data)
        text = ""
        if self.head_left > 0:
            head, data = data[: self.head_left], data[self.head_left :]
            self.head_left -= len(head)
            text = self.decoder.decode(head)
            if self.head_left == 0:
                # A character that the cut split goes to the tail whole.
                data = self.decoder.getstate()[0] + data
        self.tail += data
        if len(self.tail) > 2 * self.tail_size:
            self.trim()
        return text

    def trim(self):
        excess = len(self.tail) - self.tail_size
        if excess > 0:
            # Never start inside a character.
            while excess < len(self.tail) and self.tail[excess] & 0xC0 == 0x80 and excess < len(self.tail) - self.tail_size + 4:
                excess += 1
            del self.tail[:excess]
            self.omitted += excess

    def finish(self):
        self.trim()
        # Changes nothing: the first answer may turn out to be one that cannot be sent.
        pending = self.decoder.getstate()[0].decode("utf-8", "replace") if self.head_left > 0 else ""
        tail = pending + self.tail.decode("utf-8", "replace")
        return {"bytes": self.bytes, "omitted": self.omitted, "tail": tail}
