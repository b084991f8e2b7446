"""What the sandbox's own cgroup says, where it has one and can see it; both versions of cgroups."""

import os

PIDS = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def bounds_pids():
    """Says whether the cgroup bounds the number of processes."""
    for path in PIDS:
        try:
            with open(path, "rb") as file:
                return file.read().strip().isdigit()
        except OSError:
            continue
    return False


def open_kills():
    for path in KILLS:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    return None


_kills = None
_opened = False


def count_memory_kills():
    """Counts the processes that the kernel killed because the sandbox's memory ran out; always 0 without a cgroup."""
    global _kills, _opened
    if not _opened:
        _kills, _opened = open_kills(), True
    if _kills is None:
        return 0
    try:
        # Read anew at each call, a few microseconds.
        for line in os.pread(_kills, 4096, 0).split(b"\n"):
            name, _, value = line.partition(b" ")
            if name == b"oom_kill":
                return int(value)
    except (OSError, ValueError):
        pass
    return 0
