"""Expressions as a postfix table of numbers, the form that the kernels read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.tree import Expression, ExpressionError, Node

#: rows of the `stack` that the caller of `evaluate` provides, shape (STACK, 3)
STACK = 48

_UNARY = (
    "neg", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt",
    "abs", "sign", "floor", "smooth", "not",
)  # fmt: skip
_BINARY = (
    "add", "sub", "mul", "div", "pow", "atan2", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "and", "or",
)  # fmt: skip
_OPCODES = {name: code for code, name in enumerate(("const", "slot", "table", "where", *_UNARY, *_BINARY))}

CONST, SLOT, TABLE, WHERE = 0, 1, 2, 3
NEG, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, EXP, LOG, SQRT = range(4, 17)
ABS, SIGN, FLOOR, SMOOTH, NOT = range(17, 22)
ADD, SUB, MUL, DIV, POW, ATAN2, MIN, MAX, LT, LE, GT, GE, EQ, NE, AND, OR = range(22, 38)


class ExpressionTable(NamedTuple):
    """Many expressions as flat arrays: expression k is `code[start[k]:start[k + 1]]`."""

    code: NDArray[np.int64]  # (n, 2): operation, argument
    start: NDArray[np.int64]  # (n_expressions + 1,)
    const: NDArray[np.float64]
    spline_start: NDArray[np.int64]  # (n_splines + 1,) into the breakpoints
    spline_x: NDArray[np.float64]
    spline_c: NDArray[np.float64]  # (6, n): coefficients of the piece that begins at each breakpoint, quintic


def compile_table(expressions: Sequence[Expression], slots: Mapping[str, int]) -> ExpressionTable:
    """Postfix table of expressions; `slots` maps the names they use (with indices) to places in `x`.

    Slot 0 is the time by convention: x[0] = t, x_dot[0] = 1, x_ddot[0] = 0.
    """
    compiler = _Compiler(slots)
    start = [0]
    for expression in expressions:
        compiler.add(expression)
        start.append(len(compiler.code))
    xs = [spline.x for spline in compiler.splines]
    pieces = [np.pad(spline.c, ((6 - len(spline.c), 0), (0, 1))) for spline in compiler.splines]
    return ExpressionTable(
        np.array(compiler.code, dtype=np.int64).reshape(-1, 2),
        np.array(start, dtype=np.int64),
        np.array(compiler.const, dtype=np.float64),
        np.cumsum([0, *map(len, xs)]).astype(np.int64),
        np.concatenate([*xs, np.zeros(0)]),
        np.ascontiguousarray(np.concatenate([*pieces, np.zeros((6, 0))], axis=1)),
    )


class _Compiler:
    def __init__(self, slots: Mapping[str, int]) -> None:
        self.slots = slots
        self.code: list[tuple[int, int]] = []
        self.const: list[float] = []
        self.splines: list[Any] = []

    def add(self, expression: Expression) -> None:
        self.tables = expression.tables
        if _depth(expression.tree) > STACK - 4:
            raise ExpressionError("nested too deeply", expression.tree.column)
        self.emit(expression.tree)

    def emit(self, node: Node) -> None:
        node = _expand(node)
        for arg in node.args:
            self.emit(arg)
        self.code.append((_OPCODES[_KIND.get(node.op, node.op)], self.argument(node)))

    def argument(self, node: Node) -> int:
        if node.op == "const":
            self.const.append(node.value)
            return len(self.const) - 1
        if node.op == "name":
            if node.label not in self.slots:
                raise ExpressionError(f'unknown name "{node.label}"', node.column)
            return self.slots[node.label]
        if node.op == "table":
            self.splines.append(self.tables[node.text])
            return len(self.splines) - 1
        return 0


_KIND = {"name": "slot"}


def _expand(node: Node) -> Node:
    """Functions that are made of simpler ones."""
    a = node.args
    if node.op in ("min", "max", "and", "or"):
        if len(a) == 1:
            raise ExpressionError(
                f"{node.op}() of one argument is taken over time: only in [metrics] and [expected]",
                node.column,
            )
        return node if len(a) == 2 else Node(node.op, (Node(node.op, a[:-1]), a[-1]))
    if node.op == "mod":  # a - b floor(a/b)
        return Node("sub", (a[0], Node("mul", (a[1], Node("floor", (Node("div", a),))))))
    if node.op == "step":  # y0 + (y1 - y0) smooth((x - x0)/(x1 - x0))
        share = Node("div", (Node("sub", (a[0], a[1])), Node("sub", (a[3], a[1]))))
        return Node("add", (a[2], Node("mul", (Node("sub", (a[4], a[2])), Node("smooth", (share,))))))
    return node


def _depth(node: Node) -> int:
    """Rows of the stack that the evaluation needs."""
    node = _expand(node)
    return max([1, *(k + _depth(arg) for k, arg in enumerate(node.args))])
