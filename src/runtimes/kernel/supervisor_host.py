"""The way to the host: a socket that we were given, or one that we connect to again whenever it is lost."""

import mmap
import os
import socket
import time

from supervisor_channel import Channel

GIVEN_FD = 3
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
TOKEN_BYTES = 256


class GivenHost:
    """The end of a socket pair: as pid 1, leaving ends every process of the sandbox, which is right when the host is gone."""

    patient = False

    def __init__(self, selector, on_data, on_backlog):
        connection = socket.socket(fileno=GIVEN_FD)
        os.set_inheritable(GIVEN_FD, False)
        self.channel = Channel(selector, connection, on_data=on_data, on_lost=lambda: os._exit(0), on_backlog=on_backlog)

    def send(self, frame):
        self.channel.send(frame)

    def is_heard(self):
        return True

    def greeted(self):
        pass


class SoughtHost:
    """A unix socket of the host's: whoever listens there is told the token, by which it knows us."""

    patient = True

    def __init__(self, selector, timers, options, on_data, on_backlog, on_lost):
        self.selector = selector
        self.timers = timers
        self.path = options["connect"]
        self.patience = options["patience"]
        self.on_data = on_data
        self.on_backlog = on_backlog
        self.on_lost = on_lost
        self.channel = None
        self.pause = FIRST_PAUSE
        self.greeted_at = time.monotonic()
        self.was_greeted = False
        self.token = read_token(options["token"])
        self.connect()

    def is_heard(self):
        return self.channel is not None and self.was_greeted

    def send(self, frame):
        # To nobody: whoever comes next asks anew.
        if self.channel is not None:
            self.channel.send(frame)

    def greeted(self):
        self.was_greeted = True
        self.pause = FIRST_PAUSE

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(1)
            connection.connect(self.path)
            # Gathered by the kernel: no copy of the token is left in our memory, which kernels inherit.
            head, tail = b'{"t":"auth","token":"', b'"}'
            length = len(head) + len(self.token) + len(tail)
            connection.sendmsg([length.to_bytes(4, "big"), head, self.token, tail])
        except OSError:
            connection.close()
            self.retry()
            return
        self.was_greeted = False
        self.channel = Channel(self.selector, connection, on_data=self.on_data, on_lost=self.lose, on_backlog=self.on_backlog)

    def lose(self):
        self.channel.close()
        self.channel = None
        if self.was_greeted:
            self.greeted_at = time.monotonic()
        self.on_backlog(0)
        self.on_lost()
        self.retry()

    def retry(self):
        if time.monotonic() - self.greeted_at > self.patience:
            os._exit(0)
        self.timers.after(self.pause, self.connect)
        self.pause = min(self.pause * 2, LONGEST_PAUSE)


def read_token(path):
    """Reads the token into a page that no forked child has."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.madvise(mmap.MADV_DONTFORK)
    view = memoryview(page)[:TOKEN_BYTES]
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.readv(fd, [view])
    finally:
        os.close(fd)
    return view[:size]
