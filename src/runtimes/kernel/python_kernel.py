"""Runs user code in one dict of globals, in a process of its own that its supervisor may interrupt and kill.

Everything here can be reached and broken by user code: what this process says is data to the supervisor, never authority.
"""

import ast
import asyncio
import builtins
import inspect
import json
import linecache
import os
import signal
import socket
import struct
import sys
import threading
import types

import python_displays
import python_state
from python_packages import find_own_packages, forget_absent_packages
from python_report import clip, describe, exit_code, flush, render, render_message
from python_values import to_json

OWN_FILES = {__file__, python_displays.__file__, python_state.__file__, asyncio.runners.__file__, asyncio.base_events.__file__}
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class ToolError(Exception):
    """A tool that user code called failed; `type`, `code`, `data` and `retryable` say how."""

    def __init__(self, error):
        super().__init__(error.get("message", "the tool failed"))
        self.type = error.get("type")
        self.code = error.get("code")
        self.data = error.get("data")
        self.retryable = bool(error.get("retryable"))


class Channel:
    """The kernel's end of the supervisor's socket."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.buffer = bytearray()
        self.lock = threading.Lock()
        # An interrupt within a frame would leave half of it on the wire: it waits.
        self.sending = self.interrupted = False

    def send(self, message):
        payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("utf-8", "surrogatepass")
        is_main = threading.current_thread() is threading.main_thread()
        self.sending = self.sending or is_main
        try:
            # Threads of user code call tools and show values too.
            with self.lock:
                self.socket.setblocking(True)
                self.socket.sendall(struct.pack(">I", len(payload)) + payload)
        finally:
            if is_main:
                self.sending = False
        if is_main and self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    def fill(self):
        data = self.socket.recv(1 << 18)
        if not data:
            os._exit(0)
        self.buffer += data

    def frames(self):
        while len(self.buffer) >= 4:
            (length,) = struct.unpack_from(">I", self.buffer)
            if len(self.buffer) < 4 + length:
                return
            payload = bytes(self.buffer[4 : 4 + length])
            del self.buffer[: 4 + length]
            yield json.loads(payload)


class Tools:
    """Calls the server's tools: `await tools.call("rag:search", {"query": "…"})`, or with keywords."""

    def __init__(self, kernel):
        self.__kernel = kernel

    async def call(self, tool, args=None, /, **keywords):
        return await self.__kernel.call_tool(tool, {**(args or {}), **keywords})


class Kernel:
    def __init__(self, fd, limits):
        self.channel = Channel(fd)
        self.limits = limits
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.module = types.ModuleType("__main__")
        sys.modules["__main__"] = self.module
        self.globals = self.module.__dict__
        self.displays = python_displays.Displays(self.send_display, limits["result_bytes"])
        self.globals.update({"__builtins__": builtins, "tools": Tools(self), "ToolError": ToolError})
        self.globals["display"] = self.displays.display
        python_displays.install(self.displays)
        self.running = self.interrupted = False
        # A fork of user code must not speak for this process.
        self.pid = os.getpid()
        self.x = self.next_call = 0
        self.calls = {}
        self.waiting = []

    # -- calls to tools

    async def call_tool(self, tool, args):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if len(self.calls) >= self.limits["calls_in_flight"]:
            self.waiting.append((tool, args, future))
        else:
            self.send_call(tool, args, future)
        return await future

    def send_call(self, tool, args, future):
        loop = future.get_loop()
        index = self.next_call
        self.next_call += 1
        frame = {"t": "call", "x": self.x, "i": index, "tool": str(tool), "args": args}
        try:
            self.channel.send(frame)
        except (TypeError, ValueError) as error:
            future.set_exception(TypeError(f"the arguments of a tool must be JSON: {error}"))
            return
        self.calls[index] = future
        loop.add_reader(self.channel.socket.fileno(), self.on_readable, loop)

    def on_readable(self, loop):
        self.channel.fill()
        for frame in self.channel.frames():
            if frame.get("t") != "res" or frame.get("x") != self.x:
                continue
            future = self.calls.pop(frame["i"], None)
            if future is not None:
                self.settle(future, frame)
            while self.waiting and len(self.calls) < self.limits["calls_in_flight"]:
                self.send_call(*self.waiting.pop(0))
        if not self.calls:
            loop.remove_reader(self.channel.socket.fileno())

    @staticmethod
    def settle(future, frame):
        def apply():
            if future.done():
                return
            if frame["ok"]:
                future.set_result(frame["value"])
            else:
                future.set_exception(ToolError(frame["error"]))

        # The future's loop may be that of a thread.
        future.get_loop().call_soon_threadsafe(apply)

    # -- executions

    def serve(self):
        while True:
            for frame in self.channel.frames():
                # Answers to calls that the code did not wait for come late and are dropped.
                if frame.get("t") == "exec":
                    done = self.execute(frame)
                    if os.getpid() != self.pid:
                        # A fork of user code came back from it: it must not speak for its parent.
                        os._exit(0)
                    self.channel.send(done)
            self.channel.socket.setblocking(True)
            self.channel.fill()

    def execute(self, frame):
        if self.interrupted:
            # The supervisor killed what the interrupted code had started; uncollected, it would fill the process limit.
            self.interrupted = self.channel.interrupted = False
            reap()
        self.x = frame["x"]
        self.next_call = 0
        self.calls.clear()
        self.waiting.clear()
        done = {"t": "done", "x": self.x, "value": None, "text": None, "value_truncated": False, "lossy": [], "error": None}
        # The interrupt may fall anywhere, also between the lines below: each part has its own guard.
        try:
            self.running = True
            try:
                self.answer(frame, done)
            finally:
                self.running = False
        except BaseException as error:
            self.running = False
            self.tell_error(error, done)
        self.running = False
        flush()
        return done

    def answer(self, frame, done):
        """Runs what the frame says, and puts its value into the answer."""
        try:
            value = self.run(frame)
            if value is not None:
                done["text"] = clip(render(value))
                done["value"], done["value_truncated"], done["lossy"] = to_json(value, self.limits["result_bytes"])
                self.displays.show_result(value, done["text"])
        finally:
            # Whether or not it raised: what was drawn until then is worth seeing.
            self.displays.show_figures()

    def tell_error(self, error, done):
        if isinstance(error, SystemExit):
            done["exit_code"] = exit_code(error)
            if done["exit_code"] != 0:
                done["error"] = {"name": "SystemExit", "message": render_message(error), "traceback": ""}
            return
        if isinstance(error, MemoryError):
            done["limit"] = "memory"
        # Its message is user code's too, and may be as slow.
        try:
            self.running = True
            try:
                done["error"] = describe(error, OWN_FILES, f"<cell {self.x}>")
            finally:
                self.running = False
        except BaseException:
            self.running = False
            done["error"] = {"name": type(error).__name__, "message": "its message took too long", "traceback": ""}

    def send_display(self, display):
        if os.getpid() == self.pid:
            self.channel.send({"t": "display", "x": self.x, "display": display})

    def run(self, frame):
        code = frame["code"]
        dialect = frame.get("dialect")
        if dialect == "dump_state":
            order = json.loads(code)
            return python_state.dump_state(self.globals, order["path"], order["max_bytes"])
        if dialect == "load_state":
            return python_state.load_state(self.globals, json.loads(code)["path"])
        forget_absent_packages()
        name = f"<cell {self.x}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = compile(code, name, "exec", FLAGS | ast.PyCF_ONLY_AST)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            self.evaluate(compile(tree, name, "exec", FLAGS))
        if last is None:
            return None
        return self.evaluate(compile(ast.Expression(last.value), name, "eval", FLAGS))

    def evaluate(self, code):
        # Without an await the code runs outside of any loop, so that its own asyncio.run works.
        if not code.co_flags & inspect.CO_COROUTINE:
            return eval(code, self.globals)
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(eval(code, self.globals))
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def on_interrupt(self, *_):
        # One that comes late must not end the kernel.
        if self.running:
            self.interrupted = True
            if self.channel.sending:
                self.channel.interrupted = True
            else:
                raise KeyboardInterrupt


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def main(fd, limits):
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(os.environ.get("HOME", "/"))
    sys.argv = [""]
    sys.path[0] = ""
    find_own_packages()
    kernel = Kernel(fd, limits)
    signal.signal(signal.SIGINT, kernel.on_interrupt)
    kernel.serve()
