"""What a wheel brings beside the sources: the loader of FMUs as machine code, where a C compiler is there.

Who installs the wheel on a fresh machine has Python and no compiler.
"""

import importlib.util
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LoaderHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = sys.platform == "linux" and platform.machine() == "x86_64"
        if version == "editable" or not here or not (shutil.which("cc") or shutil.which("gcc")):
            return
        path = Path(self.root) / "flexmbs" / "fmu" / "compiled.py"
        found = importlib.util.spec_from_file_location("compiled", path)
        assert found is not None and found.loader is not None
        compiled = importlib.util.module_from_spec(found)
        sys.path.insert(0, self.root)
        try:
            found.loader.exec_module(compiled)
        finally:
            sys.path.remove(self.root)
        target = Path(tempfile.mkdtemp()) / "loader.so"
        compiled.compile_loader(target)
        # machine code, for C libraries from that of this machine on
        libc = platform.libc_ver()[1].replace(".", "_")
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-manylinux_{libc}_x86_64"
        build_data["force_include"][str(target)] = f"flexmbs/fmu/{compiled.BROUGHT.name}"
