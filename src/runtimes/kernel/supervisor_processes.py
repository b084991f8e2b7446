"""The processes of user code: finds, kills and collects them, and counts the memory they hold."""

import os
import resource
import signal
import time

MEMORY_SLACK = 16 << 20
# How often what is killed may turn out to have started more.
STORM = 50
# Seconds that what was killed may take to be gone.
DYING = 2.0


class Processes:
    def __init__(self):
        self.kernels = {}
        # What to do with a kernel that has died.
        self.on_kernel_death = None
        # Our other children, which are nobody's orphans: pid → what to do when it has died.
        self.others = {}
        self.dead = []

    def add(self, kernel):
        self.kernels[kernel.pid] = kernel

    def reap(self):
        """Collects dead children, orphans of user code included; those that we know wait in `dead`."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.note_death(pid, status)

    def collect(self):
        """Collects the dead and does what is to be done for them."""
        self.reap()
        while self.dead:
            on_death, value = self.dead.pop()
            on_death(value)

    def note_death(self, pid, status):
        kernel = self.kernels.pop(pid, None)
        if kernel is not None:
            kernel.exit_status = status
            self.dead.append((self.on_kernel_death, kernel))
        on_death = self.others.pop(pid, None)
        if on_death is not None:
            self.dead.append((on_death, status))

    def kill(self, kernel, spare=False):
        """Kills a kernel (unless it is spared), its descendants and every orphan, since a double fork makes one."""
        self.kill_all(lambda: [pid for pid in self.under(kernel.pid) if not spare or pid != kernel.pid])
        if not spare and kernel.exit_status is None:
            # It is dying; until it is collected it must not be taken for alive.
            self.note_death(*os.waitpid(kernel.pid, 0))

    def kill_tree(self, pid):
        """Kills a child of ours and its descendants, to which their orphans count while it is their keeper."""
        # Itself last: once it is dead, what it has not collected falls to us, where nobody would look for it.
        self.kill_all(lambda: [found for found in tree(list_children(), [pid]) if found != pid])
        self.kill_all(lambda: tree(list_children(), [pid]))

    def kill_all(self, find):
        killed = set()
        storms = 0
        patience = time.monotonic() + DYING
        while storms < STORM and time.monotonic() < patience:
            self.reap()
            victims = set(find())
            if not victims:
                return
            fresh = victims - killed
            # On a busy machine what was killed takes its time to die; only what comes anew is a storm, which gets no patience.
            if fresh:
                storms += 1
                patience = time.monotonic() + DYING
            for number in (signal.SIGSTOP, signal.SIGKILL):
                send(fresh, number)
            killed |= fresh
            time.sleep(0.001)
        if storms >= STORM:
            # It outruns the walk: everything but pid 1 goes.
            os.kill(-1, signal.SIGKILL)

    def under(self, kernel_pid):
        """Lists a kernel, its descendants and every orphan: a child of ours that we did not start, with its own descendants."""
        children = list_children()
        ours = children.get(os.getpid(), [])
        return tree(children, [pid for pid in ours if pid == kernel_pid or not self.knows(pid)])

    def knows(self, pid):
        return pid in self.kernels or pid in self.others

    def is_over(self, pids, memory_mib):
        """Says whether processes hold more memory than that."""
        limit = memory_mib * 1024 * 1024 + MEMORY_SLACK
        # The cheap count takes pages that forks share several times; the true one is slow and rarely needed.
        return resident(pids) > limit and proportional(pids) > limit


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        # Python knows the ends of the real-time range only.
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"SIG{number}"


def list_children():
    """Tells the children of every process, by its pid; those that are dead and not collected are left out."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = stat_fields(entry)
            if fields is not None and fields[0] != b"Z":
                children.setdefault(int(fields[1]), []).append(int(entry))
    return children


def stat_fields(pid):
    """What /proc tells of a process behind its name: state, parent, group, …; nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def tree(children, roots):
    """Lists those of the roots that live, and all their descendants."""
    alive = {pid for pids in children.values() for pid in pids}
    queue = [pid for pid in roots if pid in alive or pid in children]
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
