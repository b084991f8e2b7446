"""The last of what a process wrote, both streams in the order of arrival."""

from collections import deque

# What holding a chunk costs beside its bytes, so that many small ones are bounded, too.
OVERHEAD = 128
MERGED = 1 << 14


class Log:
    def __init__(self, capacity):
        self.capacity = capacity
        self.chunks = deque()
        self.held = 0
        # Positions in all that was ever written, of the first byte that is held and behind the last one.
        self.start = self.end = 0

    def append(self, stream, data):
        last = self.chunks[-1] if self.chunks else None
        if last is not None and last[0] == stream and len(last[1]) < MERGED:
            last[1].extend(data)
            self.held += len(data)
        else:
            self.chunks.append((stream, bytearray(data)))
            self.held += len(data) + OVERHEAD
        self.end += len(data)
        while self.held > self.capacity and len(self.chunks) > 1:
            _, dropped = self.chunks.popleft()
            self.start += len(dropped)
            self.held -= len(dropped) + OVERHEAD

    def read(self, cursor, count):
        """Returns chunks from a position on, the position behind them, and how many bytes before them are gone."""
        at = min(max(cursor, self.start), self.end)
        skipped = max(0, self.start - cursor)
        found, position = [], self.start
        for stream, data in self.chunks:
            if count <= 0:
                break
            if at < position + len(data):
                part = bytes(data[at - position : at - position + count])
                found.append((stream, part))
                at += len(part)
                count -= len(part)
            position += len(data)
        return found, at, skipped
