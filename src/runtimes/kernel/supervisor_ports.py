"""Carries bytes between the host and sockets at the sandbox's own loopback: to what listens there, and from our proxy port."""

import errno
import selectors
import socket

from supervisor_operations import Failure

CHUNK = 1 << 16
# Bytes that the host takes of a connection that user code made, before it says so.
DIAL_WINDOW = 1 << 18
# Connections of user code to the proxy port that are open at once.
MAX_DIALED = 256


class Bridge:
    """One connection, each direction of which may end by itself."""

    def __init__(self, selector, operation, connection, on_close=lambda: None):
        self.selector = selector
        self.operation = operation
        self.socket = connection
        self.on_close = on_close
        self.buffer = bytearray()
        self.read_done = self.write_done = self.finishing = False
        self.watched = 0
        connection.setblocking(False)
        operation.on_data = self.on_data
        operation.on_fin = self.on_fin
        operation.on_credit = self.watch
        operation.on_stop = self.on_stop
        self.watch()

    def watch(self):
        if self.socket is None:
            return
        wanted = selectors.EVENT_READ if not self.read_done and self.operation.credit > 0 else 0
        wanted |= selectors.EVENT_WRITE if self.buffer else 0
        if wanted == self.watched:
            return
        if self.watched == 0:
            self.selector.register(self.socket, wanted, self.on_event)
        elif wanted == 0:
            self.selector.unregister(self.socket)
        else:
            self.selector.modify(self.socket, wanted, self.on_event)
        self.watched = wanted

    def on_event(self, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.flush()
            if events & selectors.EVENT_READ and self.socket is not None:
                self.read()
        except BlockingIOError:
            pass
        except OSError as error:
            self.close(Failure("execution_error", f"the connection broke: {error.strerror}"))
        self.watch()

    def read(self):
        data = self.socket.recv(min(CHUNK, self.operation.credit))
        if data:
            self.operation.send(data)
            return
        self.read_done = True
        self.operation.fin()
        self.end_if_done()

    def on_data(self, data):
        if self.write_done:
            self.operation.took(len(data))
            return
        self.buffer += data
        self.on_event(selectors.EVENT_WRITE)

    def on_fin(self):
        self.finishing = True
        self.on_event(selectors.EVENT_WRITE)

    def flush(self):
        if self.buffer:
            sent = self.socket.send(self.buffer)
            del self.buffer[:sent]
            self.operation.took(sent)
        if self.finishing and not self.buffer and not self.write_done:
            self.write_done = True
            self.socket.shutdown(socket.SHUT_WR)
            self.end_if_done()

    def end_if_done(self):
        if self.read_done and self.write_done:
            self.close(None)

    def on_stop(self):
        self.close(Failure("cancelled", "it was cancelled"))

    def close(self, failure):
        if self.socket is None:
            return
        if self.watched:
            self.selector.unregister(self.socket)
            self.watched = 0
        self.socket.close()
        self.socket = None
        self.on_close()
        if failure is None:
            self.operation.answer()
        else:
            self.operation.fail(failure)


class Ports:
    def __init__(self, selector, operations):
        self.selector = selector
        self.operations = operations
        self.handlers = {"connect": self.connect}
        self.listener = None
        self.dialed = 0

    def connect(self, operation, args):
        self.attempt(operation, args["port"], [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])

    def attempt(self, operation, port, addresses):
        """Tries the loopback's addresses one after the other."""
        if not addresses:
            raise Failure("execution_error", f"nothing listens on port {port} of the sandbox")
        (family, address), *others = addresses
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            self.attempt(operation, port, others)
            return
        connection.setblocking(False)
        number = connection.connect_ex((address, port))
        if number == errno.EINPROGRESS:
            self.wait(operation, connection, lambda: self.attempt(operation, port, others))
        elif number == 0:
            self.open(operation, connection)
        else:
            connection.close()
            self.attempt(operation, port, others)

    def wait(self, operation, connection, go_on):
        """A listener whose queue is full makes us wait."""

        def on_event(_):
            self.selector.unregister(connection)
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                self.open(operation, connection)
                return
            connection.close()
            try:
                go_on()
            except Failure as failure:
                operation.fail(failure)

        def stop():
            self.selector.unregister(connection)
            connection.close()
            operation.fail(Failure("cancelled", "it was cancelled"))

        operation.on_stop = stop
        self.selector.register(connection, selectors.EVENT_WRITE, on_event)

    def open(self, operation, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        operation.event({"open": True})
        Bridge(self.selector, operation, connection)

    # -- what user code connects to

    def listen(self, port):
        """Opens the proxy port, before there is user code that could take it."""
        if self.listener is not None:
            return
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        listener.setblocking(False)
        self.listener = listener
        self.selector.register(listener, selectors.EVENT_READ, self.accept)

    def accept(self, _):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        if self.dialed >= MAX_DIALED or not self.operations.is_heard():
            connection.close()
            return
        self.dialed += 1
        Bridge(self.selector, self.operations.open(DIAL_WINDOW), connection, self.on_dialed_close)

    def on_dialed_close(self):
        self.dialed -= 1

