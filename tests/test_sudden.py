"""A start far from rest is told with its size."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check, text
from flexmbs.case.runner import execute
from tests.test_band import BAR


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sudden")
    fm.reduce(BAR | {"modes": 4, "frame": "tangent:root"}).save(path / "bar.modal.h5")
    return path


def clamped(folder, force, **analysis):
    data = {
        "bodies": {"bar": {"type": "flexible", "modal": "bar.modal.h5"}},
        "joints": {"wall": {"type": "fixed", "from": "ground", "to": "bar.root"}},
        "forces": {"f": {"type": "point", "on": "bar.tip", "force": [0, force, 0]}},
        "analysis": {"t_end": 0.02, "band": "all"} | analysis,
    }
    return Case.from_dict(data, folder=folder)


def test_a_sudden_load_is_told_with_the_deflection_at_rest(folder, tmp_path):
    """F L^3 / 3 E I at the tip; the bar then swings to twice of it."""
    case = clamped(folder, 10.0, t_end=0.1)
    rest = 10.0 * 1.0**3 / (3.0 * 210e9 * 0.02**4 / 12.0)
    (line,) = [line for line in text(check(case)).splitlines() if line.startswith("sudden")]
    assert (
        "bodies.bar" in line and "100%" in line and f"({rest:.2g}" in line.replace("0.00119", f"{rest:.2g}")
    )
    assert '"equilibrium"' in line and "2.0 times" in line
    said = []
    done = execute(case, tmp_path / "a.h5", say=said.append)
    assert any("suddenly there" in text for text in said) and "suddenly there" in done.summary.text
    assert "warning" not in [part for part in done.summary.text.splitlines() if "suddenly" in part][0]
    tip = case.system().model.bodies["bar"].modal.interfaces["tip"].Phi
    swing = np.abs(np.asarray(done.result["bodies/bar/q"]) @ tip[1]).max()
    assert swing == pytest.approx(2.0 * rest, rel=0.05)


@pytest.mark.parametrize(
    "force, analysis", [(10.0, {"start": "equilibrium"}), ("=10*sin(20*t)", {}), (0.0, {})]
)
def test_a_start_at_rest_says_nothing(folder, tmp_path, force, analysis):
    done = execute(clamped(folder, force, **analysis), tmp_path / "a.h5")
    assert "suddenly" not in done.summary.text
