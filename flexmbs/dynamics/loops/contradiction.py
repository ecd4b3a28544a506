"""Constraints that no acceleration fulfils: redundant rows that ask for something of their own (F28)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.errors import Diagnostic, SolverError

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

#: what may be left of the constraints on acceleration level, over the size of their terms
CONTRADICTION = 1e-6
#: accelerations that rows have without their forces count this much less: only rounding is left of them
FREE_SHARE = 1e-4
#: an acceleration that is none [m/s^2, rad/s^2]
NONE = 1e-6


def check_rows(system: System, ws: Any, state: State, acc: NDArray[np.float64], free: float = 0.0) -> None:
    """Raise where a row is not met by accelerations. Needs kinematics with acc.

    Rows that are missing from the choice of independent ones must be met, too. `free`: size of the
    accelerations that rows have without their forces.
    """
    t = system.tables
    hard = np.array([group.kind not in ("force", "massless") for group in system.groups], dtype=bool)
    rows = np.flatnonzero(hard[t.row.group] & (t.row.side == 0.0)) if len(hard) else np.zeros(0, dtype=int)
    missed, speed = np.abs(ws.row.g_ddot[rows]), float(np.abs(state.vel).max(initial=0.0))
    scale = max(float(np.abs(acc).max(initial=0.0)), speed**2, FREE_SHARE * free, NONE)
    if not missed.max(initial=0.0) <= CONTRADICTION * scale:
        raise contradiction(system, state.t, int(rows[np.argmax(missed)]), float(missed.max()))


def contradiction(system: System, t: float, row: int, missed: float) -> SolverError:
    """Constraints that no acceleration fulfils, with the row that is missed most."""
    name = row_names(system)[row]
    what = f"the constraints contradict each other: they miss by {missed:.2e} m/s^2 or rad/s^2 at {name}"
    remedy = "look for drives that ask for different motions, or a position where the mechanism locks"
    return SolverError(Diagnostic("solver.contradiction", f"t = {t:.6g} s", what, remedy))
