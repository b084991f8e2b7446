"""The desktop agent: what RFB cannot do. One process for as long as the desktop runs; requests and answers are JSON lines."""

import os
import queue
import signal
import sys
import threading
import traceback

from agent_failure import Failure, Request
from agent_wire import Wire

# Requests that wait in a lane; the host sends far fewer at once.
WAITING = 64


class Lane:
    """Does the requests of one kind one after another, so that a slow program holds up nothing but its like."""

    def __init__(self, agent, name, open_handlers):
        self.agent = agent
        self.open_handlers = open_handlers
        self.handlers = None
        self.queue = queue.Queue(WAITING)
        threading.Thread(target=self.run, name=name, daemon=True).start()

    def run(self):
        try:
            # At once: programs that start look whether somebody reads them.
            self.handlers = self.open_handlers()
        except Failure:
            # Told to whoever asks, if it is so still.
            pass
        while True:
            request = self.queue.get()
            self.agent.answer(request, lambda: self.handle(request))

    def handle(self, request):
        request.check()
        if self.handlers is None:
            self.handlers = self.open_handlers()
        handler = self.handlers.get(request.op)
        if handler is None:
            raise Failure("invalid", f"there is no {request.op}")
        return handler(request)


class Agent:
    def __init__(self, start, runner):
        self.wire = Wire()
        self.pending = {}
        self.first_ref = start["first_ref"]
        self.display_lane = Lane(self, "display", self.open_display)
        self.element_lane = Lane(self, "elements", self.open_elements)
        self.code_lane = Lane(self, "code", lambda: {"python": runner.run})

    def open_display(self):
        from agent_clipboard import Clipboard
        from agent_display import DisplayThread
        from agent_windows import Windows

        display = DisplayThread()
        handlers = {**Windows(display).handlers(), **Clipboard(display).handlers()}
        on_display = display.run
        return {op: lambda request, handler=handler: on_display(request, handler) for op, handler in handlers.items()}

    def open_elements(self):
        from agent_elements import Elements
        from agent_open import resolve

        elements = Elements(self.first_ref)
        return {**elements.handlers(), "resolve_open": resolve}

    def answer(self, request, work):
        try:
            message = {"id": request.id, "result": work()}
        except Failure as failure:
            message = {"id": request.id, "error": {"kind": failure.kind, "message": str(failure)[:400]}}
        except Exception as error:
            traceback.print_exc()
            what = f"{type(error).__name__}: {error}"
            message = {"id": request.id, "error": {"kind": "failed", "message": what[:400]}}
        self.pending.pop(request.id, None)
        self.wire.send(message)

    def serve(self):
        lanes = {"display": self.display_lane, "elements": self.element_lane, "code": self.code_lane}
        self.wire.send({"ready": True})
        for message in self.wire.messages():
            if "cancel" in message:
                request = self.pending.get(message["cancel"])
                if request is not None:
                    request.cancelled = True
                continue
            request = Request(message)
            self.pending[request.id] = request
            try:
                lanes[message["lane"]].queue.put_nowait(request)
            except queue.Full:
                self.answer(request, refuse)


def refuse():
    raise Failure("unavailable", "too many requests wait already")


def main(start):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from agent_runner import Runner

    # Before there are threads, since it forks.
    runner = Runner()
    try:
        Agent(start, runner).serve()
    finally:
        sys.stderr.flush()
        os._exit(0)
