"""What the host asks for beside executions: each operation has a number, ends with one answer, and may carry a stream of
bytes in each direction, whose sender never sends more than the receiver has granted.
"""

from supervisor_wire import encode, encode_bytes

# Bytes that the host may send on an operation before we have taken any.
INPUT_WINDOW = 1 << 20
CHUNK = 1 << 18
MAX_MESSAGE = 2000


class Failure(Exception):
    """Ends an operation with an error that the caller sees; `type` is one of the host's table."""

    def __init__(self, type, message, limit=None):
        super().__init__(message)
        self.type = type
        self.limit = limit


class Operation:
    def __init__(self, owner, number, name, args, credit):
        self.owner = owner
        self.number = number
        self.name = name
        self.args = args
        # Bytes that we may still send.
        self.credit = credit
        self.untold = 0
        self.ended = False
        self.on_data = lambda data: self.took(len(data))
        self.on_fin = lambda: None
        self.on_credit = lambda: None
        self.on_stop = lambda: self.fail(Failure("cancelled", "it was cancelled"))
        self.on_end = lambda: None

    # -- to the host

    def send(self, data):
        """Sends bytes, which must be within the credit."""
        self.credit -= len(data)
        for start in range(0, len(data), CHUNK):
            self.owner.send_frame(encode_bytes(self.number, data[start : start + CHUNK]))

    def fin(self):
        self.owner.send({"t": "fin", "r": self.number})

    def event(self, value):
        if not self.ended:
            self.owner.send({"t": "ev", "r": self.number, "value": value})

    def took(self, count):
        """Lets the host send as many bytes more; told in large steps."""
        self.untold += count
        if self.untold >= INPUT_WINDOW // 4 and not self.ended:
            self.owner.send({"t": "win", "r": self.number, "n": self.untold})
            self.untold = 0

    def answer(self, value=None):
        self.end({"ok": True, "value": value})

    def fail(self, failure):
        error = {"type": failure.type, "message": str(failure)[:MAX_MESSAGE], "limit": failure.limit}
        self.end({"ok": False, "error": error})

    def end(self, fields):
        if not self.ended:
            self.ended = True
            self.owner.forget(self)
            self.owner.send({"t": "re", "r": self.number, **fields})
            self.on_end()

    # -- from the host

    def on_frame(self, message, frame):
        if isinstance(message, int):
            self.on_data(frame[8:])
        elif message["t"] == "win":
            self.credit += message["n"]
            self.on_credit()
        elif message["t"] == "fin":
            self.on_fin()
        else:
            self.on_stop()


class Operations:
    """The operations that are live, and who begins which."""

    def __init__(self, send_frame, is_heard):
        self.send_frame = send_frame
        # Whether there is a host, and it has greeted us.
        self.is_heard = is_heard
        self.handlers = {}
        self.live = {}
        self.next_own = BASE_OF_OWN
        # Why nothing may begin now, except what is in `allowed`.
        self.blocked = None
        self.allowed = ()

    def send(self, message):
        self.send_frame(encode(message))

    def block(self, why, allowed):
        self.blocked, self.allowed = why, allowed

    def unblock(self):
        self.block(None, ())

    def forget(self, operation):
        self.live.pop(operation.number, None)

    def begin(self, message):
        operation = Operation(self, message["r"], message["op"], message["args"], message["win"])
        self.live[operation.number] = operation
        try:
            if self.blocked is not None and message["op"] not in self.allowed:
                raise Failure("conflict", self.blocked)
            self.handlers[message["op"]](operation, operation.args)
        except Failure as failure:
            operation.fail(failure)
        except BlockingIOError:
            # What a fork raises where a limit of processes holds us, too.
            operation.fail(Failure("limit_exceeded", "the sandbox has as many processes as it may", "pids"))
        except OSError as error:
            operation.fail(Failure("execution_error", f"the sandbox could not do it: {error.strerror}"))

    def open(self, credit):
        """Begins one by ourselves: a connection that user code made."""
        operation = Operation(self, self.next_own, "dial", None, credit)
        self.next_own = BASE_OF_OWN + (self.next_own + 1 - BASE_OF_OWN) % BASE_OF_OWN
        self.live[operation.number] = operation
        self.send({"t": "dial", "r": operation.number})
        return operation

    def on_frame(self, message, frame):
        number = message if isinstance(message, int) else message["r"]
        # One that just ended may still be spoken to.
        operation = self.live.get(number)
        if operation is not None:
            operation.on_frame(message, frame)

    def stop_all(self, but=None):
        """Ends all that is live: the host is gone, or everything in the sandbox goes."""
        for operation in list(self.live.values()):
            if operation is not but:
                operation.on_stop()
                # It may have wanted to take its time.
                operation.fail(Failure("cancelled", "it was cancelled"))


# Numbers from here on are ours to give, those below are the host's.
BASE_OF_OWN = 1 << 31
