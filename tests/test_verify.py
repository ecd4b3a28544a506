"""The verification command: complete, honest about misses, tied to the reference files."""

import json
import re

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.errors import UsageError
from flexmbs.resources import resource
from flexmbs.verify import PROBLEMS, verify
from flexmbs.verify import reference as reference_module
from flexmbs.verify.items import Modes
from flexmbs.verify.mechanisms import begin, choices
from flexmbs.verify.numbers import TABLES
from flexmbs.verify.omitted import NOT_COMPARED
from flexmbs.verify.reference import names, read
from flexmbs.verify.report import Line, Report, compare, not_below
from flexmbs.verify.settings import BEGIN, OWN, shortened
from tests.validation_page import PAGE, page


def test_every_reference_problem_is_verified():
    assert sorted(PROBLEMS) == names()
    assert len(names()) == 37
    for name, problem in PROBLEMS.items():
        assert problem.cases or problem.check is not None, name


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.cases])
def test_cases_name_their_reference_and_have_its_numbers(name):
    """Every long number of [expected] stands in the reference file, or follows from one there."""
    known = numbers_of((resource("cases", "reference", f"{name}.json")).read_text())
    found = 0
    for case in PROBLEMS[name].cases:
        text = (resource("cases") / case).read_text()
        assert f"reference/{name}.json" in text
        long = [x for x in numbers_of(text[text.index("[expected]") :]) if len(f"{x:.15g}".strip("-0.")) > 9]
        found += sum(np.isclose(np.abs(known), abs(x), rtol=1e-9, atol=0).any() for x in long)
        assert Case.load(resource("cases") / case).spec.expected
    assert found or name in ("linkage-slider-crank-equal-links",), "no number of the reference is compared"


def numbers_of(text):
    return np.array([float(x) for x in re.findall(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?", text)])


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.cases])
def test_every_number_of_a_file_is_compared_or_named(name):
    """A number is met by a table, by a line of [expected], by a check, or it is omitted for a reason."""
    reference = read(name)
    leaves = {path: value for path, value in leaves_of(reference.numbers) if isinstance(value, int | float)}
    met = {path for item in TABLES.get(name, ()) for path in paths_of(item, reference.numbers)}
    omitted = tuple(NOT_COMPARED.get(name, {}))
    for case in PROBLEMS[name].cases:
        text = (resource("cases") / case).read_text()
        known = np.abs(numbers_of(text[text.index("[expected]") :]))
        met |= {path for path, x in leaves.items() if np.isclose(known, abs(x), rtol=1e-9, atol=0).any()}
    if PROBLEMS[name].check is not None:
        met |= {path for path in leaves if path.startswith(("euler/", "free_frequencies_hz/"))}
    met |= {path for path in leaves if path == "t" or path.endswith("/t")}
    missing = [path for path in leaves if path not in met and not path.startswith(omitted or "-")]
    assert not missing
    stale = [path for path in omitted if not any(leaf.startswith(path) for leaf in leaves)]
    assert not stale, "omitted, but not in the file"
    series = {item.rows for item in TABLES.get(name, ()) if getattr(item, "rows", "").endswith(".csv")}
    assert series == {path.name for path in resource("cases", "reference").glob(f"{name}.*.csv")}


def leaves_of(value, path=""):
    """Paths of all numbers, with slashes, and the numbers."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves_of(item, f"{path}/{key}" if path else str(key))
    else:
        yield path, value


def paths_of(item, numbers):
    """Paths of the numbers that an item compares."""
    if isinstance(item, Modes):
        return [p for p, _ in leaves_of(numbers) for own in (item.omega, item.participation) if under(p, own)]
    if item.rows.endswith(".csv"):
        return []
    pattern = "/".join(
        "[^/]+" if word == "*" else f"(?:{'|'.join(map(re.escape, word.split('|')))})"
        for word in item.rows.split("/")
    )
    rows = re.compile(pattern)
    found = []
    for path, _ in leaves_of(numbers):
        for column in item.columns.values():
            ending = f"/{column}" if column and item.rows else column
            base = path.removesuffix(ending) if path.endswith(ending) else None
            if base is not None and rows.fullmatch(base):
                found.append(path)
    return found


def under(path, own):
    return bool(own) and (path == own or path.startswith(own + "/"))


def test_a_forged_reference_is_a_miss(monkeypatch, capsys):
    """A number of a file changed in its sixth digit: exit code 6, and the line is shown."""
    honest = reference_module.read

    def forged(name):
        reference = honest(name)
        reference.numbers["table_b_ratio_dratio_da"]["45deg"][0] *= 1.000001
        return reference

    monkeypatch.setattr("flexmbs.verify.read", forged)
    assert main(["verify", "--quick", "joint-cardan-ratio", "--quiet", "--json"]) == 6
    data = json.loads(capsys.readouterr().out)
    misses = [line["quantity"] for line in data["lines"] if not line["passed"]]
    assert misses == ["joints.output.position = table_b_ratio_dratio_da/*/0 (worst of 6)"]


def test_the_begin_of_a_case_keeps_the_samples_of_its_lines():
    whole = Case.load(resource("cases") / "flexible-slider-crank-linear.toml")
    part = begin(whole, 0.011)
    assert list(part.spec.expected) == ["bodies.rod.q[0][1]", "bodies.rod.q[1][1]"]
    assert [float(t) for t in part.spec.output.times] == pytest.approx([np.pi / 300])


def test_runs_with_an_end_or_settings_of_their_own_exist_and_are_named():
    cases = {case: name for name, problem in PROBLEMS.items() for case in problem.cases}
    for case, word in (*BEGIN, *OWN):
        assert f"{case}.toml" in cases
        assert word in (*choices("formulation"), *choices("method"))
    left_out = verify(["rigid-slider-crank"], quick=True).left_out
    assert left_out["rigid-slider-crank"] == {}
    assert list(shortened(["double-pendulum.toml"])) == [
        f"double-pendulum by {method} after 5 s" for method in ("cvode", "ida")
    ]


def test_several_processes_give_the_lines_of_one():
    names_of_two = ["fe-rigid-integrals-box", "joint-gear-pair"]
    one, two = (verify(names_of_two, quick=True, jobs=jobs) for jobs in (1, 2))
    assert [line.quantity for line in one.lines] == [line.quantity for line in two.lines]
    assert [line.obtained for line in one.lines] == [line.obtained for line in two.lines]


def test_stated_tolerances_are_read_from_the_text():
    assert read("fe-beam-cantilever").tolerances == [1e-6, 0.01]
    assert read("fe-shaft-torsion").tolerances == [0.005, 1e-6]


def test_worst_number_is_shown_and_nan_is_a_miss():
    line = compare("x", [1.0, 2.1, 3.0], [1.0, 2.0, 3.0], rtol=0.1)
    assert (line.obtained, line.reference) == (2.1, 2.0) and line.passed
    assert not compare("x", [1.0, np.nan], [1.0, 2.0], rtol=0.1).passed
    assert not compare("x", 1.0, 0.0).passed and compare("x", 0.0, 0.0).passed
    assert not_below("x", [1.1, 1.2], [1.0, 1.0], rtol=1e-9).passed
    assert not not_below("x", [1.1, 0.9], [1.0, 1.0], rtol=1e-9).passed


def test_a_miss_fails_the_report_and_is_shown():
    good, bad = (Line("a", 1.0, 1.0, 0.1, problem="p"), Line("b", 1.0, 2.0, 0.1, problem="p"))
    assert Report([good]).passed and not Report([good, bad]).passed and not Report().passed
    assert "MISS" in Report([good, bad]).text and "1 OUTSIDE TOLERANCE" in Report([good, bad]).text


def test_unknown_problem_is_named():
    with pytest.raises(UsageError, match="rigid-heavy-top"):
        verify(["rigid-heavy-tap"])


def test_command_runs_a_problem_of_each_kind(capsys):
    assert main(["verify", "--quick", "fe-hex8-element", "force-point-on-flexible-node", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "fe-hex8-element" in text and "force-on-node" in text and "2 problems" in text


def test_miss_ends_with_exit_code_6(monkeypatch, capsys):
    monkeypatch.setattr("flexmbs.verify.reference.Reference.tolerances", [1e-30])
    assert main(["verify", "--quick", "fe-hex8-element", "--quiet"]) == 6
    assert "MISS" in capsys.readouterr().out


def section(text, name):
    """Names of the runs in the section of a problem."""
    part = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    return [row.split(" | ")[0].strip("| ") for row in part.splitlines() if row.startswith("| ")][2:]


def test_the_page_in_the_manual_is_that_of_a_full_run():
    text = PAGE.read_text("utf-8")
    assert all(f"\n## {name}\n" in text for name in PROBLEMS) and "**MISS**" not in text
    runs = section(text, "rigid-double-pendulum")
    assert (
        "double-pendulum, recursive, generalized-alpha" in runs and "double-pendulum, minimal, dop853" in runs
    )
    assert "double-pendulum to 5 s, recursive, cvode" in runs
    with pytest.raises(AssertionError, match="--quick"):
        page(Report(quick=True).data())


@pytest.mark.slow
@pytest.mark.needs("sksundae")  # the page shows its runs too
def test_every_method_and_formulation_that_is_offered():
    """One problem in full, a sample of what the page shows of all."""
    report = verify(["joint-screw"])
    assert report.passed
    runs = {(line.formulation, line.method) for line in report.lines}
    assert {("recursive", "dopri5"), ("recursive", "generalized-alpha")} <= runs
    shown = section(page(report.data()), "joint-screw")
    assert shown == section(PAGE.read_text("utf-8"), "joint-screw")
