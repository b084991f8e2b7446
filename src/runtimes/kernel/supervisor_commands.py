"""Commands for the host: those it waits for, and processes that run on by themselves and keep a log."""

import signal
import time

import supervisor_keeper
from supervisor_cgroup import count_memory_kills
from supervisor_command import Command
from supervisor_log import Log
from supervisor_operations import Failure
from supervisor_processes import list_children, tree
from supervisor_wire import Capture

# Bytes kept of what a process wrote.
LOG_BYTES = 1 << 20
# Processes that run or are remembered.
MAX_PROCESSES = 64
# The largest that both streams' ends may be, so that a frame holds them with every character escaped.
MAX_OUTPUT_BYTES = 1 << 20
# Seconds between looks at the memory of what runs.
MEMORY_CHECK = 0.25
STREAMS = ("stdout", "stderr")


class Process:
    """A command that was started to run by itself."""

    def __init__(self, id, argv):
        self.id = id
        self.argv = argv
        self.started_at = time.time() * 1000
        self.log = Log(LOG_BYTES)
        self.command = None
        self.keeps_input = False
        # Whoever waits for output, or for its end.
        self.readers = []
        self.waiters = []

    def describe(self):
        exit = self.command.exit
        return {"id": self.id, "pid": self.command.pid, "command": self.argv, "started_at": self.started_at, "exit": exit}

    def on_output(self, stream, data):
        self.log.append(stream, data)
        self.wake()

    def wake(self):
        readers, self.readers = self.readers, []
        for reader in readers:
            reader()

    def on_end(self):
        self.wake()
        for waiter in self.waiters:
            waiter.answer(self.command.exit)


class Commands:
    def __init__(self, selector, timers, processes, limits):
        self.selector = selector
        self.timers = timers
        self.processes = processes
        # Tells the limits that hold now.
        self.limits = limits
        self.running = set()
        self.named = {}
        self.count = 0
        self.paused = False
        self.memory_timer = None
        self.handlers = {
            "exec": self.run,
            "spawn": self.spawn,
            "processes": lambda operation, _: operation.answer([each.describe() for each in self.named.values()]),
            "process.read": self.read,
            "process.write": self.write,
            "process.end_input": self.end_input,
            "process.kill": self.kill,
            "process.resize": self.resize,
            "process.remove": self.remove,
            "process.wait": self.wait,
        }

    def to_spec(self, args, has_input):
        terminal = args.get("terminal")
        argv, environment = args["command"], args.get("environment", {})
        if any("\0" in text for text in (*argv, *environment, *environment.values())) or any("=" in name for name in environment):
            raise Failure("invalid_input", "a command's words and variables hold no NUL, and names of variables no =")
        cwd = args.get("cwd") or "."
        if "\0" in cwd:
            raise Failure("path_refused", "a path holds no NUL")
        return supervisor_keeper.Start(argv, cwd, environment, has_input, None if terminal is None else tuple(terminal))

    def set_paused(self, paused):
        """Stops reading from what the host waits for; processes have their bounded log."""
        self.paused = paused
        for command in self.running:
            command.set_paused(paused)

    # -- to their end

    def run(self, operation, args):
        size = min(args["output_bytes"], MAX_OUTPUT_BYTES)
        captures = {stream: Capture(size) for stream in STREAMS}

        def on_output(stream, data):
            text = captures[stream].feed(data)
            if text:
                operation.event({"stream": stream, "text": text})

        def on_end():
            self.running.discard(command)
            usage = {stream: capture.finish() for stream, capture in captures.items()}
            duration_ms = round((time.monotonic() - command.started) * 1000, 3)
            operation.answer({**command.exit, "limit": command.limit, "duration_ms": duration_ms, **usage})

        has_input = args["input"] or args.get("terminal") is not None
        command = Command(self, self.to_spec(args, has_input), on_output, on_end)
        self.running.add(command)
        self.watch_memory()
        command.set_paused(self.paused)
        if command.writer is not None:
            operation.on_data = lambda data: command.writer.write(data, operation.took)
            operation.on_fin = command.writer.end
        if args.get("timeout_ms") is not None:
            command.end_after(args["timeout_ms"] / 1000)

        def on_stop():
            operation.fail(Failure("cancelled", "the command was cancelled"))
            command.destroy()

        operation.on_stop = on_stop

    # -- by themselves

    def spawn(self, operation, args):
        self.make_room()
        self.count += 1
        process = Process(f"p{self.count}", args["command"])
        process.keeps_input = args["input"]
        command = Command(self, self.to_spec(args, args["input"] or args.get("terminal") is not None), process.on_output, process.on_end)
        process.command = command
        self.named[process.id] = process
        self.watch_memory()
        if args.get("timeout_ms") is not None:
            command.end_after(args["timeout_ms"] / 1000)

        def refuse():
            operation.fail(Failure("limit_exceeded", "the sandbox has as many processes as it may", "pids"))
            self.named.pop(process.id, None)
            process.on_end()

        command.on_start = lambda: operation.answer(process.describe())
        command.on_end = lambda: refuse() if command.pid == 0 else process.on_end()
        # It has started whatever happens to the one who asked.
        operation.on_stop = lambda: None

    def make_room(self):
        for process in list(self.named.values()):
            if len(self.named) < MAX_PROCESSES:
                return
            if process.command.exit is not None and not process.command.outlived():
                del self.named[process.id]
        if len(self.named) >= MAX_PROCESSES:
            raise Failure("limit_exceeded", f"a sandbox may have {MAX_PROCESSES} processes of its own", "processes")

    def find(self, args):
        process = self.named.get(args["id"])
        if process is None:
            raise Failure("unknown_name", "the sandbox has no process of that id")
        return process

    def read(self, operation, args):
        process = self.find(args)
        cursor, wait_ms = args["cursor"], args["wait_ms"]

        def answer():
            if timer is not None:
                timer.cancel()
            chunks, position, skipped = process.log.read(cursor, operation.credit)
            ended = process.command.exit is not None and position == process.log.end
            for _, data in chunks:
                operation.send(data)
            parts = [[STREAMS.index(stream), len(data)] for stream, data in chunks]
            operation.answer({"chunks": parts, "cursor": position, "skipped": skipped, "ended": ended})

        def stop():
            if timer is not None:
                timer.cancel()
            if answer in process.readers:
                process.readers.remove(answer)
            operation.fail(Failure("cancelled", "it was cancelled"))

        def give_up():
            process.readers.remove(answer)
            answer()

        timer = None
        if process.log.end > cursor or process.command.exit is not None or wait_ms <= 0:
            answer()
            return
        process.readers.append(answer)
        timer = self.timers.after(wait_ms / 1000, give_up)
        operation.on_stop = stop

    def wait(self, operation, args):
        process = self.find(args)
        if process.command.exit is not None:
            operation.answer(process.command.exit)
            return
        process.waiters.append(operation)

        def stop():
            process.waiters.remove(operation)
            operation.fail(Failure("cancelled", "it was cancelled"))

        operation.on_stop = stop

    def writer(self, process):
        writer = process.command.writer
        if writer is None or writer.fd is None or writer.ending:
            raise Failure("conflict", "the process's input is not open")
        return writer

    def write(self, operation, args):
        writer = self.writer(self.find(args))
        left, finished = 0, False

        def on_written(count):
            nonlocal left
            left -= count
            operation.took(count)
            settle()

        def settle():
            if not finished or left > 0:
                return
            if writer.lost:
                operation.fail(Failure("conflict", "the process took no more input"))
            else:
                operation.answer()

        def on_data(data):
            nonlocal left
            left += len(data)
            writer.write(data, on_written)

        def on_fin():
            nonlocal finished
            finished = True
            settle()

        operation.on_data, operation.on_fin = on_data, on_fin

    def end_input(self, operation, args):
        process = self.find(args)
        if process.command.terminal is not None:
            # End of file, as a terminal is told it.
            self.writer(process).write(b"\x04", lambda _: None)
        elif process.command.writer is not None:
            process.command.writer.end()
        operation.answer()

    def kill(self, operation, args):
        process = self.find(args)
        number = getattr(signal, args["signal"], None)
        if not isinstance(number, signal.Signals):
            raise Failure("invalid_input", f"there is no signal {args['signal']}")
        process.command.signal(number)
        operation.answer()

    def resize(self, operation, args):
        process = self.find(args)
        if process.command.terminal is None:
            raise Failure("conflict", "the process has no terminal")
        supervisor_keeper.set_size(process.command.terminal, args["columns"], args["rows"])
        operation.answer()

    def remove(self, operation, args):
        process = self.named.pop(args["id"], None)
        if process is not None:
            process.command.destroy()
        operation.answer()

    # -- for the supervisor

    def all(self):
        return [*self.running, *(process.command for process in self.named.values())]

    def watch_memory(self):
        """Looks now and then at what runs, in contrast to kernels also while nobody waits for it."""
        if self.memory_timer is None:
            self.memory_timer = self.timers.after(MEMORY_CHECK, self.check_memory)

    def blame_memory(self):
        """Ends the one command that runs when the system killed a part of it, for which it might wait for ever."""
        if len(self.running) == 1:
            (command,) = self.running
            if command.exit is None and count_memory_kills() > command.memory_kills:
                command.limit = "memory"
                command.destroy()

    def check_memory(self):
        self.memory_timer = None
        self.blame_memory()
        for command in self.all():
            if command.exit is not None:
                continue
            self.watch_memory()
            if self.processes.is_over(tree(list_children(), [command.keeper]), self.limits()["memory_mib"]):
                command.limit = "memory"
                command.destroy()

    def stop_clocks(self):
        """Counts no time against what cannot run."""
        for command in self.all():
            command.stop_clock()

    def start_clocks(self):
        for command in self.all():
            command.start_clock()

    def destroy_all(self):
        for command in self.all():
            command.destroy()
        self.named.clear()
