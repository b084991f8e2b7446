"""Lets a running interpreter import what is installed after it started."""

import site
import sys


def find_own_packages():
    """Puts the folder that pip installs into on the path, though it is not there yet, before the system's own."""
    site.USER_SITE = site.USER_BASE = None
    own = site.getusersitepackages()
    if own not in sys.path:
        places = (at for at, path in enumerate(sys.path) if path.endswith(("/dist-packages", "/site-packages")))
        sys.path.insert(next(places, len(sys.path)), own)


def forget_absent_packages():
    """Lets imports find what was installed since they failed: Python remembers folders as absent, and what they held."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        elif path.endswith("/site-packages"):
            finder.invalidate_caches()
