"""What the supervisor knows of one interpreter, and how a forked child becomes one."""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import time

from supervisor_cgroup import bounds_pids, count_memory_kills
from supervisor_displays import Displays
from supervisor_frames import LineDecoder
from supervisor_wire import Capture, Decoder, encode

HOST_FD = 3
SHELL_FD = 8
CELL_FD = 9
PR_SET_DUMPABLE = 4
# Taken out of the environment, which user code inherits.
NODE = os.environ.pop("TOOLYARD_NODE", "/usr/bin/node")
BASH = os.environ.pop("TOOLYARD_BASH", "/bin/bash")
PIDS_BOUNDED = bounds_pids()
HERE = os.path.dirname(os.path.abspath(__file__))
libc = ctypes.CDLL(None, use_errno=True)


def set_dumpable(dumpable):
    """Decides whether processes of the same uid may read this one's memory and descriptors."""
    libc.prctl(PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def confine(limits, data_mib):
    """Sets the limits of what is about to run user code."""
    # Counts private writable memory, so that engines may reserve address space without holding memory.
    data = data_mib * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    if not PIDS_BOUNDED:
        # Counts all that the user runs, in other sandboxes too where they share the host's users.
        resource.setrlimit(resource.RLIMIT_NPROC, (limits["pids"], limits["pids"]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    offer_to_memory_killer()


def offer_to_memory_killer():
    """Makes the kernel take user code before the supervisor when memory runs out; user code cannot undo it below our own."""
    # The file is not ours to write otherwise.
    set_dumpable(True)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("900")
    except OSError:
        pass


class Kernel:
    """One interpreter process and the execution that is live in it."""

    def __init__(self, name, language, lost_before):
        # Its predecessor died while nothing ran: the first execution tells that the state is gone.
        self.lost_before = lost_before
        self.death_told = False
        self.name = name
        self.language = language
        self.pid = 0
        self.channel = None
        self.released = False
        # The memory file that bash reads its code from.
        self.cell = None
        self.decoder = LineDecoder() if language == "bash" else Decoder()
        self.exit_status = None
        self.x = None
        # The host that asked for what is live is gone.
        self.unheard = False
        self.captures = {}
        self.displays = None
        self.last_call = -1
        # Made and not answered; at least as many as the host counts, which counts an answer before it is sent.
        self.calls_in_flight = 0
        self.started = self.deadline = self.kill_at = 0.0
        self.stop_reason = None
        self.limit = None
        # The engine said so just before it aborted.
        self.heap_exhausted = False

    def begin(self, x, seconds, limits):
        """Starts the count of an execution."""
        self.x = x
        self.captures = {stream: Capture(limits["output_bytes"]) for stream in ("stdout", "stderr")}
        self.displays = Displays(limits["result_bytes"])
        self.last_call = -1
        self.calls_in_flight = 0
        self.stop_reason = self.limit = None
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.kill_at = 0.0
        self.memory_kills = count_memory_kills()
        # Interrupted, and what it had started is killed; then it may be slow for what is not its fault.
        self.is_alone = False
        self.patience = None
        # It ignored the interrupt when that was sent.
        self.is_deaf = False
        # Whether what is to stop has been sent its signal.
        self.is_signalled = True

    def request(self, message):
        """Tells the host's `exec` as the interpreter reads it."""
        if self.language != "bash":
            return encode({"t": "exec", **{key: message[key] for key in ("x", "code", "dialect") if key in message}})
        # Before the line that makes bash read it. Not a file in /tmp, which user code may fill.
        os.ftruncate(self.cell, 0)
        os.pwrite(self.cell, (message["code"] + "\n").encode("utf-8", "replace"), 0)
        return f"{self.x}\n".encode()


def fork_kernel(kernel, limits):
    """Starts the interpreter; returns our ends of its channel and of its stdout and stderr."""
    ours, theirs = socket.socketpair()
    pipes = {stream: os.pipe() for stream in ("stdout", "stderr")}
    if kernel.language == "bash":
        kernel.cell = os.memfd_create("cell")
    kernel.pid = os.fork()
    if kernel.pid == 0:
        try:
            become_kernel(kernel, theirs, pipes["stdout"][1], pipes["stderr"][1], limits)
        finally:
            os._exit(70)
    theirs.close()
    for _, write in pipes.values():
        os.close(write)
    return ours, {stream: read for stream, (read, _) in pipes.items()}


def become_kernel(kernel, channel, stdout, stderr, limits):
    """Turns the forked child into an interpreter; never returns."""
    language = kernel.language
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if language != "python":
        # Python ignores it, and what it ignores stays ignored in what it executes: `yes | head` would complain.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    # Above every place that one is put to, so that neither overwrites the other's source.
    ours = fcntl.fcntl(channel.fileno(), fcntl.F_DUPFD, CELL_FD + 1)
    cell = None if kernel.cell is None else fcntl.fcntl(kernel.cell, fcntl.F_DUPFD, CELL_FD + 1)
    if language == "bash":
        os.closerange(3, SHELL_FD)
        os.dup2(ours, SHELL_FD)
        os.dup2(cell, CELL_FD)
        os.closerange(CELL_FD + 1, 4096)
    else:
        os.dup2(ours, HOST_FD, inheritable=language != "python")
        os.closerange(HOST_FD + 1, 4096)
    # A JavaScript engine aborts where Python raises MemoryError: it gets room above its own heap limit.
    confine(limits, limits["memory_mib"] * (2 if language == "javascript" else 1))
    if language == "python":
        set_dumpable(True)
        import python_kernel

        python_kernel.main(HOST_FD, limits)
    elif language == "bash":
        with open(os.path.join(HERE, "shell_kernel.sh"), encoding="utf-8") as file:
            os.execv(BASH, ["bash", "--norc", "--noprofile", "-c", file.read()])
    else:
        heap = str(limits["memory_mib"])
        script = os.path.join(HERE, "node_kernel.mjs")
        environment = {**os.environ, "TOOLYARD_LIMITS": json.dumps(limits)}
        os.execve(NODE, ["node", "--no-warnings", f"--max-old-space-size={heap}", script], environment)
