"""The checked tree of an expression, and its evaluation with NumPy (parameters, metrics)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import nearest

Array = NDArray[np.float64]


class ExpressionError(ValueError):
    """A text that is no allowed expression; `column` counts characters from its start (0)."""

    def __init__(self, what: str, column: int = 0) -> None:
        super().__init__(what)
        self.column = column


@dataclass(frozen=True)
class Node:
    """One operation of the tree. `op`: an operator or function, "const", or "name" (a channel or parameter).

    `index` are the `[i]` behind a name; `text` is the name, or the file of a table.
    """

    op: str
    args: tuple[Node, ...] = ()
    value: float = 0.0
    text: str = ""
    index: tuple[int, ...] = ()
    column: int = 0

    def walk(self) -> Iterator[Node]:
        yield self
        for arg in self.args:
            yield from arg.walk()

    @property
    def label(self) -> str:
        """Name with its indices, as a key of slots."""
        return self.text + "".join(f"[{i}]" for i in self.index)


@dataclass(frozen=True)
class Spline:
    """Spline through a table, C2 and cubic by default: breakpoints x (n,), coefficients c (degree + 1, n-1).

    Coefficients by falling power; degree 5 at most, see `compile_table`.
    """

    x: Array
    c: Array
    periodic: bool = False

    def __call__(self, x: Any) -> Any:
        """Value; NaN outside the table, where nothing is known."""
        x = np.asarray(x, dtype=float)
        slack = 1e-9 * (self.x[-1] - self.x[0])
        k = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        d = x - self.x[k]
        y = np.zeros(np.shape(d))
        for c in self.c:
            y = y * d + c[k]
        return np.where((x >= self.x[0] - slack) & (x <= self.x[-1] + slack), y, np.nan)


def spline_through(x: Array, y: Array) -> Spline:
    """Cubic spline, not-a-knot at the ends (a line or parabola through two or three points)."""
    from scipy.interpolate import CubicSpline

    return Spline(np.ascontiguousarray(x, dtype=float), np.ascontiguousarray(CubicSpline(x, y).c))


def periodic_spline(x: Array, y: Array, degree: int = 3) -> Spline:
    """Spline of a function that is the same at both ends, as are its derivatives up to degree - 1."""
    from scipy.interpolate import PPoly, make_interp_spline

    curve = make_interp_spline(x, np.append(y[:-1], y[0]), k=degree, bc_type="periodic")
    pieces = PPoly.from_spline(curve).c[:, degree:-degree]  # less those of the knots beyond the ends
    return Spline(np.ascontiguousarray(x, dtype=float), np.ascontiguousarray(pieces), periodic=True)


def repeated(spline: Spline, name: str) -> Expression:
    """A periodic spline as an expression of x, over all x."""
    first, period = float(spline.x[0]), float(spline.x[-1] - spline.x[0])
    start = Node("const", value=first)
    turn = Node("mod", (Node("sub", (Node("name", text="x"), start)), Node("const", value=period)))
    return Expression(name, Node("table", (Node("add", (turn, start)),), text=name), {name: spline})


@dataclass(frozen=True)
class Expression:
    """A checked expression. `tables` holds the splines of its `table(...)` calls by file name.

    `dimension` is that of the unit when the text was a number with one, see `units`; `given` are the names
    that were replaced by numbers.
    """

    text: str
    tree: Node
    tables: Mapping[str, Spline] = field(default_factory=dict)
    dimension: tuple[int, int, int, int, int] | None = None
    given: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> dict[str, Node]:
        """The names (with indices) that the expression uses, each with the node where it stands first."""
        found: dict[str, Node] = {}
        for node in self.tree.walk():
            if node.op == "name":
                found.setdefault(node.label, node)
        return found

    @property
    def is_constant(self) -> bool:
        return not self.names

    def substitute(self, values: Mapping[str, float]) -> Expression:
        """Replace names by numbers (parameters) and fold what has become constant."""
        given = self.given | (values.keys() & self.names.keys())
        return replace(self, tree=fold(_substitute(self.tree, values), self.tables), given=given)

    def evaluate(self, values: Mapping[str, Any] | Callable[[Node], Any] | None = None) -> Any:
        """Value from numbers or arrays by name; `values` may be a function of the name's node."""
        if values is None:
            lookup: Callable[[Node], Any] = _no_names
        elif callable(values):
            lookup = values
        else:
            lookup = _lookup_in(values)
        if not self.tree.args:  # nothing is computed that could warn
            return _evaluate(self.tree, lookup, self.tables)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _evaluate(self.tree, lookup, self.tables)

    def number(self, values: Mapping[str, float] | None = None) -> float:
        """Value as a finite float; raises `ExpressionError` otherwise."""
        result = float(self.evaluate(values or {}))
        if not math.isfinite(result):
            raise ExpressionError(f'"={self.text}" has no finite value')
        return result


def constant(value: float) -> Expression:
    """A number as an expression."""
    return Expression(repr(float(value)), Node("const", value=float(value)))


def _substitute(node: Node, values: Mapping[str, float]) -> Node:
    if node.op == "name" and node.label in values:
        return Node("const", value=float(values[node.label]), column=node.column)
    return _with_args(node, tuple(_substitute(arg, values) for arg in node.args)) if node.args else node


def _with_args(node: Node, args: tuple[Node, ...]) -> Node:
    """The node with other arguments; itself where they are its own."""
    same = all(new is old for new, old in zip(args, node.args, strict=True))
    return node if same else replace(node, args=args)


def fold(node: Node, tables: Mapping[str, Spline]) -> Node:
    """Replace constant subtrees by their values; those without a finite value stay as they are."""
    if not node.args:
        return node
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _folded(node, tables)


def _folded(node: Node, tables: Mapping[str, Spline]) -> Node:
    if not node.args:
        return node
    args = tuple(_folded(arg, tables) for arg in node.args)
    node = _with_args(node, args)
    if all(arg.op == "const" for arg in args):
        value = float(_evaluate(node, _no_names, tables))
        if math.isfinite(value):
            return Node("const", value=value, column=node.column)
    return node


def _no_names(node: Node) -> Any:
    raise ExpressionError(f'unknown name "{node.label}"', node.column)


def _lookup_in(values: Mapping[str, Any]) -> Callable[[Node], Any]:
    def lookup(node: Node) -> Any:
        if node.label not in values:
            raise ExpressionError(
                f'unknown name "{node.label}"; {nearest(node.label, list(values))}', node.column
            )
        return values[node.label]

    return lookup


def _step(x: Any, x0: Any, y0: Any, x1: Any, y1: Any) -> Any:
    """Quintic step: value, slope and curvature are continuous, so a drive by it has no jerk impulse."""
    s = np.clip((x - x0) / (np.asarray(x1, dtype=float) - x0), 0.0, 1.0)
    return y0 + (y1 - y0) * s**3 * (10.0 + s * (6.0 * s - 15.0))


def _extreme(function: Any) -> Callable[..., Any]:
    """min, max: of several arguments elementwise, of one over its time axis (the last)."""

    def extreme(*args: Any) -> Any:
        if len(args) > 1:
            return function.reduce(np.broadcast_arrays(*args))
        return function.reduce(np.atleast_1d(args[0]), axis=-1)

    return extreme


NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "pow": lambda a, b: np.power(np.multiply(a, 1.0), b),
    "div": lambda a, b: np.divide(np.multiply(a, 1.0), b), "neg": np.negative,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal, "not": lambda a: np.asarray(a) == 0,
    "and": lambda *args: np.logical_and.reduce(args), "or": lambda *args: np.logical_or.reduce(args),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "floor": np.floor, "mod": np.mod,
    "min": _extreme(np.minimum), "max": _extreme(np.maximum), "where": np.where, "step": _step,
}  # fmt: skip


def _evaluate(node: Node, lookup: Callable[[Node], Any], tables: Mapping[str, Spline]) -> Any:
    if node.op == "const":
        return node.value
    if node.op == "name":
        return lookup(node)
    args = [_evaluate(arg, lookup, tables) for arg in node.args]
    if node.op == "table":
        return tables[node.text](args[0])
    result = NUMPY[node.op](*args)
    return result * 1.0 if result is not None and np.asarray(result).dtype == bool else result
