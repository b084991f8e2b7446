"""Reads the agent's modules from its first line of input and starts it: nothing of it lies in a file that the sandbox could change."""

import importlib.abc
import importlib.util
import json
import linecache
import sys


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        return importlib.util.spec_from_loader(name, self, origin=f"<{name}>")

    def exec_module(self, module):
        name = module.__name__
        source = self.sources[name]
        linecache.cache[f"<{name}>"] = (len(source), None, source.splitlines(True), f"<{name}>")
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)


start = json.loads(sys.stdin.buffer.readline(1 << 22))
sys.meta_path.insert(0, Modules(start["modules"]))
import desktop_agent  # noqa: E402

desktop_agent.main(start)
