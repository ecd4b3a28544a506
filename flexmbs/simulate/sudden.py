"""A start far from rest: how much of what bends a body at rest is suddenly there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.band import above
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System

Floats = NDArray[np.float64]
#: part of the deflection at rest, and of the energy of all bodies, that is worth a word
SHARP, SHARE = 0.1, 0.01


def sudden(system: System, state: Any, motion: Any) -> str:
    """What is suddenly there at the start of a run, in the body where it holds the most energy; "" if little.

    `motion`: accelerations at the start. What accelerates the modes that vibrate, m_ff q_ddot, is the force
    that their deflection lacks: at rest they would be deflected by K_ff^-1 m_ff q_ddot more (F12).
    """
    worst, found, whole = 0.0, "", 0.0
    for name, body in system.model.bodies.items():
        q, q_ddot = motion.bodies[name].q, motion.bodies[name].q_ddot
        if not isinstance(body, FlexibleBody) or not len(q):
            continue
        integrals = system.integrals(name)
        lacking = np.linalg.lstsq(integrals.K_ff, integrals.m_ff @ q_ddot, rcond=None)[0]
        rest = q + lacking
        struck = np.where(above(body), 0.0, lacking)
        energy, full = (float(x @ integrals.K_ff @ x) for x in (struck, rest))
        whole += full
        if energy > worst and energy > SHARP**2 * full:
            worst, found = energy, _told(name, body, np.sqrt(energy / full), rest)
    return found if worst > SHARE * whole else ""


def _told(name: str, body: FlexibleBody, part: float, rest: Floats) -> str:
    pick = slice(None) if body.modes is None else np.asarray(body.modes)
    moved = {
        face: float(np.linalg.norm(item.Phi[:, pick] @ rest)) for face, item in body.modal.interfaces.items()
    }
    where = max(moved, key=lambda face: moved[face], default="")
    size = f" ({moved[where]:.3g} m at {where})" if where else ""
    return (
        f"bodies.{name} starts far from rest: {part:.0%} of the force that bends it there{size} is suddenly "
        f'there, and it swings to {1.0 + part:.1f} times its stress; start = "equilibrium", or loads that '
        "rise over some periods, avoid that"
    )
