"""The kernels of a sandbox and what is executed in them: it alone says how an execution ended.

User code runs only in children, whose stdout and stderr are pipes, so that nothing they write can look like protocol.
"""

import os
import signal
import time

from supervisor_cgroup import count_memory_kills
from supervisor_channel import Channel
from supervisor_frames import check_call, check_done, check_idle, encode_end
from supervisor_kernel import Kernel, fork_kernel
from supervisor_output import Output
from supervisor_patience import Patience, catches, ignores
from supervisor_processes import signal_name
from supervisor_wire import Violation, encode

# Bytes that a kernel has not taken yet; over it, it never will.
MAX_KERNEL_BACKLOG = 64 * 1024 * 1024
# Seconds from the interrupt until JavaScript is sent a signal, from the signal until what user code started is killed, and from
# there until its interpreter is: time to clean up, inside the 300 ms that the host promises.
SIGNAL_AFTER = 0.02
KILL_CHILDREN_AFTER = 0.1
KILL_AFTER = 0.15
# Seconds from one look at an interpreter that a busy machine keeps from running to the next.
LOOK_AGAIN = 0.02
MEMORY_CHECK = 0.1


class Executions:
    def __init__(self, selector, processes, host):
        self.selector = selector
        self.host = host
        self.output = Output(selector, self.send)
        self.processes = processes
        self.kernels = {}
        self.limits = None
        self.memory_at = 0.0

    def send(self, message):
        self.host.send(encode(message))

    def set_paused(self, paused):
        """Stops reading what user code says; calls and the like as much as its output."""
        if paused == self.output.paused:
            return
        self.output.set_paused(paused)
        for kernel in self.processes.kernels.values():
            kernel.channel.set_paused(paused)

    def on_frame(self, message, frame):
        """Takes a frame of the host's; answers whether it was one for kernels."""
        kind = message["t"]
        if kind == "exec":
            self.execute(message)
        elif kind == "res":
            kernel = self.live(message["x"])
            if kernel is not None:
                kernel.calls_in_flight -= 1
                self.to_kernel(kernel, frame)
        elif kind == "cancel":
            kernel = self.live(message["x"])
            if kernel is not None:
                self.interrupt(kernel, "cancelled")
        elif kind == "reset":
            self.remove(message["k"])
            self.send({"t": "reset", "k": message["k"]})
        else:
            return False
        return True

    def remove(self, name):
        kernel = self.kernels.get(name)
        if kernel is not None:
            self.destroy(kernel, "cancelled")
            del self.kernels[name]

    def remove_all(self):
        for name in list(self.kernels):
            self.remove(name)

    def describe(self):
        return [{"name": kernel.name, "language": kernel.language} for kernel in self.kernels.values()]

    def busy(self):
        return [kernel for kernel in self.kernels.values() if kernel.x is not None]

    def abandon(self):
        """Ends what is live, of which nobody wants to hear any more; its kernels stay."""
        for kernel in self.busy():
            kernel.unheard = True
            self.interrupt(kernel, "cancelled")

    def live(self, x):
        for kernel in self.kernels.values():
            if kernel.x == x:
                return kernel
        return None

    # -- executions

    def execute(self, message):
        self.processes.collect()
        name = message["k"]
        kernel = self.kernels.get(name)
        if kernel is None or kernel.exit_status is not None:
            kernel = Kernel(name, message["language"], kernel is not None and not kernel.death_told)
            try:
                self.start(kernel)
            except OSError:
                self.refuse(kernel, message)
                return
            self.kernels[name] = kernel
        self.output.drain(kernel)
        kernel.begin(message["x"], message["deadline_ms"] / 1000, self.limits)
        self.to_kernel(kernel, kernel.request(message))

    def refuse(self, kernel, message):
        """Answers for a kernel that the sandbox has no room for."""
        kernel.begin(message["x"], 0, self.limits)
        kernel.limit = "pids"
        self.end(kernel, "limit", state_lost=kernel.lost_before)

    def to_kernel(self, kernel, data):
        kernel.channel.send(data)
        if len(kernel.channel.backlog) > MAX_KERNEL_BACKLOG:
            self.destroy(kernel, "violation")

    def end(self, kernel, status, **facts):
        if kernel.x is None:
            return
        # Before anything changes: a value that is not JSON makes it another end.
        frame = encode_end(kernel, status, facts)
        lost = facts.get("state_lost", False)
        kernel.x, kernel.death_told, kernel.lost_before = None, lost and not kernel.unheard, lost and kernel.unheard
        if not kernel.unheard:
            self.host.send(frame)
        kernel.unheard = False

    def on_kernel(self, kernel, data):
        try:
            if kernel.language == "bash":
                for x, status in kernel.decoder.push(data):
                    self.on_shell(kernel, x, status)
                return
            for message, _ in kernel.decoder.push(data):
                self.on_kernel_frame(kernel, message)
        except (Violation, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.destroy(kernel, "violation")

    def on_kernel_lost(self, kernel):
        kernel.channel.close()
        # Without its channel a kernel can never end what it runs. Its death is collected as any other.
        if kernel.exit_status is None:
            os.kill(kernel.pid, signal.SIGKILL)

    def on_shell(self, kernel, x, status):
        if x != kernel.x:
            raise Violation("an execution that is not live ended")
        self.settle(kernel)
        # As a shell tells that what it ran was killed.
        if status == 128 + signal.SIGKILL:
            self.blame_memory(kernel)
        self.end(kernel, kernel.stop_reason or "ok", exit_code=status)

    def on_kernel_frame(self, kernel, message):
        # True equals 1 to Python.
        if kernel.x is None or type(message.get("x")) is not int or message["x"] != kernel.x:
            raise Violation("a frame of an execution that is not live")
        kind = message.get("t")
        if kind == "call":
            self.host.send(check_call(kernel, message, self.limits["calls_in_flight"]))
        elif kind == "idle":
            self.host.send(check_idle(kernel, message))
        elif kind == "display":
            kernel.displays.add(message)
        elif kind == "done":
            self.on_done(kernel, message)
        else:
            raise Violation("an unknown frame")

    def settle(self, kernel):
        """Collects what a finished execution wrote; nothing that an interrupted one started may survive it."""
        if kernel.stop_reason is not None:
            self.processes.kill(kernel, spare=True)
        self.output.drain(kernel)

    def on_done(self, kernel, message):
        self.settle(kernel)
        facts = check_done(message)
        status = kernel.stop_reason or ("ok" if facts["error"] is None else "error")
        if kernel.stop_reason is None and facts["error"] is not None and message.get("limit") == "memory":
            status, kernel.limit = "limit", "memory"
        self.end(kernel, status, **facts)

    def on_exit(self, kernel):
        """Runs once a kernel's process was collected."""
        if kernel.released:
            return
        self.output.drain(kernel)
        self.processes.kill(kernel)
        self.release(kernel)
        status = kernel.exit_status
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        name = signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        if kernel.x is None:
            return
        if kernel.heap_exhausted and code is None:
            kernel.stop_reason, kernel.limit = kernel.stop_reason or "limit", "memory"
        if name == "SIGKILL":
            self.blame_memory(kernel)
        self.end(kernel, kernel.stop_reason or "exited", exit_code=code, signal=name, state_lost=True)

    def blame_memory(self, kernel):
        """Calls a kill by its cause, if the kernel of the system has killed since the execution began."""
        if kernel.stop_reason is None and count_memory_kills() > kernel.memory_kills:
            kernel.stop_reason, kernel.limit = "limit", "memory"

    # -- stopping

    def interrupt(self, kernel, reason):
        if kernel.stop_reason is not None:
            return
        kernel.stop_reason = reason
        if kernel.language == "javascript":
            # What waits ends by the frame. A signal is for what does not yield, and only for what has run a while: one that comes
            # while a cell begins may reach another thread, and from there the next cell.
            self.to_kernel(kernel, encode({"t": "stop", "x": kernel.x}))
            kernel.is_signalled = False
            kernel.kill_at = time.monotonic() + SIGNAL_AFTER
            return
        self.signal(kernel)

    def signal(self, kernel):
        kernel.is_signalled = True
        kernel.kill_at = time.monotonic() + KILL_CHILDREN_AFTER
        # A shell that does not run the code yet lets it pass.
        kernel.is_deaf = kernel.language == "bash" and ignores(kernel.pid, signal.SIGINT)
        try:
            os.killpg(kernel.pid, signal.SIGINT)
        except OSError:
            pass

    def escalate(self, kernel, now):
        """Kills what the kernel may be waiting for, so that it can answer and keep its state; and at last the kernel."""
        if not kernel.is_signalled:
            self.signal(kernel)
            return
        if kernel.is_alone:
            if kernel.patience.is_due(now):
                kernel.kill_at = now + LOOK_AGAIN
            else:
                self.destroy(kernel, "timeout")
            return
        kernel.is_alone = True
        self.processes.kill(kernel, spare=True)
        kernel.patience = Patience(kernel.pid, KILL_AFTER)
        kernel.kill_at = time.monotonic() + KILL_AFTER
        # The first may have come before the code began; a shell that heard it, though, may be writing its state by now.
        if kernel.exit_status is None and (kernel.language != "bash" or (kernel.is_deaf and catches(kernel.pid, signal.SIGINT))):
            os.kill(kernel.pid, signal.SIGINT)

    def destroy(self, kernel, reason):
        """Kills a kernel with all that it started, and ends what was live in it."""
        if kernel.exit_status is not None:
            return
        kernel.stop_reason = kernel.stop_reason or reason
        self.processes.kill(kernel)
        self.output.drain(kernel)
        self.release(kernel)
        if kernel.stop_reason == "violation":
            error = {"name": "ProtocolViolation", "message": "the interpreter broke the sandbox's protocol and was killed", "traceback": ""}
            self.end(kernel, "error", error=error, state_lost=True)
        else:
            self.end(kernel, kernel.stop_reason, state_lost=True)

    def check_memory(self, now):
        """Kills a kernel whose tree holds more than the limit; one process alone hits its own rlimit first."""
        if now < self.memory_at or not any(kernel.x is not None for kernel in self.kernels.values()):
            return
        self.memory_at = now + MEMORY_CHECK
        for kernel in list(self.processes.kernels.values()):
            if self.processes.is_over(self.processes.under(kernel.pid), self.limits["memory_mib"]):
                kernel.limit = "memory"
                self.destroy(kernel, "limit")

    # -- processes

    def start(self, kernel):
        ours, pipes = fork_kernel(kernel, self.limits)
        self.processes.add(kernel)
        kernel.channel = Channel(
            self.selector,
            ours,
            on_data=lambda data: self.on_kernel(kernel, data),
            on_lost=lambda: self.on_kernel_lost(kernel),
        )
        kernel.channel.set_paused(self.output.paused)
        for stream, pipe in pipes.items():
            self.output.open(kernel, stream, pipe)

    def release(self, kernel):
        kernel.released = True
        kernel.channel.close()
        self.output.close(kernel)
        if kernel.cell is not None:
            os.close(kernel.cell)
            kernel.cell = None

    def check(self, now):
        """Ends what is over its time or its memory."""
        for kernel in list(self.processes.kernels.values()):
            if kernel.x is None:
                continue
            if kernel.kill_at and now >= kernel.kill_at:
                self.escalate(kernel, now)
            elif now >= kernel.deadline:
                self.interrupt(kernel, "timeout")
        self.check_memory(now)

    def next_at(self):
        """When there is something to check; nothing while no code runs."""
        times = [kernel.kill_at or kernel.deadline for kernel in self.processes.kernels.values() if kernel.x is not None]
        return min(*times, self.memory_at) if times else None
