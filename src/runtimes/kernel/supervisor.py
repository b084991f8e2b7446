"""Guards the kernels of one sandbox: pid 1 inside it, between the host's channel (fd 3) and user code.

It alone says how an execution ended. User code runs only in its children, whose stdout and stderr are pipes, so that
nothing they write can look like protocol. Speaks "ptc-frame/1" (see frame.ts and messages.ts) on both sides.
"""

import os
import selectors
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import process_tree  # noqa: E402
from supervisor_kernel import HOST_FD, Kernel, become_kernel, set_dumpable, warm_up  # noqa: E402
from supervisor_wire import Capture, Decoder, Violation, encode  # noqa: E402

# Bytes that the host has not taken yet; over it, nothing more is read from user code.
MAX_BACKLOG = 1024 * 1024
# Seconds from the interrupt until the kill: user code's time to clean up, inside the 300 ms that the host promises.
KILL_AFTER = 0.15
MEMORY_CHECK = 0.1
MEMORY_SLACK = 16 << 20


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
        self.collect()
        name = message["k"]
        kernel = self.kernels.get(name)
        if kernel is None or kernel.exit_status is not None:
            kernel = Kernel(name, message["language"], kernel is not None and not kernel.death_told)
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
        kernel.death_told = frame["state_lost"]
        frame["state_lost"] = frame["state_lost"] or kernel.lost_before
        kernel.lost_before = False
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
            victims = [pid for pid in process_tree.under(kernel.pid, self.by_pid) if not spare or pid != kernel.pid]
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

    def collect(self):
        for kernel in self.reap():
            self.on_exit(kernel)

    def check_memory(self, now):
        """Kills the kernel whose tree holds more than the limit; one process alone hits its own rlimit first."""
        if now < self.memory_at or not any(kernel.x is not None for kernel in self.kernels.values()):
            return
        self.memory_at = now + MEMORY_CHECK
        limit = self.limits["memory_mib"] * 1024 * 1024 + MEMORY_SLACK
        for kernel in list(self.by_pid.values()):
            tree = process_tree.under(kernel.pid, self.by_pid)
            # The cheap count takes pages that forks share several times; the true one is slow and rarely needed.
            if process_tree.resident(tree) > limit and process_tree.proportional(tree) > limit:
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
            self.collect()
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


def main():
    # Same uid as user code: without this it could read our memory and write to our fds through /proc.
    set_dumpable(False)
    os.closerange(HOST_FD + 1, 4096)
    os.set_inheritable(HOST_FD, False)
    Supervisor().run()


main()
