"""Writes docs/validation.md from the output of `flexmbs verify --json`.

flexmbs verify --json > verify.json && python -m tests.validation_page verify.json
"""

import json
import re
import sys
from pathlib import Path

from flexmbs.verify.problems import PROBLEMS
from flexmbs.verify.reference import read
from flexmbs.verify.settings import FINER, HARD, OWN

PAGE = Path(__file__).resolve().parent.parent / "docs" / "validation.md"

COLUMNS = ("run", "closest to its tolerance", "reference", "obtained", "error", "tolerance", "s")

HEAD = """\
# Validation

This page is made by `flexmbs verify --json > verify.json` and `python -m tests.validation_page verify.json`
from what the program answered.

The {problems} reference problems travel with the package (`cases/reference`), each with its source and the
way it was checked. Those of bodies (`fe-...`) are reduced anew by recipes and compared with the numbers of
the files; those of mechanisms run as the cases named here, every line of `[expected]` being compared, in each
formulation that is offered, and by each integrator that applies; tables and histories of the files are read
at run time (`channel = path in the file`) and compared in the formulation of the case, variants of its
parameters included. A test sees to it that every number of a file is compared, or named here with the reason.
A row is one run: of its quantities the one that is closest to its tolerance, the number of all of them, and
the processor time of the run. A quantity outside its tolerance would be marked as a miss.
{factors}

In all: {count} quantities in {runs} runs, {misses} outside their tolerance, {seconds:.0f} s of processor
time.
"""


def runs(lines):
    """Lines by run (model, formulation, method), in order."""
    found = {}
    for line in lines:
        found.setdefault((line["note"], line["formulation"], line["method"]), []).append(line)
    return found


def row(lines):
    worst = max(lines, key=lambda line: float("inf") if line["ratio"] is None else line["ratio"])
    quantity = worst["quantity"].replace("|", "\\|").replace("*", "\\*")
    quantity = re.sub(r"([/_.])(?=\w)", r"\1<wbr>", quantity)  # where a long name may be broken
    if len(lines) > 1:
        quantity += f"; {len(lines)} quantities"
    numbers = (worst["reference"], worst["obtained"], worst["error"], worst["tolerance"])
    texts = ("-" if x is None else f"{x:.{digits}g}" for x, digits in zip(numbers, (8, 8, 2, 2), strict=True))
    run = ", ".join(word for word in (worst["note"], worst["formulation"], worst["method"]) if word)
    run = run if all(line["passed"] for line in lines) else f"**MISS** {run}"
    seconds = max(line["seconds"] for line in lines)
    return f"| {' | '.join((run, quantity, *texts, f'{seconds:.2f}'))} |"


def section(name, lines, left_out):
    """One problem: title, what it proves, its runs, and the integrators that do not apply."""
    problem = PROBLEMS[name]
    text = [f"## {name}", "", f"{read(name).title}. Proves: {problem.proves}."]
    if problem.cases:
        text[-1] += f" Cases: {', '.join(f'`cases/{case}`' for case in problem.cases)}."
    text += [
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|" + " --- |" * len(COLUMNS),
        *(row(group) for group in runs(lines).values()),
    ]
    if left_out:
        text += ["", f"Left out: {'; '.join(f'`{what}`: {why}' for what, why in left_out.items())}."]
    return "\n".join(text)


def factors():
    """How the tolerances of runs follow from those of the cases, in a sentence each."""
    finer = ", ".join(f"{factor:g} for `{word}`" for word, factor in FINER.items())
    hard = ", ".join(f"{factor:g} in `{case}`" for case, factor in HARD.items())
    own = "; ".join(
        f"`{case}` by `{method}`: {', '.join(f'{key} {value:g}' for key, value in values.items())}"
        for (case, method), values in OWN.items()
    )
    return (
        f"Runs that are not the one of the case itself take its tolerance times a factor ({finer}; all of "
        f"them {hard}), since they add up more of the local errors, or have settings of their own ({own})."
    )


def page(data):
    assert not data["quick"], "a page of --quick would leave out most of the runs"
    lines = data["lines"]
    names = list(dict.fromkeys(line["problem"] for line in lines))
    groups = {name: [line for line in lines if line["problem"] == name] for name in names}
    head = HEAD.format(
        problems=data["problems"], count=len(lines),
        runs=sum(len(runs(group)) for group in groups.values()),
        seconds=sum(max(x["seconds"] for x in run) for g in groups.values() for run in runs(g).values()),
        misses=sum(not line["passed"] for line in lines), factors=factors(),
    )  # fmt: skip
    missing = [f"Not installed, {what}: {why}." for what, why in data["missing"].items()]
    return (
        "\n\n".join(
            [
                head,
                *missing,
                *(section(name, group, data["left_out"].get(name, {})) for name, group in groups.items()),
            ]
        )
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())))
