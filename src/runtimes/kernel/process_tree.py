"""Finds the processes of user code in /proc, and what memory they hold."""

import os
import resource


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
