"""Runs Python code with pyautogui, each in a process of its own that is forked from one that has all modules loaded."""

import json
import os
import select
import signal
import socket
import sys
import time

OUTPUT_BYTES = 256 << 10


class Runner:
    def __init__(self):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            try:
                serve(theirs)
            finally:
                os._exit(0)
        theirs.close()
        self.channel = ours
        self.buffer = b""

    def run(self, request):
        args = {**request.args, "seconds": max(0.0, request.left())}
        try:
            self.channel.sendall(json.dumps(args).encode() + b"\n")
            until = request.until + 5
            told = False
            while b"\n" not in self.buffer:
                if request.cancelled and not told:
                    told = True
                    self.channel.sendall(b"stop\n")
                ready, _, _ = select.select([self.channel], [], [], 0.1)
                data = self.channel.recv(1 << 16) if ready else None
                if data == b"" or time.monotonic() > until:
                    raise OSError("it is gone")
                self.buffer += data or b""
        except OSError:
            # A new agent has a new one.
            os._exit(4)
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)


class Lines:
    def __init__(self, channel):
        self.channel = channel
        self.buffer = b""

    def next(self):
        while b"\n" not in self.buffer:
            data = self.channel.recv(1 << 16)
            if data == b"":
                os._exit(0)
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line


def serve(channel):
    """The process that is forked from: it has one thread, no display, and ends with the agent."""
    import pyautogui  # noqa: F401 -- loaded once for all

    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines = Lines(channel)
    while True:
        line = lines.next()
        if line == b"stop":
            # What it was meant for has ended already.
            continue
        result = run_one(json.loads(line), channel, lines)
        channel.sendall(json.dumps(result).encode() + b"\n")


def run_one(args, channel, lines):
    out_reader, out_writer = os.pipe()
    err_reader, err_writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(out_writer, 1)
        os.dup2(err_writer, 2)
        channel.close()
        os.closerange(3, 256)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        execute(args)
    os.close(out_writer)
    os.close(err_writer)
    streams = {out_reader: Kept(), err_reader: Kept()}
    until = time.monotonic() + args["seconds"]
    ended, status, killed = False, 0, None
    open_ones = set(streams)
    while not ended:
        left = until - time.monotonic()
        ready, _, _ = select.select([*open_ones, channel], [], [], max(0, min(left, 0.02)))
        for fd in open_ones & set(ready):
            data = os.read(fd, 1 << 16)
            streams[fd].add(data)
            if not data:
                open_ones.discard(fd)
        if channel in ready and lines.next() == b"stop":
            killed = "cancelled"
        if left <= 0:
            killed = "timeout"
        if killed is not None:
            kill_group(pid)
        done, status = os.waitpid(pid, 0 if killed is not None else os.WNOHANG)
        ended = done == pid
    for fd in open_ones:
        # What it has started may hold the other end.
        os.set_blocking(fd, False)
        try:
            while data := os.read(fd, 1 << 16):
                streams[fd].add(data)
        except BlockingIOError:
            pass
    kill_group(pid)
    for fd in streams:
        os.close(fd)
    code = os.waitstatus_to_exitcode(status)
    return {
        "exit_code": code,
        "ended_by": killed,
        "stdout": streams[out_reader].text(),
        "stderr": streams[err_reader].text(),
        "truncated": streams[out_reader].truncated or streams[err_reader].truncated,
    }


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


class Kept:
    def __init__(self):
        self.data = bytearray()
        self.truncated = False

    def add(self, data):
        room = OUTPUT_BYTES - len(self.data)
        self.data += data[:room]
        self.truncated = self.truncated or len(data) > room

    def text(self):
        return self.data.decode("utf-8", "replace")


def execute(args):
    import traceback

    import pyautogui

    status = 1
    try:
        if "screenshot_size" in args:
            pyautogui.count_points_in(*args["screenshot_size"])
        # As the harnesses have it that write such code.
        scope = {"__name__": "__main__", "pyautogui": pyautogui, "time": time}
        exec(compile(args["code"], "<code>", "exec"), scope)
        status = 0
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            pyautogui.finish()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            pass
        os._exit(status & 0xFF)
