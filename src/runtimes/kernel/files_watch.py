"""Tells changes under a path, as inotify sees them."""

import ctypes
import os
import re
import select
import stat
import struct

from files_basic import NEW_STAGE_PREFIX, STAGE_PREFIX
from files_worker import Refusal, resolve

IN_MODIFY, IN_ATTRIB, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
IN_CLOSE_WRITE, IN_DELETE_SELF, IN_MOVE_SELF, IN_Q_OVERFLOW, IN_ISDIR, IN_ONLYDIR = 0x8, 0x400, 0x800, 0x4000, 0x40000000, 0x1000000
MASK = IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF
MAX_FOLDERS = 8192
MAX_BATCH = 256
# Milliseconds in which the other half of a move comes, and many changes become one message.
SETTLE_MS = 20
# What the kernel calls a file that has no name.
UNNAMED = re.compile(r"#\d+")
libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    def __init__(self, job, root, recursive):
        self.job = job
        self.root = root
        self.recursive = recursive
        self.fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "changes cannot be watched here")
        self.folders = {}
        self.batch = []
        self.moves = {}
        self.is_folder = stat.S_ISDIR(os.stat(root).st_mode)

    def add(self, path, tell=False):
        """Watches a path and, if it is a folder, what is in it; tells what was there before we looked."""
        if len(self.folders) >= MAX_FOLDERS:
            raise Refusal("limit_exceeded", f"at most {MAX_FOLDERS} folders are watched", "watched_folders")
        number = libc.inotify_add_watch(self.fd, os.fsencode(path), MASK)
        if number < 0:
            return
        self.folders[number] = path
        if not os.path.isdir(path) or (path != self.root and not self.recursive):
            return
        try:
            with os.scandir(path) as entries:
                for entry in list(entries):
                    if tell:
                        self.tell("created", entry.path)
                    if self.recursive and entry.is_dir(follow_symlinks=False):
                        self.add(entry.path, tell)
        except OSError:
            return

    def tell(self, kind, path, source=None):
        if os.path.basename(path).startswith(STAGE_PREFIX):
            return
        change = {"kind": kind, "path": path, **({} if source is None else {"from": source})}
        if not self.batch or self.batch[-1] != change:
            self.batch.append(change)
        if len(self.batch) >= MAX_BATCH:
            self.flush()

    def flush(self):
        if self.batch:
            self.job.event(self.batch)
            self.batch = []

    def read(self):
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            number, mask, cookie, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16 : at + 16 + length].rstrip(b"\0")
            at += 16 + length
            self.on_event(number, mask, cookie, os.fsdecode(name))

    def on_event(self, number, mask, cookie, name):
        if mask & IN_Q_OVERFLOW:
            raise Refusal("limit_exceeded", "more changed at once than can be told", "changes")
        folder = self.folders.get(number)
        if folder is None:
            return
        path = os.path.join(folder, name) if name else folder
        if mask & IN_MOVED_FROM:
            self.moves[cookie] = path
        elif mask & IN_MOVED_TO:
            source = self.moves.pop(cookie, None)
            stage = os.path.basename(source or NEW_STAGE_PREFIX)
            # How a write puts its file in place.
            hidden = stage.startswith(STAGE_PREFIX)
            kind = "created" if stage.startswith(NEW_STAGE_PREFIX) else "modified" if hidden else "moved"
            self.tell(kind, path, None if hidden else source)
        elif mask & (IN_CREATE | IN_DELETE):
            self.tell("created" if mask & IN_CREATE else "deleted", path)
        elif mask & IN_DELETE_SELF and folder == self.root:
            self.tell("deleted", folder)
        elif mask & (IN_MODIFY | IN_ATTRIB) and not (self.is_folder and path == self.root):
            if UNNAMED.fullmatch(name) and not os.path.lexists(path):
                return
            self.tell("modified", path)
        if mask & IN_ISDIR and mask & (IN_CREATE | IN_MOVED_TO) and self.recursive:
            self.add(path, tell=bool(mask & IN_CREATE))

    def settle(self):
        """What was moved to where nobody looks is gone."""
        for path in self.moves.values():
            self.tell("deleted", path)
        self.moves.clear()
        self.flush()

    def run(self):
        self.add(self.root)
        self.job.event([])
        while True:
            busy = bool(self.batch or self.moves)
            ready = select.select([self.fd, self.job.link.socket], [], [], SETTLE_MS / 1000 if busy else None)[0]
            if self.fd in ready:
                self.read()
            elif busy:
                self.settle()
            self.job.check(True)


def watch(job, path, recursive):
    Watch(job, os.path.normpath(resolve(path)), recursive).run()


HANDLERS = {"files.watch": watch}
