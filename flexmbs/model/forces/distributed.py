"""Loads spread over a set of the mesh of a flexible body (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.ffrf.marker import pack_rows
from flexmbs.model.forces.base import Force, Number, force
from flexmbs.model.laws.tables import MODAL_LOAD, POINT_FORCE
from flexmbs.model.markers import Marker


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

    def laws(self, build: Any) -> None:
        from flexmbs.model.laws.loads import mean_place, pressure_load, scaled

        body = build.model.bodies[self.on]
        modes = slice(None) if body.modes is None else np.asarray(body.modes, dtype=np.int64)
        where = f"{build.owner}.set"
        if self.pressure is not None:
            load = pressure_load(body.modal, modes, self.set, where)
            build.row(MODAL_LOAD, (self.pressure,), body=self.on, load=load)
            return
        size, place, rows = mean_place(body.modal, modes, self.set, where)
        marker = Marker(self.on, place, np.eye(3), pack_rows(rows, np.zeros_like(rows)))
        build.markers.found[id(marker)] = marker
        numbers = [scaled(number, size) for number in self.force or ()]
        build.row(POINT_FORCE, numbers, q=marker, axes=build.axes(self.axes, self.on))
