"""Indices and shares against functions whose answers are known, and the page that shows them."""

import re

import numpy as np
import pytest
from scipy import stats

import flexmbs as fm
from flexmbs.post.report.study import CELLS, study_report
from flexmbs.study.designs import morris, saltelli
from flexmbs.study.sensitivity import indices, response, share_outside

NAMES = ["a", "b", "c"]


def by_kind(found, kind):
    return [item for item in found if item.kind == kind]


def ishigami(x):
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def test_sobols_indices_of_ishigamis_function():
    """Closed forms: first order 0.3139, 0.4424, 0; total 0.5576, 0.4424, 0.2437."""
    X = np.pi * (2.0 * saltelli(3, 4096, seed=5) - 1.0)
    found = indices("saltelli", NAMES, X, ishigami(X))
    for kind, exact in (
        ("first-order index", [0.3139, 0.4424, 0.0]),
        ("total index", [0.5576, 0.4424, 0.2437]),
    ):
        chosen = by_kind(found, kind)
        np.testing.assert_allclose([item.value for item in chosen], exact, atol=0.02)
        assert all(item.low <= value <= item.high for item, value in zip(chosen, exact, strict=True))


def test_failed_runs_leave_their_blocks_out():
    X = saltelli(3, 512, seed=5)
    y = X @ [1.0, 2.0, 0.0]
    y[7] = np.nan
    found = by_kind(indices("saltelli", NAMES, X, y), "total index")
    np.testing.assert_allclose([item.value for item in found], [0.2, 0.8, 0.0], atol=0.02)


def test_effects_of_a_linear_function_are_its_coefficients_over_the_range():
    X = morris(3, 12, 4, seed=1) * [2.0, 1.0, 10.0] + [5.0, -1.0, 0.0]
    found = indices("morris", NAMES, X, X @ [3.0, -4.0, 0.1])
    np.testing.assert_allclose([i.value for i in by_kind(found, "mean effect")], [6.0, 4.0, 1.0])
    np.testing.assert_allclose([i.value for i in by_kind(found, "spread of effects")], 0.0, atol=1e-12)


def test_slopes_of_ranks_see_monotonic_curves_as_straight():
    X = np.random.default_rng(0).random((400, 3))
    found = indices("sobol", NAMES, X, np.exp(5.0 * X[:, 0]))
    assert found[0].value == pytest.approx(1.0, abs=1e-12)
    assert abs(found[1].value) < 1e-9 and abs(found[2].value) < 1e-9
    y = X[:, 0] - X[:, 1]
    down = by_kind(indices("random", NAMES, X, y), "slope of ranks")[1]
    assert down.low < down.value < down.high < 0.0 and down.value == pytest.approx(-0.7, abs=0.06)


def test_shares_beyond_limits_have_exact_intervals():
    values = np.r_[np.zeros(17), np.ones(3)]
    share, low, high = share_outside(values, -0.5, 0.5)
    exact = stats.binomtest(3, 20).proportion_ci(0.95, "exact")
    assert share == 0.15 and (low, high) == pytest.approx((exact.low, exact.high))
    assert share_outside(np.array([np.nan, 0.0]), -1.0, 1.0)[0] == 0.5
    assert share_outside(np.zeros(5), -1.0, 1.0)[:2] == (0.0, 0.0)


def test_the_page_of_a_study_holds_all_and_needs_nothing(study, tmp_path):
    path = study(
        'sample = { n = 16, parameters = { speed = [1, 4], "bodies.ball.mass" = { normal = [0.5, 0.3] } } }\n'
        'limits = { height = [0.1, 0.5] }\nkeep = "worst 1"\nrank = "height"'
    )
    found = fm.sweep(path, tmp_path / "s", workers=1)
    assert found.sensitivity()["height"][0].value > 0.99  # mass does nothing to a fall
    share = np.mean((found.columns["height"] < 0.1) | ~(found.columns["height"] <= 0.5))
    assert found.outside()["height"][0] == pytest.approx(share)
    done = study_report(tmp_path / "s", tmp_path / "s.html")
    text = (tmp_path / "s.html").read_text("utf-8")
    assert {"overview", "designs", "matrix", "scatter", "surfaces", "sensitivity", "spread", "ends"} <= set(
        done["sections"]
    )
    assert not re.search(r'(?:src|href)="(?!#|data:)', text) and "NaN" not in text and ">nan<" not in text
    assert text.count("stroke:none") >= 2 * CELLS * CELLS and "R^2 = 1.000" in text  # a fall is a quadric
    assert len(re.findall(r'stroke-opacity="0.4"/><rect [^>]*stroke:none', text)) == 2  # not behind boxes
    assert text.count("<polyline") == 16 and "beyond the limits" in text
    assert f"runs/{found._store.ids[int(np.argmax(found.columns['height']))]}.h5" in text
    with pytest.raises(fm.FlexmbsError, match="exists"):
        study_report(tmp_path / "s", tmp_path / "s.html")
    study_report(tmp_path / "s", tmp_path / "moving page.html", animations=1)
    links = re.findall(
        r'<a href="(s/animations/\d+\.html)">look</a>', (tmp_path / "moving page.html").read_text()
    )
    ends = {int(found.columns["design"][pick(found.columns["height"])]) for pick in (np.argmin, np.argmax)}
    shown = {int(re.search(r"(\d+)\.html", link)[1]) for link in links}
    assert shown >= {k for k in ends if found.file(k)} and shown
    assert all("<canvas" in (tmp_path / link).read_text("utf-8") for link in links)


def test_a_response_surface_is_the_quadric_that_the_metric_is():
    rng = np.random.default_rng(5)
    X = rng.uniform([1.0, -4.0, 0.0], [3.0, 2.0, 10.0], (40, 3))
    y = 3.0 - X[:, 0] + 2.0 * X[:, 1] ** 2 + 0.5 * X[:, 0] * X[:, 2]
    y[7] = np.nan  # a run that failed
    found = response(X, y)
    assert found.share == pytest.approx(1.0, abs=1e-12)
    low, high = X.min(axis=0), X.max(axis=0)
    at = np.array([2.0, 1.0, 5.0])
    value = found((2.0 * (at - low) / (high - low) - 1.0)[None, :])[0]
    assert value == pytest.approx(3.0 - 2.0 + 2.0 + 5.0, rel=1e-10)
    noise = rng.normal(size=40)
    assert response(X, noise).share < 0.6
    assert response(X[:19], y[:19]) is None  # nine of ten terms would fit anything
