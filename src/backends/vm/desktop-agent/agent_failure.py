"""Why a request could not be done, as the host is told."""

import time


class Failure(Exception):
    """`kind` is one of invalid, stale, unavailable, failed, timeout."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Request:
    """One request, its deadline, and whether the host still wants it."""

    def __init__(self, message):
        self.id = message["id"]
        self.op = message["op"]
        self.args = message.get("args", {})
        self.until = time.monotonic() + message["deadline_ms"] / 1000
        self.cancelled = False

    def left(self):
        return self.until - time.monotonic()

    def check(self):
        if self.cancelled:
            raise Failure("timeout", "it was cancelled")
        if self.left() <= 0:
            raise Failure("timeout", f"{self.op} was not done in its time")
