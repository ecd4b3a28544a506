"""Where an expression, or a derivative of it, may jump: functions whose zeros are those places."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from flexmbs.expressions.tree import Expression, Node

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def switching_functions(expression: Expression) -> list[Expression]:
    """Expressions whose zeros are the places where the given one, or a derivative of it, may jump."""
    found: dict[Node, None] = {}
    for node in _parts(expression.tree, expression):
        for tree in _switches(node):
            if any(part.op == "name" for part in tree.walk()):
                found.setdefault(tree)
    return [replace(expression, tree=tree, text="switch of " + expression.text) for tree in found]


def _parts(node: Node, expression: Expression) -> Iterator[Node]:
    """All nodes, save what turns the argument of a periodic table back: the table goes on smoothly there."""
    yield node
    if node.op == "table" and expression.tables[node.text].periodic:
        return
    for arg in node.args:
        yield from _parts(arg, expression)


def _switches(node: Node) -> list[Node]:
    if node.op in _COMPARISONS:
        return [Node("sub", node.args)]
    if node.op in ("abs", "sign"):
        return [node.args[0]]
    if node.op in ("min", "max"):
        return [Node("sub", (a, b)) for k, a in enumerate(node.args) for b in node.args[k + 1 :]]
    if node.op in ("floor", "mod"):  # zero at every whole number
        ratio = node.args[0] if node.op == "floor" else Node("div", node.args)
        return [Node("sin", (Node("mul", (Node("const", value=math.pi), ratio)),))]
    if node.op == "where" and node.args[0].op not in (*_COMPARISONS, "and", "or", "not"):
        return [node.args[0]]
    return []
