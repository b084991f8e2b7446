"""Processes of ours that touch the sandbox's files for the host, so that the supervisor itself never waits for any."""

import os
import signal
import socket

from supervisor_channel import Channel
from supervisor_kernel import confine
from supervisor_operations import Failure
from supervisor_wire import Decoder, Violation

# At once, beside the one that does the short operations.
MAX_WORKERS = 16
# What the one worker does for everybody, since it takes no time; of the others what the host says is small.
SHORT = {"files.stat", "files.read", "files.make_directory"}
LONG = {
    "files.list",
    "files.write",
    "files.glob",
    "files.grep",
    "files.move",
    "files.copy",
    "files.remove",
    "files.watch",
    "files.archive",
    "files.extract",
}
# What changes nothing, so that it may be done again.
REPEATABLE = {"files.stat", "files.read"}
# Seconds from a stop until a worker that does not heed it is killed; a regular expression may keep it from everything.
STOP_AFTER = 0.5
KILLED = "the process that touches files was killed"


class Worker:
    def __init__(self, owner):
        self.owner = owner
        self.live = {}
        # Of those that live, the ones that the host wants no more.
        self.stopping = set()
        # Of those that live, the ones of which the host has heard something, or which were begun again already.
        self.begun = set()
        self.dead = False
        self.killed = False
        self.decoder = Decoder(binary=True)
        ours, theirs = socket.socketpair()
        try:
            self.pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if self.pid == 0:
            try:
                become_worker(theirs, owner.limits())
            finally:
                os._exit(70)
        theirs.close()
        owner.processes.others[self.pid] = lambda status: self.on_death()
        self.channel = Channel(owner.selector, ours, on_data=self.on_data, on_lost=self.on_lost)
        self.channel.set_paused(owner.paused)

    def take(self, operation, frame):
        self.live[operation.number] = operation
        operation.on_frame = lambda message, raw: self.on_host_frame(operation, message, raw)
        operation.on_stop = lambda: self.stop(operation)
        self.channel.send(frame)

    def on_host_frame(self, operation, message, frame):
        self.channel.send(frame)
        if not isinstance(message, int) and message["t"] == "stop":
            self.stop(operation, told=True)

    def stop(self, operation, told=False):
        self.stopping.add(operation.number)
        if not told:
            self.channel.send(self.owner.encode({"t": "stop", "r": operation.number}))
        if self is not self.owner.shared:
            self.owner.timers.after(STOP_AFTER, self.kill)

    def on_data(self, data):
        try:
            for message, frame in self.decoder.push(data):
                operation = self.live.get(message if isinstance(message, int) else message["r"])
                if operation is None or operation.ended:
                    continue
                self.begun.add(operation.number)
                self.owner.send_frame(frame)
                if not isinstance(message, int) and message["t"] == "re":
                    self.end(operation)
        except (Violation, KeyError, TypeError):
            self.kill()

    def end(self, operation):
        operation.ended = True
        operation.owner.forget(operation)
        self.live.pop(operation.number, None)
        self.stopping.discard(operation.number)
        self.begun.discard(operation.number)
        operation.on_end()

    def kill(self):
        self.killed = True
        self.on_lost()

    def on_lost(self):
        """Sees to it that it is dead: one that user code kills lets go of the channel a moment before it can be collected."""
        # Its number may be another's by now.
        if not self.dead and self.pid in self.owner.processes.others:
            self.owner.processes.kill_tree(self.pid)

    def on_death(self):
        self.dead = True
        # What it had said may not have been read yet.
        self.channel.drain()
        self.channel.close()
        self.owner.forget(self)
        for operation in list(self.live.values()):
            if operation.number in self.stopping:
                operation.fail(Failure("cancelled", "it was cancelled"))
            elif not self.killed and operation.name in REPEATABLE and operation.number not in self.begun:
                # User code killed us just as it was asked for, and a process dies in its own time.
                self.owner.begin_again(operation)
            else:
                operation.fail(Failure("execution_error", KILLED))
        self.live.clear()


class Workers:
    def __init__(self, selector, timers, processes, limits, send_frame, encode):
        self.selector = selector
        self.timers = timers
        self.processes = processes
        self.limits = limits
        self.send_frame = send_frame
        self.encode = encode
        self.shared = None
        self.others = set()
        self.paused = False
        self.handlers = {name: self.begin_short for name in SHORT}
        self.handlers.update({name: self.begin_long for name in LONG})

    def set_paused(self, paused):
        self.paused = paused
        for worker in [*self.others, *([self.shared] if self.shared else [])]:
            worker.channel.set_paused(paused)

    def begin_short(self, operation, _args):
        # User code may just have killed it.
        self.processes.collect()
        if self.shared is None:
            self.shared = Worker(self)
        self.begin(self.shared, operation)

    def begin_again(self, operation):
        if operation.ended:
            return
        try:
            self.begin_short(operation, operation.args)
        except (Failure, OSError):
            operation.fail(Failure("execution_error", KILLED))
        else:
            self.shared.begun.add(operation.number)

    def begin_long(self, operation, args):
        if args.get("small") is True:
            self.begin_short(operation, args)
            return
        if len(self.others) >= MAX_WORKERS:
            raise Failure("limit_exceeded", f"a sandbox does at most {MAX_WORKERS} long things with files at once", "file_operations")
        worker = Worker(self)
        self.others.add(worker)
        self.begin(worker, operation)

    def begin(self, worker, operation):
        fields = {"r": operation.number, "op": operation.name, "args": operation.args, "win": operation.credit}
        worker.take(operation, self.encode({"t": "op", **fields, "alone": worker is not self.shared}))

    def forget(self, worker):
        self.others.discard(worker)
        if worker is self.shared:
            self.shared = None

    def pids(self):
        return [worker.pid for worker in [*self.others, *([self.shared] if self.shared else [])]]

    def kill_all(self):
        for worker in [*self.others, *([self.shared] if self.shared else [])]:
            worker.kill()


def become_worker(channel, limits):
    """Turns the forked child into a worker; never returns."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.dup2(channel.fileno(), 3)
    os.closerange(4, 4096)
    confine(limits, limits["memory_mib"])
    import files_worker

    files_worker.main(3)
