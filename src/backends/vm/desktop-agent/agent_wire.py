"""JSON lines from and to the host, over the process's own input and output."""

import json
import os
import sys
import threading

MAX_LINE = 16 << 20
# What may be on its way to the host before it says that it has read some: the log that it reads from holds no more than a mebibyte.
CREDIT = 512 << 10
PIECE = 64 << 10


class Wire:
    def __init__(self):
        self.reader = sys.stdin.buffer
        self.fd = os.dup(1)
        # Whatever prints by mistake must not end up between two lines.
        os.dup2(2, 1)
        self.turn = threading.Lock()
        self.credit = threading.Condition()
        self.sent = self.taken = 0

    def messages(self):
        """Yields what the host says, until it says no more; its word on how much it has read is taken here."""
        while True:
            line = self.reader.readline(MAX_LINE)
            if not line.endswith(b"\n"):
                return
            message = json.loads(line)
            if "read" in message:
                with self.credit:
                    self.taken = message["read"]
                    self.credit.notify_all()
            else:
                yield message

    def send(self, message):
        line = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_LINE:
            error = {"kind": "failed", "message": f"the answer has {len(line)} bytes, which is too much"}
            return self.send({"id": message["id"], "error": error})
        with self.turn:
            for start in range(0, len(line), PIECE):
                self.write(line[start : start + PIECE])

    def write(self, piece):
        with self.credit:
            while self.sent + len(piece) - self.taken > CREDIT:
                self.credit.wait()
            self.sent += len(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(self.fd, view) :]
