"""Friction by the reactions of joints, for formulations whose reactions are found in Python."""

from __future__ import annotations

import numpy as np

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.tolerances import NOTHING


def press(evaluator: Evaluator) -> float:
    """Reactions into the laws of friction that need them; the largest relative change."""
    laws, ws = evaluator.system.laws.tables, evaluator.ws
    load_of, change = evaluator.law_work.load_of, 0.0
    for law, j, axis in zip(laws.press_law, laws.press_joint, laws.press_axis, strict=True):
        c, F = laws.coord[law], ws.joint.reaction[j, :3]
        along = ws.marker.R[evaluator.tables.joint.q[j], :, axis] @ F if axis >= 0 else 0.0
        load = float(np.sqrt(max(F @ F - along * along, 0.0)))
        change = max(change, abs(load - load_of[c]) / max(load, load_of[c], NOTHING))
        load_of[c] = load
    return change
