"""Loads spread over a set of the mesh of a flexible body (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexmbs.model.forces.base import Force, Number, force


@force("distributed")
@dataclass(kw_only=True)
class Distributed(Force):
    """`pressure` [Pa] on a face set, positive pushes on the body; or a uniform `force` on a set (F16).

    `force` (3 numbers, in `axes`) is per length on cells of beams, per area on faces, per volume on
    solid cells. Modal load vectors are integrated on the mesh of the modal data when the system is built.
    """

    on: str
    set: str
    pressure: Number | None = None
    force: Sequence[Number] | None = None
    axes: str = "ground"
