"""Models written in Python: `fm.Model()` with a method for every kind of part.

    model = fm.Model(gravity=[0, -9.81, 0])
    arm = model.body("arm", modal)
    hub = model.revolute("hub", "ground", arm.frame("root"), axis="z")
    hub.drive(velocity="=speed")
    result = model.run()

It gathers the tables of a case file, under the same keys and with the same messages: `model.case()`,
`model.data`, `model.save("case.toml")`. Keys that are words of Python end in `_`: `from_`, `in_`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from flexmbs import disk
from flexmbs.case.case import Case
from flexmbs.case.fluent_keys import (
    AnalysisKeys,
    BodyKeys,
    CamKeys,
    DamperKeys,
    DriveKeys,
    FrameKeys,
    FrictionKeys,
    GearKeys,
    JointKeys,
    Number,
    OutputKeys,
    ParticleKeys,
    PlacedKeys,
    SensorKeys,
    SpringDamperKeys,
    SpringKeys,
    StopKeys,
    Vector,
)
from flexmbs.errors import Diagnostic, UsageError, unknown_name
from flexmbs.input.toml_text import toml_text
from flexmbs.model.couplings.base import COUPLINGS
from flexmbs.model.forces.base import FORCES
from flexmbs.model.joints.base import JOINTS

if TYPE_CHECKING:
    from flexmbs.dynamics.mechanism import Mechanism
    from flexmbs.modaldata import ModalData
    from flexmbs.results import Result


class Part:
    """Something with a name that other parts refer to; in texts it is its name."""

    def __init__(self, model: Model, name: str) -> None:
        self.model, self.name = model, name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__.removesuffix('Part').lower()} {self.name}>"


class FramePart(Part):
    """A frame of a body or of ground, `body.frame`."""


class BodyPart(Part):
    """A body, or ground."""

    @property
    def table(self) -> dict[str, Any]:
        """Its table, as in the file."""
        table: dict[str, Any] = self.model.data["bodies"][self.name]
        return table

    def frame(self, name: str, **keys: Unpack[FrameKeys]) -> FramePart:
        """A frame by name: an interface of the modal data, or a new one where keys say where it is."""
        if keys:
            self.table.setdefault("frames", {})[name] = plain(keys)
        return FramePart(self.model, f"{self.name}.{name}")


class GroundPart(BodyPart):
    """Ground."""

    @property
    def table(self) -> dict[str, Any]:
        table: dict[str, Any] = self.model.data.setdefault("ground", {})
        return table


class JointPart(Part):
    """A joint; `hub.spring(...)` and the like act on one of its coordinates."""

    @property
    def table(self) -> dict[str, Any]:
        """Its table, as in the file."""
        table: dict[str, Any] = self.model.data["joints"][self.name]
        return table

    @property
    def position(self) -> str:
        """Channel of its coordinates, for expressions."""
        return f"{self.name}.position"

    @property
    def velocity(self) -> str:
        """Channel of its speeds."""
        return f"{self.name}.velocity"

    def spring(self, stiffness: Number | None = None, **keys: Unpack[SpringKeys]) -> JointPart:
        """effort = -stiffness (position - free), or `force` of x and v."""
        return self._also("spring", {"stiffness": stiffness, **keys})

    def damper(self, damping: Number | None = None, **keys: Unpack[DamperKeys]) -> JointPart:
        """effort = -damping velocity, or `force` of v."""
        return self._also("damper", {"damping": damping, **keys})

    def friction(self, **keys: Unpack[FrictionKeys]) -> JointPart:
        """Dry friction by `effort`, or `coefficient` of the reaction."""
        return self._also("friction", keys)

    def stop(self, **keys: Unpack[StopKeys]) -> JointPart:
        """Elastic stops at `lower` and `upper`."""
        return self._also("stop", keys)

    def drive(self, name: str | None = None, **keys: Unpack[DriveKeys]) -> JointPart:
        """Prescribe its `position`, `velocity` or `acceleration`; without a name the drive has its own."""
        self.model._put("drives", name or self.name, {"joint": self.name, **keys})
        return self

    def _also(self, kind: str, keys: Mapping[str, Any]) -> JointPart:
        self.table.setdefault(kind, []).append(plain(keys))
        return self


Place = str | Part


@dataclass
class _Given:
    """Modal data that were handed over as they are, by the file in which `save` writes them."""

    files: dict[str, ModalData]


class Model:
    """A mechanism and what is asked of it, part by part; see the module's text for an example."""

    def __init__(self, title: str = "", *, gravity: Vector | None = None, folder: str | Path = ".") -> None:
        self.data: dict[str, Any] = {}
        if title:
            self.data["title"] = title
        if gravity is not None:
            self.data["gravity"] = plain(gravity)
        self.folder = Path(folder)
        self._given = _Given({})

    @property
    def ground(self) -> GroundPart:
        """Ground, for its frames: `model.ground.frame("rail", pos=[0, 1, 0])`."""
        return GroundPart(self, "ground")

    def parameter(self, name: str, value: Number) -> str:
        """A named number; returns how expressions write it, `=name`."""
        self.data.setdefault("parameters", {})[name] = plain(value)
        return f"={name}"

    # bodies

    def body(
        self, name: str, modal: ModalData | str | Path | None = None, **keys: Unpack[BodyKeys]
    ) -> BodyPart:
        """A body: flexible with modal data, their file, or a recipe (.toml), else rigid."""
        table: dict[str, Any] = {"type": "rigid" if modal is None else "flexible"}
        if isinstance(modal, str | Path):
            table["reduce" if str(modal).endswith(".toml") else "modal"] = str(modal)
        elif modal is not None:
            table["modal"] = f"{name}.modal.h5"
            self._given.files[table["modal"]] = modal
        self._put("bodies", name, {**table, **keys})
        return BodyPart(self, name)

    def particle(self, name: str, mass: Number, **keys: Unpack[ParticleKeys]) -> BodyPart:
        """A mass point."""
        self._put("bodies", name, {"type": "particle", "mass": mass, **keys})
        return BodyPart(self, name)

    # joints

    def joint(self, type: str, name: str, from_: Place, to: Place, **keys: Any) -> JointPart:
        """A joint of any type, between marker P (`from_`) and marker Q (`to`)."""
        self._put("joints", name, {"type": type, "from": from_, "to": to, **keys})
        return JointPart(self, name)

    def fixed(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """No relative motion."""
        return self.joint("fixed", name, from_, to, **keys)

    def revolute(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Turn about the common z axis; coordinate `angle`."""
        return self.joint("revolute", name, from_, to, **keys)

    def prismatic(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Travel along the common z axis; coordinate `travel`."""
        return self.joint("prismatic", name, from_, to, **keys)

    def helical(
        self, name: str, from_: Place, to: Place, lead: Number, **keys: Unpack[JointKeys]
    ) -> JointPart:
        """Turn about z with a travel of `lead` per turn."""
        return self.joint("helical", name, from_, to, lead=lead, **keys)

    def cylindrical(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Turn about and travel along z; coordinates `angle`, `travel`."""
        return self.joint("cylindrical", name, from_, to, **keys)

    def universal(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Two pins, Rx(angle1) Ry(angle2)."""
        return self.joint("universal", name, from_, to, **keys)

    def planar(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Travel in x-y of P, then turn about z; coordinates `x`, `y`, `angle`."""
        return self.joint("planar", name, from_, to, **keys)

    def spherical(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Any rotation about the common origin."""
        return self.joint("spherical", name, from_, to, **keys)

    def free(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """All six motions, with coordinates and channels of their own."""
        return self.joint("free", name, from_, to, **keys)

    def constant_velocity(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Q in place at P, turns about the two z axes transmitted 1:1."""
        return self.joint("constant_velocity", name, from_, to, **keys)

    def in_line(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Q on the z axis of P."""
        return self.joint("in_line", name, from_, to, **keys)

    def in_plane(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """Q in the x-y plane of P."""
        return self.joint("in_plane", name, from_, to, **keys)

    def perpendicular(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """z axes at right angles."""
        return self.joint("perpendicular", name, from_, to, **keys)

    def parallel(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """z axes parallel."""
        return self.joint("parallel", name, from_, to, **keys)

    def orientation(self, name: str, from_: Place, to: Place, **keys: Unpack[JointKeys]) -> JointPart:
        """No relative turning, position free."""
        return self.joint("orientation", name, from_, to, **keys)

    def distance(
        self, name: str, from_: Place, to: Place, length: Number, **keys: Unpack[JointKeys]
    ) -> JointPart:
        """Origins `length` apart: a rod without mass."""
        return self.joint("distance", name, from_, to, length=length, **keys)

    # couplings

    def coupling(self, type: str, name: str, **keys: Any) -> Part:
        """A coupling of any type."""
        self._put("couplings", name, {"type": type, **keys})
        return Part(self, name)

    def gear(
        self, name: str, wheels: Sequence[Place], teeth: Sequence[float],
        *, helix_angle: Number = 0.0, **keys: Unpack[GearKeys],
    ) -> Part:  # fmt: skip
        """Two gears: zA a + zB b = const of their turns on the carrier."""
        more = {"helix_angle": helix_angle} if helix_angle else {}
        return self.coupling("gear", name, wheels=wheels, teeth=teeth, **more, **keys)

    def bevel_gear(
        self, name: str, wheels: Sequence[Place], teeth: Sequence[float], **keys: Unpack[GearKeys]
    ) -> Part:
        """Two bevel gears, turns about their own axes."""
        return self.coupling("bevel_gear", name, wheels=wheels, teeth=teeth, **keys)

    def worm_gear(
        self, name: str, wheels: Sequence[Place], teeth: Sequence[float],
        *, lead_angle: Number | None = None, **keys: Unpack[GearKeys],
    ) -> Part:  # fmt: skip
        """Worm and wheel."""
        return self.coupling("worm_gear", name, wheels=wheels, teeth=teeth, lead_angle=lead_angle, **keys)

    def rack_pinion(
        self, name: str, pinion: Place, rack: Place, radius: Number, pressure_angle: Number | None = None
    ) -> Part:
        """travel of `rack` = radius * angle of `pinion`, both joints."""
        keys = {"pinion": pinion, "rack": rack, "radius": radius, "pressure_angle": pressure_angle}
        return self.coupling("rack_pinion", name, **keys)

    def screw(self, name: str, nut: Place, slide: Place, lead: Number) -> Part:
        """The joint `slide` travels `lead` per turn of the joint `nut`."""
        return self.coupling("screw", name, nut=nut, slide=slide, lead=lead)

    def cam(self, name: str, cam: Place, follower: Place, **keys: Unpack[CamKeys]) -> Part:
        """follower = lift(cam), both joints."""
        return self.coupling("cam", name, cam=cam, follower=follower, **keys)

    def linear(self, name: str, terms: Mapping[Any, float]) -> Part:
        """The sum of factor times joint coordinate keeps its value: `{hub: 2, "slide.travel": -1}`."""
        return self.coupling("linear", name, terms={str(k): v for k, v in terms.items()})

    def expression(self, name: str, zero: str) -> Part:
        """zero = 0, of joint coordinates and t."""
        return self.coupling("expression", name, zero=zero)

    # forces

    def force(self, type: str, name: str, **keys: Any) -> Part:
        """A force of any type."""
        self._put("forces", name, {"type": type, **keys})
        return Part(self, name)

    def point(self, name: str, on: Place, force: Vector, **keys: Unpack[PlacedKeys]) -> Part:
        """A force on a body or frame."""
        return self.force("point", name, on=on, force=force, **keys)

    def torque(self, name: str, on: Place, torque: Vector, **keys: Unpack[PlacedKeys]) -> Part:
        """A torque on a body or frame."""
        return self.force("torque", name, on=on, torque=torque, **keys)

    def spring_damper(self, name: str, from_: Place, to: Place, **keys: Unpack[SpringDamperKeys]) -> Part:
        """A spring and damper between two frames."""
        return self.force("spring_damper", name, from_=from_, to=to, **keys)

    def bushing(
        self, name: str, from_: Place, to: Place, stiffness: Vector, damping: Vector | None = None
    ) -> Part:
        """Six springs and dampers in the axes of `from_`."""
        return self.force("bushing", name, from_=from_, to=to, stiffness=stiffness, damping=damping)

    def joint_force(self, name: str, joint: Place, value: Number, coordinate: str | None = None) -> Part:
        """An effort on a joint coordinate; positive drives it up."""
        return self.force("joint_force", name, joint=joint, value=value, coordinate=coordinate)

    def distributed(
        self, name: str, on: Place, set: str, pressure: Number | None = None,
        force: Vector | None = None, in_: Place | None = None,
    ) -> Part:  # fmt: skip
        """A pressure on a face set, or a force per length, area or volume."""
        return self.force("distributed", name, on=on, set=set, pressure=pressure, force=force, in_=in_)

    # what is asked

    def sensor(self, name: str, type: str, **keys: Unpack[SensorKeys]) -> Part:
        """A sensor."""
        self._put("sensors", name, {"type": type, **keys})
        return Part(self, name)

    def state(self, name: str, rate: Number, initial: Number = 0.0) -> Part:
        """An own state, d/dt = rate."""
        self._put("states", name, {"rate": rate, "initial": initial})
        return Part(self, name)

    def metric(self, name: str, value: str) -> None:
        """A number of the result."""
        self.data.setdefault("metrics", {})[name] = value

    def expect(self, channel: str, value: float, **tolerances: float) -> None:
        """An expected value of a channel or metric, with `rtol` or `atol`."""
        self._put("expected", channel, {"value": value, **tolerances})

    def analysis(self, **keys: Unpack[AnalysisKeys]) -> Model:
        """What is computed; keys are added to those given before."""
        self.data.setdefault("analysis", {}).update(plain(keys))
        return self

    def output(self, **keys: Unpack[OutputKeys]) -> Model:
        """Where and when results are written."""
        self.data.setdefault("output", {}).update(plain(keys))
        return self

    # what becomes of it

    def case(self, **overrides: Any) -> Case:
        """The case; raises `InputError` with all that is wrong, as for a file."""
        modal = {self.folder / name: item for name, item in self._given.files.items()}
        return Case.from_dict(self.data, folder=self.folder, modal=modal, **overrides)

    def system(self) -> Mechanism:
        """The numbered system."""
        return self.case().system()

    def run(self, path: str | Path | None = None, **options: Any) -> Result:
        """Run it; options are those of `fm.run`. Without a path the result stays in memory."""
        from flexmbs.case.runner import run

        if path is None and "file" not in self.data.get("output", {}):
            options.setdefault("keep", False)
        return run(self.case(), path, **options)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the case as a file, and modal data that were handed over beside it."""
        path = Path(path)
        for name, modal in self._given.files.items():
            modal.save(path.parent / name, overwrite=overwrite)
        with disk.atomic_file(path, overwrite) as raw:
            raw.write(toml_text(self.data).encode())
        return path

    def _put(self, kind: str, name: str, keys: Mapping[str, Any]) -> None:
        """A table under its name; names are unique in their kind."""
        tables = self.data.setdefault(kind, {})
        if name in tables:
            what = f'there is a part "{name}" already'
            raise UsageError(Diagnostic("model.name", f"{kind}.{name}", what, "choose another name"))
        tables[name] = plain(keys)

    def __getattr__(self, name: str) -> Any:
        """Types that were registered elsewhere are methods too."""
        if name.startswith("_"):
            raise AttributeError(name)
        for registry, make in ((JOINTS, self.joint), (COUPLINGS, self.coupling), (FORCES, self.force)):
            if name in registry:
                return lambda *args, **keys: make(name, *args, **keys)
        raise unknown_name("Model", name, [word for word in dir(type(self)) if not word.startswith("_")])

    def __repr__(self) -> str:
        counts = [f"{len(table)} {kind}" for kind, table in self.data.items() if isinstance(table, dict)]
        return f"<model {self.data.get('title', '')}: {', '.join(counts)}>"


def plain(value: Any) -> Any:
    """A value as files have it: parts by name, arrays as lists, `from_` as `from`, nothing that is None."""
    if isinstance(value, Mapping):
        return {str(k).removesuffix("_"): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, Part | Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
