"""[sweep] -> designs: the values of what varies, one dictionary per run."""

from __future__ import annotations

import csv
import itertools
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.case import Case
from flexmbs.case.schema.sweep import Sample, Spread, Sweep
from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import ExpressionError, parse
from flexmbs.units import UnitError, parse_quantity

Floats = NDArray[np.float64]
Design = dict[str, Any]

#: as many designs as one study may have
MOST = 10_000_000
#: samples stay this far from the ends of [0, 1], where distributions without bounds are infinite
EDGE = 1e-12


def designs(case: Case) -> list[Design]:
    """All designs of the [sweep] of a case, in a fixed order."""
    table = case.spec.sweep
    assert table is not None
    if table.grid is not None:
        names, values = list(table.grid), list(table.grid.values())
        if np.prod([float(len(item)) for item in values]) > MOST:
            raise _wrong(case, ("sweep", "grid"), f"has more than {MOST} combinations", "take samples")
        found = [dict(zip(names, row, strict=True)) for row in itertools.product(*values)]
    elif table.zip is not None:
        found = [dict(zip(table.zip, row, strict=True)) for row in zip(*table.zip.values(), strict=True)]
    elif table.table is not None:
        found = _rows_of(case, table.table)
    else:
        assert table.sample is not None
        rows = samples(table.sample)
        found = [dict(zip(table.sample.parameters, map(float, row), strict=True)) for row in rows]
    return _kept(case, table, found)


def _wrong(case: Case, place: tuple[Any, ...], what: str, remedy: str = "") -> InputError:
    return InputError(Diagnostic("study.designs", case.source.where(place), what, remedy))


def _rows_of(case: Case, name: str) -> list[Design]:
    """Rows of a CSV or parquet file; its columns are named like what varies."""
    place = ("sweep", "table")
    path = case.source.file(place, name)
    if path.suffix == ".parquet":
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise _wrong(
                case, place, f"{name} needs pyarrow", "pip install pyarrow, or take a CSV file"
            ) from None
        rows = parquet.read_table(path).to_pylist()
    else:
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = list(csv.DictReader(file, strict=True))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise _wrong(case, place, f"{name} cannot be read: {error}") from None
    for k, row in enumerate(rows):
        if any(key is None or value is None or value == "" for key, value in row.items()):
            raise _wrong(case, place, f"{name}: row {k + 1} has not one value for every column")
    known = set(case.parameters)
    for key in rows[0] if rows else ():
        if key not in known and "." not in key:
            raise _wrong(case, place, f'{name}: there is no parameter "{key}"', f"known: {', '.join(known)}")
    return [{key: _number(value) for key, value in row.items()} for row in rows]


def _number(value: Any) -> Any:
    """Numbers as numbers; everything else as it stands, to be read like a value of the file."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _kept(case: Case, table: Sweep, found: list[Design]) -> list[Design]:
    """Those that meet every condition of `where`."""
    for k, text in enumerate(table.where):
        place = ("sweep", "where", k)
        try:
            law = parse(text.lstrip().removeprefix("="))
            found = [item for item in found if law.evaluate(partial(_value, case, item))]
        except ExpressionError as error:
            raise _wrong(case, place, f"sweep.where[{k}]: {error}") from None
    if not found:
        raise _wrong(case, ("sweep",), "there is no design", "widen what varies, or the conditions")
    return found


def _value(case: Case, design: Design, node: Any) -> float:
    """Value of a name in a condition: what varies, else a parameter of the case."""
    if node.text not in design and node.text not in case.parameters:
        raise ExpressionError(f'"{node.text}" is no parameter', node.column)
    value: Any = design.get(node.text, case.parameters.get(node.text))
    try:
        return float(parse_quantity(value).value if isinstance(value, str) else value)
    except (UnitError, TypeError, ValueError):
        raise ExpressionError(f'"{node.text}" is no number here', node.column) from None


def samples(table: Sample) -> Floats:
    """Values (design, parameter): points of the unit cube through the inverse distributions."""
    k = len(table.parameters)
    if table.method == "morris":
        cube = morris(k, table.n, table.levels, table.seed)
    elif table.method == "saltelli":
        cube = saltelli(k, table.n, table.seed)
    else:
        cube = _cube(table.method, k, table.n, table.seed)
    if table.correlation:
        cube = _related(table, cube)
    return np.column_stack(
        [_inverse(spread, cube[:, j]) for j, spread in enumerate(table.parameters.values())]
    )


def _stats() -> Any:
    """Loaded where samples are drawn: it takes a second."""
    return import_module("scipy.stats")


def _cube(method: str, k: int, n: int, seed: int) -> Floats:
    """Points of the unit cube."""
    random = np.random.default_rng(seed)
    if method == "random":
        return random.random((n, k))
    qmc = _stats().qmc
    engine = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}[method](k, seed=random)
    if method == "sobol":  # balanced at powers of two; others are cut off
        return np.asarray(engine.random_base2(max(int(n - 1).bit_length(), 0)))[:n]
    return np.asarray(engine.random(n))


def _related(table: Sample, cube: Floats) -> Floats:
    """Correlate the normal scores of the columns (Gaussian copula)."""
    names = list(table.parameters)
    R = np.eye(len(names))
    for item in table.correlation:
        i, j = (names.index(name) for name in item.parameters)
        R[i, j] = R[j, i] = float(item.value)
    try:
        L = np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        what = "sweep.sample.correlation: no parameters are correlated like this"
        raise InputError(
            Diagnostic("study.correlation", "sweep.sample", what, "make the values smaller")
        ) from None
    norm = _stats().norm
    scores = norm.ppf(np.clip(cube, EDGE, 1.0 - EDGE))
    return np.asarray(norm.cdf(scores @ L.T))


def _inverse(spread: Spread, u: Floats) -> Floats:
    """Inverse distribution function; `within` cuts the distribution off and scales the rest up."""
    a, stats = spread.numbers, _stats()
    if spread.kind == "uniform":
        law: Any = stats.uniform(a[0], a[1] - a[0])
    elif spread.kind == "normal":
        law = stats.norm(a[0], a[1])
    elif spread.kind == "lognormal":
        law = stats.lognorm(a[1], scale=a[0])
    elif spread.kind == "triangular":
        law = stats.triang((a[1] - a[0]) / (a[2] - a[0]), a[0], a[2] - a[0])
    else:
        law = stats.weibull_min(a[1], scale=a[0])
    low, high = law.cdf([float(item) for item in spread.within]) if spread.within is not None else (0.0, 1.0)
    inner = np.clip(u, EDGE, 1.0 - EDGE) if spread.kind != "uniform" else u
    return np.asarray(law.ppf(low + (high - low) * inner))


def morris(k: int, trajectories: int, levels: int, seed: int) -> Floats:
    """Trajectories of k + 1 points on a grid of `levels`; from one point to the next one parameter moves."""
    rng, step = np.random.default_rng(seed), levels / (2.0 * (levels - 1.0))
    low = np.arange(levels // 2) / (levels - 1.0)
    rows = []
    for _ in range(trajectories):
        up = rng.random(k) < 0.5
        point = np.where(up, rng.choice(low, k), rng.choice(low, k) + step)
        rows.append(point.copy())
        for j in rng.permutation(k):
            point[j] += step if up[j] else -step
            rows.append(point.copy())
    return np.clip(np.array(rows), 0.0, 1.0)


def saltelli(k: int, n: int, seed: int) -> Floats:
    """n blocks of A, B and the k points of A with one column of B: for Sobol's indices."""
    both = _cube("sobol", 2 * k, n, seed)
    blocks = []
    for a, b in zip(both[:, :k], both[:, k:], strict=True):
        mixed = np.where(np.eye(k, dtype=bool), b, a)
        blocks.append(np.vstack([a, b, mixed]))
    return np.concatenate(blocks)
