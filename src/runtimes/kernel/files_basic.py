"""Files and folders: looks, reads, writes, moves, copies and removes."""

import ctypes
import errno
import os
import secrets
import stat

from files_worker import CHUNK, Refusal, describe, open_file, resolve

RENAME_NOREPLACE = 1
AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400
MAX_READ = 4 << 20
# What the entries of one answer may take, so that a frame holds them.
MAX_ANSWER = 4 << 20
# Folders that are open in each other while they are removed.
MAX_DEPTH = 64
STAGE_PREFIX = ".toolyard-"
# Of what will stand where nothing was: who watches the folder is told that it was made.
NEW_STAGE_PREFIX = STAGE_PREFIX + "new-"
libc = ctypes.CDLL(None, use_errno=True)


def stage_name(folder, is_new=False):
    return os.path.join(folder, (NEW_STAGE_PREFIX if is_new else STAGE_PREFIX) + secrets.token_hex(8))


def look(job, path):
    absolute = resolve(path)
    try:
        return describe(absolute, os.lstat(absolute))
    except (FileNotFoundError, NotADirectoryError):
        return None


def read(job, path, offset, length):
    fd, _ = open_file(resolve(path))
    try:
        left = min(length, MAX_READ)
        while left > 0:
            data = os.pread(fd, min(left, CHUNK), offset)
            if not data:
                return None
            job.send(data)
            offset += len(data)
            left -= len(data)
    finally:
        os.close(fd)


def write(job, path, mode=None, append=False, exclusive=False):
    # The link's target is written, as everybody else writes through it.
    target = os.path.realpath(resolve(path))
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    existing = regular(target)
    if exclusive and existing is not None:
        raise Refusal("path_exists", f"{target} exists")
    stage = stage_name(folder, is_new=existing is None)
    size = 0
    fd, named = open_stage(folder, stage)
    try:
        for data in job.input():
            write_all(fd, data)
            size += len(data)
        if append and existing is not None:
            append_to(target, fd)
        else:
            os.fchmod(fd, mode if mode is not None else 0o644 if existing is None else stat.S_IMODE(existing.st_mode) & 0o777)
            if not named:
                call(libc.linkat, AT_FDCWD, f"/proc/self/fd/{fd}", AT_FDCWD, stage, AT_SYMLINK_FOLLOW)
                named = True
            put(stage, target, overwrite=not exclusive)
            named = False
        return {"size": os.stat(target).st_size if append else size, "created": existing is None}
    finally:
        os.close(fd)
        if named:
            os.unlink(stage)


def open_stage(folder, stage):
    """Opens a file that no name leads to, where the file system has such; answers whether it has one."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), False
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        return os.open(stage, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600), True


def regular(path):
    """Looks at what is to be written to; nothing when it is not there."""
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        raise Refusal("path_refused", f"{path} is no regular file")
    return facts


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def append_to(path, stage_fd):
    """Puts what was collected behind what is there, or leaves it as it was."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        os.lseek(stage_fd, 0, os.SEEK_SET)
        try:
            while data := os.read(stage_fd, CHUNK):
                write_all(fd, data)
        except OSError:
            os.ftruncate(fd, size)
            raise
    finally:
        os.close(fd)


def put(source, target, overwrite):
    """Gives something its final name at once."""
    if overwrite:
        os.rename(source, target)
        return
    if hasattr(libc, "renameat2"):
        call(libc.renameat2, AT_FDCWD, source, AT_FDCWD, target, RENAME_NOREPLACE)
    elif os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    else:
        # A small C library has nothing that is one step.
        os.rename(source, target)


def call(function, *arguments):
    """Calls what Python has no name for; the last path is the one that an error names."""
    paths = [argument for argument in arguments if isinstance(argument, str)]
    if function(*(os.fsencode(argument) if isinstance(argument, str) else argument for argument in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), paths[-1])


def walk(job, folder, depth, follow_hidden=True):
    """Yields the entries under a folder, each folder before what is in it, in the order of their names."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        job.check()
        if entry.name.startswith(STAGE_PREFIX):
            continue
        yield entry
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            try:
                yield from walk(job, entry.path, depth - 1)
            except (FileNotFoundError, PermissionError, NotADirectoryError):
                continue


class Entries:
    """What one answer lists, up to its limit."""

    def __init__(self, limit):
        self.limit = limit
        self.room = MAX_ANSWER
        self.list = []
        self.truncated = False

    def add(self, entry, size):
        """Answers whether there was room."""
        self.room -= size + 256
        if len(self.list) >= self.limit or self.room < 0:
            self.truncated = True
            return False
        self.list.append(entry)
        return True

    def answer(self):
        return {"entries": self.list, "truncated": self.truncated}


def listing(job, path, depth, limit):
    found = Entries(limit)
    for entry in walk(job, resolve(path), depth):
        try:
            info = describe(entry.path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            continue
        if not found.add(info, 2 * len(entry.path)):
            break
    return found.answer()


def make_directory(job, path):
    os.makedirs(resolve(path), exist_ok=True)


def move(job, source, target, overwrite):
    source, target = resolve(source), resolve(target)
    os.lstat(source)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        replace(job, source, target, overwrite)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy(job, source, target, overwrite)
        erase(job, source)


def copy(job, source, target, overwrite):
    source, target = resolve(source), resolve(target)
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    if not overwrite and os.path.lexists(target):
        raise Refusal("path_exists", f"{target} exists")
    if os.path.realpath(folder).startswith(os.path.realpath(source) + "/") or os.path.realpath(folder) == os.path.realpath(source):
        raise Refusal("path_refused", "a folder cannot be copied into itself")
    stage = stage_name(folder, is_new=not os.path.lexists(target))
    try:
        copy_entry(job, source, stage)
        replace(job, stage, target, overwrite)
    finally:
        if os.path.lexists(stage):
            erase(None, stage)


def copy_entry(job, source, target):
    job.check()
    facts = os.lstat(source)
    if stat.S_ISLNK(facts.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISDIR(facts.st_mode):
        os.mkdir(target, 0o700)
        with os.scandir(source) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            copy_entry(job, os.path.join(source, name), os.path.join(target, name))
        os.chmod(target, stat.S_IMODE(facts.st_mode))
    else:
        fd, facts = open_file(source)
        with open(fd, "rb") as reader, open(target, "xb") as writer:
            while data := reader.read(CHUNK):
                job.check(True)
                writer.write(data)
        os.chmod(target, stat.S_IMODE(facts.st_mode) & 0o777)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def replace(job, source, target, overwrite):
    """Renames, also over a folder that is not empty."""
    try:
        put(source, target, overwrite)
    except OSError as error:
        clash = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)
        if not overwrite or not clash or not os.path.lexists(target):
            raise
        aside = stage_name(os.path.dirname(target))
        os.rename(target, aside)
        try:
            os.rename(source, target)
        except OSError:
            os.rename(aside, target)
            raise
        erase(None, aside)


def remove(job, path, recursive):
    absolute = resolve(path)
    try:
        facts = os.lstat(absolute)
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISDIR(facts.st_mode):
        os.unlink(absolute)
    elif recursive:
        erase(job, absolute)
    else:
        os.rmdir(absolute)
    return True


def erase(job, path):
    """Removes something with all that is in it, also where its mode forbids to look, however deep it is."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    fd = open_folder(path, None)
    try:
        # What is too deep is moved up and is found in the next round.
        while clear(job, fd, fd, 0):
            pass
    finally:
        os.close(fd)
    os.rmdir(path)


def open_folder(name, parent):
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        fd = os.open(name, flags, dir_fd=parent)
    facts = os.fstat(fd)
    if facts.st_mode & 0o700 != 0o700 and facts.st_uid == os.getuid():
        os.fchmod(fd, 0o700)
    return fd


def clear(job, fd, top, depth):
    """Empties an open folder; answers whether something of it was moved to the top."""
    moved = False
    with os.scandir(fd) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if job is not None:
            job.check()
        if not is_folder:
            os.unlink(name, dir_fd=fd)
            continue
        below = open_folder(name, fd)
        try:
            if depth >= MAX_DEPTH:
                os.rename(name, secrets.token_hex(16), src_dir_fd=fd, dst_dir_fd=top)
                moved = True
                continue
            moved = clear(job, below, top, depth + 1) or moved
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=fd)
    return moved


HANDLERS = {
    "files.stat": look,
    "files.read": read,
    "files.write": write,
    "files.list": listing,
    "files.make_directory": make_directory,
    "files.move": move,
    "files.copy": copy,
    "files.remove": remove,
}
