"""One command from its start to its end: what it reads, writes and comes to."""

import os
import selectors
import signal
import time

import supervisor_keeper
from supervisor_cgroup import count_memory_kills
from supervisor_pipe import Writer
from supervisor_processes import signal_name

CHUNK = 1 << 16


class Command:
    """Tells its output, its start and its end to what it was made for, by the callbacks."""

    def __init__(self, owner, spec, on_output, on_end):
        self.owner = owner
        self.selector = owner.selector
        self.on_output = on_output
        self.on_end = on_end
        self.on_start = lambda: None
        started = supervisor_keeper.start(spec, owner.limits())
        self.keeper = started.pid
        self.kept = True
        owner.processes.others[self.keeper] = self.on_keeper_death
        self.pid = 0
        self.told = b""
        self.status = started.status
        self.pipes = {fd: stream for stream, fd in started.outputs.items()}
        self.terminal = started.outputs["stdout"] if spec.terminal is not None else None
        self.writer = None if started.stdin is None else Writer(self.selector, started.stdin)
        self.paused = False
        self.timer = None
        # Seconds until the timeout, while the sandbox is frozen.
        self.left = None
        self.timed_out = False
        self.limit = None
        self.memory_kills = count_memory_kills()
        self.exit = None
        self.started = time.monotonic()
        for fd in (self.status, *self.pipes):
            os.set_blocking(fd, False)
        self.selector.register(self.status, selectors.EVENT_READ, lambda _: self.read_status())
        for fd in self.pipes:
            self.watch(fd)

    def watch(self, fd):
        self.selector.register(fd, selectors.EVENT_READ, lambda _: self.read(fd))

    def set_paused(self, paused):
        if paused == self.paused:
            return
        self.paused = paused
        for fd in self.pipes:
            if paused:
                self.selector.unregister(fd)
            else:
                self.watch(fd)

    def end_after(self, seconds):
        self.timer = self.owner.timers.after(seconds, self.on_timeout)

    def stop_clock(self):
        if self.timer is not None and self.timer.callback is not None:
            self.timer.cancel()
            self.left = self.timer.at - time.monotonic()

    def start_clock(self):
        if self.left is not None and self.exit is None:
            self.end_after(max(0.0, self.left))
            self.left = None

    def on_timeout(self):
        self.timed_out = True
        self.destroy()

    # -- what comes from it

    def read(self, fd):
        """Reads once; returns whether there was something."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            # How a terminal tells that nobody has it open any more.
            data = b""
        if not data:
            self.close_pipe(fd)
            return False
        self.on_output(self.pipes[fd], data)
        return True

    def close_pipe(self, fd):
        del self.pipes[fd]
        if not self.paused:
            self.selector.unregister(fd)
        if fd == self.terminal:
            self.terminal = None
        os.close(fd)

    def read_status(self):
        if self.status is None:
            return
        try:
            data = os.read(self.status, CHUNK)
        except BlockingIOError:
            return
        self.told += data
        *lines, self.told = self.told.split(b"\n")
        for line in lines:
            if self.pid == 0:
                self.pid = int(line)
                if self.pid == 0:
                    self.limit = "pids"
                    break
                self.on_start()
            else:
                self.settle(int(line))
                return
        if not data or self.limit == "pids":
            # User code killed the keeper, or there was no room for the command itself.
            self.destroy()

    # -- its end

    def on_keeper_death(self, _status):
        # Its number may be another's from now on.
        self.kept = False

    def settle(self, status):
        """Collects what it wrote before it ended; what it left running writes to nobody any more."""
        if self.exit is not None:
            return
        if self.timer is not None:
            self.timer.cancel()
        for fd in list(self.pipes):
            for _ in range(64):
                if not self.read(fd):
                    break
        for fd in list(self.pipes):
            self.close_pipe(fd)
        if self.writer is not None:
            self.writer.close()
        self.selector.unregister(self.status)
        os.close(self.status)
        self.status = None
        # The cgroup may be sooner than our own look at the memory.
        if self.limit is None and count_memory_kills() > self.memory_kills:
            self.limit = "memory"
        self.exit = {
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None,
            "timed_out": self.timed_out,
        }
        killed = self.exit["signal"] == "SIGKILL" or self.exit["exit_code"] == 128 + signal.SIGKILL
        if killed and self.limit is None and not self.timed_out and count_memory_kills() > self.memory_kills:
            self.limit = "memory"
        self.on_end()

    def destroy(self):
        """Kills it with everything that it started, also what outlived it."""
        processes = self.owner.processes
        if self.has_keeper():
            processes.kill_tree(self.keeper)
        if self.exit is None:
            if self.pid > 0:
                # It became our own child when the keeper was killed.
                processes.kill_tree(self.pid)
            self.settle(signal.SIGKILL)

    def signal(self, number):
        if number == signal.SIGKILL:
            self.destroy()
        elif self.exit is None and self.pid > 0:
            try:
                os.killpg(self.pid, number)
            except OSError:
                pass

    def outlived(self):
        """Whether something that it started still runs."""
        return self.exit is not None and self.has_keeper()

    def has_keeper(self):
        return self.kept and self.keeper in self.owner.processes.others
