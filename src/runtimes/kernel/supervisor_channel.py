"""A socket that is written without ever waiting for its reader, and read when it has something."""

import selectors


class Channel:
    def __init__(self, selector, socket, on_data, on_lost, on_backlog=lambda size: None):
        self.selector = selector
        self.socket = socket
        self.on_data = on_data
        self.on_lost = on_lost
        self.on_backlog = on_backlog
        self.backlog = bytearray()
        self.closed = False
        self.paused = False
        self.watched = selectors.EVENT_READ
        socket.setblocking(False)
        selector.register(socket, selectors.EVENT_READ, self.on_event)

    def send(self, frame):
        if self.closed:
            return
        self.backlog += frame
        if len(self.backlog) == len(frame):
            self.flush()
            self.watch()
        self.on_backlog(len(self.backlog))

    def set_paused(self, paused):
        """Stops reading, so that the other side must wait, or reads again."""
        self.paused = paused
        self.watch()

    def watch(self):
        wanted = (0 if self.paused else selectors.EVENT_READ) | (selectors.EVENT_WRITE if self.backlog else 0)
        if self.closed or wanted == self.watched:
            return
        # A selector takes no registration without an event.
        if wanted == 0:
            self.selector.unregister(self.socket)
        elif self.watched == 0:
            self.selector.register(self.socket, wanted, self.on_event)
        else:
            self.selector.modify(self.socket, wanted, self.on_event)
        self.watched = wanted

    def flush(self):
        try:
            sent = self.socket.send(self.backlog)
        except BlockingIOError:
            return
        except OSError:
            self.on_lost()
            return
        del self.backlog[:sent]

    def on_event(self, events):
        if events & selectors.EVENT_WRITE:
            self.flush()
            self.watch()
            self.on_backlog(len(self.backlog))
        if events & selectors.EVENT_READ and not self.closed:
            try:
                data = self.socket.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                self.on_data(data)
            else:
                self.on_lost()

    def drain(self):
        """Takes what has come until now."""
        while not self.closed:
            try:
                data = self.socket.recv(1 << 18)
            except OSError:
                return
            if not data:
                return
            self.on_data(data)

    def close(self):
        if not self.closed:
            self.closed = True
            if self.watched != 0:
                self.selector.unregister(self.socket)
            self.socket.close()
