"""Reads what user code writes to its stdout and stderr, in step with what the host takes."""

import os
import selectors

CHUNK = 1 << 16


class Output:
    def __init__(self, selector, send):
        self.selector = selector
        self.send = send
        self.paused = False
        # Pipe → its kernel and stream.
        self.pipes = {}

    def open(self, kernel, stream, pipe):
        os.set_blocking(pipe, False)
        self.pipes[pipe] = (kernel, stream)
        if not self.paused:
            self.watch(pipe)

    def watch(self, pipe):
        self.selector.register(pipe, selectors.EVENT_READ, lambda _: self.read(pipe))

    def set_paused(self, paused):
        if paused == self.paused:
            return
        self.paused = paused
        for pipe in self.pipes:
            if paused:
                self.selector.unregister(pipe)
            else:
                self.watch(pipe)

    def read(self, pipe):
        """Reads once; returns whether there was something."""
        if pipe not in self.pipes:
            return False
        kernel, stream = self.pipes[pipe]
        try:
            data = os.read(pipe, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.close_pipe(pipe)
            return False
        # What background work writes between executions belongs to none of them.
        if kernel.x is not None:
            if kernel.language == "javascript" and b"JavaScript heap out of memory" in data:
                kernel.heap_exhausted = True
            capture = kernel.captures[stream]
            text = capture.feed(data)
            if text:
                self.send({"t": "out", "x": kernel.x, "stream": stream, "seq": capture.sequence, "data": text})
                capture.sequence += 1
        return True

    def drain(self, kernel):
        """Reads what was written before now; bounded, since background work may go on writing."""
        for pipe in self.of(kernel):
            for _ in range(16):
                if not self.read(pipe):
                    break

    def close(self, kernel):
        for pipe in self.of(kernel):
            self.close_pipe(pipe)

    def close_pipe(self, pipe):
        del self.pipes[pipe]
        if not self.paused:
            self.selector.unregister(pipe)
        os.close(pipe)

    def of(self, kernel):
        return [pipe for pipe, (owner, _) in self.pipes.items() if owner is kernel]
