"""A small study: a ball that is thrown at some speeds."""

import pytest

from flexmbs.study import local

THROW = """
gravity = [0, 0, -9.81]

[parameters]
speed = "3 m/s"

[bodies.ball]
type = "rigid"
mass = 0.5
inertia = { ixx = 1e-3, iyy = 1e-3, izz = 1e-3 }
initial = { velocity = [1.0, 0.0, "=speed"] }

[analysis]
t_end = 0.2

[output]
every = 0.05

[metrics]
height = "=bodies.ball.position.z[-1]"
energy = "=max(energy.kinetic)"
"""


@pytest.fixture
def study(tmp_path):
    """A ball that is thrown at some speeds, in a file of its own that includes the case."""
    (tmp_path / "throw.toml").write_text(THROW)

    def make(sweep, more=""):
        path = tmp_path / "speeds.toml"
        path.write_text(f'include = ["throw.toml"]\n{more}\n[sweep]\n{sweep}\n')
        return path

    return make


@pytest.fixture(autouse=True)
def _processes(request, monkeypatch):
    """Studies run in processes of our own, as where Dask is missing, but in tests of `LocalCluster`: `local`.

    Most tests have not the engine as their subject, and a cluster takes seconds to begin.
    """
    if request.node.get_closest_marker("local") is None:
        monkeypatch.setattr(local, "NEEDS", ("a module that nobody has",))
