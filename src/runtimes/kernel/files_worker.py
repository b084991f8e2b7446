"""Does what the host asks of files, as the sandbox's own user, in a process that may wait, be stopped and be killed."""

import errno
import os
import select
import socket
import stat
from collections import deque

from supervisor_wire import Decoder, encode, encode_bytes

CHUNK = 1 << 18
GRANT = 1 << 18
MAX_PATH_BYTES = 4096
HOME = os.environ.get("HOME", "/")
# Entries between looks whether the job is still wanted.
CHECK_EVERY = 64

KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
)
ERRORS = {
    errno.ENOENT: ("path_not_found", None),
    errno.EEXIST: ("path_exists", None),
    errno.EACCES: ("path_forbidden", None),
    errno.EPERM: ("path_forbidden", None),
    errno.EROFS: ("path_forbidden", None),
    errno.ENOSPC: ("limit_exceeded", "disk"),
    errno.EDQUOT: ("limit_exceeded", "disk"),
    errno.EFBIG: ("limit_exceeded", "disk"),
    errno.EMFILE: ("limit_exceeded", "files"),
    errno.EAGAIN: ("limit_exceeded", "pids"),
    **{
        number: ("path_refused", None)
        for number in (
            errno.ENOTDIR,
            errno.EISDIR,
            errno.ENAMETOOLONG,
            errno.ELOOP,
            errno.EINVAL,
            errno.ENXIO,
            errno.ENOTEMPTY,
            errno.EXDEV,
            errno.EBUSY,
            errno.ETXTBSY,
        )
    },
}


class Refusal(Exception):
    """Ends a job with an error that the caller sees."""

    def __init__(self, type, message, limit=None):
        super().__init__(message)
        self.type = type
        self.limit = limit


class Stopped(Exception):
    """The host does not want the job any more."""


class Link:
    """The way to the supervisor; what belongs to later jobs waits here."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.decoder = Decoder(binary=True)
        self.waiting = deque()

    def send(self, frame):
        self.socket.sendall(frame)

    def fill(self, wait):
        if not wait and not select.select([self.socket], [], [], 0)[0]:
            return False
        data = self.socket.recv(CHUNK)
        if not data:
            os._exit(0)
        self.waiting.extend(self.decoder.push(data))
        return True

    def next(self):
        while not self.waiting:
            self.fill(True)
        return self.waiting.popleft()

    def next_of(self, number, wait):
        """The next frame of one job; nothing when there is none and it is not to be waited for."""
        while True:
            for index, (message, frame) in enumerate(self.waiting):
                if (message if isinstance(message, int) else message["r"]) == number:
                    del self.waiting[index]
                    return message, frame
            if not self.fill(wait) and not wait:
                return None


class Job:
    def __init__(self, link, message):
        self.link = link
        self.number = message["r"]
        self.args = message["args"]
        self.credit = message["win"]
        self.count = 0
        self.finished = False
        self.arrived = deque()

    # -- what comes

    def handle(self, message, frame):
        if isinstance(message, int):
            self.arrived.append(frame[8:])
        elif message["t"] == "win":
            self.credit += message["n"]
        elif message["t"] == "fin":
            self.finished = True
        elif message["t"] == "stop":
            raise Stopped

    def check(self, always=False):
        """Ends the job here when it is not wanted any more; cheap enough for every entry."""
        self.count += 1
        if not always and self.count % CHECK_EVERY:
            return
        while (found := self.link.next_of(self.number, False)) is not None:
            self.handle(*found)

    def input(self):
        """Yields what the host sends, as it comes."""
        untold = 0
        while True:
            while self.arrived:
                data = self.arrived.popleft()
                yield data
                untold += len(data)
                if untold >= GRANT:
                    self.link.send(encode({"t": "win", "r": self.number, "n": untold}))
                    untold = 0
            if self.finished:
                return
            self.handle(*self.link.next_of(self.number, True))

    # -- what goes

    def send(self, data):
        view = memoryview(data)
        while view:
            while self.credit <= 0:
                self.handle(*self.link.next_of(self.number, True))
            part = view[: min(CHUNK, self.credit)]
            self.credit -= len(part)
            self.link.send(encode_bytes(self.number, bytes(part)))
            view = view[len(part) :]

    def event(self, value):
        self.link.send(encode({"t": "ev", "r": self.number, "value": value}))

    def answer(self, value):
        self.link.send(encode({"t": "re", "r": self.number, "ok": True, "value": value}))

    def fail(self, type, message, limit=None):
        error = {"type": type, "message": message[:2000], "limit": limit}
        self.link.send(encode({"t": "re", "r": self.number, "ok": False, "error": error}))


def resolve(path):
    """Makes a path of the host's absolute, and refuses what is none."""
    if not isinstance(path, str) or path == "" or "\0" in path:
        raise Refusal("path_refused", "a path is not empty and holds no NUL")
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise Refusal("path_refused", f"a path has at most {MAX_PATH_BYTES} bytes")
    return os.path.join(HOME, path)


def kind_of(mode):
    return next((kind for is_kind, kind in KINDS if is_kind(mode)), "device")


def describe(path, facts):
    info = {
        "path": path,
        "kind": kind_of(facts.st_mode),
        "size": facts.st_size,
        "mode": stat.S_IMODE(facts.st_mode),
        "modified_at": facts.st_mtime_ns // 1_000_000,
        "owner": facts.st_uid,
        "group": facts.st_gid,
    }
    if info["kind"] == "symlink":
        try:
            info["target"] = os.readlink(path)
        except OSError:
            info["target"] = ""
    return info


def open_file(path):
    """Opens a regular file to read, and never waits for what is none."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    facts = os.fstat(fd)
    if stat.S_ISREG(facts.st_mode):
        return fd, facts
    os.close(fd)
    raise Refusal("path_refused", f"{path} is no regular file but a {kind_of(facts.st_mode)}")


def run(job, name):
    """Does one job to its end, whatever it meets."""
    import files_archive
    import files_basic
    import files_search
    import files_watch
    import files_wipe

    handlers = {**files_wipe.HANDLERS, **files_basic.HANDLERS, **files_search.HANDLERS, **files_archive.HANDLERS, **files_watch.HANDLERS}
    try:
        job.answer(handlers[name](job, **job.args))
    except Refusal as refusal:
        job.fail(refusal.type, str(refusal), refusal.limit)
    except Stopped:
        job.fail("cancelled", "it was cancelled")
    except OSError as error:
        type, limit = ERRORS.get(error.errno, ("execution_error", None))
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        job.fail(type, f"{where}{error.strerror or error}", limit)
    except (MemoryError, RecursionError):
        job.fail("limit_exceeded", "it takes more memory than the sandbox may have", "memory")
    except Exception as error:
        job.fail("execution_error", f"{type(error).__name__}: {error}")


def main(fd):
    link = Link(fd)
    while True:
        message, _ = link.next()
        # What still comes for a job that has ended is for nobody.
        if isinstance(message, int) or message["t"] != "op":
            continue
        args = {key: value for key, value in message["args"].items() if key != "small"}
        run(Job(link, {**message, "args": args}), message["op"])
        if message["alone"]:
            os._exit(0)
