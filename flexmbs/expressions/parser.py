"""Text -> checked tree. Python's parser reads the text, an allow-list rebuilds the tree; nothing is run."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from flexmbs.errors import nearest
from flexmbs.expressions.tree import Expression, ExpressionError, Node, Spline, fold

MAX_LENGTH = 4000
MAX_NODES = 1000
MAX_DEPTH = 40

#: function -> number of arguments it takes (least, most)
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys("sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs sign floor".split(), (1, 1)),
    "atan2": (2, 2),
    "mod": (2, 2),
    "min": (1, 20),
    "max": (1, 20),
    "where": (3, 3),
    "step": (5, 5),
    "table": (2, 2),
}
CONSTANTS = {"pi": math.pi}

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
_COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def parse(text: str, *, load_table: Callable[[str], Spline] | None = None) -> Expression:
    """Parse an expression (a leading `=` is dropped); raises `ExpressionError`.

    `load_table` reads the file of a `table("file.csv", x)`; without it tables are refused.
    """
    return _parse(text, load_table) if "table" in text else _known(text)


@lru_cache(maxsize=4096)
def _known(text: str) -> Expression:
    """An expression without tables; cases that differ in a parameter have the same ones."""
    return _parse(text, None)


def _parse(text: str, load_table: Callable[[str], Spline] | None) -> Expression:
    body = text.strip()
    lead = len(text) - len(text.lstrip())
    if body.startswith("="):
        stripped = body[1:].lstrip()
        lead += len(body) - len(stripped)
        body = stripped
    if len(body) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters")
    if not body:
        raise ExpressionError("empty expression")
    builder = _Builder(lead, load_table)
    tree = builder.build(_python_tree(body, lead), 0)
    return Expression(body, fold(tree, builder.tables), builder.tables)


def _python_tree(body: str, lead: int) -> ast.expr:
    depth = deepest = 0
    for char in body:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise ExpressionError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "1is 2" and the like: syntax warnings of Python
            return ast.parse(body.replace("\n", " "), mode="eval").body
    except SyntaxError as error:
        column = lead + max((error.offset or 1) - 1, 0)
        raise ExpressionError("not an expression: " + _plain_syntax(error, body), column) from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError(f"not an expression: {error or 'nested too deeply'}") from None


def _plain_syntax(error: SyntaxError, body: str) -> str:
    if error.msg.startswith("invalid syntax"):
        rest = body[max((error.offset or 1) - 1, 0) :].strip()
        return f'invalid syntax at "{rest[:20]}"' if rest else "invalid syntax at its end"
    return error.msg.split(". ")[0]


class _Builder:
    """Rebuilds the allowed part of Python's tree, and names the rest."""

    def __init__(self, lead: int, load_table: Callable[[str], Spline] | None) -> None:
        self.lead = lead
        self.load_table = load_table
        self.tables: dict[str, Spline] = {}
        self.count = 0

    def fail(self, what: str, node: ast.AST) -> ExpressionError:
        return ExpressionError(what, self.column(node))

    def column(self, node: ast.AST) -> int:
        return self.lead + int(getattr(node, "col_offset", 0))

    def build(self, node: ast.expr, depth: int) -> Node:
        self.count += 1
        if self.count > MAX_NODES or depth > 4 * MAX_DEPTH:
            raise ExpressionError(f"more than {MAX_NODES} operations, or nested too deeply")
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise self.fail(f"{_spell(node)} is not allowed in an expression", node)
        return method(node, depth + 1)

    def on_Constant(self, node: ast.Constant, depth: int) -> Node:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self.fail(f"{node.value!r} is no number", node)
        try:
            value = float(node.value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.fail("the number is too large", node)
        return Node("const", value=value, column=self.column(node))

    def on_BinOp(self, node: ast.BinOp, depth: int) -> Node:
        op = _BINARY.get(type(node.op))
        if op is None:
            hint = "; powers are written **" if isinstance(node.op, ast.BitXor) else ""
            raise self.fail(f"this operator is not allowed, only + - * / **{hint}", node)
        args = (self.build(node.left, depth), self.build(node.right, depth))
        return Node(op, args, column=self.column(node))

    def on_UnaryOp(self, node: ast.UnaryOp, depth: int) -> Node:
        arg = self.build(node.operand, depth)
        if isinstance(node.op, ast.UAdd):
            return arg
        if isinstance(node.op, ast.Invert):
            raise self.fail("the operator ~ is not allowed", node)
        return Node("neg" if isinstance(node.op, ast.USub) else "not", (arg,), column=self.column(node))

    def on_BoolOp(self, node: ast.BoolOp, depth: int) -> Node:
        op = "and" if isinstance(node.op, ast.And) else "or"
        args = tuple(self.build(value, depth) for value in node.values)
        return Node(op, args, column=self.column(node))

    def on_Compare(self, node: ast.Compare, depth: int) -> Node:
        sides = [self.build(item, depth) for item in (node.left, *node.comparators)]
        parts = []
        for k, operator in enumerate(node.ops):
            op = _COMPARE.get(type(operator))
            if op is None:
                raise self.fail("only the comparisons < <= > >= == != are allowed", node)
            parts.append(Node(op, (sides[k], sides[k + 1]), column=self.column(node)))
        return parts[0] if len(parts) == 1 else Node("and", tuple(parts), column=self.column(node))

    def on_Name(self, node: ast.Name, depth: int) -> Node:
        if node.id in CONSTANTS:
            return Node("const", value=CONSTANTS[node.id], column=self.column(node))
        if node.id in FUNCTIONS:
            raise self.fail(f'"{node.id}" is a function: {node.id}(...)', node)
        return Node("name", text=node.id, column=self.column(node))

    def on_Attribute(self, node: ast.Attribute, depth: int) -> Node:
        base = self.build(node.value, depth)
        if base.op != "name" or base.index:
            raise self.fail(f'".{node.attr}" may only follow a name', node)
        return replace(base, text=f"{base.text}.{node.attr}")

    def on_Subscript(self, node: ast.Subscript, depth: int) -> Node:
        base = self.build(node.value, depth)
        index = self.build(node.slice, depth)
        if index.op == "neg" and index.args[0].op == "const":
            index = Node("const", value=-index.args[0].value)
        if base.op != "name" or index.op != "const" or index.value != int(index.value):
            raise self.fail("[...] picks a component of a channel by a whole number", node)
        return replace(base, index=(*base.index, int(index.value)))

    def on_Call(self, node: ast.Call, depth: int) -> Node:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in FUNCTIONS:
            shown = name or ast.unparse(node.func)
            raise self.fail(f'unknown function "{shown}"; {nearest(shown, list(FUNCTIONS))}', node)
        low, high = FUNCTIONS[name]
        if node.keywords or not low <= len(node.args) <= high:
            wanted = str(low) if low == high else f"{low} to {high}"
            raise self.fail(f"{name}() takes {wanted} arguments", node)
        if name == "table":
            return self.table(node, depth)
        args = tuple(self.build(arg, depth) for arg in node.args)
        return Node(name, args, column=self.column(node))

    def table(self, node: ast.Call, depth: int) -> Node:
        file = node.args[0]
        if not (isinstance(file, ast.Constant) and isinstance(file.value, str)):
            raise self.fail('table() is written table("file.csv", x)', node)
        if self.load_table is None:
            raise self.fail("table() cannot be used here", node)
        if file.value not in self.tables:
            try:
                self.tables[file.value] = self.load_table(file.value)
            except ExpressionError as error:
                raise self.fail(str(error), file) from None
        return Node("table", (self.build(node.args[1], depth),), text=file.value, column=self.column(node))


def _spell(node: ast.AST) -> str:
    words = {
        "Lambda": "a lambda",
        "IfExp": '"if ... else" (use where(condition, a, b))',
        "List": "a list",
        "Tuple": "a tuple (a comma outside a function)",
        "Dict": "a dictionary",
        "Set": "a set",
        "JoinedStr": "a string",
        "NamedExpr": "an assignment",
        "Slice": "a range of indices",
    }
    return words.get(type(node).__name__, type(node).__name__)
