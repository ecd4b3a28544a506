"""Arrays by their symbols for people: tables that fit a terminal, LaTeX, MathML for notebooks and reports."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.by_symbol import HEAD, Matrices
from flexmbs.dynamics.symbol_files import whole
from flexmbs.dynamics.symbols import Symbol, Symbols
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.post.mathml import formula, number
from flexmbs.results import Result

Array = NDArray[np.float64]

#: all digits that a number has
ALL = 17
#: what is below this part of the largest entry is rounding of it, and printed as zero
ROUNDING = 1e-14
NARROWEST = 40


def explained(case: Any, options: Any, progress: Any = None) -> tuple[str, list[str]]:
    """What `flexmbs check --explain` shows and writes, by the options of the command; text and lines."""
    digits = ALL if options.digits == "all" else _digits(options.digits)
    result = Result.load(options.result) if options.result else None
    found = case.explain(options.at, result, rotations=options.rotation, progress=progress)
    analysis = case.spec.analysis
    form = analysis.formulation if analysis is not None else "recursive"
    forms = [form] if options.body is None else []
    said = text(found, forms, bodies=options.body, digits=digits)
    if options.save:
        lost = found.save(options.save, bodies=options.body, overwrite=options.overwrite)
        said = [*said, *lost, f"written {options.save}"]
    if options.latex:
        return document(found, forms, options.body, digits), said
    return "\n".join(said), said


def _digits(word: str) -> int:
    if word.isdigit() and 0 < int(word) <= ALL:
        return int(word)
    what = f'"{word}" is no number of digits'
    raise UsageError(Diagnostic("usage.digits", "--digits", what, f"give 1 to {ALL}, or all"))


def text(
    found: Matrices, forms: Iterable[str] = (), *, bodies: Iterable[str] | None = None, digits: int = 6
) -> list[str]:
    """Lines with all arrays of a state; `forms`: "minimal" and "descriptor" where they are wanted too."""
    lines = [f"t = {found.t:.6g} s. {HEAD}", ""]
    for item in chosen(found, forms, bodies):
        lines += [item if isinstance(item, str) else line for line in _lines_of(item, digits)] + [""]
    return lines


def chosen(found: Matrices, forms: Iterable[str], bodies: Iterable[str] | None) -> Iterator[Symbols | str]:
    """Groups that are shown: of rigid bodies the blocks of M say nothing new, unless they were asked for."""
    for path, group in found.groups(bodies):
        rigid = path.count("/") == 2 and not group["m_ff"].size
        if not rigid or found.rotations:
            yield group
    lost: list[str] = []
    for form, group in whole(found, lost):
        if form in forms:
            yield group
    yield from (text for text in lost if text.split()[0] in forms)


def _lines_of(item: Symbols | str, digits: int) -> list[str]:
    return [item] if isinstance(item, str) else group_lines(item, digits)


def group_lines(group: Symbols, digits: int = 6, width: int = 0) -> list[str]:
    """Title and tables of arrays that belong together."""
    found = [group.title]
    for item in group.symbols():
        found += ["  " + line for line in lines(item, digits, (width or terminal()) - 2)]
    return found


def terminal() -> int:
    """Columns of the terminal."""
    return max(shutil.get_terminal_size((120, 24)).columns, NARROWEST)


def lines(item: Symbol, digits: int = 6, width: int = 0) -> list[str]:
    """Symbol, equation, meaning, and the numbers as a table with the names of rows and columns."""
    n = item.notation
    head = f"{n.text} ({n.equation}) {n.what}" if n.equation else f"{n.text} {n.what}"
    if not item.value.size:
        return [f"{head}: (none)"]
    value = clean(item.value)
    if not value.any() and value.size > 1:
        return [f"{head}: 0, {' x '.join(map(str, value.shape))}"]
    if value.ndim == 0:
        return [f"{head}: {cell(float(value), digits).strip()}"]
    found = [head]
    for label, part, rows, columns in parts(item, value):
        found += [f"  {n.text.removesuffix('^kl')}^{label}"] if label else []
        found += ["  " + line for line in table(part, rows, columns, digits, (width or terminal()) - 2)]
    return found


def parts(item: Symbol, value: Array) -> Iterator[tuple[str, Array, tuple[str, ...], tuple[str, ...]]]:
    """An array as matrices: those with indices k, l are one row, or one matrix, for each pair of axes."""
    pairs = [a + b for a in "xyz" for b in "xyz"]
    if value.ndim == 4:
        for k, pair in enumerate(pairs):
            yield pair, value[k // 3, k % 3], (), ()
    elif value.ndim == 3:
        yield "", value.reshape(9, -1), tuple(pairs), ()
    elif value.ndim == 1:
        yield "", value[:, None], item.rows, ()
    else:
        yield "", value, item.rows, item.columns


def table(
    value: Array, rows: tuple[str, ...], columns: tuple[str, ...], digits: int, width: int
) -> list[str]:
    """A matrix by blocks of columns that fit the width; a single column goes across, with its names."""
    if value.shape[1] == 1:
        pairs = [f"{name} = " for name in rows] if rows else [""] * len(value)
        return across([p + cell(x, digits).strip() for p, x in zip(pairs, value[:, 0], strict=True)], width)
    side = max(map(len, rows), default=0)
    texts = [[cell(x, digits).strip() for x in row] for row in value]
    sizes = [
        max(len(name), *(len(row[k]) for row in texts))
        for k, name in enumerate(columns or [""] * value.shape[1])
    ]
    found = []
    for block in blocks(sizes, width - side - 2):
        if columns:
            found.append(" " * side + "".join(f"  {columns[k]:>{sizes[k]}}" for k in block))
        for n, row in enumerate(texts):
            name = rows[n] if rows else ""
            found.append(f"{name:<{side}}" + "".join(f"  {row[k]:>{sizes[k]}}" for k in block))
    return found


def blocks(sizes: list[int], width: int) -> Iterator[list[int]]:
    """Columns side by side, as many as fit; one at least."""
    block: list[int] = []
    used = 0
    for k, size in enumerate(sizes):
        if block and used + size + 2 > width:
            yield block
            block, used = [], 0
        block.append(k)
        used += size + 2
    yield block


def across(words: list[str], width: int) -> list[str]:
    """Words in as many equal columns as fit."""
    size = max(map(len, words), default=0)
    each = max(1, (width + 2) // (size + 2))
    return [
        "  ".join(word.ljust(size) for word in words[k : k + each]).rstrip()
        for k in range(0, len(words), each)
    ]


def cell(value: float, digits: int) -> str:
    """A number with so many digits; with ALL it reads back as it is."""
    return repr(float(value)) if digits >= ALL else f"{value:.{digits}g}"


def clean(value: Array) -> Array:
    """Values without what is only rounding of the largest of them."""
    return np.where(np.abs(value) > ROUNDING * np.abs(value).max(initial=0.0), value, 0.0)


def latex(item: Symbol, digits: int = 6) -> str:
    """`symbol = numbers` for amsmath, without the surrounding dollar signs."""
    n, value = item.notation, clean(item.value)
    if not value.size:
        return f"% {n.text}: empty"
    found = []
    for label, part, _, _ in parts(item, value) if value.ndim else [("", value.reshape(1, 1), (), ())]:
        symbol = n.latex.replace("{kl}", f"{{{label}}}") if label else n.latex
        body = " \\\\\n".join(" & ".join(tex_number(cell(x, digits)) for x in row) for row in part)
        matrix = (
            body
            if part.size == 1
            else f"\\left[\\begin{{array}}{{{'r' * part.shape[1]}}}\n{body}\n\\end{{array}}\\right]"
        )
        found.append(f"\\[ {symbol} = {matrix} \\]")
    return "\n".join(found)


def tex_number(word: str) -> str:
    """1.5e-07 as 1.5 * 10^-7."""
    mantissa, e, exponent = word.strip().partition("e")
    return f"{mantissa}\\cdot 10^{{{int(exponent)}}}" if e else mantissa


def document(found: Matrices, forms: Iterable[str], bodies: Iterable[str] | None, digits: int) -> str:
    """All arrays as a LaTeX document that compiles by itself."""
    out = ["\\documentclass{article}", "\\usepackage{amsmath}", "\\begin{document}", "\\allowdisplaybreaks"]
    for group in chosen(found, forms, bodies):
        if isinstance(group, str):
            out.append(tex_text(group))
            continue
        out.append(f"\\subsection*{{{tex_text(group.title)}}}")
        for item in group.symbols():
            n = item.notation
            out.append(tex_text(f"{n.what} ({n.equation})" if n.equation else n.what))
            out.append("{\\footnotesize" + latex(item, digits) + "}")
    return "\n".join([*out, "\\end{document}", ""])


def tex_text(text: str) -> str:
    """Text with the signs that TeX keeps for itself."""
    for sign in ("\\", "{", "}", "#", "$", "%", "&", "_"):
        text = text.replace(sign, "\\textbackslash " if sign == "\\" else "\\" + sign)
    return text.replace("^", "\\^{}").replace("~", "\\~{}")


def html(item: Symbol, digits: int = 6) -> str:
    """Symbol and numbers in MathML, which browsers and notebooks typeset by themselves."""
    n, value = item.notation, clean(item.value)
    what = escape(f"{n.what} ({n.equation})" if n.equation else n.what)
    shown = []
    for label, part, rows, columns in (
        parts(item, value) if value.ndim else [("", value.reshape(1, 1), (), ())]
    ):
        symbol = n.latex.replace("{kl}", f"{{{label}}}") if label else n.latex
        shown.append(
            formula(
                f"{symbol} =", matrix(part, rows, columns, digits) if part.size else "<mtext>(none)</mtext>"
            )
        )
    return f"<div style='overflow-x:auto'>{' '.join(shown)} <span style='color:gray'>{what}</span></div>"


def matrix(part: Array, rows: tuple[str, ...], columns: tuple[str, ...], digits: int) -> str:
    """A matrix in brackets; every entry tells its row and column when pointed at."""

    def told(i: int, k: int) -> str:
        names = [names[n] for names, n in ((rows, i), (columns, k)) if n < len(names)]
        return f' title="{escape(", ".join(names))}"' if names else ""

    if part.size == 1:
        return number(cell(float(part.flat[0]), digits))
    body = "".join(
        "<mtr>"
        + "".join(f"<mtd{told(i, k)}>{number(cell(x, digits))}</mtd>" for k, x in enumerate(row))
        + "</mtr>"
        for i, row in enumerate(part)
    )
    bars = "border: solid currentColor; border-width: 0 1px; border-radius: 5px; padding: 1px 4px"
    return f'<mtable style="{bars}">{body}</mtable>'  # fonts without long brackets draw none


def group_html(group: Symbols, digits: int = 6) -> str:
    """Title and formulas of arrays that belong together."""
    return f"<h4>{escape(group.title)}</h4>" + "".join(html(item, digits) for item in group.symbols())


def page(found: Any, forms: Iterable[str] = (), bodies: Iterable[str] | None = None, digits: int = 6) -> str:
    """All arrays of a state as HTML, body by body, to be unfolded."""
    out = [f"<p>{escape(HEAD)}. t = {found.t:.6g} s</p>"]
    for group in chosen(found, forms, bodies):
        if isinstance(group, str):
            out.append(f"<p>{escape(group)}</p>")
        else:
            inside = "".join(html(item, digits) for item in group.symbols())
            out.append(f"<details><summary>{escape(group.title)}</summary>{inside}</details>")
    return "".join(out)
