"""What the sandbox uses, as its own cgroup counts it, or else as the sum of its processes."""

import os
import resource

from supervisor_processes import resident, stat_fields

GROUPS = "/sys/fs/cgroup"
# A limit that v1 tells when there is none.
UNLIMITED = 1 << 60
NOT_WRITABLE = {"proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs"}


def writable_folders():
    """Where user code may write: the mounts that let it, with the modes that they have now."""
    folders = {}
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            _, place, kind, options, *_ = line.split(" ")
            path = place.encode("utf-8", "surrogateescape").decode("unicode_escape")
            writable = "rw" in options.split(",") and kind not in NOT_WRITABLE and path != "/"
            if writable and os.path.isdir(path) and os.access(path, os.W_OK):
                folders[path] = os.stat(path).st_mode & 0o7777
    return folders


def number(*names):
    """Reads the first of some cgroup files that is there."""
    for name in names:
        try:
            with open(os.path.join(GROUPS, name), encoding="ascii") as file:
                text = file.read().split()[0]
        except (OSError, IndexError):
            continue
        return None if text == "max" or int(text) >= UNLIMITED else int(text)
    return None


def field(name, key):
    try:
        with open(os.path.join(GROUPS, name), encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(key + " ")), 0)
    except OSError:
        return 0


def count_memory_kills():
    """How many processes the sandbox's cgroup has killed for its memory; none where there is no cgroup."""
    return field("memory.events", "oom_kill") or field("memory/memory.oom_control", "oom_kill")


def disk(folders):
    used = size = 0
    devices = set()
    for path in folders:
        device = os.stat(path).st_dev
        if device not in devices:
            devices.add(device)
            facts = os.statvfs(path)
            used += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            size += facts.f_blocks * facts.f_frsize
    return {"disk_bytes": used, "disk_limit_bytes": size or None}


def measure(limits, folders):
    memory = number("memory.current", "memory/memory.usage_in_bytes")
    return {**(from_processes(limits) if memory is None else from_cgroup(memory)), **disk(folders)}


def from_cgroup(memory):
    cache = field("memory.stat", "inactive_file") or field("memory/memory.stat", "total_inactive_file")
    quota, period = cpu_quota()
    usage = number("cpuacct/cpuacct.usage")
    return {
        "memory_bytes": max(0, memory - cache),
        "memory_limit_bytes": number("memory.max", "memory/memory.limit_in_bytes"),
        "memory_peak_bytes": number("memory.peak", "memory/memory.max_usage_in_bytes"),
        "cpu_seconds": field("cpu.stat", "usage_usec") / 1e6 if usage is None else usage / 1e9,
        "cpus": quota / period if quota > 0 else None,
        "pids": number("pids.current", "pids/pids.current") or 0,
        "pids_limit": number("pids.max", "pids/pids.max"),
        "source": "cgroup",
    }


def cpu_quota():
    try:
        with open(os.path.join(GROUPS, "cpu.max"), encoding="ascii") as file:
            quota, period = file.read().split()
        return (0 if quota == "max" else int(quota)), int(period)
    except OSError:
        # It may be -1, for none.
        return number("cpu/cpu.cfs_quota_us") or 0, number("cpu/cpu.cfs_period_us") or 1


def from_processes(limits):
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    tick = os.sysconf("SC_CLK_TCK")
    fields = [found for found in (stat_fields(pid) for pid in pids) if found is not None]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "memory_bytes": resident(pids),
        "memory_limit_bytes": limits["memory_mib"] << 20,
        "memory_peak_bytes": None,
        "cpu_seconds": sum(int(each[11]) + int(each[12]) for each in fields) / tick + ended.ru_utime + ended.ru_stime,
        "cpus": None,
        "pids": len(fields),
        "pids_limit": limits["pids"],
        "source": "processes",
    }
