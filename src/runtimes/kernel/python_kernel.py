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
import types

from python_report import clip, describe, exit_code, flush, render, to_json

OWN_FILES = {__file__, asyncio.runners.__file__, asyncio.base_events.__file__}
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

    def send(self, message):
        payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("utf-8", "surrogatepass")
        self.socket.setblocking(True)
        self.socket.sendall(struct.pack(">I", len(payload)) + payload)

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
        self.globals.update({"__builtins__": builtins, "tools": Tools(self), "ToolError": ToolError})
        self.running = self.interrupted = False
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
        pid = os.getpid()
        while True:
            for frame in self.channel.frames():
                # Answers to calls that the code did not wait for come late and are dropped.
                if frame.get("t") == "exec":
                    done = self.execute(frame)
                    if os.getpid() != pid:
                        # A fork of user code came back from it: it must not speak for its parent.
                        os._exit(0)
                    self.channel.send(done)
            self.channel.socket.setblocking(True)
            self.channel.fill()

    def execute(self, frame):
        if self.interrupted:
            # The supervisor killed what the interrupted code had started; uncollected, it would fill the process limit.
            self.interrupted = False
            reap()
        self.x = frame["x"]
        self.next_call = 0
        self.calls.clear()
        self.waiting.clear()
        done = {"t": "done", "x": self.x, "value": None, "text": None, "value_truncated": False, "error": None}
        # The interrupt may fall anywhere, also between the lines below: each part has its own guard.
        try:
            self.running = True
            try:
                value = self.run(frame["code"])
                if value is not None:
                    done["text"] = clip(render(value))
                    done["value"], done["value_truncated"] = to_json(value, self.limits["result_bytes"])
            finally:
                self.running = False
        except SystemExit as error:
            done["exit_code"] = exit_code(error)
            if done["exit_code"] != 0:
                done["error"] = {"name": "SystemExit", "message": str(error), "traceback": ""}
        except BaseException as error:
            self.running = False
            if isinstance(error, MemoryError):
                done["limit"] = "memory"
            done["error"] = describe(error, OWN_FILES)
        self.running = False
        flush()
        return done

    def run(self, code):
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
    kernel = Kernel(fd, limits)
    signal.signal(signal.SIGINT, kernel.on_interrupt)
    kernel.serve()
