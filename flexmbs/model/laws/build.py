"""Forces, springs of joints, drives, own states, sensors -> `Laws`: the tables that the kernels read.

Two passes, because markers are numbered only when all are known: `LawBuilder` collects rows that name
markers and coordinates as objects, `LawBuilder.finish` turns them into numbers.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexmbs.expressions import Expression, Node, constant
from flexmbs.expressions.switching import switching_functions
from flexmbs.expressions.table import compile_table
from flexmbs.model.attitudes import Attitude
from flexmbs.model.forces.base import Number, PythonNumber
from flexmbs.model.laws.slots import Slot, SlotBuilder
from flexmbs.model.laws.stiff import stiff_groups, stiff_numbers
from flexmbs.model.laws.tables import COORD_X, OF_TIME, RELATION, Laws
from flexmbs.model.markers import Marker, Markers
from flexmbs.model.model import Model
from flexmbs.model.rows import Group, Row
from flexmbs.model.time_laws import renamed


@dataclass
class LawRow:
    """One law before numbering; `owner` is the force or joint that it belongs to."""

    owner: str
    kind: int
    first: int
    p: Marker | None = None
    q: Marker | None = None
    axes: Marker | None = None
    coordinate: Any = None
    local: int = -1
    conservative: bool = False
    body: str = ""
    load: Sequence[float] = ()
    stiff: bool = False
    press: tuple[str, int] | None = None
    group: Any = None


#: A Python function as the kernels call it: pointers to the arguments (time first) and to the result.
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))


def callback(number: PythonNumber, errors: list[str]) -> Any:
    """Wrap a function for calls by address. It never raises into a kernel: a failure is NaN, which stops the
    run with the name of the force, and what was raised. Writes: errors."""
    n_args, function = len(number.channels), number.function

    def call(args: Any, returned: Any) -> None:
        try:
            returned[0] = float(function(*(args[k] for k in range(n_args + 1))))
        except Exception as error:
            errors[:] = [f"{number.name} raised {type(error).__name__}: {error}"]
            returned[0] = float("nan")

    return CALLBACK(call)


@dataclass
class LawBuilder:
    """Collects laws, numbers and expressions of a model."""

    model: Model
    markers: Markers
    joints: dict[str, Any]
    values: list[float] = field(default_factory=list)
    dynamic: list[tuple[int, int]] = field(default_factory=list)
    python: list[tuple[int, PythonNumber, list[int]]] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)
    rows: list[LawRow] = field(default_factory=list)
    switches: list[tuple[int, int]] = field(default_factory=list)
    owner: str = ""

    def __post_init__(self) -> None:
        self.slots = SlotBuilder(self.model, self.markers, self.joints)

    def expression(self, item: Expression, law: int = -1) -> int:
        """Number of an expression in the table; `law` is the one whose x and v it takes, or OF_TIME."""
        number = self._store(item)
        self.switches += [(self._store(switch), law) for switch in switching_functions(item)]
        return number

    def relation(self, row: Row) -> None:
        """Locate where the expression of a constraint row, or a slope of it, jumps: speeds jump there."""
        names = {old: f"coordinate#{c.number}" for old, c in row.names.items()}
        for old, c in row.names.items():
            if names[old] not in self.slots.places:
                self.slots.places[names[old]] = len(self.slots.slots)
                self.slots.slots.append(Slot(COORD_X, c))
        for switch in switching_functions(row.expression) if row.expression is not None else ():
            self.expressions.append(renamed(switch, names))
            self.switches.append((len(self.expressions) - 1, RELATION))

    def _store(self, item: Expression) -> int:
        for node in item.names.values():
            self.slots.request(node.label)
        self.expressions.append(item)
        return len(self.expressions) - 1

    def switch_at(self, bound: float | Expression) -> None:
        """The law that is added next changes where its coordinate passes a number."""
        if isinstance(bound, float | int) and math.isinf(bound):
            return
        item = bound if isinstance(bound, Expression) else constant(float(bound))
        tree = Node("sub", (Node("name", text="x"), item.tree))
        self.switches.append((self._store(replace(item, tree=tree)), len(self.rows)))

    def numbers(self, items: Sequence[Number]) -> tuple[int, bool]:
        """Put numbers into the table, one behind the other: place of the first; whether all are constant."""
        first, fixed = len(self.values), True
        for number in items:
            place = len(self.values)
            item: Any = number
            if isinstance(item, Expression) and item.is_constant:
                item = item.number()
            if isinstance(item, Expression):
                self.dynamic.append((place, self.expression(item)))
            elif isinstance(item, PythonNumber):
                self.python.append((place, item, [self.expression(x) for x in item.channels]))
            else:
                self.values.append(float(item))
                continue
            self.values.append(float("nan"))
            fixed = False
        return first, fixed

    def row(self, kind: int, numbers: Sequence[Number] = (), *, local: Any = None, **places: Any) -> None:
        """Add a law of the present owner; `local` is an expression of x and v."""
        first, fixed = self.numbers(numbers)
        number = -1
        if local is not None:
            item = local if isinstance(local, Expression) else constant(float(local))
            number = self.expression(item, len(self.rows))
        self.rows.append(
            LawRow(self.owner, kind, first, local=number, conservative=fixed and number < 0, **places)
        )

    def marker(self, path: str, at: Any = None) -> Marker:
        self.markers.where = self.owner
        return self.markers.get(path, at)

    def axes(self, name: str, on: str) -> Marker | None:
        """Marker whose axes "ground", "body" or a frame stand for; the body is that of `on`."""
        if name == "ground":
            return None
        return self.marker(on.partition(".")[0] if name == "body" else name)

    def finish(self, system: Any, free: Sequence[int], drives: Sequence[int], travel: Any) -> Laws:
        """Tables, once markers, coordinates and bodies have numbers."""
        index, rows = system.numbers.index, self.rows
        loads = [np.asarray(row.load, dtype=float) for row in rows]
        args = [len(channels) for _, _, channels in self.python]
        laws = system.time_laws
        self.callbacks = [callback(number, self.errors) for _, number, _ in self.python]
        return Laws(
            expr=compile_table(self.expressions, self.slots.places),
            slot=self.slots.table(system),
            value=np.array(self.values, dtype=float),
            dyn_value=_ints(place for place, _ in self.dynamic),
            dyn_expr=_ints(number for _, number in self.dynamic),
            py_address=_ints(ctypes.cast(item, ctypes.c_void_p).value or 0 for item in self.callbacks),
            py_value=_ints(place for place, _, _ in self.python),
            py_start=_ints(np.concatenate([[0], np.cumsum(args)])),
            py_expr=_ints(k for _, _, channels in self.python for k in channels),
            kind=_ints(row.kind for row in rows),
            mark_p=_ints(_number(row.p) for row in rows),
            mark_q=_ints(_number(row.q) for row in rows),
            axes=_ints(_number(row.axes) for row in rows),
            first=_ints(row.first for row in rows),
            coord=_ints(_number(row.coordinate) for row in rows),
            local=_ints(row.local for row in rows),
            conservative=_ints(row.conservative for row in rows),
            body=_ints(index[row.body] if row.body else -1 for row in rows),
            load_start=_ints(np.concatenate([[0], np.cumsum([len(load) for load in loads])])[:-1]),
            load=np.concatenate([*loads, np.zeros(0)]),
            **{name: _ints(items) for name, items in stiff_numbers(rows).items()},
            state_expr=_ints(self.state_rates),
            drive_expr=_ints(drives),
            drive_order=_ints(law.order for law in laws),
            drive_aux=_ints(law.aux for law in laws),
            **_attitudes(system.attitudes),
            travel_expr=np.array(travel, dtype=np.int64).reshape(-1, 3),
            free_expr=_ints(free),
            switch_expr=_ints(number for number, _ in self.switches),
            switch_law=_ints(law for _, law in self.switches),
            **self._friction(system),
        )

    def _friction(self, system: Any) -> dict[str, np.ndarray]:
        """Laws that need the reaction of their joint."""
        order = {name: k for k, name in enumerate(system.joints)}
        found = [(k, *row.press) for k, row in enumerate(self.rows) if row.press is not None]
        return {
            "press_law": _ints(k for k, _, _ in found),
            "press_joint": _ints(order[name] for _, name, _ in found),
            "press_axis": _ints(axis for _, _, axis in found),
        }

    state_rates: list[int] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _attitudes(items: Sequence[Attitude]) -> dict[str, np.ndarray]:
    """Prescribed rotations."""
    axes = [np.zeros((0, 3)), *(item.axes for item in items)]
    return {
        "att_kind": _ints(item.kind for item in items),
        "att_law": _ints(item.law for item in items),
        "att_speed": _ints(item.speed for item in items),
        "att_aux": _ints(item.aux for item in items),
        "att_axis_start": _ints(np.cumsum([len(piece) for piece in axes])),
        "att_axis": np.ascontiguousarray(np.concatenate(axes), dtype=float),
    }


def _ints(items: Any) -> np.ndarray:
    return np.array([int(item) for item in items], dtype=np.int64)


def _number(item: Any) -> int:
    return -1 if item is None else item.number


@dataclass(frozen=True)
class LawPart:
    """Laws of a system: `tables` for the kernels, and which law belongs to whom.

    `owners[k]` is `forces.<name>` or `joints.<name>.<spring ...>` of law k; `relations[k]` what the relation
    of switching function k belongs to, or nothing; `free[name]` the number of an expression that is evaluated
    on demand. `inputs[name]` is the slot of an input. `keep` holds Python callbacks alive;
    `errors`: what one of them raised last.
    """

    tables: Laws
    owners: tuple[str, ...]
    relations: tuple[str, ...]
    free: dict[str, int]
    inputs: dict[str, int]
    keep: tuple[Any, ...] = ()
    errors: Sequence[str] = ()

    @property
    def python(self) -> bool:
        """Whether Python functions are called: slow, and announced as such."""
        return len(self.tables.py_value) > 0


def collect(
    model: Model, markers: Markers, joints: dict[str, Any], free: dict[str, Expression] | None = None
) -> tuple[Callable[[Any], LawPart], list[Group]]:
    """First pass over a model: a function that makes the tables of the numbered system, and the groups of
    compliant rows that are to be numbered with it (F45).

    `free`: expressions by name that the caller wants evaluated: `until`, switching functions, sensors.
    """
    from flexmbs.model.laws.joint_laws import joint_laws

    build = LawBuilder(model, markers, joints)
    for name, part in model.forces.items():
        build.owner = f"forces.{name}"
        part.laws(build)
    for joint in model.joints.values():
        joint_laws(build, joint)
    build.owner = "states"
    build.state_rates = [build.expression(_as_expression(state.rate)) for state in model.states.values()]
    numbers = {name: build.expression(item) for name, item in (free or {}).items()}

    def finish(system: Any) -> LawPart:
        drives = [build.expression(law.expression, OF_TIME) for law in system.time_laws]
        travel = [[build.expression(item, OF_TIME) for item in place] for place in system.travels]
        relations = [""] * len(build.switches)
        for group in system.groups:
            for row in group.rows:
                build.relation(row)
            relations += [group.path] * (len(build.switches) - len(relations))
        order = {name: k for k, name in enumerate(numbers)}
        tables = build.finish(system, list(numbers.values()), drives, travel)
        owners = tuple(row.owner for row in build.rows)
        inputs = {name: place for name in model.inputs if (place := build.slots.places.get(f"inputs.{name}"))}
        return LawPart(tables, owners, tuple(relations), order, inputs, tuple(build.callbacks), build.errors)

    return finish, stiff_groups(build.rows)


def _as_expression(item: Any) -> Expression:
    return item if isinstance(item, Expression) else constant(float(item))
