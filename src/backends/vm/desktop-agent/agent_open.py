"""Which program opens a file or an address, by the desktop's own files."""

import os
import re
import shlex

from gi.repository import Gio

from agent_failure import Failure

SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:")


def resolve(request):
    target = request.args["target"]
    if SCHEME.match(target) and not os.path.exists(target):
        scheme = target.split(":", 1)[0].lower()
        app = program_for(f"x-scheme-handler/{scheme}") or (program_for("text/html") if scheme == "file" else None)
        what = f"addresses of {scheme}:"
    else:
        # Relative to the working folder, as commands are.
        path = os.path.abspath(os.path.expanduser(target))
        if not os.path.exists(path):
            raise Failure("stale", f"there is no {target}"[:300])
        kind, _ = Gio.content_type_guess(path, None)
        if os.path.isfile(path):
            kind = Gio.File.new_for_path(path).query_info("standard::content-type", 0, None).get_content_type() or kind
        app = program_for(kind)
        target, what = path, f"files of the type {kind}"
    if app is None:
        raise Failure("failed", f"no program is installed that opens {what}"[:300])
    return {"command": fill(app.get_commandline(), target), "app": app.get_name()}


def program_for(kind):
    app = Gio.AppInfo.get_default_for_type(kind, False)
    if app is not None:
        return app
    # Without the cache that an installer may not have written, only a look at each tells.
    for each in Gio.AppInfo.get_all():
        if any(Gio.content_type_is_a(kind, known) for known in each.get_supported_types() or ()):
            return each
    return None


def fill(line, target):
    """The command of a desktop file with its field codes filled in."""
    command, filled = [], False
    for word in shlex.split(line):
        if word in ("%u", "%U", "%f", "%F"):
            command.append(target)
            filled = True
        elif word not in ("%i", "%c", "%k") and not re.fullmatch(r"%[a-zA-Z]", word):
            command.append(word.replace("%%", "%"))
    return command if filled else [*command, target]
