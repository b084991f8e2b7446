"""What concerns the whole sandbox: its figures, its freezing, and its way back to what a fresh one is."""

import os
import signal
import time

from supervisor_operations import Failure
from supervisor_processes import list_children, send, stat_fields, tree
from supervisor_stats import measure, writable_folders

# Rounds until what multiplies faster than it is stopped counts as something that cannot be.
ROUNDS = 200
# Seconds that everything may take to be gone, which is long only on a busy machine.
DYING = 5.0


class State:
    def __init__(self, supervisor):
        self.supervisor = supervisor
        self.started = time.monotonic()
        # Before there is user code that could change them.
        self.folders = writable_folders()
        # Those that we froze, in contrast to those that user code stopped.
        self.frozen = None
        self.handlers = {"stats": self.stats, "reset": self.reset, "pause": self.pause, "resume": self.resume}

    def stats(self, operation, _args):
        uptime = time.monotonic() - self.started
        figures = measure(self.supervisor.limits, self.folders)
        operation.answer({**figures, "user_processes": self.count_user_processes(), "uptime_seconds": uptime})

    def count_user_processes(self):
        """Counts what lives here beside us, without our workers: how many of those there are at a time says nothing."""
        children = list_children()
        alive = {pid for pids in children.values() for pid in pids}
        return len(alive - {os.getpid()} - set(tree(children, self.supervisor.workers.pids())))

    # -- freezing

    def pause(self, operation, _args):
        if self.frozen is None:
            if self.supervisor.executions.busy() or self.supervisor.commands.running:
                raise Failure("conflict", "something runs that is waited for; end it first")
            self.supervisor.operations.block("the sandbox is paused", ("pause", "resume", "stats", "reset", "processes", "process.read"))
            self.supervisor.commands.stop_clocks()
            self.frozen = set()
            for _ in range(ROUNDS):
                running = [pid for pid in others() if pid not in self.frozen and (stat_fields(pid) or [b"Z"])[0] not in (b"T", b"Z")]
                if not running:
                    break
                send(running, signal.SIGSTOP)
                self.frozen.update(running)
        operation.answer()

    def resume(self, operation, _args):
        self.thaw()
        operation.answer()

    def thaw(self):
        if self.frozen is not None:
            send(self.frozen, signal.SIGCONT)
            self.frozen = None
            self.supervisor.commands.start_clocks()
            self.supervisor.operations.unblock()

    # -- back to the start

    def reset(self, operation, _args):
        """Ends everything but us, and then has a worker of ours wipe what can be written to."""
        supervisor = self.supervisor
        self.thaw()
        supervisor.operations.stop_all(but=operation)
        supervisor.operations.block("the sandbox is being reset", ())
        operation.on_end = supervisor.operations.unblock
        supervisor.executions.remove_all()
        supervisor.commands.destroy_all()
        supervisor.workers.kill_all()
        self.kill_others()
        supervisor.processes.collect()
        operation.name = "files.wipe"
        operation.args = {"folders": list(self.folders.items())}
        supervisor.workers.begin_long(operation, operation.args)

    def kill_others(self):
        patience = time.monotonic() + DYING
        while True:
            self.supervisor.processes.reap()
            if not any((stat_fields(pid) or [b"Z"])[0] != b"Z" for pid in others()):
                return
            if time.monotonic() > patience:
                raise Failure("execution_error", "the sandbox's processes could not be ended")
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(0.001)


def others():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != os.getpid()]
