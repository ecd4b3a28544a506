"""Which rows are redundant does not depend on the units of length and mass (F28)."""

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model


def parallelogram(length, mass):
    """Four equal bars, `length` and `mass` as numbers in any units."""
    J = mass * length**2 / 12
    model = Model(gravity=(0, -9.81 * length, 0))
    model.ground_frames["b"] = Frame(pos=[length, 0, 0])
    for name in ("one", "two", "bar"):
        model.add(
            RigidBody(
                name=name, mass=mass, com=[length / 2, 0, 0], inertia=np.diag([0.1 * J, J, J]),
                frames={"end": Frame(pos=[length, 0, 0])},
            )
        )  # fmt: skip
    revolute = JOINTS["revolute"]
    model.add(
        revolute(name="a", from_frame="ground", to_frame="one", position=[1.0]),
        revolute(name="b", from_frame="ground.b", to_frame="two", position=[1.0]),
        revolute(name="c", from_frame="one.end", to_frame="bar", position=[-1.0]),
        revolute(name="d", from_frame="bar.end", to_frame="two.end", position=[1.0]),
    )
    return build(model)


@pytest.mark.parametrize(
    ("length", "mass"), [(1e-6, 1.0), (1e6, 1.0), (1.0, 1e-9), (1e4, 1e-12), (1e-5, 1e6)]
)
def test_redundant_rows_are_the_same_in_all_units(length, mass):
    found = []
    for size, weight in ((1.0, 1.0), (length, mass)):
        system = parallelogram(size, weight)
        evaluator = system.evaluator()
        acc = evaluator.observe(system.initial_state())
        found.append((evaluator.ws.row.redundant.tolist(), acc.copy()))
    assert found[0][0] == found[1][0]
    assert sum(found[0][0]) == 3
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-8)
