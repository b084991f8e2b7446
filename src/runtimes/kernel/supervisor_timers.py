"""Runs callbacks at their time, in the supervisor's one loop."""

import heapq
import itertools
import time


class Timer:
    def __init__(self, at, callback):
        self.at = at
        self.callback = callback

    def cancel(self):
        self.callback = None


class Timers:
    def __init__(self):
        self.heap = []
        # Breaks ties, since timers have no order.
        self.order = itertools.count()

    def after(self, seconds, callback):
        timer = Timer(time.monotonic() + seconds, callback)
        heapq.heappush(self.heap, (timer.at, next(self.order), timer))
        return timer

    def next_at(self):
        while self.heap and self.heap[0][2].callback is None:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else None

    def run_due(self):
        now = time.monotonic()
        while self.heap and self.heap[0][0] <= now:
            timer = heapq.heappop(self.heap)[2]
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
