"""The same numbers to the bit, with any number of threads in the libraries below."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flexmbs as fm
from flexmbs.results.compare import compare
from tests.damage import inputs

CODE = (
    "import flexmbs as fm; from pathlib import Path\n"
    "fm.reduce('rod.reduce.toml').save(Path('rod.modal.h5'))\n"
    "fm.run('case.toml', 'result.h5')\n"
)


def made(folder, threads):
    """A body of 1,200 nodes and a run with it, in a process with so many threads."""
    folder.mkdir()
    (folder / "rod.reduce.toml").write_text(inputs.RECIPE.replace("[2, 1, 1]", "[24, 6, 6]"))
    (folder / "case.toml").write_text(inputs.CASE)
    (folder / "more.toml").write_text(inputs.INCLUDED)
    (folder / "push.csv").write_text(inputs.PUSH)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    env = {
        **os.environ,
        **dict.fromkeys(names, str(threads)),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_threads_change_no_bit(tmp_path):
    one, four = made(tmp_path / "one", 1), made(tmp_path / "four", 4)
    bodies = [fm.ModalData.load(folder / "rod.modal.h5") for folder in (one, four)]
    for name in ("S_kl", "K_ff", "K_geo", "I_kl"):
        a, b = (getattr(body.integrals, name) for body in bodies)
        assert a.tobytes() == b.tobytes(), name
    assert bodies[0].Phi.tobytes() == bodies[1].Phi.tobytes()
    results = [fm.Result.load(folder / "result.h5") for folder in (one, four)]
    assert compare(*results, rtol=0.0, atol=0.0).equal
