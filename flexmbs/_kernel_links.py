"""Where compiled kernels can be read but not kept: a folder of this run, with links to those that are there.

numba takes a folder that it can write to, or compiles everything anew.
"""

from __future__ import annotations

import os


def link_where_read_only() -> None:
    """Where the folder of kernels is read-only. Writes: FLEXMBS_CACHE of this process and those it starts."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    kept = os.path.abspath(os.environ.get("FLEXMBS_CACHE") or os.path.join(base, "flexmbs", "kernels"))
    if os.access(kept, os.W_OK | os.X_OK) or not os.path.isdir(kept):
        return
    import atexit
    import logging
    import shutil
    import tempfile

    try:
        own = tempfile.mkdtemp(prefix="flexmbs-kernels-")
    except OSError:
        return
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(own, ignore_errors=True)

    atexit.register(remove)
    for folder, _, files in os.walk(kept):
        target = os.path.join(own, os.path.relpath(folder, kept))
        os.makedirs(target, exist_ok=True)
        for name in files:
            os.symlink(os.path.join(folder, name), os.path.join(target, name))
    os.environ["FLEXMBS_CACHE"] = own
    what = "kernels in %s are used; others are compiled anew in this run, as they cannot be kept there"
    logging.getLogger("flexmbs").warning(what, kept)
