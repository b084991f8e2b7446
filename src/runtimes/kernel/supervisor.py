"""Guards the kernels of one sandbox: pid 1 inside it, between the host's channel (fd 3) and user code.

It alone says how an execution ended. User code runs only in its children, whose stdout and stderr are pipes, so that
nothing they write can look like protocol. Speaks "ptc-frame/1" (see frame.ts and messages.ts) on both sides.
"""

import codecs
import ctypes
import json
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import time

HOST_FD = 3
MAX_FRAME = 8 * 1024 * 1024
# Bytes that the host has not taken yet; over it, nothing more is read from user code.
MAX_BACKLOG = 1024 * 1024
# Seconds from the interrupt until the kill: user code's time to clean up, inside the 300 ms that the host promises.
KILL_AFTER = 0.15
MEMORY_CHECK = 0.1
SHELL_FD = 8
PR_SET_DUMPABLE = 4
HERE = os.path.dirname(os.path.abspath(__file__))
libc = ctypes.CDLL(None, use_errno=True)


class Violation(Exception):
    """A kernel broke the protocol."""


def encode(message):
    payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return struct.pack(">I", len(payload)) + payload


class Decoder:
    """Cuts bytes into (message, frame) pairs."""

    def __init__(self):
        self.buffer = bytearray()

    def push(self, data):
        self.buffer += data
        while len(self.buffer) >= 4:
            (length,) = struct.unpack_from(">I", self.buffer)
            if length > MAX_FRAME:
                raise Violation("a frame is over the cap")
            if len(self.buffer) < 4 + length:
                return
            frame = bytes(self.buffer[: 4 + length])
            del self.buffer[: 4 + length]
            try:
                message = json.loads(frame[4:])
            except (ValueError, RecursionError) as error:
                raise Violation("a frame is not JSON") from error
            if not isinstance(message, dict):
                raise Violation("a frame is not an object")
            yield message, frame


class Capture:
    """Streams the start of one stream, keeps its end for `end`, and counts all of it."""

    def __init__(self, limit):
        self.head_left = limit // 2
        self.tail_size = limit - limit // 2
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.tail = bytearray()
        self.bytes = self.omitted = self.sequence = 0

    def feed(self, data):
        """Takes bytes and returns the text to stream now."""
        self.bytes += len(data)
        text = ""
        if self.head_left > 0:
            head, data = data[: self.head_left], data[self.head_left :]
            self.head_left -= len(head)
            text = self.decoder.decode(head)
            if self.head_left == 0:
                # A character that the cut split goes to the tail whole.
                data = self.decoder.getstate()[0] + data
        self.tail += data
        if len(self.tail) > 2 * self.tail_size:
            self.trim()
        return text

    def trim(self):
        excess = len(self.tail) - self.tail_size
        if excess > 0:
            # Never start inside a character.
            while excess < len(self.tail) and self.tail[excess] & 0xC0 == 0x80 and excess < len(self.tail) - self.tail_size + 4:
                excess += 1
            del self.tail[:excess]
            self.omitted += excess

    def finish(self):
        self.trim()
        pending = self.decoder.decode(b"", True) if self.head_left > 0 else ""
        tail = pending + self.tail.decode("utf-8", "replace")
        return {"bytes": self.bytes, "omitted": self.omitted, "tail": tail}


class Kernel:
    """One interpreter process and the execution that is live in it."""

    def __init__(self, name, language):
        self.name = name
        self.language = language
        self.pid = 0
        self.socket = None
        self.pipes = {}
        self.decoder = Decoder()
        self.exit_status = None
        self.x = None
        self.captures = {}
        self.last_call = -1
        self.started = self.deadline = self.kill_at = 0.0
        self.stop_reason = None
        self.limit = None
        # The engine said so just before it aborted.
        self.heap_exhausted = False


class Supervisor:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.host = socket.socket(fileno=HOST_FD)
        self.host.setblocking(False)
        self.host_decoder = Decoder()
        self.backlog = bytearray()
        self.paused = False
        self.kernels = {}
        self.by_pid = {}
        self.limits = None
        self.memory_at = 0.0
        self.files = 0

    # -- the host's side

    def send(self, message):
        self.send_raw(encode(message))

    def send_raw(self, frame):
        if not self.backlog:
            try:
                sent = self.host.send(frame)
                if sent == len(frame):
                    return
                frame = frame[sent:]
            except BlockingIOError:
                pass
            except OSError:
                os._exit(0)
        self.backlog += frame
        self.selector.modify(self.host, selectors.EVENT_READ | selectors.EVENT_WRITE, self.on_host)
        self.set_paused(len(self.backlog) > MAX_BACKLOG)

    def flush(self):
        try:
            sent = self.host.send(self.backlog)
        except BlockingIOError:
            return
        except OSError:
            os._exit(0)
        del self.backlog[:sent]
        if not self.backlog:
            self.selector.modify(self.host, selectors.EVENT_READ, self.on_host)
        self.set_paused(len(self.backlog) > MAX_BACKLOG)

    def set_paused(self, paused):
        if paused == self.paused:
            return
        self.paused = paused
        for kernel in self.kernels.values():
            for stream, pipe in kernel.pipes.items():
                if paused:
                    self.selector.unregister(pipe)
                else:
                    self.register_pipe(kernel, stream, pipe)

    def on_host(self, events):
        if events & selectors.EVENT_WRITE:
            self.flush()
        if not events & selectors.EVENT_READ:
            return
        try:
            data = self.host.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            # The host is gone: as pid 1, leaving ends every process of the sandbox.
            os._exit(0)
        for message, frame in self.host_decoder.push(data):
            self.on_host_frame(message, frame)

    def on_host_frame(self, message, frame):
        kind = message["t"]
        if kind == "exec":
            self.execute(message)
        elif kind == "res":
            kernel = self.live(message["x"])
            if kernel is not None:
                self.to_kernel(kernel, frame)
        elif kind == "cancel":
            kernel = self.live(message["x"])
            if kernel is not None:
                self.interrupt(kernel, "cancelled")
        elif kind == "reset":
            kernel = self.kernels.pop(message["k"], None)
            if kernel is not None:
                self.destroy(kernel, "cancelled")
            self.send({"t": "reset", "k": message["k"]})
        elif kind == "ping":
            self.send({"t": "pong", "n": message["n"]})
        elif kind == "hello":
            self.limits = message["limits"]
            self.send({"t": "ready", "v": 1, "versions": {"python": sys.version.split()[0]}})
            warm_up()
        elif kind == "bye":
            os._exit(0)

    def live(self, x):
        for kernel in self.kernels.values():
            if kernel.x == x:
                return kernel
        return None

    # -- executions

    def execute(self, message):
        name = message["k"]
        kernel = self.kernels.get(name)
        if kernel is None or kernel.exit_status is not None:
            kernel = Kernel(name, message["language"])
            self.start(kernel)
            self.kernels[name] = kernel
        self.drain(kernel)
        kernel.x = message["x"]
        kernel.captures = {stream: Capture(self.limits["output_bytes"]) for stream in ("stdout", "stderr")}
        kernel.last_call = -1
        kernel.stop_reason = kernel.limit = None
        kernel.started = time.monotonic()
        kernel.deadline = kernel.started + message["deadline_ms"] / 1000
        kernel.kill_at = 0.0
        if kernel.language == "bash":
            self.files += 1
            path = f"/tmp/.cell-{self.files}"
            with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(message["code"] + "\n")
            self.to_kernel(kernel, f"{kernel.x} {path}\n".encode())
        else:
            keys = ("x", "code", "dialect")
            request = {key: message[key] for key in keys if key in message}
            self.to_kernel(kernel, encode({"t": "exec", **request}))

    def to_kernel(self, kernel, data):
        try:
            kernel.socket.settimeout(1)
            kernel.socket.sendall(data)
            kernel.socket.setblocking(False)
        except OSError:
            # A kernel that does not take its frames is as good as dead.
            self.destroy(kernel, "violation")

    def end(self, kernel, status, **facts):
        x, kernel.x = kernel.x, None
        if x is None:
            return
        usage = {stream: capture.finish() for stream, capture in kernel.captures.items()}
        usage["duration_ms"] = round((time.monotonic() - kernel.started) * 1000, 3)
        frame = {
            "t": "end", "x": x, "status": status, "value": None, "text": None, "value_truncated": False, "error": None,
            "limit": kernel.limit if status == "limit" else None, "exit_code": None, "signal": None, "state_lost": False, "usage": usage,
        }  # fmt: skip
        frame.update(facts)
        self.send(frame)

    def on_kernel(self, kernel):
        try:
            data = kernel.socket.recv(1 << 18)
            if not data:
                self.close_socket(kernel)
                return
            if kernel.language == "bash":
                self.on_shell(kernel, data)
                return
            for message, frame in kernel.decoder.push(data):
                self.on_kernel_frame(kernel, message, frame)
        except BlockingIOError:
            return
        except ConnectionError:
            self.close_socket(kernel)
        except (Violation, ValueError, TypeError, KeyError):
            self.destroy(kernel, "violation")

    def on_shell(self, kernel, data):
        kernel.decoder.buffer += data
        while b"\n" in kernel.decoder.buffer:
            line, _, rest = bytes(kernel.decoder.buffer).partition(b"\n")
            kernel.decoder.buffer = bytearray(rest)
            x, status = (int(part) for part in line.split())
            if x != kernel.x:
                raise Violation("an execution that is not live ended")
            self.settle(kernel)
            self.end(kernel, kernel.stop_reason or "ok", exit_code=status)

    def on_kernel_frame(self, kernel, message, frame):
        if kernel.x is None or message.get("x") != kernel.x:
            raise Violation("a frame of an execution that is not live")
        kind = message.get("t")
        if kind == "call":
            index = message.get("i")
            if not isinstance(index, int) or index <= kernel.last_call:
                raise Violation("a call's id was used before")
            if not isinstance(message.get("tool"), str) or not isinstance(message.get("args"), dict):
                raise Violation("a call is malformed")
            kernel.last_call = index
            self.send_raw(frame)
        elif kind == "idle":
            self.send_raw(frame)
        elif kind == "done":
            self.on_done(kernel, message)
        else:
            raise Violation("an unknown frame")

    def settle(self, kernel):
        """Collects what a finished execution wrote; nothing that an interrupted one started may survive it."""
        if kernel.stop_reason is not None:
            self.kill_tree(kernel, spare=True)
        self.drain(kernel)

    def on_done(self, kernel, message):
        self.settle(kernel)
        error = message.get("error")
        text = message.get("text")
        code = message.get("exit_code")
        if error is not None:
            line = error.get("line")
            error = {key: str(error[key]) for key in ("name", "message", "traceback")}
            if isinstance(line, int):
                error["line"] = line
        status = kernel.stop_reason or ("ok" if error is None else "error")
        if kernel.stop_reason is None and error is not None and message.get("limit") == "memory":
            status, kernel.limit = "limit", "memory"
        self.end(
            kernel,
            status,
            value=message.get("value"),
            value_truncated=message.get("value_truncated") is True,
            text=text if isinstance(text, str) else None,
            error=error,
            exit_code=code if isinstance(code, int) else None,
        )

    def on_exit(self, kernel):
        """Runs once a kernel's process was reaped."""
        self.drain(kernel)
        self.release(kernel)
        self.kill_tree(kernel)
        status = kernel.exit_status
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
        if kernel.x is None:
            return
        if kernel.heap_exhausted and code is None:
            kernel.stop_reason, kernel.limit = kernel.stop_reason or "limit", "memory"
        self.end(kernel, kernel.stop_reason or "exited", exit_code=code, signal=name, state_lost=True)

    # -- stopping

    def interrupt(self, kernel, reason):
        if kernel.stop_reason is not None:
            return
        kernel.stop_reason = reason
        kernel.kill_at = time.monotonic() + KILL_AFTER
        try:
            os.killpg(kernel.pid, signal.SIGINT)
        except OSError:
            pass

    def destroy(self, kernel, reason):
        """Kills a kernel with all that it started, and ends what was live in it."""
        if kernel.exit_status is not None:
            return
        kernel.stop_reason = kernel.stop_reason or reason
        self.kill_tree(kernel)
        self.drain(kernel)
        self.release(kernel)
        if kernel.stop_reason == "violation":
            error = {"name": "ProtocolViolation", "message": "the interpreter broke the sandbox's protocol and was killed", "traceback": ""}
            self.end(kernel, "error", error=error, state_lost=True)
        else:
            self.end(kernel, kernel.stop_reason, state_lost=True)

    def kill_tree(self, kernel, spare=False):
        """Kills a kernel (unless it is spared), its descendants and every process without a parent, which may have left its tree by a double fork."""
        for _ in range(50):
            self.reap()
            victims = [pid for pid in self.tree_of(kernel) if not spare or pid != kernel.pid]
            if not victims:
                break
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in victims:
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
            time.sleep(0.001)
        else:
            # A storm that outruns the walk: everything but pid 1 goes.
            os.kill(-1, signal.SIGKILL)
        if not spare and kernel.exit_status is None:
            # It is dying; until it is collected it must not be taken for alive.
            _, kernel.exit_status = os.waitpid(kernel.pid, 0)
            self.by_pid.pop(kernel.pid, None)

    def tree_of(self, kernel):
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
        me = os.getpid()
        queue = [pid for pid in children.get(me, []) if pid not in self.by_pid or pid == kernel.pid]
        found = []
        while queue:
            pid = queue.pop()
            found.append(pid)
            queue.extend(children.get(pid, []))
        return found

    def reap(self):
        """Collects dead children, orphans of user code included."""
        dead = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            kernel = self.by_pid.pop(pid, None)
            if kernel is not None:
                kernel.exit_status = status
                dead.append(kernel)
        return dead

    def check_memory(self, now):
        """Kills the kernel whose tree holds more than the limit; one process alone hits its own rlimit first."""
        if now < self.memory_at or not any(kernel.x is not None for kernel in self.kernels.values()):
            return
        self.memory_at = now + MEMORY_CHECK
        page = resource.getpagesize()
        for kernel in list(self.by_pid.values()):
            total = 0
            for pid in self.tree_of(kernel):
                try:
                    with open(f"/proc/{pid}/statm", "rb") as file:
                        fields = file.read().split()
                    total += (int(fields[1]) - int(fields[2])) * page
                except OSError:
                    continue
            if total > self.limits["memory_mib"] * 1024 * 1024 + (16 << 20):
                kernel.limit = "memory"
                self.destroy(kernel, "limit")

    # -- processes

    def start(self, kernel):
        ours, theirs = socket.socketpair()
        pipes = {stream: os.pipe() for stream in ("stdout", "stderr")}
        pid = os.fork()
        if pid == 0:
            try:
                become_kernel(kernel.language, theirs, pipes["stdout"][1], pipes["stderr"][1], self.limits)
            finally:
                os._exit(70)
        theirs.close()
        kernel.pid = pid
        kernel.socket = ours
        ours.setblocking(False)
        self.by_pid[pid] = kernel
        self.selector.register(ours, selectors.EVENT_READ, lambda _: self.on_kernel(kernel))
        for stream, (read, write) in pipes.items():
            os.close(write)
            os.set_blocking(read, False)
            kernel.pipes[stream] = read
            if not self.paused:
                self.register_pipe(kernel, stream, read)

    def register_pipe(self, kernel, stream, pipe):
        self.selector.register(pipe, selectors.EVENT_READ, lambda _: self.on_output(kernel, stream, 1 << 16))

    def on_output(self, kernel, stream, size):
        """Reads once; returns whether there was something."""
        pipe = kernel.pipes.get(stream)
        if pipe is None:
            return False
        try:
            data = os.read(pipe, size)
        except BlockingIOError:
            return False
        if not data:
            self.close_pipe(kernel, stream)
            return False
        # What background work writes between executions belongs to none of them.
        if kernel.x is not None:
            capture = kernel.captures[stream]
            text = capture.feed(data)
            if b"JavaScript heap out of memory" in data and kernel.language == "javascript":
                kernel.heap_exhausted = True
            if text:
                self.send({"t": "out", "x": kernel.x, "stream": stream, "seq": capture.sequence, "data": text})
                capture.sequence += 1
        return True

    def drain(self, kernel):
        """Reads what was written before now; bounded, since background work may go on writing."""
        for stream in list(kernel.pipes):
            for _ in range(16):
                if not self.on_output(kernel, stream, 1 << 16):
                    break

    def close_pipe(self, kernel, stream):
        pipe = kernel.pipes.pop(stream)
        if not self.paused:
            self.selector.unregister(pipe)
        os.close(pipe)

    def close_socket(self, kernel):
        if kernel.socket is not None:
            self.selector.unregister(kernel.socket)
            kernel.socket.close()
            kernel.socket = None
            # Without its channel a kernel can never end what it runs.
            if kernel.exit_status is None and kernel.language != "bash":
                self.by_pid.get(kernel.pid) and os.kill(kernel.pid, signal.SIGKILL)

    def release(self, kernel):
        if kernel.socket is not None:
            self.selector.unregister(kernel.socket)
            kernel.socket.close()
            kernel.socket = None
        for stream in list(kernel.pipes):
            self.close_pipe(kernel, stream)

    def run(self):
        wake, wake_write = os.pipe()
        for fd in (wake, wake_write):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write)
        self.selector.register(wake, selectors.EVENT_READ, lambda _: os.read(wake, 4096))
        self.selector.register(self.host, selectors.EVENT_READ, self.on_host)
        while True:
            for key, events in self.selector.select(self.timeout()):
                # An earlier event of this round may have closed it.
                if self.selector.get_map().get(key.fd) is key or key.fileobj is self.host:
                    key.data(events)
            for kernel in self.reap():
                self.on_exit(kernel)
            now = time.monotonic()
            for kernel in list(self.by_pid.values()):
                if kernel.x is None:
                    continue
                if kernel.kill_at and now >= kernel.kill_at:
                    self.destroy(kernel, "timeout")
                elif now >= kernel.deadline:
                    self.interrupt(kernel, "timeout")
            self.check_memory(now)

    def timeout(self):
        times = []
        for kernel in self.by_pid.values():
            if kernel.x is not None:
                times.append(kernel.kill_at or kernel.deadline)
                times.append(self.memory_at)
        return max(0.0, min(times) - time.monotonic()) if times else None


def warm_up():
    """Imports what a Python kernel needs, so that the fork of one takes a millisecond."""
    import python_kernel  # noqa: F401


def become_kernel(language, channel, stdout, stderr, limits):
    """Turns the forked child into an interpreter; never returns."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    # Above every fd that is in use, so that neither dup2 overwrites the other's source.
    os.dup2(channel.fileno(), 200)
    target = SHELL_FD if language == "bash" else HOST_FD
    os.closerange(3, 200)
    os.dup2(200, target, inheritable=language != "python")
    os.closerange(target + 1, 4096)
    memory = limits["memory_mib"] * 1024 * 1024
    # Counts private writable memory, so that engines may reserve address space without holding memory.
    # A JavaScript engine aborts where Python raises MemoryError: it gets room above its own heap limit.
    data = memory * 2 if language == "javascript" else memory
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    resource.setrlimit(resource.RLIMIT_NPROC, (limits["pids"], limits["pids"]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if language == "python":
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        import python_kernel

        python_kernel.main(HOST_FD, limits)
    elif language == "bash":
        with open(os.path.join(HERE, "shell_kernel.sh"), encoding="utf-8") as file:
            os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-c", file.read()])
    else:
        heap = str(limits["memory_mib"])
        node = os.environ.get("TOOLYARD_NODE", "/usr/bin/node")
        script = os.path.join(HERE, "node_kernel.mjs")
        environment = {key: value for key, value in os.environ.items() if key != "TOOLYARD_NODE"}
        environment["TOOLYARD_LIMITS"] = json.dumps(limits)
        os.execve(node, ["node", "--no-warnings", f"--max-old-space-size={heap}", script], environment)


def main():
    # Same uid as user code: without this it could read our memory and write to our fds through /proc.
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.closerange(HOST_FD + 1, 4096)
    os.set_inheritable(HOST_FD, False)
    sys.path.insert(0, HERE)
    Supervisor().run()


main()
