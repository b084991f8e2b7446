"""Packs files and unpacks archives, which are taken for hostile: nothing outside the folder, nothing but files, folders and
links that stay in it, no more than was allowed, and all or nothing.
"""

import os
import stat

from files_basic import erase, open_stage, replace, stage_name, walk, write_all
from files_worker import CHUNK, Refusal, open_file, resolve

DEPTH = 256
# What a tar file may take beside its content: headers, padding, long names.
TAR_OVERHEAD = 4096
# Of 40 MiB of Python's library: 12.4 MB in 1.1 s, where 9 makes 11.3 MB in 16 s.
GZIP_LEVEL = 3
MALFORMED = "it is no archive of that format, or a damaged one"


class Sink:
    """A file that only goes forward: what is written to it is sent."""

    def __init__(self, job):
        self.job = job
        self.buffer = bytearray()
        self.sent = 0

    def write(self, data):
        self.buffer += data
        if len(self.buffer) >= CHUNK:
            self.flush()
        return len(data)

    def flush(self):
        if self.buffer:
            self.sent += len(self.buffer)
            self.job.send(self.buffer)
            self.buffer = bytearray()

    def tell(self):
        return self.sent + len(self.buffer)


class Exactly:
    """Reads as many bytes as a file had when it was looked at, whatever becomes of it."""

    def __init__(self, fd, size):
        self.fd = fd
        self.left = size

    def read(self, count):
        count = min(count, self.left)
        data = os.read(self.fd, count)
        self.left -= count
        while len(data) < count:
            more = os.read(self.fd, count - len(data))
            data += more or bytes(count - len(data))
        return data


class Source:
    """What the host sends, as a file; refuses to be more than `limit` bytes."""

    def __init__(self, chunks, limit):
        self.chunks = chunks
        self.rest = b""
        self.left = limit

    def read(self, count=-1):
        parts, size = [], 0
        while count < 0 or size < count:
            if not self.rest:
                self.rest = next(self.chunks, b"")
                if not self.rest:
                    break
            part = self.rest if count < 0 else self.rest[: count - size]
            self.rest = self.rest[len(part) :]
            parts.append(part)
            size += len(part)
        self.left -= size
        if self.left < 0:
            raise Refusal("limit_exceeded", "the archive holds more bytes than allowed", "archive_bytes")
        return b"".join(parts)


def members(job, root, names):
    """Yields the paths to pack, each with its name in the archive; what is no file, folder or link is left out."""
    for name in names if names is not None else [None]:
        if name is None:
            entries = (entry.path for entry in walk(job, root, DEPTH))
        else:
            path = resolve(os.path.join(root, name))
            if os.path.relpath(path, root).startswith(".."):
                raise Refusal("path_refused", f"{name} is not in the folder")
            facts = os.lstat(path)
            below = (entry.path for entry in walk(job, path, DEPTH)) if stat.S_ISDIR(facts.st_mode) else ()
            entries = (each for part in ((path,), below) for each in part)
        for path in entries:
            yield path, os.path.relpath(path, root)


def archive(job, path, format, names=None):
    root = os.path.normpath(resolve(path))
    if not stat.S_ISDIR(os.stat(root).st_mode):
        raise Refusal("path_refused", f"{root} is no folder")
    sink = Sink(job)
    (pack_zip if format == "zip" else pack_tar)(job, sink, members(job, root, names), format)
    sink.flush()


def pack_tar(job, sink, entries, format):
    import contextlib
    import gzip
    import tarfile

    zipped = gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=GZIP_LEVEL) if format == "tar.gz" else contextlib.nullcontext(sink)
    with zipped as target, tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path, name in entries:
            try:
                facts = os.lstat(path)
            except FileNotFoundError:
                continue
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = stat.S_IMODE(facts.st_mode) & 0o777, int(facts.st_mtime)
            if stat.S_ISDIR(facts.st_mode):
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            elif stat.S_ISLNK(facts.st_mode):
                info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
                tar.addfile(info)
            elif stat.S_ISREG(facts.st_mode):
                fd, facts = open_file(path)
                try:
                    info.size = facts.st_size
                    tar.addfile(info, Exactly(fd, facts.st_size))
                finally:
                    os.close(fd)
            job.check(True)


def pack_zip(job, sink, entries, _format):
    import time
    import zipfile

    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path, name in entries:
            try:
                facts = os.lstat(path)
            except FileNotFoundError:
                continue
            folder = stat.S_ISDIR(facts.st_mode)
            if not (folder or stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)):
                continue
            date = max(time.gmtime(facts.st_mtime)[:6], (1980, 1, 1, 0, 0, 0))
            info = zipfile.ZipInfo(os.fsencode(name).decode("utf-8", "replace") + ("/" if folder else ""), min(date, (2107, 12, 31, 23, 59, 58)))
            info.external_attr = (stat.S_IFMT(facts.st_mode) | stat.S_IMODE(facts.st_mode) & 0o777) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            if folder:
                bundle.writestr(info, b"")
            elif stat.S_ISLNK(facts.st_mode):
                bundle.writestr(info, os.fsencode(os.readlink(path)))
            else:
                fd, facts = open_file(path)
                try:
                    reader, left = Exactly(fd, facts.st_size), facts.st_size
                    with bundle.open(info, "w", force_zip64=facts.st_size > 1 << 30) as writer:
                        while left > 0:
                            job.check(True)
                            writer.write(reader.read(min(left, CHUNK)))
                            left -= min(left, CHUNK)
                finally:
                    os.close(fd)


class Stage:
    """Where an archive is unpacked before anything of it is seen."""

    def __init__(self, job, folder, entries, total_bytes, any_links):
        self.job = job
        self.any_links = any_links
        self.root = stage_name(folder)
        self.entries = entries
        self.total_bytes = total_bytes
        self.count = self.size = 0
        self.folders = []

    def place(self, name):
        """Counts an entry and answers where it goes; its folders are made, and none of them is a link."""
        self.job.check()
        self.count += 1
        if self.count > self.entries:
            raise Refusal("limit_exceeded", f"the archive holds more than {self.entries} entries", "archive_entries")
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name or len(os.fsencode(name)) > 4096:
            raise Refusal("path_refused", f"the archive holds a path that leads out of the folder: {name[:200]!r}")
        place = self.root
        for part in parts[:-1]:
            place = os.path.join(place, part)
            if os.path.islink(place):
                raise Refusal("path_refused", f"the archive holds a path through a link: {name[:200]!r}")
            if not os.path.isdir(place):
                os.mkdir(place, 0o755)
        return os.path.join(place, parts[-1]) if parts else None

    def room(self, size):
        self.size += size
        if self.size > self.total_bytes:
            raise Refusal("limit_exceeded", f"the archive holds more than {self.total_bytes} bytes", "archive_bytes")

    def fresh(self, place):
        # A later entry of the same name takes the earlier one's place, as tar does.
        if os.path.islink(place) or os.path.isfile(place):
            os.unlink(place)

    def add_folder(self, name, mode):
        place = self.place(name)
        if place is not None:
            self.fresh(place)
            os.makedirs(place, mode=0o755, exist_ok=True)
            self.folders.append((place, mode & 0o777))

    def add_file(self, name, mode, read, size):
        place = self.place(name)
        if place is None:
            return
        # What it says of itself already; what it holds is counted below.
        if self.size + size > self.total_bytes:
            self.room(size)
        self.fresh(place)
        with open(place, "xb") as file:
            while data := read(CHUNK):
                self.job.check()
                self.room(len(data))
                file.write(data)
        os.chmod(place, mode & 0o777)

    def add_symlink(self, name, target):
        place = self.place(name)
        if place is None or (target.startswith("/") and not self.any_links) or "\0" in target:
            raise Refusal("path_refused", f"the archive holds a link that leads out of the folder: {name[:200]!r}")
        self.fresh(place)
        os.symlink(target, place)
        if not self.holds(place):
            raise Refusal("path_refused", f"the archive holds a link that leads out of the folder: {name[:200]!r}")

    def add_hard_link(self, name, target):
        place, source = self.place(name), self.place(target)
        if place is None or source is None or os.path.islink(source) or not os.path.isfile(source):
            raise Refusal("path_refused", f"the archive holds a link to what it does not hold: {name[:200]!r}")
        self.fresh(place)
        os.link(source, place, follow_symlinks=False)

    def holds(self, place):
        return self.any_links or (os.path.realpath(place) + "/").startswith(os.path.realpath(self.root) + "/")

    def settle(self, folder):
        """Puts all of it in its place, once it is known that it can be."""
        links = []
        for parent, names, files in os.walk(self.root):
            for name in [*names, *files]:
                self.job.check()
                path = os.path.join(parent, name)
                target = os.path.join(folder, os.path.relpath(path, self.root))
                if os.path.islink(path):
                    links.append(path)
                if os.path.lexists(target) and (os.path.isdir(path) and not os.path.islink(path)) != (
                    os.path.isdir(target) and not os.path.islink(target)
                ):
                    raise Refusal("path_exists", f"{target} exists and is of another kind")
        # A link that stayed inside alone may lead out through a later one.
        if not all(self.holds(link) for link in links):
            raise Refusal("path_refused", "the archive holds links that together lead out of the folder")
        self.merge(self.root, folder)
        for place, mode in self.folders:
            os.chmod(os.path.join(folder, os.path.relpath(place, self.root)), mode)

    def merge(self, source, target):
        for name in os.listdir(source):
            path, place = os.path.join(source, name), os.path.join(target, name)
            if os.path.isdir(path) and not os.path.islink(path) and os.path.isdir(place):
                self.merge(path, place)
            else:
                replace(self.job, path, place, True)


def extract(job, path, format, entries, total_bytes, any_links=False):
    folder = resolve(path)
    os.makedirs(folder, exist_ok=True)
    folder = os.path.realpath(folder)
    stage = Stage(job, folder, entries, total_bytes, any_links)
    os.mkdir(stage.root, 0o700)
    try:
        (unpack_zip if format == "zip" else unpack_tar)(job, stage, format)
        stage.settle(folder)
    finally:
        erase(None, stage.root)
    return {"entries": stage.count, "total_bytes": stage.size}


def unpack_tar(job, stage, format):
    import gzip
    import tarfile
    import zlib

    room = stage.total_bytes + (stage.entries + 16) * TAR_OVERHEAD
    source = Source(job.input(), room)
    if format == "tar.gz":
        unpacked = gzip.GzipFile(fileobj=source, mode="rb")
        source = Source(iter(lambda: unpacked.read(CHUNK), b""), room)
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for info in tar:
                if info.isdir():
                    stage.add_folder(info.name, info.mode)
                elif info.isreg():
                    # A member of a stream can be read to its end only here.
                    stage.add_file(info.name, info.mode, tar.extractfile(info).read, info.size)
                elif info.issym():
                    stage.add_symlink(info.name, info.linkname)
                elif info.islnk():
                    stage.add_hard_link(info.name, info.linkname)
                else:
                    raise Refusal("path_refused", f"the archive holds a device or the like: {info.name[:200]!r}")
                # It would keep every member it has seen.
                tar.members.clear()
        while source.read(CHUNK):
            pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        raise Refusal("invalid_input", MALFORMED) from error


def unpack_zip(job, stage, _format):
    import zipfile
    import zlib

    fd, named = open_stage(stage.root, os.path.join(stage.root, "zip"))
    source = Source(job.input(), stage.total_bytes + (stage.entries + 16) * TAR_OVERHEAD)
    with open(fd, "w+b") as file:
        if named:
            os.unlink(os.path.join(stage.root, "zip"))
        while data := source.read(CHUNK):
            write_all(fd, data)
        try:
            # Before the list of entries is read, which makes an object of each.
            if entries_of_zip(file) > stage.entries:
                raise Refusal("limit_exceeded", f"the archive holds more than {stage.entries} entries", "archive_entries")
            with zipfile.ZipFile(file) as bundle:
                for info in bundle.infolist():
                    add_zipped(stage, bundle, info)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError) as error:
            raise Refusal("invalid_input", MALFORMED) from error


def entries_of_zip(file):
    """How many entries a zip file's end says it has; a lie shows when they are read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 65557))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    return int.from_bytes(tail[at + 10 : at + 12], "little") if at >= 0 else 0


def add_zipped(stage, bundle, info):
    mode = info.external_attr >> 16
    if info.is_dir():
        stage.add_folder(info.filename, mode or 0o755)
    elif stat.S_ISLNK(mode):
        if info.file_size > 4096:
            raise Refusal("path_refused", f"the archive holds a link that is too long: {info.filename[:200]!r}")
        stage.add_symlink(info.filename, os.fsdecode(bundle.read(info)))
    elif mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise Refusal("path_refused", f"the archive holds a device or the like: {info.filename[:200]!r}")
    else:
        with bundle.open(info) as reader:
            stage.add_file(info.filename, (mode & 0o777) or 0o644, reader.read, info.file_size)


HANDLERS = {"files.archive": archive, "files.extract": extract}
