"""Finds files by their names, and lines in them."""

import os
import re
import stat

from files_basic import Entries, walk
from files_worker import Refusal, describe, open_file, resolve

MAX_PATTERN = 1000
MAX_FILE = 16 << 20
MAX_LINE = 2000
DEPTH = 256


def to_expression(pattern):
    """Turns a glob into a regular expression: `**` crosses folders, `{a,b}` is either."""
    if len(pattern) > MAX_PATTERN:
        raise Refusal("invalid_input", f"a pattern has at most {MAX_PATTERN} characters")
    parts, index, braces = [], 0, 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if pattern.startswith("**/", index - 1):
            parts.append("(?:[^/]+/)*")
            index += 2
        elif pattern.startswith("**", index - 1):
            parts.append(".*")
            index += 1
        elif char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[" and "]" in pattern[index + 1 :]:
            end = pattern.index("]", index + 1)
            content = pattern[index:end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append("[" + ("^" + content[1:] if content[0] in "!^" else content) + "]")
            index = end + 1
        elif char == "{" and "}" in pattern[index:]:
            braces += 1
            parts.append("(?:")
        elif char == "}" and braces:
            braces -= 1
            parts.append(")")
        elif char == "," and braces:
            parts.append("|")
        else:
            parts.append(re.escape(char))
    return compile_expression("".join(parts) + r"\Z", re.DOTALL)


def compile_expression(expression, flags):
    try:
        return re.compile(expression, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refusal("invalid_input", f"the pattern is malformed: {error}") from None


def glob(job, pattern, path, limit):
    root = resolve(path)
    matches = to_expression(pattern.removeprefix("./")).match
    found = Entries(limit)
    for entry in walk(job, root, DEPTH):
        if not matches(os.path.relpath(entry.path, root)):
            continue
        try:
            info = describe(entry.path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            continue
        if not found.add(info, 2 * len(entry.path)):
            break
    return found.answer()


def grep(job, path, pattern, limit, literal=False, ignore_case=False, glob=None, context_lines=0):
    if len(pattern) > MAX_PATTERN:
        raise Refusal("invalid_input", f"a pattern has at most {MAX_PATTERN} characters")
    expression = compile_expression(re.escape(pattern) if literal else pattern, re.IGNORECASE if ignore_case else 0)
    root = resolve(path)
    matches_name = None if glob is None else to_expression(glob.removeprefix("./")).match
    found = Entries(limit)
    if not stat.S_ISDIR(os.stat(root).st_mode):
        search(job, root, expression, context_lines, found)
        return found.answer()
    for entry in walk(job, root, DEPTH):
        if not entry.is_file(follow_symlinks=False):
            continue
        if matches_name is not None and not matches_name(os.path.relpath(entry.path, root)):
            continue
        try:
            search(job, entry.path, expression, context_lines, found)
        except (OSError, Refusal):
            continue
        if found.truncated:
            break
    return found.answer()


def search(job, path, expression, context_lines, found):
    fd, facts = open_file(path)
    with open(fd, "rb") as file:
        if facts.st_size > MAX_FILE:
            return
        content = file.read(MAX_FILE)
    # As grep itself tells text from anything else.
    if b"\0" in content[:8192]:
        return
    lines = content.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    for index, line in enumerate(lines):
        job.check()
        match = expression.search(line)
        if match is None:
            continue
        before = [clip(text) for text in lines[max(0, index - context_lines) : index]]
        after = [clip(text) for text in lines[index + 1 : index + 1 + context_lines]]
        text = clip(line)
        entry = {"path": path, "line": index + 1, "column": match.start() + 1, "text": text, "before": before, "after": after}
        if not found.add(entry, 3 * (len(text) + len(path) + sum(map(len, before + after)))):
            return


def clip(line):
    line = line.removesuffix("\r")
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…"


HANDLERS = {"files.glob": glob, "files.grep": grep}
