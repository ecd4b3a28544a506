"""Cam and follower."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from flexmbs import units
from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, Node, constant, periodic_spline, repeated
from flexmbs.input.registered import CoordinateName, FrameName
from flexmbs.input.values import Law as AnyLaw
from flexmbs.input.values import Length, Number, Table, fail
from flexmbs.model.couplings.base import Coupling, Law, coordinate_number, coupling
from flexmbs.model.touching.cam_outline import TURN, outline
from flexmbs.model.touching.cam_profile import Contact, Follower
from flexmbs.model.touching.ends import (
    SAME,
    End,
    Held,
    Touch,
    Touching,
    are_parallel,
    are_square,
    carried,
    common_holder,
    frame_of,
)


class CamProfile(Table):
    """Outline of a cam: `polar` angle and radius, `points` x and y, or a `file` (CSV) of these columns."""

    polar: list[Annotated[list[Number], Field(min_length=2, max_length=2)]] | None = None
    points: list[Annotated[list[Length], Field(min_length=2, max_length=2)]] | None = None
    file: str | None = None
    columns: Literal["polar", "points"] = "polar"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(item is not None for item in (self.polar, self.points, self.file)) != 1:
            raise fail("a profile is one of polar, points, file")
        for row in self.polar or ():
            for value, dimension in zip(row, (units.ANGLE, units.LENGTH), strict=True):
                found = getattr(value, "dimension", None)
                if found is not None and found != dimension:
                    raise fail("a polar profile holds pairs of angle and radius")
        return self


@coupling("cam")
@dataclass(kw_only=True)
class Cam(Coupling):
    """follower = lift(cam), by expression or table, or from the outline of the cam (F19).

    `lift` is an expression of x, the cam's coordinate. In its place `points` (n, 2) or `polar` (n, 2), angle
    and radius, give the outline in the axes of the cam's joint on the cam, and the follower touches it with a
    roller of radius `roller`, or (None) with the x-y plane of the frame `at`, whose z axis points away from
    the cam. `at` is a frame of the follower, by default its joint's.

    `pushes` "up" or "down": where the cam drives the follower's coordinate. The reported force is that of the
    cam on the follower, positive where it pushes. `unilateral`: it never pulls; the follower lifts off.
    """

    class Keys(Table):
        """Cam: follower = lift(cam): `lift` an expression of x, a `table` (CSV file), or from a `profile`."""

        cam: CoordinateName
        follower: CoordinateName
        lift: AnyLaw | None = None
        table: str | None = None
        profile: CamProfile | None = None
        roller: Annotated[Length, Field(gt=0.0)] | None = None
        at: FrameName | None = None
        pushes: Literal["up", "down"] = "up"
        unilateral: bool = False

        @model_validator(mode="after")
        def _check(self) -> Self:
            if sum(item is not None for item in (self.lift, self.table, self.profile)) != 1:
                raise fail("a cam needs one of lift, table, profile")
            if self.profile is None and (self.roller is not None or self.at is not None):
                raise fail("roller and at go with a profile")
            return self

    variables: ClassVar[tuple[str, ...]] = ("x",)
    cam: str
    follower: str
    lift: Expression | float | None = None
    points: Sequence[Sequence[float]] | None = None
    polar: Sequence[Sequence[float]] | None = None
    roller: float | None = None
    at: str | None = None
    pushes: str = "up"
    unilateral: bool = False

    @classmethod
    def read(cls, keys: dict[str, Any], door: Any) -> dict[str, Any]:
        """The law of a table, and the outline under the name of its columns."""
        file, profile = keys.pop("table", None), keys.pop("profile", None)
        if file is not None:
            rows = door.rows(("table",), file)
            lift = None if rows is None else lift_of_table(rows, file)
            keys["lift"] = lift or (0.0 if rows is None else door.parsed(("table",), f"table({file!r}, x)"))
        if profile is not None and profile.file is not None:
            rows = door.rows(("profile", "file"), profile.file)
            keys[profile.columns] = [] if rows is None else rows.tolist()
        elif profile is not None:
            keys["polar"], keys["points"] = profile.polar, profile.points
        return keys

    @property
    def sense(self) -> float:
        """1 where the cam pushes the coordinate up, else -1."""
        return 1.0 if self.pushes == "up" else -1.0

    def law(self, model: Any) -> Law:
        found = self.contact(model)
        lift = self.lift if found is None else _periodic(found, self.name)
        lift = lift if isinstance(lift, Expression) else constant(float(lift or 0.0))
        zero = replace(lift, tree=Node("sub", (Node("name", text="follower"), _rename(lift.tree))))
        of = (coordinate_number(model, self.follower), coordinate_number(model, self.cam))
        return Law(
            zero=zero, of=of, names=("follower", "cam"), constant_from_start=False, scale=self.sense,
            side=self.sense if self.unilateral else 0.0,
        )  # fmt: skip

    def contact(self, model: Any) -> Contact | None:
        """The outline and the follower on it; None where the law is given."""
        if self.points is None and self.polar is None:
            return None
        cam, follower = self.holders(model)
        axes = _axes_of(self._where, cam)
        shape = self._shape
        return Contact(self._where, shape, self._follower(model, cam.inner, axes, follower), cam.sign)

    def holders(self, model: Any) -> tuple[Held, Held]:
        """The joints of cam and follower, as held by the body that they share."""
        joints = (model.joints[path.partition(".")[0]] for path in (self.cam, self.follower))
        return common_holder(model, self._where, *joints)

    def touching(self, model: Any) -> Touching | None:
        """The contact, with its force along the common normal."""
        contact = self.contact(model)
        if contact is None:
            return None
        cam, follower = self.holders(model)
        axes, height = cam.inner.rot, self._touching(model, follower).pos - cam.inner.pos
        e, base = axes[:, :2].T, cam.inner.pos + axes[:, 2] * (axes[:, 2] @ height)

        def at(lam: Any, y: Any) -> Touch:
            found = contact.touch(y)
            normal_force = lam / found.lever
            point, normal = (np.column_stack([z.real, z.imag]) @ e for z in (found.point, found.normal))
            numbers = {"normal_force": (normal_force, "N"), "pressure_angle": (found.pressure_angle, "rad")}
            return Touch(normal_force[:, None] * normal, base + point, numbers)

        path = carried(model, follower.joint, follower.sign > 0.0), carried(model, cam.joint, cam.sign < 0.0)
        return Touching(follower.inner.body, path, at, cam.joint.name)

    def warnings(self, model: Any) -> list[str]:
        found = self.contact(model)
        return [] if found is None else found.warnings()

    @property
    def _where(self) -> str:
        return f"couplings.{self.name}"

    @cached_property
    def _shape(self) -> Any:
        return outline(self._where, self.points, self.polar)

    def _follower(self, model: Any, centre: End, axes: np.ndarray, held: Held) -> Follower:
        """The follower in the cam's plane, about the cam's axis."""
        touch = self._touching(model, held)

        def flat(v: np.ndarray) -> complex:
            return complex(axes[:, 0] @ v, axes[:, 1] @ v)

        z, out = held.inner.rot[:, 2] * held.sign, axes[:, 2]
        at, normal = flat(touch.pos - centre.pos), flat(touch.rot[:, 2])
        if not np.isfinite(abs(at)):
            raise self._error("the frame that touches travels", "take one at rest in its body")
        radius = 0.0 if self.roller is None else float(self.roller)
        if not radius and not are_square(touch.rot[:, 2], out):
            what = "the flat face is not parallel to the cam's axis: the z axis of its frame leaves the plane"
            raise self._error(what, 'name a frame of the follower by "at"')
        common: dict[str, Any] = {"at": at, "sense": self.sense, "radius": radius, "normal": normal}
        if held.joint.type_name == "prismatic" and are_square(z, out):
            if not radius and not self.sense * (flat(z) * np.conj(normal)).real > 0.0:
                what = "the flat face would not leave the cam where the follower moves as the cam pushes"
                raise self._error(what, "turn the frame of the face, z away from the cam, or pushes")
            return Follower(direction=flat(z), **common)
        if held.joint.type_name == "revolute" and are_parallel(z, out):
            pivot = flat(held.inner.pos - centre.pos)
            if abs(pivot) <= float(np.abs(self._shape.at(np.linspace(0.0, TURN, 720))).max()):
                raise self._error("the pivot of the follower lies within the reach of the cam")
            if radius and not abs(at - pivot) > 0.0:
                raise self._error("the roller's centre is on the pivot", 'name its frame by "at"')
            return Follower(pivot=pivot, turns=float(np.sign(z @ out)), **common)
        what = (
            f"joints.{held.joint.name} ({held.joint.type_name}) is neither prismatic across the cam's axis "
            "nor revolute along it"
        )
        raise self._error(what, "a profile needs a follower in the cam's plane")

    def _touching(self, model: Any, held: Held) -> End:
        """The frame that touches, in the axes of the holder, at coordinate zero of the follower."""
        if self.at is None:
            return held.inner
        frame = frame_of(model, self.at)
        if frame.body != held.outer.body:
            what = f'"{self.at}" is no frame of {held.outer.body}, the follower'
            raise self._error(what)
        R = held.inner.rot @ held.outer.rot.T
        return End(held.inner.body, held.inner.pos + R @ (frame.pos - held.outer.pos), R @ frame.rot)

    def _error(self, what: str, remedy: str = "") -> InputError:
        return InputError(Diagnostic("cam.axes", self._where, what, remedy))


def _axes_of(where: str, cam: Held) -> np.ndarray:
    """Axes of the cam's plane in the holder; z out of it."""
    if cam.joint.type_name != "revolute":
        what = f"joints.{cam.joint.name} is {cam.joint.type_name}; a cam with a profile is revolute"
        raise InputError(Diagnostic("cam.axes", where, what))
    return cam.inner.rot


def _periodic(contact: Contact, name: str) -> Expression:
    """The law as a periodic spline of the cam's angle, x, as smooth as the outline."""
    return repeated(periodic_spline(*contact.table(), contact.outline.degree), f"lift of {name}")


def lift_of_table(rows: np.ndarray, name: str) -> Expression | None:
    """A table over one turn whose ends agree, as a law that goes on from turn to turn; None for any other."""
    x, y = rows.T if len(rows) > 3 else (np.zeros(2), np.zeros(2))
    whole = abs(x[-1] - x[0] - TURN) < SAME and (np.diff(x) > 0.0).all()
    if not whole or abs(y[-1] - y[0]) > 1e-9 * np.abs(y).max():
        return None
    return repeated(periodic_spline(np.append(x[:-1], x[0] + TURN), y), name)


def _rename(node: Node) -> Node:
    """The expression with x, the cam's coordinate, under its own name."""
    if node.op == "name" and node.label == "x":
        return replace(node, text="cam", index=(), args=())
    return replace(node, args=tuple(_rename(arg) for arg in node.args)) if node.args else node
