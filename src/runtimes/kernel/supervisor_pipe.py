"""A command's input, written as it takes it."""

import os
import selectors
from collections import deque


class Writer:
    def __init__(self, selector, fd):
        self.selector = selector
        self.fd = fd
        # Bytes and what to call with their count once they are written, or lost.
        self.pending = deque()
        self.watched = False
        self.ending = False
        # Whether something was not written, since nobody reads any more.
        self.lost = False
        os.set_blocking(fd, False)

    def write(self, data, done):
        """Takes bytes; those that come when nobody reads any more are lost."""
        if self.fd is None:
            self.lost = True
            done(len(data))
            return
        self.pending.append((memoryview(data), len(data), done))
        if not self.watched:
            self.flush()

    def end(self):
        """Closes the input once all is written."""
        self.ending = True
        if not self.watched:
            self.flush()

    def flush(self, _=None):
        while self.pending and self.fd is not None:
            data, size, done = self.pending[0]
            try:
                written = os.write(self.fd, data[: 1 << 16])
            except BlockingIOError:
                self.watch(True)
                return
            except OSError:
                self.close()
                return
            if written < len(data):
                self.pending[0] = (data[written:], size, done)
                continue
            self.pending.popleft()
            done(size)
        self.watch(False)
        if self.ending:
            self.close()

    def watch(self, wanted):
        if wanted == self.watched or self.fd is None:
            return
        self.watched = wanted
        if wanted:
            self.selector.register(self.fd, selectors.EVENT_WRITE, self.flush)
        else:
            self.selector.unregister(self.fd)

    def close(self):
        if self.fd is None:
            return
        self.watch(False)
        os.close(self.fd)
        self.fd = None
        self.lost = self.lost or bool(self.pending)
        while self.pending:
            _, size, done = self.pending.popleft()
            done(size)
