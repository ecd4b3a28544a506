"""A reduced body: its modes, and how it gives way where an interface is loaded by one newton."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData
from flexmbs.post.animation.page import animation_page
from flexmbs.post.animation.shapes import drawn_amplitude
from flexmbs.post.scene import Scene, modal_scene

WAYS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
MOST_LOADS = 240


def modal_page(modal: ModalData, title: str) -> str:
    scene = modal_scene(modal, title)
    return animation_page(scene, system_modes=unit_loads(modal, scene))


def unit_loads(modal: ModalData, scene: Scene) -> list[dict[str, Any]]:
    """Static shapes for a unit force or moment at each interface, balanced as the frame says (F17).

    Of a mean-axis frame by the inertia of the rigid motion, of a tangent one where it is held.
    """
    K_ff, found = modal.integrals.K_ff, list[dict[str, Any]]()
    if not modal.nf:
        return []
    for name, face in modal.interfaces.items():
        for k, way in enumerate(WAYS):
            row = (face.Phi if k < 3 else face.Psi)[k % 3]
            if not np.any(row) or len(found) >= MOST_LOADS:
                continue
            q = np.linalg.lstsq(K_ff, row, rcond=1e-12)[0]
            own = float(row @ q)
            told = f"{1e3 * own:.3g} mm/N" if k < 3 else f"{own:.3g} rad/(N m)"
            shape = np.zeros((6 + modal.nf, 2))
            shape[6:, 0] = q
            amplitude = drawn_amplitude(scene, [shape])
            load = {"name": name, "way": way, "compliance": own}
            found.append(
                {"text": f"{name} {way}: {told}", "load": load, "amplitude": amplitude, "bodies": [shape]}
            )
    return found
