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
        socket.setblocking(False)
        selector.register(socket, selectors.EVENT_READ, self.on_event)

    def send(self, frame):
        if self.closed:
            return
        self.backlog += frame
        if len(self.backlog) == len(frame):
            self.flush()
            if self.backlog and not self.closed:
                self.selector.modify(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self.on_event)
        self.on_backlog(len(self.backlog))

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
            if not self.backlog and not self.closed:
                self.selector.modify(self.socket, selectors.EVENT_READ, self.on_event)
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

    def close(self):
        if not self.closed:
            self.closed = True
            self.selector.unregister(self.socket)
            self.socket.close()
