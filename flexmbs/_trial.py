"""Does our own compiler (`_dispatch`) fit the release of numba? Tried once, in processes of their own.

Private names of numba that still exist may mean something else, up to the end of the process. So a child
compiles a few kernels, a second one loads them from disk, and both compare results; what came of it is kept
beside the compiled kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["outcome"]

CODE = "from flexmbs._trial_kernels import check; check()"


def outcome(memory: Path) -> str:
    """Why our own compiler does not fit, or nothing: from the file `memory`, or tried and written there."""
    if memory.is_file():
        return memory.read_text(encoding="utf-8")
    reason = _tried()
    with suppress(OSError):  # a cache that cannot be written: tried again next time
        memory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=memory.parent, delete=False, encoding="utf-8") as file:
            file.write(reason)
        os.replace(file.name, memory)
    return reason


def _tried() -> str:
    if not Path(sys.executable or "").stem.lower().startswith("python"):
        return f"{sys.executable or 'this program'} cannot be started to try it"
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join(path for path in sys.path if path)
        own = {"FLEXMBS_COMPILER": "own", "FLEXMBS_CACHE": folder, "PYTHONPATH": paths}
        for _ in ("compiled", "loaded"):
            done = subprocess.run(
                [sys.executable, "-c", CODE], env=os.environ | own, capture_output=True, text=True
            )
            if done.returncode:
                lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
                return lines[-1]
    return ""
