"""Designs against what their distributions and structures promise."""

import itertools

import numpy as np
import pytest
from scipy import stats

from flexmbs.case import Case
from flexmbs.case.schema.sweep import Sample, Spread
from flexmbs.errors import InputError
from flexmbs.study.designs import designs, morris, saltelli, samples


def case(sweep, folder="."):
    return Case.from_dict(
        {
            "parameters": {"a": 1.0, "b": "20 mm"},
            "bodies": {"ball": {"type": "rigid", "mass": "=a"}},
            "metrics": {"peak": "=max(bodies.ball.position.x)"},
            "sweep": sweep,
        },
        folder=folder,
    )


def test_a_grid_has_every_combination_and_zip_goes_value_by_value():
    found = designs(case({"grid": {"a": [1, 2], "b": ["1 mm", "2 mm", "3 mm"]}}))
    assert [(item["a"], item["b"]) for item in found] == list(
        itertools.product([1, 2], ["1 mm", "2 mm", "3 mm"])
    )
    assert designs(case({"zip": {"a": [1, 2], "b": [3, 4]}})) == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]


def test_conditions_between_parameters_read_units_and_parameters_that_do_not_vary():
    found = designs(case({"grid": {"a": [0.01, 0.015, 0.03]}, "where": ["a < b"]}))
    assert [item["a"] for item in found] == [0.01, 0.015]
    found = designs(case({"grid": {"a": [1, 2], "b": ["1500 mm", "1 m"]}, "where": ["=b > a"]}))
    assert found == [{"a": 1, "b": "1500 mm"}]
    with pytest.raises(InputError, match="there is no design"):
        designs(case({"grid": {"a": [1]}, "where": ["a < b"]}))
    with pytest.raises(InputError, match='"c" is no parameter'):
        designs(case({"grid": {"a": [1]}, "where": ["a < c"]}))


def test_rows_of_a_table_are_designs(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1.5,2 mm\n2,3 mm\n")
    found = designs(case({"table": "rows.csv"}, tmp_path))
    assert found == [{"a": 1.5, "b": "2 mm"}, {"a": 2.0, "b": "3 mm"}]
    (tmp_path / "rows.csv").write_text("a,b\n1.5\n")
    with pytest.raises(InputError, match="row 1 has not one value for every column"):
        designs(case({"table": "rows.csv"}, tmp_path))
    (tmp_path / "rows.csv").write_text("a,length\n1,2\n")
    with pytest.raises(InputError, match='there is no parameter "length"'):
        designs(case({"table": "rows.csv"}, tmp_path))


@pytest.mark.needs("pyarrow")
def test_a_parquet_table_gives_the_same_designs(tmp_path):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": [1.5, 2.0], "b": [0.002, 0.003]}), tmp_path / "r.parquet")
    assert designs(case({"table": "r.parquet"}, tmp_path))[1] == {"a": 2.0, "b": 0.003}


LAWS = {
    "uniform": ([2.0, 5.0], stats.uniform(2.0, 3.0)),
    "normal": ([3.0, 0.5], stats.norm(3.0, 0.5)),
    "lognormal": ([3.0, 0.5], stats.lognorm(0.5, scale=3.0)),
    "triangular": ([1.0, 2.0, 5.0], stats.triang(0.25, 1.0, 4.0)),
    "weibull": ([2.0, 1.5], stats.weibull_min(1.5, scale=2.0)),
}


@pytest.mark.parametrize("method", ["sobol", "halton", "latin", "random"])
@pytest.mark.parametrize("kind", LAWS)
def test_samples_have_the_distribution_that_was_asked_for(kind, method):
    numbers, law = LAWS[kind]
    table = Sample(method=method, n=512, seed=3, parameters={"x": {kind: numbers}, "y": [0.0, 1.0]})
    found = samples(table)
    assert found.shape == (512, 2)
    assert stats.kstest(found[:, 0], law.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(found, samples(table))  # the seed decides
    assert not np.array_equal(found, samples(table.model_copy(update={"seed": 4})))


def test_a_distribution_is_cut_off_within_its_bounds():
    table = Sample(n=1024, parameters={"x": {"normal": [0.0, 1.0], "within": [-1.0, 0.5]}})
    found = samples(table)[:, 0]
    assert found.min() >= -1.0 and found.max() <= 0.5
    law = stats.truncnorm(-1.0, 0.5)
    assert stats.kstest(found, law.cdf).pvalue > 1e-3


def test_correlated_parameters_keep_their_distributions():
    table = Sample(
        n=4096,
        parameters={"x": {"normal": [1.0, 2.0]}, "y": {"lognormal": [3.0, 0.2]}, "z": [0.0, 1.0]},
        correlation=[{"parameters": ["x", "y"], "value": 0.8}, {"parameters": ["y", "z"], "value": -0.3}],
    )
    x, y, z = samples(table).T
    assert np.corrcoef(x, np.log(y))[0, 1] == pytest.approx(0.8, abs=0.01)
    assert np.corrcoef(np.log(y), stats.norm.ppf(z))[0, 1] == pytest.approx(-0.3, abs=0.02)
    assert stats.kstest(y, stats.lognorm(0.2, scale=3.0).cdf).pvalue > 1e-3
    wrong = [
        {"parameters": p, "value": 0.95 * s} for p, s in ((["x", "y"], 1), (["y", "z"], 1), (["x", "z"], -1))
    ]
    with pytest.raises(InputError, match="no parameters are correlated like this"):
        samples(table.model_copy(update={"correlation": Sample.model_validate(
            table.model_dump() | {"correlation": wrong}).correlation}))  # fmt: skip


def test_one_parameter_moves_between_points_of_a_trajectory():
    points = morris(4, 10, 6, seed=2).reshape(10, 5, 4)
    moved = np.diff(points, axis=1)
    assert np.all(np.count_nonzero(np.abs(moved) > 1e-12, axis=2) == 1)
    np.testing.assert_allclose(np.abs(moved).max(axis=2), 6 / 10.0)
    assert np.all(np.count_nonzero(np.abs(moved) > 1e-12, axis=1) == 1)  # each of them once
    np.testing.assert_allclose(points * 5, np.round(points * 5), atol=1e-12)


def test_saltelli_points_give_sobols_indices_of_a_known_function():
    """f = x + 2 y + 3 x z on the unit cube: variances in closed form."""
    n, k = 4096, 3
    points = saltelli(k, n, seed=1).reshape(n, k + 2, k)
    f = points[..., 0] + 2.0 * points[..., 1] + 3.0 * points[..., 0] * points[..., 2]
    a, b, mixed = f[:, 0], f[:, 1], f[:, 2:]
    variance = np.r_[a, b].var()
    first = [np.mean(b * (mixed[:, j] - a)) / variance for j in range(k)]
    total = [0.5 * np.mean((a - mixed[:, j]) ** 2) / variance for j in range(k)]
    parts = {"x": 2.5**2 / 12.0, "y": 4.0 / 12.0, "z": 1.5**2 / 12.0, "xz": 9.0 / 144.0}
    whole = sum(parts.values())
    assert variance == pytest.approx(whole, rel=0.01)
    np.testing.assert_allclose(first, [parts["x"] / whole, parts["y"] / whole, parts["z"] / whole], atol=0.01)
    np.testing.assert_allclose(
        total,
        [(parts["x"] + parts["xz"]) / whole, parts["y"] / whole, (parts["z"] + parts["xz"]) / whole],
        atol=0.01,
    )


@pytest.mark.parametrize(
    ("sweep", "what"),
    [
        ({}, "needs one of grid, zip, table, sample"),
        ({"grid": {"a": [1]}, "zip": {"a": [1]}}, "needs one of grid, zip, table, sample"),
        ({"grid": {"a": [1]}, "keep": "worst 3"}, "needs rank"),
        ({"grid": {"a": [1]}, "keep": "best"}, "keep"),
        ({"grid": {"a": [1]}, "rank": "top"}, 'there is no metric "top"'),
        ({"sample": {"n": 4, "parameters": {"a": {"normal": [1, -1]}}}}, "standard deviation above zero"),
        ({"sample": {"n": 4, "parameters": {"a": {"normal": [1, 1], "uniform": [0, 1]}}}}, "one of uniform"),
        ({"sample": {"n": 4, "parameters": {"a": [1, 2]}, "correlation": [
            {"parameters": ["a", "b"], "value": 0.5}]}}, 'names "b"'),
        ({"sample": {"n": 4, "method": "morris", "parameters": {"a": [1, 2]}}, "where": ["a < 2"]}, "whole"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_sweep_is_told(sweep, what):
    with pytest.raises(InputError, match=what):
        case(sweep)


def test_every_distribution_is_described_where_its_numbers_are_wrong():
    for kind, (numbers, _) in LAWS.items():
        assert Spread.model_validate({kind: numbers}).numbers == numbers
        with pytest.raises(ValueError, match=f"{kind} takes"):
            Spread.model_validate({kind: [2.0, -1.0, 0.0][: len(numbers)]})
