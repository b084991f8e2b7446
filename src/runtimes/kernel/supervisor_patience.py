"""How long an interpreter that was interrupted may take to clean up: a time of its own, not of the machine's."""

import os
import time

from supervisor_processes import stat_fields

# Seconds after which it has had its time, whatever kept it waiting.
AT_LAST = 5.0


class Patience:
    def __init__(self, pid, cpu_seconds):
        self.pid = pid
        self.until = time.monotonic() + AT_LAST
        self.cpu_until = self.cpu() + cpu_seconds

    def is_due(self, now):
        """Says whether the interpreter would run, but had not its time because others do; one that sleeps has had it."""
        fields = stat_fields(self.pid)
        return fields is not None and fields[0] in (b"R", b"D") and now < self.until and self.cpu() < self.cpu_until

    def cpu(self):
        fields = stat_fields(self.pid)
        return 0.0 if fields is None else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ignores(pid, number):
    return has_signal(pid, b"SigIgn:", number)


def catches(pid, number):
    return has_signal(pid, b"SigCgt:", number)


def has_signal(pid, mask, number):
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = next((line for line in file if line.startswith(mask)), mask + b"0")
    except OSError:
        return False
    return bool(int(found.split(b":")[1], 16) >> (number - 1) & 1)
