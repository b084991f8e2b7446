"""Guards one sandbox: pid 1 inside it, between the host's channel and user code. Speaks "ptc-frame/1" (see frame.ts and
messages.ts).

Without arguments the channel is fd 3. With `--connect SOCKET --token FILE --patience SECONDS` it connects to the host, and
keeps everything running when the host is lost, until it has looked for the next one for so long.
"""

import os
import selectors
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from supervisor_executions import Executions  # noqa: E402
from supervisor_host import GIVEN_FD, GivenHost, SoughtHost  # noqa: E402
from supervisor_kernel import set_dumpable  # noqa: E402
from supervisor_operations import Operations  # noqa: E402
from supervisor_processes import Processes  # noqa: E402
from supervisor_timers import Timers  # noqa: E402
from supervisor_wire import Decoder, encode  # noqa: E402

# Bytes that the host has not taken yet; over it, nothing more is read from user code.
MAX_BACKLOG = 1024 * 1024
# Seconds between looks whether what a lost host had asked for has ended.
SETTLE = 0.02
# Imported while nothing is to be done, so that the fork of a kernel takes a millisecond.
WARM = ("python_kernel", "files_basic", "files_search", "files_archive", "files_watch")


class Supervisor:
    def __init__(self, options):
        self.selector = selectors.DefaultSelector()
        self.timers = Timers()
        self.processes = Processes()
        self.decoder = Decoder(binary=True)
        self.limits = None
        self.cold = []
        if options is None:
            self.host = GivenHost(self.selector, self.on_host, self.on_backlog)
        else:
            self.host = SoughtHost(self.selector, self.timers, options, self.on_host, self.on_backlog, self.on_host_lost)
        self.executions = Executions(self.selector, self.processes, self.host)
        self.processes.on_kernel_death = self.executions.on_exit
        self.operations = Operations(self.host.send, self.host.is_heard)
        # Those that stop reading from user code while the host takes nothing.
        self.readers = [self.executions]
        self.is_whole = False

    def send(self, message):
        self.host.send(encode(message))

    def complete(self):
        """Makes the parts that a sandbox's start need not wait for, before anything else is done."""
        from supervisor_commands import Commands
        from supervisor_ports import Ports
        from supervisor_state import State
        from supervisor_worker import Workers

        self.is_whole = True
        self.commands = Commands(self.selector, self.timers, self.processes, lambda: self.limits)
        self.workers = Workers(self.selector, self.timers, self.processes, lambda: self.limits, self.host.send, encode)
        self.ports = Ports(self.selector, self.operations)
        self.state = State(self)
        self.readers += [self.commands, self.workers]
        for part in (self.commands, self.workers, self.ports, self.state):
            self.operations.handlers.update(part.handlers)
        if self.egress_port is not None:
            self.ports.listen(self.egress_port)

    # -- the host's side

    def on_backlog(self, size):
        for reader in self.readers:
            reader.set_paused(size > MAX_BACKLOG)

    def on_host(self, data):
        for message, frame in self.decoder.push(data):
            if isinstance(message, int) or "r" in message:
                if not isinstance(message, int) and message["t"] == "op":
                    self.operations.begin(message)
                else:
                    self.operations.on_frame(message, frame)
            elif not self.executions.on_frame(message, frame):
                self.on_host_frame(message)

    def on_host_frame(self, message):
        kind = message["t"]
        if kind == "ping":
            self.send({"t": "pong", "n": message["n"]})
        elif kind == "hello":
            self.host.greeted()
            self.limits = self.executions.limits = message["limits"]
            self.egress_port = message.get("egress_port")
            self.greet()
        elif kind == "bye":
            os._exit(0)

    def greet(self):
        """Answers a hello, once nothing is live any more that another host had asked for."""
        if self.executions.busy():
            self.timers.after(SETTLE, self.greet)
            return
        kernels = self.executions.describe()
        self.send({"t": "ready", "v": 1, "versions": {"python": sys.version.split()[0]}, "kernels": kernels, "paused": self.is_whole and self.state.frozen is not None})
        if not self.is_whole:
            self.complete()
        self.cold = [name for name in WARM if name not in sys.modules]

    def on_host_lost(self):
        self.decoder = Decoder(binary=True)
        self.executions.abandon()
        self.operations.stop_all()

    # -- the loop

    def run(self):
        wake, wake_write = os.pipe()
        for fd in (wake, wake_write):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write)
        self.selector.register(wake, selectors.EVENT_READ, lambda _: os.read(wake, 4096))
        while True:
            events = self.selector.select(self.timeout())
            for key, mask in events:
                # An earlier event of this round may have closed it.
                if self.selector.get_map().get(key.fd) is not None and self.selector.get_map()[key.fd].data is key.data:
                    key.data(mask)
            self.processes.collect()
            self.executions.check(time.monotonic())
            self.timers.run_due()
            if not events and self.cold:
                __import__(self.cold.pop(0))

    def timeout(self):
        if self.cold:
            return 0
        times = [at for at in (self.executions.next_at(), self.timers.next_at()) if at is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None


def parse(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    if not options:
        return None
    return {"connect": options["--connect"], "token": options["--token"], "patience": float(options["--patience"])}


def main():
    # Same uid as user code: without this it could read our memory and write to our fds through /proc.
    set_dumpable(False)
    options = parse(sys.argv[1:])
    os.closerange(GIVEN_FD + (options is None), 4096)
    Supervisor(options).run()


main()
