"""Loads spread over a set of the mesh of a flexible body (F16)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from flexmbs import units
from flexmbs.fe.elements import ELEMENTS
from flexmbs.input.laws import AnyLaw, force_law
from flexmbs.input.registered import AxesName, BodyName
from flexmbs.input.values import Table, fail, vector
from flexmbs.model.forces.base import Force, Number, force
from flexmbs.model.laws.tables import MODAL_LOAD, POINT_FORCE


@force("distributed")
@dataclass(kw_only=True)
class Distributed(Force):
    """`pressure` [Pa] on a face set, positive pushes on the body; or a uniform `force` on a set (F16).

    Shells are pressed on their top. `force` (3 numbers, in `axes`) is per length on cells of beams, per area
    on faces and shells, per volume on solid cells. Modal load vectors are integrated on the mesh of the modal
    data when the system is built.
    """

    class Keys(Table):
        """`pressure` on a face set or on shells, or `force` per length, area or volume over a set."""

        on: BodyName
        set: str
        pressure: force_law(units.PRESSURE) | None = None
        force: vector(AnyLaw) | None = None
        in_: AxesName = Field(default="ground", alias="in")

        @model_validator(mode="after")
        def _check(self) -> Distributed.Keys:
            if (self.pressure is None) == (self.force is None):
                raise fail("a distributed load needs either pressure or force")
            return self

    on: str
    set: str
    pressure: Number | None = None
    force: Sequence[Number] | None = None
    axes: str = "ground"

    def check(self, door: Any) -> None:
        """It acts on a mesh; the unit of a force is that of its set: per length, area or volume."""
        modal = getattr(door.model.bodies.get(self.on), "modal", None)
        if modal is None:
            door.fail(("on",), f'"{self.on}" is no flexible body', "distributed loads act on meshes")
            return
        if self.force is None or not modal.mesh.set_kinds(self.set):
            return
        rows = {} if self.set in modal.mesh.face_sets else modal.mesh.cell_sets.get(self.set, {})
        found = {ELEMENTS[kind].family for kind in rows} or {"quad"}
        of_families = {"line": units.FORCE_PER_LENGTH, "tri": units.PRESSURE, "quad": units.PRESSURE}
        densities = {of_families.get(family, units.FORCE_PER_VOLUME) for family in found}
        if len(densities) > 1:
            what = f'"{self.set}" has cells of several kinds, {", ".join(rows)}'
            door.fail(
                ("set",), what, "a density is per length of beams, per area of shells, per volume of solids"
            )
            return
        (expected,) = densities
        for k, item in enumerate(self.force or ()):
            door.unit(("force", k), item, (expected, expected), False)

    def laws(self, build: Any) -> None:
        from flexmbs.ffrf.marker import pack_rows
        from flexmbs.model.laws.loads import mean_place, pressure_load, scaled
        from flexmbs.model.markers import Marker

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
