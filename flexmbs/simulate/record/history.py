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
            self.fields.add(f"solver/{name}", slice(0, 1), (), units)  # put in its place by `samples`
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

    def value(self, path: str, rows: Floats) -> Floats:
        """One field at samples `rows`, to which `touches` have been added; (n, ...)."""
        found = np.asarray(self.fields.take(path)(rows))
        if path in self.fields.quaternions:
            found = self._continuous(path, found)
        if path == "energy/balance_error":
            found = found - self.last.setdefault("balance", found[:1].copy())
        return found

    def _continuous(self, path: str, values: Floats) -> Floats:
        """The same rotations without jumps of the quaternion's sign; the first has w >= 0."""
        if not len(values):
            return values
        values = values.copy()
        quat, last = values[:, -4:], self.last.get(path)
        signs = np.ones(len(quat))
        signs[0] = -1.0 if (quat[0, 0] if last is None else quat[0] @ last) < 0.0 else 1.0
        along = np.einsum("tk,tk->t", quat[1:], quat[:-1])
        signs[1:] = np.where(along < 0.0, -1.0, 1.0)
        fresh = np.concatenate([[0], 1 + np.flatnonzero(along == 0.0), [len(signs)]])  # half a turn: either
        for start, end in zip(fresh[:-1], fresh[1:], strict=True):
            signs[start:end] = np.cumprod(signs[start:end])
        quat *= signs[:, None]
        self.last[path] = quat[-1].copy()
        return values

    def checkpoint(self) -> dict[str, Floats]:
        """What the next segment needs of this one: the first balance, the last quaternions."""
        nothing = np.full(4, np.nan)
        quaternions = [self.last.get(path, nothing) for path in self.fields.quaternions]
        found = {"quaternion": np.array(quaternions).reshape(-1, 4)}
        names, passed = self.sampler.row_names, self.sampler.dead_points
        points = [(names.index(name), t) for name, t in passed.items()]
        found["dead_points"] = np.array(points, dtype=float).reshape(-1, 2)
        return found | ({"balance": self.last["balance"]} if "balance" in self.last else {})

    def restore(self, checkpoint: dict[str, Any]) -> None:
        quaternions = np.asarray(checkpoint["quaternion"], dtype=float)
        pairs = zip(self.fields.quaternions, quaternions, strict=True)
        self.last = {path: row.copy() for path, row in pairs if np.isfinite(row).all()}
        names, points = self.sampler.row_names, np.reshape(checkpoint["dead_points"], (-1, 2))
        self.sampler.dead_points.update({names[int(k)]: float(t) for k, t in points})
        if "balance" in checkpoint:
            self.last["balance"] = np.asarray(checkpoint["balance"])
