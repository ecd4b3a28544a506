"""Expressions of case files and recipes: text -> checked tree -> number, array, or postfix table.

    expression = parse("=2*sin(w*t)").substitute({"w": 3.0})
    table = compile_table([expression], {"t": 0})

Names in the expressions of a model are complete channel names: see `flexmbs/channels.py`.
Nothing is ever evaluated as Python. `machine.evaluate` is the kernel: value and two time derivatives.
"""

from flexmbs.expressions.files import confined, read_rows, read_table, table_loader
from flexmbs.expressions.parser import FUNCTIONS, parse
from flexmbs.expressions.tree import (
    Expression,
    ExpressionError,
    Node,
    Spline,
    constant,
    periodic_spline,
    repeated,
    spline_through,
)

__all__ = [
    "FUNCTIONS",
    "Expression",
    "ExpressionError",
    "Node",
    "Spline",
    "confined",
    "constant",
    "parse",
    "periodic_spline",
    "read_rows",
    "read_table",
    "repeated",
    "spline_through",
    "table_loader",
]
