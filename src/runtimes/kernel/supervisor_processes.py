"""The processes of user code: finds, kills and collects them, and counts the memory they hold."""

import os
import resource
import signal
import time

MEMORY_SLACK = 16 << 20


class Processes:
    def __init__(self):
        self.kernels = {}
        self.dead = []

    def add(self, kernel):
        self.kernels[kernel.pid] = kernel

    def reap(self):
        """Collects dead children, orphans of user code included; kernels among them wait in `dead`."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.note_death(pid, status)

    def note_death(self, pid, status):
        kernel = self.kernels.pop(pid, None)
        if kernel is not None:
            kernel.exit_status = status
            self.dead.append(kernel)

    def kill(self, kernel, spare=False):
        """Kills a kernel (unless it is spared), its descendants and every orphan, since a double fork makes one."""
        for _ in range(50):
            self.reap()
            victims = [pid for pid in under(kernel.pid, self.kernels) if not spare or pid != kernel.pid]
            if not victims:
                break
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in victims:
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
            time.sleep(0.001)
        else:
            # A storm that outruns the walk: everything but pid 1 goes.
            os.kill(-1, signal.SIGKILL)
        if not spare and kernel.exit_status is None:
            # It is dying; until it is collected it must not be taken for alive.
            self.note_death(*os.waitpid(kernel.pid, 0))

    def is_over(self, kernel, memory_mib):
        """Says whether a kernel and what it started hold more memory than that."""
        limit = memory_mib * 1024 * 1024 + MEMORY_SLACK
        tree = under(kernel.pid, self.kernels)
        # The cheap count takes pages that forks share several times; the true one is slow and rarely needed.
        return resident(tree) > limit and proportional(tree) > limit


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        # Python knows the ends of the real-time range only.
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"SIG{number}"


def under(kernel_pid, known):
    """Lists a kernel, its descendants and every orphan: a child of ours that we did not start, with its own descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(entry))
    queue = [pid for pid in children.get(os.getpid(), []) if pid not in known or pid == kernel_pid]
    found = []
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue.extend(children.get(pid, []))
    return found


def resident(pids):
    """Bytes of private and forked memory, where a page that several processes share counts for each."""
    page = resource.getpagesize()
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                fields = file.read().split()
            total += (int(fields[1]) - int(fields[2])) * page
        except OSError:
            continue
    return total


def proportional(pids):
    """Bytes where a shared page counts once in all; a process that does not let us look counts as `resident` does."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                lines = dict(line.split(b":", 1) for line in file if b":" in line[:32])
            total += int(lines[b"Pss_Anon"].split()[0]) * 1024
        except (OSError, KeyError, ValueError):
            total += resident([pid])
    return total
