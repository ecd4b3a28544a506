"""The cache of compiled kernels must notice a change in a kernel that is only called."""

import os
import subprocess
import sys
from pathlib import Path

from flexmbs import _jit

BELOW = "from flexmbs._jit import kernel\n\n\n@kernel\ndef factor(x):\n    return {value} * x\n"
ABOVE = (
    "from flexmbs._jit import kernel\nfrom flexmbs.zz_below import factor\n\n\n"
    "@kernel\ndef twice(x):\n    return 2.0 * factor(x)\n"
)


def run_with(package: Path, cache: Path) -> str:
    code = "from flexmbs.zz_above import twice; print(twice(1.0))"
    env = {**os.environ, "FLEXMBS_CACHE": str(cache), "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=package, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_change_in_a_called_kernel_is_noticed(tmp_path):
    package = tmp_path / "flexmbs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_jit.py").write_text(Path(_jit.__file__).read_text())
    (package / "zz_above.py").write_text(ABOVE)
    (package / "zz_below.py").write_text(BELOW.format(value="3.0"))
    assert run_with(tmp_path, tmp_path / "cache") == "6.0"
    (package / "zz_below.py").write_text(BELOW.format(value="5.0"))
    assert run_with(tmp_path, tmp_path / "cache") == "10.0"


def test_imports_of_a_module_are_found():
    found = {path.name for path in _jit._imports(Path(_jit.__file__).parent / "cli" / "main.py")}
    assert {"errors.py", "output.py"} <= found
