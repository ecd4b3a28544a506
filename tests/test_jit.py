"""The cache of compiled kernels must notice a change in a kernel that is only called."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from flexmbs import _handles, _jit

#: bytecode goes by times and sizes of sources, which change here within a second
OURS = {"FLEXMBS_COMPILER": "own", "PYTHONDONTWRITEBYTECODE": "1"}
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
    "@kernel(lean=True)\ndef middle(x):\n    return low(x, 2.0) + low(x, 3)\n\n\n"
    "@kernel(lean=True, apart=True)\ndef top(x):\n    return middle(x)\n\n\n"
    "@kernel(lean=True)\ndef other(x):\n    return top(x) + middle(x)\n"
)


def run_with(
    package: Path, cache: Path, code: str = "from flexmbs.zz_above import twice; print(twice(1.0))"
) -> str:
    env = {**os.environ, **OURS, "FLEXMBS_CACHE": str(cache), "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=package, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def package_with_jit(folder: Path) -> Path:
    package = folder / "flexmbs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("_jit.py", "_handles.py", "_dispatch.py", "_trial.py", "interrupts.py"):
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


ITEM = (
    "from flexmbs._jit import kernel\n\n\n"
    "@kernel(lean=True)\ndef item(x, k):\n    return x[k]\n\n\n"
    "@kernel(lean=True)\ndef last(x):\n    return x[-1]\n\n\n"
    "@kernel\ndef counted(x, k):\n    return x[k]\n"
)


ANY = "import numpy as np; from flexmbs.zz_top import other; x = np.zeros(1); other(x); print(x[0])"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A package of few kernels, and a folder that keeps them."""
    folder = tmp_path_factory.mktemp("small")
    package = package_with_jit(folder)
    (package / "zz_low.py").write_text(LOW)
    (package / "zz_top.py").write_text(TOP)
    assert run_with(folder, folder / "cache", ANY) == "10.0"
    return folder


def started(folder, cache, limit=None):
    env = {**os.environ, **OURS, "FLEXMBS_CACHE": str(cache), "PYTHONPATH": str(folder)}
    before = limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", ANY], env=env, cwd=folder, preexec_fn=before, **pipes)


def said(child):
    out, err = child.communicate(timeout=100)
    assert child.returncode == 0 and out == "10.0\n", err
    return err


TORN = {
    "cut off": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "a bit": lambda data: data[:-200] + bytes([data[-200] ^ 4]) + data[-199:],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind, how", [("nbi", "zeros"), ("nbc", "cut off"), ("nbc", "a bit")])
def test_kernels_that_a_power_cut_tore_are_compiled_again(small, tmp_path, kind, how):
    shutil.copytree(small / "cache", tmp_path / "cache")
    files = list((tmp_path / "cache").rglob(f"*.{kind}"))
    before = {path: path.read_bytes() for path in files}
    for path in files:
        path.write_bytes(TORN[how](before[path]))
    assert files and said(started(small, tmp_path / "cache")) == ""
    whole = [path for path in files if path.is_file() and len(path.read_bytes()) == len(before[path])]
    assert kind == "nbi" or len(whole) == len(files)
    assert said(started(small, tmp_path / "cache")) == ""


@pytest.mark.slow
def test_a_full_disk_below_the_kernels_ends_no_run(small, tmp_path):
    assert "cannot be kept" in said(started(small, tmp_path / "cache", limit=3000))
    assert said(started(small, tmp_path / "cache")) == ""


@pytest.mark.slow
def test_kernels_that_cannot_be_kept_are_kept_nowhere_else(small, tmp_path):
    (tmp_path / "file").write_text("x")
    before = sorted(small.rglob("*"))
    err = said(started(small, tmp_path / "file" / "cache"))
    assert "kernels are compiled anew in this run" in err and "set FLEXMBS_CACHE" in err
    assert sorted(small.rglob("*")) == before


@pytest.mark.slow
def test_first_compilations_at_once_keep_the_same(small, tmp_path):
    for child in [started(small, tmp_path / "cache") for _ in range(3)]:
        assert said(child) == ""
    names = sorted(path.name for path in (tmp_path / "cache").rglob("*.nb?"))
    assert names == sorted(path.name for path in (small / "cache").rglob("*.nb?"))
    assert said(started(small, tmp_path / "cache")) == ""


@pytest.mark.parametrize("k", [-1, 3])
def test_the_checked_build_ends_where_a_subscript_is_outside(tmp_path, k):
    """Kernels of the time loop take subscripts as they are; constants, other kernels count from the end."""
    package, cache = package_with_jit(tmp_path), tmp_path / "cache"
    (package / "zz_item.py").write_text(ITEM)
    code = "import numpy as np; from flexmbs.zz_item import {}; print({}(np.arange(7.0)[2:5]{}))"
    env = {**os.environ, **OURS, "FLEXMBS_CACHE": str(cache), "PYTHONPATH": str(tmp_path)}

    def run(name, arguments="", **more):
        command = [sys.executable, "-c", code.format(name, name, arguments)]
        return subprocess.run(command, env=env | more, cwd=tmp_path, capture_output=True, text=True)

    checked = {"FLEXMBS_SUBSCRIPTS": "checked"}
    done = run("item", f", {k}", **checked)
    assert done.returncode != 0 and f"subscript {k} of 3" in done.stderr and "item" in done.stderr
    assert run("item", ", 2", **checked).stdout == "4.0\n"
    assert run("last", **checked).stdout == run("last").stdout == "4.0\n"
    assert run("counted", ", -1", **checked).stdout == run("counted", ", -1").stdout == "4.0\n"
    if k < 0:  # the build that is shipped looks before the slice, at its neighbour
        assert run("item", f", {k}").stdout == "1.0\n"


def test_a_kernel_that_only_kernels_call_has_no_entry_until_python_calls_it(tmp_path):
    package, cache = package_with_jit(tmp_path), tmp_path / "cache"
    (package / "zz_low.py").write_text(LOW)
    (package / "zz_top.py").write_text(TOP)
    code = (
        "import gc, numpy as np; from flexmbs import _dispatch; from flexmbs.zz_top import {0}, middle; "
        "x = np.zeros(1); {0}(x); had = [_dispatch._has_entry(c) for c in middle.overloads.values()]; "
        "middle(x); print(x[0], had, len(middle.overloads), gc.isenabled())"
    )
    assert run_with(tmp_path, cache, code.format("other")) == "15.0 [False] 1 True"
    # what Python has called is stored with an entry, and callers that are loaded take it as well
    assert run_with(tmp_path, cache, code.format("other")) == "15.0 [] 1 True"
    assert run_with(tmp_path, cache, code.format("middle")) == "10.0 [True] 1 True"
    counted = "print(sum(middle.stats.cache_hits.values()), sum(middle.stats.cache_misses.values()))"
    assert run_with(tmp_path, cache, code.format("middle") + "; " + counted).endswith("1 0")


OPERATORS = (
    "from flexmbs._jit import kernel\n\n\n"
    "@kernel\ndef mean(a, b):\n    return (a + b) / 2 + max(a, b) - b\n\n\n"
    "@kernel(reassociate=True)\ndef quick(a, b):\n    return a * b + max(a, b)\n\n\n"
    "@kernel\ndef both(x, n):\n"
    "    return mean(x[0], x[1]) + mean(n, 1) + (x[0] > n) + (n + 1) // 2 + x[n] * 2 + quick(x[0], x[1])\n"
)


def test_types_of_operators_are_those_of_their_arguments(tmp_path):
    package = package_with_jit(tmp_path)
    (package / "zz_above.py").write_text(OPERATORS)
    code = (
        "import numpy as np; from flexmbs.zz_above import both; "
        "print(both(np.array([5.0, 2.5]), 1), both(np.array([5, 2]), 1), "
        "both(np.array([5.0, 2.5], np.float32), 1), [str(s[0].dtype) for s in both.signatures])"
    )
    plain = "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'; " + code.split(", [str")[0] + ")"
    found = run_with(tmp_path, tmp_path / "cache", code)
    assert found == run_with(tmp_path, tmp_path / "cache", plain) + " ['float64', 'int64', 'float32']"


def test_a_start_loads_no_tables_of_the_compiler_and_no_scipy_linalg():
    code = (
        "import sys; import flexmbs as fm; system = fm.Case.load('cases/pendulum.toml').system(); "
        "system.forward_dynamics(system.initial_state()); "
        "print({'numba.np.arraymath', 'numba.np.linalg', 'scipy.linalg'} & set(sys.modules))"
    )
    root = Path(_jit.__file__).parent.parent
    done = [
        subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True) for _ in "12"
    ]
    assert done[1].stdout.strip() == "set()", done[1].stderr  # the first may have compiled


class Mixed(NamedTuple):
    pairs: Annotated[np.ndarray, 2]


def test_inner_shapes_of_handles_are_checked():
    assert _jit.Handle(Mixed(np.zeros((3, 2)))).kind.place("pairs")[2] == (2,)
    with pytest.raises(TypeError, match="pairs"):
        _jit.Handle(Mixed(np.zeros((3, 4))))


OWN = "import numba\n\n\n@numba.njit(cache=True)\ndef mine(x):\n    return x + 1.0\n"
TRACES = (
    "numba.config.CACHE_DIR, arrays.fix_integer_index, set(vars(cpu_target.typing_context)), gc.isenabled()"
)
QUATERNION = "from flexmbs.model.quaternions import product; print(product(np.ones(4), np.ones(4)))"
PRODUCT = "(-2.0, 2.0, 2.0, 2.0)\n"


def run_beside(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A program of a user, with modules of its own in the folder and an empty cache of kernels."""
    paths = os.pathsep.join([str(folder), str(Path(_jit.__file__).parent.parent)])
    env = {**os.environ, "FLEXMBS_CACHE": str(folder / "cache"), "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_importing_kernels_leaves_no_trace_in_numba(tmp_path):
    """A user's own kernels are cached where they stood before, and compiled as numba compiles them."""
    (tmp_path / "own_kernels.py").write_text(OWN)
    code = (
        "import gc, numba, numpy as np, numba.np.arrayobj as arrays; "
        f"from numba.core.registry import cpu_target; before = {TRACES}; {QUATERNION}; import own_kernels; "
        f"own_kernels.mine(1.0); print(({TRACES}) == before, own_kernels.mine._cache.cache_path)"
    )
    assert run_beside(tmp_path, code).stdout == f"{PRODUCT}True {tmp_path / '__pycache__'}\n"


READ_ONLY = """
import errno, os, sys
folder, access = os.environ["FLEXMBS_CACHE"], os.access
def look(event, args):
    if event == "open" and str(args[0]).startswith(folder) and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        raise OSError(errno.EROFS, "Read-only file system")
sys.addaudithook(look)
os.access = lambda path, mode: not (str(path) == folder and mode & os.W_OK) and access(path, mode)
"""


def test_kernels_of_a_read_only_folder_are_used(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DEBUG_CACHE", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    first = run_beside(tmp_path, "import numpy as np; " + QUATERNION)
    assert (
        first.stdout.endswith(PRODUCT) and "index saved to" in first.stdout and "cannot" not in first.stderr
    )
    (tmp_path / "sitecustomize.py").write_text(READ_ONLY)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*")}
    again = run_beside(tmp_path, "import numpy as np; " + QUATERNION)
    assert again.stdout.endswith(PRODUCT) and "index saved to" not in again.stdout
    assert f"kernels in {tmp_path / 'cache'} are used; others are compiled anew" in again.stderr
    for path in (tmp_path / "cache").rglob("*.nbi"):  # what is not there is compiled, for this run
        before.pop(path)
        path.unlink()
    third = run_beside(tmp_path, "import numpy as np; " + QUATERNION)
    assert third.stdout.endswith(PRODUCT) and "index saved to" in third.stdout
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert after == {path: time for path, time in before.items() if path.is_file()}
    assert list((tmp_path / "tmp").iterdir()) == []


CHANGED = "c.FunctionCache.__init_subclass__ = None"
ENDS = "c.FunctionCache.__init_subclass__ = lambda *args: os.abort()"


@pytest.mark.parametrize("change, said", [("", ""), (CHANGED, "TypeError"), (ENDS, "ended with")])
def test_private_parts_of_numba_that_do_not_fit_are_left_out(tmp_path, change, said):
    """A release without a private name, or one that ends the process, compiles in its own ways."""
    changes = f"import os, numba.core.caching as c\n{change}\n"
    (tmp_path / "sitecustomize.py").write_text(changes if change else "")
    code = f"import sys, numpy as np; {QUATERNION}; print('flexmbs._dispatch' in sys.modules)"
    for _ in ("tried", "remembered"):
        done = run_beside(tmp_path, code)
        assert done.stdout == f"{PRODUCT}{not change}\n"
        assert ("compiles kernels in its own ways" in done.stderr) == bool(change)
        assert said in done.stderr
    assert len(list((tmp_path / "cache").rglob("trial"))) == 1


@pytest.mark.soak
def test_a_case_runs_without_private_parts_of_numba(tmp_path):
    command = [
        sys.executable,
        "-m",
        "flexmbs.cli.main",
        "run",
        "cases/pendulum.toml",
        "-o",
        tmp_path / "out.h5",
    ]
    env = {**os.environ, "FLEXMBS_CACHE": str(tmp_path / "cache"), "FLEXMBS_COMPILER": "plain"}
    root = Path(_jit.__file__).parent.parent
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "in its own ways" in done.stderr, done.stderr
    assert {path.name[-6:] for path in (tmp_path / "cache").iterdir()} == {"-plain"}


def test_kernels_kept_for_tuples_of_another_name_are_compiled_again(tmp_path):
    """Types of arguments stand in the index of the cache; a module of theirs may be none of the kernel's."""
    package, cache = package_with_jit(tmp_path), tmp_path / "cache"
    kernel = "from flexmbs._jit import kernel\n\n\n@kernel(lean=True)\ndef first(t):\n    return t.x[0]\n"
    (package / "zz_kernel.py").write_text(kernel)
    code = (
        "import numpy as np; from flexmbs.zz_types import {0}; from flexmbs._jit import handle; "
        "from flexmbs.zz_kernel import first; print(first({0}(np.ones(2))))"
    )
    for name in ("Old", "New"):
        head = "from typing import NamedTuple\nimport numpy as np\n"
        text = f"{head}class {name}(NamedTuple):\n    x: np.ndarray\n"
        (package / "zz_types.py").write_text(text)
        assert run_with(tmp_path, cache, code.format(name)) == "1.0"


LATE = (
    "from flexmbs._jit import kernel\n\n\n"
    "@kernel(lean=True, later=('int64', 'float64'))\ndef late(x, k):\n    return k, {value} * x[0]\n\n\n"
    "@kernel(lean=True, apart=True)\ndef early(x):\n"
    "    if x[0] == 0.0:\n        return 7.0\n    k, y = late(x, 2)\n    return k + y\n\n\n"
    "@kernel(lean=True)\ndef twice(x):\n    return early(x) + early(x)\n"
)
REACHED = (
    "import numpy as np; from flexmbs.zz_late import late, twice; x = np.zeros(1); "
    "print(twice(x), len(late.overloads)); x[0] = {0}; print(twice(x), len(late.overloads))"
)


def test_a_kernel_for_later_is_compiled_or_loaded_when_it_is_reached(tmp_path):
    package, cache = package_with_jit(tmp_path), tmp_path / "cache"
    (package / "zz_late.py").write_text(LATE.format(value="3.0"))
    assert run_with(tmp_path, cache, REACHED.format(0.0)) == "14.0 0\n14.0 0"
    assert not list(cache.rglob("*late.late*"))
    for _ in ("compiled", "loaded"):  # by callers that were loaded
        assert run_with(tmp_path, cache, REACHED.format(1.0)) == "14.0 0\n10.0 1"
    assert list(cache.rglob("*late.late*"))
    (package / "zz_late.py").write_text(LATE.format(value="2"))
    assert run_with(tmp_path, cache, REACHED.format(1.0)) == "14.0 0\n8.0 1"


def test_a_kernel_that_returns_something_else_than_it_says_ends_the_process(tmp_path):
    package = package_with_jit(tmp_path)
    (package / "zz_late.py").write_text(LATE.format(value="3.0").replace("return k, ", "return k / 2, "))
    env = {**os.environ, **OURS, "FLEXMBS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", REACHED.format(1.0)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (
        done.returncode != 0
        and "late returns UniTuple(float64 x 2), not Tuple(int64, float64)" in done.stderr
    )


def test_a_signal_waits_until_a_kernel_for_later_is_there(tmp_path):
    package = package_with_jit(tmp_path)
    (package / "zz_late.py").write_text(LATE.format(value="3.0"))
    code = (
        "import signal, time, numpy as np; from flexmbs import _dispatch; from flexmbs.zz_late import twice\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\naddress = _dispatch.Later.address\n"
        "def hit(self, args):\n    signal.raise_signal(signal.SIGINT)\n    return address(self, args)\n"
        "_dispatch.Later.address = hit\n"
        "try:\n    print(twice(np.ones(1)))\n    time.sleep(30)\n"
        "except KeyboardInterrupt:\n    print('stopped')"
    )
    assert run_with(tmp_path, tmp_path / "cache", code) == "10.0\nstopped"


def test_data_of_arrays_are_found_where_numpy_says(monkeypatch):
    """Also where it keeps them in another place of the object."""
    arrays = [np.zeros(0), np.zeros((3, 4))[1:, 2:], np.arange(6).reshape(2, 3), np.zeros(())]
    expected = [array.ctypes.data for array in arrays]
    assert [_handles.data_of(array) for array in arrays] == expected
    monkeypatch.setattr(_handles, "_word_at", lambda place: SimpleNamespace(value=0))
    slowly = _handles._quick_data_of()
    assert [slowly(array) for array in arrays] == expected


def test_copies_are_handles_like_any_other_with_arrays_of_their_own():
    """Of empty arrays, nested tuples, handles, and fields that are named like those of a handle."""

    class Inner(NamedTuple):
        value: Any
        kind: Any

    class Outer(NamedTuple):
        memory: Any
        inner: Inner
        shared: Any
        value: Any
        number: int

    shared = _jit.handle(Inner(np.ones(2), np.arange(5)))

    def make():
        inner = Inner(np.zeros((0, 3)), np.arange(4))
        return Outer(np.arange(3.0), inner, shared, np.full((2, 2), np.nan), 7)

    copies = _jit.Copies(make)
    a, b, plain = copies.new(), copies.new(), _jit.handle(make())
    a.inner.kind[1] = 9
    assert b.inner.kind.tolist() == [0, 1, 2, 3] and copies.new().inner.kind[1] == 1
    if not _jit.DISABLED:
        assert a.kind is plain.kind and a.memory.shape == plain.memory.shape
        assert np.count_nonzero(a.memory != plain.memory) == 4  # addresses of arrays, and nothing else
        assert np.shares_memory(a.value.inner.kind, a.inner.kind) and a.value.number == 7
        assert np.isnan(a.value.value).all() and a.value.memory.tolist() == [0.0, 1.0, 2.0]
        places = {int(x.ctypes.data) for x in (a.value.memory, a.inner.kind, a.value.value)}
        assert places <= set(a.memory.tolist()) and not places & set(b.memory.tolist())
