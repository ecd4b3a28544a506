"""What is written, and under which name: whole files or none, nothing replaced that was not meant.

Every operation that changes a disk goes through `operations.system`, so that tests can make each one fail.
"""

try:
    import fcntl as _fcntl  # noqa: F401
except ImportError:
    raise ImportError("flexmbs needs the file locks of Linux or macOS; on Windows, WSL has them") from None

from flexmbs.disk.kinds import check_target, looks_like, what_is
from flexmbs.disk.lock import lock
from flexmbs.disk.operations import append, make_folder, remove_folder, sync_folder, unlink
from flexmbs.disk.root import MARKER, OutsideError, inside, root_of
from flexmbs.disk.whole import FULL, Sink, atomic_file, remove_left, temporary_name, told, write_error

__all__ = [
    "FULL", "MARKER", "OutsideError", "Sink", "append", "atomic_file", "check_target", "inside", "lock",
    "looks_like", "make_folder", "remove_folder", "remove_left", "root_of", "sync_folder", "temporary_name",
    "told", "unlink", "what_is", "write_error",
]  # fmt: skip
