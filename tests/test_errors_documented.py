"""docs/errors.md names every code that the source can give, and none that it cannot."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "errors.md"
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
CARRIERS = {"Diagnostic", "error", "warn"}
#: codes put together from parts; `made_codes` knows what each can become
FORMS = {
    "'missing.' + extra",
    "f'solver.{code}'",
    "f'{self.kind}.type'",
    "context['code']",
}


@cache
def trees() -> list[tuple[str, ast.Module]]:
    files = sorted((ROOT / "flexmbs").rglob("*.py"))
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))) for path in files]


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def written_codes(tree: ast.Module) -> Iterator[str]:
    """Codes that stand as texts: first argument of a finding, `code=`, and defaults of `code`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if called(node) in CARRIERS and node.args:
                text = text_of(node.args[0])
                if text is not None and CODE.fullmatch(text):
                    yield text
            for keyword in node.keywords:
                if keyword.arg == "code" and (text := text_of(keyword.value)) is not None:
                    yield text
        elif isinstance(node, ast.FunctionDef):
            positional = node.args.posonlyargs + node.args.args
            with_default = positional[len(positional) - len(node.args.defaults) :]
            pairs = [*zip(with_default, node.args.defaults, strict=True)]
            pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d]
            for argument, default in pairs:
                if argument.arg == "code" and (text := text_of(default)) is not None:
                    yield text


def of_inputs(node: ast.expr) -> str:
    """The text of `f"{source.kind}.value"`, of which cases and recipes have one each."""
    text = ast.unparse(node)
    return text[2:-1] if text.startswith("f'{source.kind}.") else ""


def made_codes(tree: ast.Module) -> Iterator[str]:
    """Codes that are put together: missing extras, kinds of registries, reasons of integrators."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "missing_component" and len(node.args) == 3:
            yield f"missing.{text_of(node.args[2])}"
        elif (
            isinstance(node, ast.Call) and called(node) in CARRIERS and node.args and of_inputs(node.args[0])
        ):
            yield from (of_inputs(node.args[0]).replace("{source.kind}", kind) for kind in ("case", "recipe"))
        elif isinstance(node, ast.Call) and called(node) == "Registry" and node.args:
            yield f"{text_of(node.args[0])}.type"
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REASONS":
            assert isinstance(node.value, ast.Dict)
            for value in node.value.values:
                assert isinstance(value, ast.Tuple)
                yield f"solver.{text_of(value.elts[0])}"


def named_codes(tree: ast.Module) -> Iterator[str]:
    """Codes that a function names first, `where = "analysis.step"`, and gives to a finding then."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = {name for name, _ in variables(function)}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    for target, value in assigned(node):
                        if target in names and (text := text_of(value)) is not None:
                            yield text


def variables(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Variables that stand for the code of a finding."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "Diagnostic" and node.args:
            if isinstance(node.args[0], ast.Name):
                yield node.args[0].id, node.lineno


def assigned(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Names and values of `a = 1` and `a, b = 1, 2`."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for left, right in zip(target.elts, node.value.elts, strict=False):
                if isinstance(left, ast.Name):
                    yield left.id, right


def source_codes() -> set[str]:
    makers = (written_codes, made_codes, named_codes)
    return {code for _, tree in trees() for maker in makers for code in maker(tree)}


def page_codes() -> list[str]:
    cells = [line.split("|")[1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


def test_every_code_of_the_source_is_on_the_page() -> None:
    missing = sorted(source_codes() - set(page_codes()))
    assert not missing, "add to docs/errors.md: " + ", ".join(missing)


def test_every_code_on_the_page_is_in_the_source() -> None:
    stale = sorted(set(page_codes()) - source_codes())
    assert not stale, "remove from docs/errors.md: " + ", ".join(stale)


def test_no_code_stands_twice() -> None:
    codes = page_codes()
    twice = sorted({code for code in codes if codes.count(code) > 1})
    assert not twice, ", ".join(twice)


def test_codes_made_from_parts_are_known() -> None:
    """A form that `made_codes` does not know would escape the page."""
    unknown = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) == "Diagnostic" and node.args:
                first = node.args[0]
                if text_of(first) is None and not isinstance(first, ast.Name | ast.Attribute):
                    form = ast.unparse(first)
                    if form not in FORMS and not of_inputs(first):
                        unknown.append(f"{path}:{node.lineno} {form}")
    assert not unknown, "\n".join(unknown)
