"""States of a run -> fields of a result, segment by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.simulate.record.couplings import coupling_fields
from flexmbs.simulate.record.fields import (
    Fields,
    balls_of,
    body_fields,
    energy_fields,
    joint_fields,
    part_fields,
)
from flexmbs.simulate.record.sampling import Sampler
from flexmbs.simulate.record.sensors import frame_markers, sensor_fields

if TYPE_CHECKING:
    from flexmbs.model.system import System
    from flexmbs.results import Layout

Floats = NDArray[np.float64]
SOLVER = ("step_size", "iterations", "rejected", "constraint_position", "constraint_velocity")
SOLVER_UNITS = ("s", "1", "1", "m, rad", "m/s, rad/s")


class History:
    """Computes what a result holds from states; remembers the sign of quaternions and the first balance."""

    def __init__(self, system: System, data: Any, indeterminate: set[str] | None = None) -> None:
        balls = [(place.P.number, place.Q.number) for _, place in balls_of(system)]
        frames = frame_markers(system)
        pairs = np.array(balls, dtype=np.int64).reshape(-1, 2)
        self.sampler = Sampler(system, data, pairs, np.array(frames, dtype=np.int64))
        self.fields = Fields(open_parts=indeterminate or set())
        body_fields(self.fields, system, self.sampler)
        joint_fields(self.fields, system, self.sampler)
        self.touches = coupling_fields(self.fields, system, self.sampler)
        part_fields(self.fields, system, self.sampler)
        sensor_fields(self.fields, system, self.sampler)
        energy_fields(self.fields, system, self.sampler)
        for name, units in zip(SOLVER, SOLVER_UNITS, strict=True):
            self.fields.add(f"solver/{name}", lambda rows: rows[:, 0], (), units)
        self.last: dict[str, Floats] = {}

    @property
    def layout(self) -> Layout:
        return self.fields.layout()

    def samples(
        self, t: Floats, y: Floats, info: Floats, rows: Floats | None = None, at: Floats | None = None
    ) -> dict[str, Floats]:
        """All fields at the times t: states y (n, size) at the times `at`, info (n, 5), rows if known."""
        info = info.copy()
        if rows is None:
            rows = self.sampler.rows(t if at is None else at, y)
            info[:, 3:] = np.maximum(info[:, 3:], self.sampler.closure)
        self.touches.load(rows)
        found = self.fields.histories(rows)
        for path in self.fields.quaternions:
            found[path] = self._continuous(path, found[path])
        if len(t):
            first = self.last.setdefault("balance", found["energy/balance_error"][:1].copy())
            found["energy/balance_error"] = found["energy/balance_error"] - first
        for k, name in enumerate(SOLVER):
            found[f"solver/{name}"] = np.ascontiguousarray(info[:, k])
        return found | {"time": np.asarray(t, dtype=float)}

    def _continuous(self, path: str, values: Floats) -> Floats:
        """The same rotations without jumps of the quaternion's sign; the first has w >= 0."""
        values = values.copy()
        quat = values[:, -4:]
        last = self.last.get(path)
        for row in quat:
            if row[0] < 0.0 if last is None else float(row @ last) < 0.0:
                row *= -1.0
            last = row
        if last is not None:
            self.last[path] = last.copy()
        return values

    def _remembered(self) -> list[str]:
        return ["balance", *self.fields.quaternions]

    def checkpoint(self) -> dict[str, Floats]:
        """What the next segment needs of this one, by number: names of parts may hold any sign."""
        return {f"item{k}": self.last[p] for k, p in enumerate(self._remembered()) if p in self.last}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        paths = self._remembered()
        self.last = {paths[int(k.removeprefix("item"))]: np.asarray(v) for k, v in checkpoint.items()}
