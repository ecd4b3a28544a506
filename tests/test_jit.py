"""The cache of compiled kernels must notice a change in a kernel that is only called."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from flexmbs import _jit

BELOW = "from flexmbs._jit import kernel\n\n\n@kernel\ndef factor(x):\n    return {value} * x\n"
ABOVE = (
    "from flexmbs._jit import kernel\nfrom flexmbs.zz_below import factor\n\n\n"
    "@kernel\ndef twice(x):\n    return 2.0 * factor(x)\n"
)


LOW = (
    "from flexmbs._jit import kernel\n\n\n"
    "@kernel(lean=True, apart=True)\ndef low(x, k):\n    x[0] += k\n    return 0\n"
)
TOP = (
    "from flexmbs._jit import kernel\nfrom flexmbs.zz_low import low\n\n\n"
    "@kernel(lean=True, inner=True)\ndef middle(x):\n    return low(x, 2.0) + low(x, 3)\n\n\n"
    "@kernel(lean=True, apart=True)\ndef top(x):\n    return middle(x)\n\n\n"
    "@kernel(lean=True)\ndef other(x):\n    return top(x) + middle(x)\n"
)


def run_with(
    package: Path, cache: Path, code: str = "from flexmbs.zz_above import twice; print(twice(1.0))"
) -> str:
    env = {**os.environ, "FLEXMBS_CACHE": str(cache), "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=package, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def package_with_jit(folder: Path) -> Path:
    package = folder / "flexmbs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("_jit.py", "_handles.py"):
        (package / name).write_text((Path(_jit.__file__).parent / name).read_text())
    return package


def test_a_change_in_a_called_kernel_is_noticed(tmp_path):
    package = package_with_jit(tmp_path)
    (package / "zz_above.py").write_text(ABOVE)
    (package / "zz_below.py").write_text(BELOW.format(value="3.0"))
    assert run_with(tmp_path, tmp_path / "cache") == "6.0"
    (package / "zz_below.py").write_text(BELOW.format(value="5.0"))
    assert run_with(tmp_path, tmp_path / "cache") == "10.0"


def test_imports_of_a_module_are_found():
    found = {path.name for path in _jit._imports(Path(_jit.__file__).parent / "cli" / "main.py")}
    assert {"errors.py", "output.py"} <= found


def test_a_kernel_apart_is_found_by_callers_that_were_loaded(tmp_path):
    package, cache = package_with_jit(tmp_path), tmp_path / "cache"
    (package / "zz_low.py").write_text(LOW)
    (package / "zz_top.py").write_text(TOP)
    code = "import numpy as np; from flexmbs.zz_top import {0}; x = np.zeros(1); {0}(x); print(x[0])"
    found = [run_with(tmp_path, cache, code.format(name)) for name in ("top", "top", "other", "other")]
    assert found == ["5.0", "5.0", "10.0", "10.0"]
    # compiled anew, its symbol has another name than its callers know
    for path in cache.rglob("*low*"):
        path.unlink()
    first = "import numpy as np; from flexmbs import zz_top; zz_top.middle(np.zeros(1)); "
    assert run_with(tmp_path, cache, first.replace("middle", "other") + "print(1)") == "1"
    assert run_with(tmp_path, cache, code.format("top")) == "5.0"


class Mixed(NamedTuple):
    pairs: Annotated[np.ndarray, 2]


def test_inner_shapes_of_handles_are_checked():
    assert _jit.Handle(Mixed(np.zeros((3, 2)))).kind.place("pairs")[2] == (2,)
    with pytest.raises(TypeError, match="pairs"):
        _jit.Handle(Mixed(np.zeros((3, 4))))
