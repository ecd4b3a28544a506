"""Tables of a recipe, one class each: what is checked, and the JSON Schema of `flexmbs schema recipe`."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WrapValidator, model_validator

from flexmbs import units
from flexmbs.errors import InputError, nearest
from flexmbs.expressions import Expression, ExpressionError, parse
from flexmbs.fe.beams import ROD, THEORIES
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.materials import Material
from flexmbs.fe.shapes.lattice import BRICKS, TETS
from flexmbs.fe.unit_systems import UNIT_NAMES
from flexmbs.input.arrays import array, one_or, whole
from flexmbs.input.rotations import Rotation
from flexmbs.input.values import (
    NAME,
    FormatVersion,
    Number,
    Table,
    ValidationInfo,
    as_given,
    context_of,
    fail,
    number,
    text_or,
    vector,
    with_schema,
)
from flexmbs.modal.interfaces import TIES, parse_dofs

Length = number(units.LENGTH, in_units=True)
Point = vector(Length)
Direction = vector(number(None))
Points = array((-1, 3), units.LENGTH, in_units=True)
Positive: Any = Annotated[number(None), Field(gt=0.0)]
Divisions = vector(whole(1))
Element: Any = Literal[tuple([*BRICKS, *TETS])]  # type: ignore[misc]
Axis = one_or(Direction, Literal["x", "y", "z"])


def _dofs(value: Any) -> Any:
    """Directions as people write them -> numbers."""
    if value is True:
        return tuple(range(6))
    try:
        return parse_dofs(value, "")
    except InputError as error:
        item = error.diagnostics[0]
        raise fail(f"{item.what}; {item.remedy}", code="recipe.dofs") from None


Dofs = Annotated[
    tuple[int, ...],
    BeforeValidator(_dofs),
    with_schema(["string", "array", "boolean"], 'directions, "x y z rx ry rz"'),
]


def _law(value: Any, info: ValidationInfo) -> Expression:
    """An expression of x, y, z and parameters, with or without the leading `=`."""
    text = "" if isinstance(value, bool) else str(value)
    parameters = context_of(info).parameters
    try:
        expression = parse(text if text.lstrip().startswith("=") else f"={text}").substitute(parameters)
    except ExpressionError as error:
        raise fail(str(error)) from None
    for label in expression.names:
        if label not in ("x", "y", "z"):
            choices = ["x", "y", "z", *parameters]
            raise fail(f'unknown name "{label}"; {nearest(label, choices)}')
    return expression


Shape = Annotated[Expression, BeforeValidator(_law), with_schema(["string", "number"], "of x, y, z")]


class Section(Table):
    """Cross section of a beam: one shape, or A, Iy, Iz, J."""

    rectangle: vector(Length, 2) | None = None
    circle: Length | None = None
    tube: vector(Length, 2) | None = None
    A: number(units.AREA) | None = None
    Iy: number(units.SECOND_MOMENT) | None = None
    Iz: number(units.SECOND_MOMENT) | None = None
    J: number(units.SECOND_MOMENT) | None = None
    shear_factor: one_or(vector(Number, 2), Number) | None = None


class BoxShape(Table):
    """Box or plate of bricks or tetrahedra, centred unless its lowest `corner` is given."""

    shape: Literal["box", "plate"]
    size: Point
    divisions: Divisions
    corner: Point | None = None
    element: Element = "hex20"


class CylinderShape(Table):
    """Cylinder along z from its base centre `origin`; divisions radial, around, along."""

    shape: Literal["cylinder"]
    radius: Length
    length: Length
    divisions: Divisions
    inner_radius: Length | None = None
    origin: Point | None = None
    element: Element = "hex20"


class TubeShape(CylinderShape):
    """Cylinder with a bore."""

    shape: Literal["tube"]  # type: ignore[assignment]
    inner_radius: Length


class BeamTable(Table):
    """What beams are: section, theory, `offset` of their axis from the nodes along y and z of the section."""

    section: Section
    y_axis: Direction | None = None
    theory: Literal[(*THEORIES, ROD)] = "euler-bernoulli"
    rotary_inertia: bool | None = None
    offset: vector(Length, 2) | None = None


class BeamShape(BeamTable):
    """Beam along x from the origin, or through `nodes`, straight or in arcs; tapered with `section_end`."""

    shape: Literal["beam"]
    length: Length | None = None
    nodes: Points | None = None
    divisions: whole(1) = 1
    section_end: Section | None = None
    arcs: bool = False


class PointsShape(Table):
    """Nodes with lumped masses, without elements."""

    shape: Literal["points"]
    points: Points
    masses: array((-1,), units.MASS)
    inertias: array((-1, 3, 3), units.INERTIA) | None = None


class MaterialTable(Table):
    """Isotropic by one `young` and `poisson`; orthotropic by three of each and three `shear` (xy yz zx)."""

    name: str | None = None
    young: one_or(vector(number(units.PRESSURE)), number(units.PRESSURE)) | None = None
    poisson: one_or(vector(Number), Number) | None = None
    shear: vector(number(units.PRESSURE)) | None = None
    density: number(units.DENSITY) | None = None
    loss_factor: Annotated[Number, Field(ge=0.0, le=1.0)] | None = None
    expansion: Number | None = None
    rotation: (
        Annotated[
            Rotation,
            BeforeValidator(
                lambda v: {"matrix": v} if isinstance(v, list) else v,
                json_schema_input_type=Rotation | list[Any],
            ),
        ]
        | None
    ) = None


def _as_is(value: Any, check: Any) -> Any:
    return value if isinstance(value, Material) else check(value)


#: name, file, or table; in Python a Material too
AnyMaterial = Annotated[text_or(MaterialTable), WrapValidator(_as_is)]


class LayerTable(Table):
    """A layer of a shell, its angle from the axis of the section."""

    thickness: Length
    material: AnyMaterial
    angle: number(units.ANGLE) = 0.0


class ShellTable(Table):
    """Section of a shell: thickness, or layers from the bottom up; offset of its middle from the nodes."""

    thickness: Length | None = None
    offset: Length | None = None
    layers: list[LayerTable] | None = None
    axis: Direction | None = None


class ShellShape(ShellTable):
    """Plate of `size` in the x-y plane, or cylinder along z of `radius` and `length`, of shells."""

    shape: Literal["shell"]
    divisions: vector(whole(1), 2)
    size: vector(Length, 2) | None = None
    corner: Point | None = None
    radius: Length | None = None
    length: Length | None = None
    origin: Point | None = None
    element: Literal[SHELLS] = "quad4"


def _without_shape(schema: dict[str, Any]) -> None:
    """Files may leave `shape` out, or say "shell" (see `_as_file`)."""
    schema["required"].remove("shape")
    schema["properties"]["shape"] = {"enum": ["shell", "file"]}


class ShellFile(ShellTable):
    """A file whose surface cells are shells, one section or several by cell set; `beams` by sets of lines.

    A geometry of surfaces is meshed by cells of `element`, none larger than `element_size`.
    """

    model_config = ConfigDict(json_schema_extra=_without_shape)

    shape: Literal["file"]
    file: str
    sections: dict[str, ShellTable] = Field(default={})
    beams: dict[str, BeamTable] = Field(default={})
    element: Literal[SHELLS] | None = None
    element_size: Annotated[Length, Field(gt=0.0)] | None = None


def _as_file(value: Any) -> Any:
    """`{ file = ... }` is a mesh of the kind "file", with or without `shape = "shell"`."""
    if isinstance(value, dict) and "file" in value and value.get("shape", "shell") == "shell":
        return value | {"shape": "file"}
    return value


AnyShape = Annotated[
    BoxShape | CylinderShape | TubeShape | BeamShape | PointsShape | ShellShape | ShellFile,
    Field(discriminator="shape"),
    BeforeValidator(_as_file),
]


def _or_list(table: Any, *names: str) -> Any:
    """Annotation of a table, for which `[a, b]` with these keys in this order is short."""

    def read(value: Any) -> Any:
        if isinstance(value, list | tuple) and len(value) <= len(names):
            return dict(zip(names, value, strict=False))
        return value

    return Annotated[table, BeforeValidator(read, json_schema_input_type=table | list[Any])]


class PlanePlace(Table):
    """Through a `point` across a `normal`, or at one coordinate, `{ x = 0.1 }`."""

    point: Point | None = None
    normal: Axis | None = None
    x: Length | None = None
    y: Length | None = None
    z: Length | None = None


class BoxPlace(Table):
    """Everything between two opposite corners."""

    from_: Point = Field(alias="from")
    to: Point


class CylinderPlace(Table):
    """A surface of `radius` about an axis through `point`, or all up to it with `inside`."""

    point: Point
    axis: Axis
    radius: Length
    length: Length | None = None
    inside: bool = False


class SpherePlace(Table):
    """A surface of `radius` about `center`, or all up to it with `inside`."""

    center: Point
    radius: Length
    inside: bool = False


class Places(Table):
    """Nodes by place; of several places, those common to all."""

    plane: _or_list(PlanePlace, "point", "normal") | None = None
    box: _or_list(BoxPlace, "from", "to") | None = None
    cylinder: _or_list(CylinderPlace, "point", "axis", "radius", "length", "inside") | None = None
    sphere: _or_list(SpherePlace, "center", "radius", "inside") | None = None
    nearest: one_or(list[Point], Point, nested=True) | None = None
    tolerance: Length | None = None

    def places(self) -> dict[str, Any]:
        """The places that are given, as plain values in metres."""
        return {name: item for name, item in as_given(self).items() if name in Places.model_fields}


class InterfaceTable(Places):
    """An interface by `set`, `node` or place; the name of a set alone is its table in short."""

    set: str | None = None
    node: whole(0) | None = None
    tie: Annotated[
        Literal[tuple(TIES)],  # type: ignore[misc]
        BeforeValidator(lambda v: v.lower() if isinstance(v, str) else v),
    ] = "rbe2"
    dofs: Dofs | None = None
    pos: Point | None = None
    rot: Rotation | None = None

    @model_validator(mode="after")
    def _check(self) -> InterfaceTable:
        if self.node is not None and self.set is not None and not self.places():
            raise fail("needs either set or node", code="recipe.interface")
        return self


class TieTable(Table):
    """Two surfaces that become one: nodes of the first follow the faces of the second."""

    surfaces: Annotated[list[str], Field(min_length=2, max_length=2)]
    within: Length | None = None


#: what a load of a recipe may be
LOADS = ("force", "pressure", "acceleration", "angular_acceleration", "angular_velocity", "temperature")


class LoadTable(Table):
    """A static load: a force on a set or node, a pressure on a set, an acceleration, or a change of
    temperature [K] of a cell set."""

    set: str | None = None
    node: whole(0) | None = None
    force: vector(number(units.FORCE)) | None = None
    pressure: number(units.PRESSURE) | None = None
    acceleration: vector(number(units.ACCELERATION)) | None = None
    angular_acceleration: vector(number(units.ANGULAR_ACCELERATION)) | None = None
    angular_velocity: vector(number(units.ANGULAR_VELOCITY)) | None = None
    temperature: Number | None = None

    @model_validator(mode="after")
    def _check(self) -> LoadTable:
        if sum(getattr(self, kind) is not None for kind in LOADS) != 1:
            raise fail(f"needs one of {', '.join(LOADS)}, a force on a set or node", code="recipe.load")
        if self.force is not None and (self.set is None) == (self.node is None):
            raise fail("a force needs either set or node", code="recipe.load")
        if self.pressure is not None and (self.set is None or self.node is not None):
            raise fail("a pressure needs a set", code="recipe.load")
        return self


class PointMassTable(Table):
    """A mass on a node or at an interface; inertia: 3 numbers or 3 rows of 3."""

    node: whole(0) | None = None
    interface: str | None = None
    mass: Annotated[number(units.MASS), Field(ge=0.0)] = 0.0
    inertia: one_or(vector(vector(number(units.INERTIA))), vector(number(units.INERTIA)), nested=True) = (
        Field(default=[0.0, 0.0, 0.0])
    )

    @model_validator(mode="after")
    def _check(self) -> PointMassTable:
        if (self.node is None) == (self.interface is None):
            raise fail("needs either node or interface", code="recipe.point_mass")
        return self


class GivenTable(Table):
    """Modes of the user: per mode its x, y, z components over x, y, z, or nodal values."""

    shapes: list[Annotated[list[Shape], Field(min_length=3, max_length=3)]] = Field(default=[])
    values: array((-1, -1, -1)) | None = None
    stiffness: array((-1, -1)) | None = None
    damping: array((-1, -1)) | None = None


class MatricesTable(Table):
    """Full matrices in place of a mesh: Matrix Market, and a table of node number, x, y, z."""

    stiffness: str
    mass: str
    nodes: str


class RecipeFile(Table):
    """How a mesh becomes modal data. SI units and radians for bare numbers."""

    format_version: FormatVersion = 1
    title: str = ""
    parameters: dict[Annotated[str, Field(pattern=NAME)], Number] = Field(default={})
    unit_system: Literal[UNIT_NAMES] | None = None
    mesh: text_or(AnyShape) | None = None
    matrices: _or_list(MatricesTable, "stiffness", "mass", "nodes") | None = None
    ignore: Annotated[
        list[str],
        BeforeValidator(lambda v: [v] if isinstance(v, str) else v, json_schema_input_type=str | list[str]),
    ] = Field(default=[])
    supports: Literal["drop", "interfaces", "fix"] = "drop"
    material: AnyMaterial | None = None
    materials: dict[str, AnyMaterial] = Field(default={})
    young: number(units.PRESSURE) | None = None
    poisson: Number | None = None
    density: number(units.DENSITY) | None = None
    method: Literal["craig-bampton", "free-interface", "given"] | None = None
    modes: whole(0) | None = None
    fmax: Annotated[number(units.FREQUENCY), Field(gt=0.0)] | None = None
    tol: Positive | None = None
    frame: str = "mean-axis"
    mass: Literal["consistent", "lumped"] = "consistent"
    stress: Literal["nodes", "cells", "none"] = "nodes"
    geometric_stiffness: bool = True
    merge_tol: Length | None = None
    solver: Literal["auto", "superlu", "cholmod", "pardiso"] = "auto"
    point_masses: list[PointMassTable] = Field(default=[])
    interfaces: dict[str, text_or(InterfaceTable)] = Field(default={})
    ties: dict[str, TieTable] = Field(default={})
    sets: dict[str, Places] = Field(default={})
    fix: dict[str, Dofs] = Field(default={})
    loads: dict[str, LoadTable] = Field(default={})
    preload: dict[str, LoadTable] = Field(default={})
    given: GivenTable | None = None
