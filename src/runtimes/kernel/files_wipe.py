"""Brings what user code could write to back to what it was: empty folders, and nothing shared between processes."""

import ctypes
import os

from files_basic import erase

IPC_RMID = 0
KINDS = (("shm", "shmctl", 3), ("sem", "semctl", 4), ("msg", "msgctl", 3))
libc = ctypes.CDLL(None, use_errno=True)


def wipe(job, folders):
    for path, mode in folders:
        os.chmod(path, mode | 0o700) if os.stat(path).st_uid == os.getuid() else None
        with os.scandir(path) as entries:
            found = [entry.path for entry in entries]
        for each in found:
            # A mount of its own is wiped by itself.
            if not os.path.ismount(each):
                erase(None, each)
        if os.stat(path).st_uid == os.getuid():
            for name in os.listxattr(path):
                os.removexattr(path, name)
            os.chmod(path, mode)
    for kind, function, count in KINDS:
        try:
            with open(f"/proc/sysvipc/{kind}", encoding="ascii") as file:
                numbers = [int(line.split()[1]) for line in list(file)[1:]]
        except OSError:
            continue
        for number in numbers:
            getattr(libc, function)(number, *([0] * (count - 3)), IPC_RMID, None)


HANDLERS = {"files.wipe": wipe}
