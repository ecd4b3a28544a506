"""The stress that the modes of a body miss, out of the loads of a run (F53).

Every instant loads the body with accelerations of its frame, angular velocities, and wrenches at its
interfaces (F17). What the modes miss of the static stresses of such loads is stored in the modal data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.ffrf.integrals import BODY_LOADS, interface_loads
from flexmbs.modaldata import ModalData
from flexmbs.post.record import Floats, Record, table
from flexmbs.post.wrenches import Samples, wrenches_on

MOTION = ("acceleration", "angular_velocity", "angular_acceleration", "quaternion")


def static_amounts(
    record: Record,
    body: str,
    modals: Mapping[str, ModalData | None],
    notes: list[str],
    chosen: Any = slice(None),
) -> Floats:
    """Amounts (time, shape) of `static_shapes`; without columns where there is nothing to add.

    `modals` of the body and of its neighbours. What stays out is said in `notes`. A preload is there at all
    times.
    """
    modal = modals[body]
    none = np.ones((len(record.time[chosen]), 0 if modal is None or modal.preload_stress is None else 1))
    if modal is None or modal.static_stress is None or not len(modal.static_stress.stress):
        return none
    lacking = [name for name in neighbours(record, body) if modals.get(name) is None]
    if lacking or not all(record.has(f"bodies/{body}/{word}") for word in MOTION):
        why = f"the modal data of {lacking[0]} are lost" if lacking else "the result lacks its accelerations"
        notes.append(f"{body}: stresses are those of the modes alone, as {why}")
        return none
    known = {name: found for name, found in modals.items() if found is not None}
    factors, elsewhere = load_factors(record, body, known, chosen)
    if elsewhere:
        what = f"{', '.join(elsewhere)} acts at no interface"
        notes.append(f"{body}: {what}; of that, stresses are those of the modes alone")
    return np.hstack([none, factors @ modal.static_stress.share.T])


def static_shapes(modal: ModalData) -> Floats | None:
    """Stresses (shape, node or cell, 6): of the preload, then of what the modes miss; None without either."""
    parts = [] if modal.preload_stress is None else [modal.preload_stress[None]]
    parts += [] if modal.static_stress is None else [modal.static_stress.stress]
    return np.concatenate(parts) if parts else None


def static_fields(modal: ModalData) -> Floats | None:
    """Displacements and rotations (shape, node, 6) of `static_shapes`, or of the first of them, where nodes
    turn; None without them."""
    if modal.preload_stress is not None and modal.preload_field is None:
        return None
    parts = [] if modal.preload_field is None else [modal.preload_field[None]]
    if modal.static_stress is not None and modal.static_stress.field is not None:
        parts.append(modal.static_stress.field)
    return np.concatenate(parts) if parts else None


def neighbours(record: Record, body: str) -> list[str]:
    """Other flexible bodies at the far ends of joints and forces of a body."""
    found = []
    for group in ("joints", "forces"):
        for data in table(record.case, group).values():
            ends = [str(data.get(side) or "").partition(".")[0] for side in ("from", "to", "on")]
            if body in ends:
                found += [name for name in ends if name in record.flexible and name != body]
    return list(dict.fromkeys(found))


def load_factors(
    record: Record, body: str, modals: Mapping[str, ModalData], chosen: Any = slice(None)
) -> tuple[Floats, list[str]]:
    """Instantaneous unit loads s_c (time, load) of (F17), and the names of forces that are not among them."""
    modal = modals[body]
    samples = Samples(record, chosen)
    to_body = np.swapaxes(samples.rotation(body), 1, 2)
    gravity = np.asarray(record.case.get("gravity") or (0.0, 0.0, 0.0), dtype=float)
    a, w, alpha = (
        np.einsum("tij,tj->ti", to_body, samples.take(f"bodies/{body}/{word}")) for word in MOTION[:3]
    )
    factors = {"a": to_body @ gravity - a, "alpha": -alpha}
    columns = {
        f"{kind}.{axis}": values[:, k] for kind, values in factors.items() for k, axis in enumerate("xyz")
    }
    for name in BODY_LOADS[6:]:
        k, ell = ("xyz".index(letter) for letter in name[-2:])
        columns[name] = -w[:, k] * w[:, ell]
    wrenches = wrenches_on(record, body, modals, chosen)
    elsewhere = list(wrenches.elsewhere)
    for item in wrenches.found:
        if item.frame not in modal.interfaces:
            elsewhere.append(item.name)
            continue
        for name, values in zip(
            interface_loads(item.frame), np.hstack([item.force, item.moment]).T, strict=True
        ):
            columns[name] = columns.get(name, 0.0) + values
    zero = np.zeros(len(to_body))
    return np.stack([columns.get(name, zero) for name in modal.integrals.loads], axis=1), elsewhere
