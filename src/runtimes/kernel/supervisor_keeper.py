"""Starts a command under a keeper: a process of ours to which everything falls that the command starts, however it
forks, so that all of it can be found, and nothing else.
"""

import fcntl
import os
import pty
import signal
import struct
import termios

from supervisor_kernel import confine, libc, set_dumpable

PR_SET_CHILD_SUBREAPER = 36
# As a shell answers for what it cannot run.
NOT_FOUND = 127
NOT_RUNNABLE = 126


class Start:
    """What a command is started with."""

    def __init__(self, argv, cwd, environment, has_input, terminal):
        self.argv = argv
        self.cwd = cwd
        self.environment = environment
        self.has_input = has_input
        # (columns, rows) or nothing.
        self.terminal = terminal


class Started:
    """The keeper, and our ends of what the command reads and writes; one fd is all three of a terminal."""

    def __init__(self, pid, status, stdin, outputs):
        self.pid = pid
        self.status = status
        self.stdin = stdin
        # Stream → fd.
        self.outputs = outputs


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(spec, limits):
    """Forks the keeper. Its status pipe tells the command's pid and then its wait status, a line each.

    @raises OSError when the sandbox has no room for more.
    """
    opened = []

    def pipe():
        ends = os.pipe()
        opened.extend(ends)
        return ends

    try:
        status, status_write = pipe()
        if spec.terminal is not None:
            master, slave = pty.openpty()
            opened.extend((master, slave))
            set_size(master, *spec.terminal)
            stdin, outputs, theirs = os.dup(master), {"stdout": master}, (slave, slave, slave)
            opened.append(stdin)
        else:
            if spec.has_input:
                read, stdin = pipe()
            else:
                read, stdin = os.open("/dev/null", os.O_RDONLY), None
                opened.append(read)
            (stdout, out), (stderr, err) = pipe(), pipe()
            outputs, theirs = {"stdout": stdout, "stderr": stderr}, (read, out, err)
        pid = os.fork()
    except OSError:
        for fd in opened:
            os.close(fd)
        raise
    if pid == 0:
        try:
            keep(spec, limits, status_write, theirs)
        finally:
            os._exit(70)
    for fd in {status_write, *theirs}:
        os.close(fd)
    return Started(pid, status, stdin, outputs)


def keep(spec, limits, status, theirs):
    """Runs as the keeper: collects everything that falls to it, and ends with the last of it."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Closed by the command's exec; what is written to it tells that there was no room for the command.
    begun, begun_write = os.pipe()
    try:
        command = os.fork()
    except OSError:
        os.write(status, b"0\n")
        os._exit(0)
    if command == 0:
        try:
            become(spec, limits, theirs, begun_write)
        finally:
            os._exit(NOT_RUNNABLE)
    os.close(begun_write)
    refused = os.read(begun, 1)
    os.dup2(status, 3)
    os.closerange(4, 4096)
    os.write(3, b"%d\n" % (0 if refused else command))
    while True:
        try:
            pid, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(0)
        if pid == command:
            os.write(3, b"%d\n" % ended)
            os.close(3)


def become(spec, limits, theirs, begun):
    """Turns the forked child into the command; never returns."""
    os.setsid()
    for fd, theirs_fd in enumerate(theirs):
        os.dup2(theirs_fd, fd)
    os.dup2(begun, 3, inheritable=False)
    os.closerange(4, 4096)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if spec.terminal is not None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # Nothing of the supervisor's is open here any more.
    set_dumpable(True)
    environment = {**os.environ, **({} if spec.terminal is None else {"TERM": "xterm-256color"}), **spec.environment}
    try:
        os.chdir(spec.cwd)
        # Last, since little of what is here may then still be allocated.
        confine(limits, limits["memory_mib"])
        os.execvpe(spec.argv[0], spec.argv, environment)
    except BlockingIOError:
        os.write(3, b"0")
        os._exit(NOT_RUNNABLE)
    except OSError as error:
        os.write(2, f"{error.filename or spec.argv[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)
    except BaseException as error:
        os.write(2, f"{spec.argv[0]}: {type(error).__name__}\n".encode("utf-8", "surrogateescape"))
        os._exit(NOT_RUNNABLE)
