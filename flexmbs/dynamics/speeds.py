"""Names of the speeds of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.model.system import System


def speed_names(system: System, speeds: NDArray[np.int64]) -> list[str]:
    """Names of speeds: joint coordinates, components of balls, modes."""
    names = {c.vel: f"{c.joint}.{c.name}" for c in system.coordinates if c.vel >= 0}
    t = system.tables
    for e in t.prim.ball_eta:
        i = int(np.searchsorted(t.tree.o_eta, e, side="right")) - 1
        names |= {int(e) + k: f"{system.bodies[i]}.rotation.{axis}" for k, axis in enumerate("xyz")}
    for i, name in enumerate(system.bodies):
        names |= {int(t.tree.o_qd[i]) + a: f"{name}.q[{a}]" for a in range(int(t.body.nf[i]))}
    return [names[int(k)] for k in speeds]


def speed_paths(system: System, speeds: NDArray[np.int64]) -> list[str]:
    """Names of speeds where the case file has them: modes are those of bodies, balls of joints in it."""
    own = system.model.joints
    joint = {
        body: item.joint.name for body, item in zip(system.bodies[1:], system.numbers.branches, strict=True)
    }
    paths = []
    for name in speed_names(system, speeds):
        first, _, rest = name.partition(".")
        if rest.startswith("rotation.") and joint.get(first) in own:
            first = joint[first]
        paths.append(f"{'joints' if first in own else 'bodies'}.{first}.{rest}")
    return paths
