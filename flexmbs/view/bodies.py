"""A reduced body: its modes, its certificate, and how it gives way where an interface is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.certificate.text import frequencies, proven
from flexmbs.modaldata import ModalData
from flexmbs.post.animation.page import animation_page
from flexmbs.post.animation.shapes import drawn_amplitude
from flexmbs.post.scene import Scene, modal_scene

WAYS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
MOST_LOADS = 240


class BodyDoor:
    """Modal data, which do not change."""

    def __init__(self, modal: ModalData, title: str) -> None:
        self.modal, self.title = modal, title

    def page(self, name: str) -> str | None:
        if name != "":
            return None
        scene = modal_scene(self.modal, self.title)
        more = {"body": told(self.modal), "symbols": frames(self.modal, self.title)}
        return animation_page(scene, system_modes=unit_loads(self.modal, scene), more=more)

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        return None

    def close(self) -> None:
        """Nothing goes on beside it."""


def told(modal: ModalData) -> dict[str, Any]:
    """What the certificate proved, and by interface what moves it: `Phi` (3, nf) of its place, `q` (3, nf)
    under a newton along each axis."""
    quality = modal.quality
    pulled = [
        {
            "name": name,
            "tie": face.type,
            "nodes": len(face.nodes),
            "Phi": face.Phi,
            "q": _answer(modal, face.Phi),
        }
        for name, face in modal.interfaces.items()
    ]
    return {
        "certificate": [list(row) for row in proven(modal)],
        "frequencies": frequencies(quality),
        "said": [*map(str, quality.get("warnings", [])), *map(str, quality.get("notes", []))],
        "interfaces": pulled if modal.nf else [],
    }


def frames(modal: ModalData, title: str) -> list[dict[str, Any]]:
    """The frames of the interfaces as symbols of the picture."""
    return [
        {
            "kind": "frame", "name": name, "path": ["interfaces", name],
            "axes": face.rotation.ravel(), "way": [],
            "ends": [{"body": title, "place": face.position, "Phi": face.Phi if modal.nf else None}],
        }
        for name, face in modal.interfaces.items()
    ]  # fmt: skip


def _answer(modal: ModalData, rows: Any) -> Any:
    """Elastic coordinates under one newton, or newton metre, along each of the rows."""
    return np.linalg.lstsq(modal.integrals.K_ff, np.asarray(rows).T, rcond=1e-12)[0].T


def unit_loads(modal: ModalData, scene: Scene) -> list[dict[str, Any]]:
    """Static shapes for a unit force or moment at each interface, balanced as the frame says (F17).

    Of a mean-axis frame by the inertia of the rigid motion, of a tangent one where it is held.
    """
    found = list[dict[str, Any]]()
    if not modal.nf:
        return []
    for name, face in modal.interfaces.items():
        answers = np.concatenate([_answer(modal, face.Phi), _answer(modal, face.Psi)])
        for k, way in enumerate(WAYS):
            row = (face.Phi if k < 3 else face.Psi)[k % 3]
            if not np.any(row) or len(found) >= MOST_LOADS:
                continue
            q = answers[k]
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
