"""Results of all shipped cases, stored before a change of structure and compared after it.

    python -m tests.frozen store FOLDER            # every case in every formulation, by three methods
    python -m tests.frozen compare FOLDER          # the same runs again: 1e-9 of the largest value by default
    python -m tests.frozen compare FOLDER --rtol 0 --atol 0 --only four-bars

A run that is not offered, or ends early, is stored as the text of its error; that text is compared, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError
from flexmbs.resources import resource
from flexmbs.results import Result
from flexmbs.results.compare import compare
from flexmbs.verify.mechanisms import begin, choices, copied
from flexmbs.verify.settings import begin_of, settings

METHODS = ("dopri5", "generalized-alpha")


def runs(folder: Path, only: str) -> Iterator[tuple[str, Case]]:
    """Names and cases of all runs."""
    for path in sorted(folder.glob("*.toml")):
        if path.name.endswith(".reduce.toml") or only not in path.stem:
            continue
        case = Case.load(path)
        own = case.spec.analysis
        if own is None:
            continue
        methods = [own.method]
        if own.type == "dynamics" and own.t_end:
            methods += [word for word in METHODS if word != own.method]
        for formulation in choices("formulation"):
            for method in methods:
                values = {"analysis.formulation": formulation, "analysis.method": method}
                if own.type == "dynamics":
                    values |= {"analysis.band": "all"}
                if (formulation, method) != (own.formulation, own.method):
                    values |= settings(case.name, formulation, method, own)
                t_end = begin_of(case.name, formulation, method)
                chosen = case if t_end is None else begin(case, t_end)
                yield f"{path.stem}.{formulation}.{method}", chosen.with_values(**values)


def store(case: Case, target: Path) -> None:
    """The result at `target`, or the error in a text beside it."""
    try:
        execute(case, target, overwrite=True)
    except FlexmbsError as error:
        target.unlink(missing_ok=True)
        target.with_suffix(".txt").write_text(str(error.diagnostics[0]))


def differs(a: Path, b: Path, rtol: float, atol: float) -> str:
    """What differs between two stored runs, empty when nothing does."""
    if a.exists() != b.exists():
        return f"before: {'a result' if a.exists() else 'an error'}, now the other: {b.name}"
    if not a.exists():
        before, now = a.with_suffix(".txt").read_text(), b.with_suffix(".txt").read_text()
        return "" if before == now else f"before: {before}\n    now: {now}"
    found = compare(Result.load(a), Result.load(b), rtol=rtol, atol=atol)
    return "" if found.equal else found.text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["store", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="part of the name of a case")
    parser.add_argument("--rtol", type=float, default=1e-9)
    parser.add_argument("--atol", type=float, default=1e-12)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    count = failed = 0
    with tempfile.TemporaryDirectory(prefix="flexmbs-frozen-") as scratch:
        for name, case in runs(copied(Path(scratch), resource), args.only):
            started = time.process_time()
            target = (args.folder if args.what == "store" else Path(scratch)) / f"{name}.h5"
            store(case, target)
            text = (
                ""
                if args.what == "store"
                else differs(args.folder / target.name, target, args.rtol, args.atol)
            )
            count += 1
            failed += bool(text)
            print(f"{name:60s} {time.process_time() - started:7.2f} s  {text or 'same'}", flush=True)
    print(f"{count} runs, {failed} differ")
    return 6 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
