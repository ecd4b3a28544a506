"""Run many designs of one case, on all cores; status of a study.

    flexmbs sweep CASE.toml            the [sweep] of a case, or of a file that includes one
    flexmbs sweep status STUDY         what is done, and what failed
    flexmbs sweep report STUDY -o study.html
    flexmbs sweep part STUDY 3/100     designs 3, 103, 203, ...: what the jobs of --script slurm do

Every design that is done leaves a row in STUDY/rows, so that --resume goes on where a study was cut off.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from flexmbs.cli.output import Output, Progress, add_overwrite, add_root
from flexmbs.errors import Diagnostic, ExitCode, UsageError

SHOWN = 8  # designs that --dry-run prints


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="CASE.toml | status STUDY | report STUDY | part STUDY I/N"
    )
    parser.add_argument(
        "-o", "--output", metavar="STUDY", help="folder of the study (default: NAME.study), or the page"
    )
    add_root(parser)
    parser.add_argument(
        "--workers", type=int, metavar="N", help="how many at once (default: one for every core)"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        default="",
        help="a Dask scheduler, tls://head:8786; by default one that is started here; or: processes",
    )
    parser.add_argument(
        "--open-cluster", action="store_true", help="the scheduler may be one without encryption"
    )
    parser.add_argument("--script", choices=["slurm"], help="write a job array into the study, run nothing")
    parser.add_argument("--parts", type=int, metavar="N", default=100, help="jobs of the array (100)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="override a value")
    parser.add_argument("--resume", action="store_true", help="go on with a study that was cut off")
    parser.add_argument("--only", choices=["failed"], help="do these designs again")
    parser.add_argument("--dry-run", action="store_true", help="print the designs and run none")
    parser.add_argument(
        "--animations", type=int, metavar="N", default=0, help="in a report: of N designs at both ends (0)"
    )
    add_overwrite(parser)
    parser.add_argument("--allow-python", action="store_true", help="let the case call its Python functions")


def run(args: argparse.Namespace) -> Output:
    if args.words[0] == "status" and len(args.words) == 2:
        return status(args.words[1])
    if args.words[0] == "report" and len(args.words) == 2:
        return report(args)
    if args.words[0] == "part" and len(args.words) == 3:
        return part(*args.words[1:])
    if len(args.words) != 1:
        what, remedy = (
            f"takes one case, not {len(args.words)} words",
            "flexmbs sweep CASE.toml, or status STUDY, or report STUDY",
        )
        raise UsageError(Diagnostic("usage.sweep", "sweep", what, remedy))
    for name, number in (("workers", args.workers), ("parts", args.parts)):
        if number is not None and number < 1:
            raise UsageError(Diagnostic("usage.workers", f"--{name}", f"{number} is no number of processes"))
    from flexmbs.input.source import parse_settings
    from flexmbs.study.run import plan, sweep

    options: dict[str, Any] = {
        "root": args.root, "allow_python": args.allow_python, "overrides": parse_settings(args.set),
    }  # fmt: skip
    if args.dry_run:
        return _dry(plan(args.words[0], args.output, **options))
    if args.script:
        return _script(plan(args.words[0], args.output, **options), args)
    study = sweep(
        args.words[0], args.output, workers=args.workers, cluster=args.cluster, is_open=args.open_cluster,
        resume=args.resume, only=args.only or "", progress=Progress("sweep", quiet=args.quiet), **options,
    )  # fmt: skip
    return _output(study)


def status(folder: str) -> Output:
    """What a study has done so far."""
    from flexmbs.study.study import Study

    return _output(Study.load(_folder(folder)))


def report(args: argparse.Namespace) -> Output:
    """The page of a study."""
    from flexmbs.post.report.study import study_report

    done = study_report(
        _folder(args.words[1]), args.output or "study.html",
        overwrite=args.overwrite, animations=max(args.animations, 0),
    )  # fmt: skip
    return Output(f"{done['file']}: {done['bytes'] / 1e6:.2f} MB", done)


def part(folder: str, text: str) -> Output:
    """One part of a study that is there; what fails in it is no failure of the job."""
    from flexmbs.study.script import run_part

    first, slash, parts = text.partition("/")
    if not (slash and first.isdecimal() and parts.isdecimal() and int(first) < int(parts)):
        what, remedy = f'"{text}" is no part', "0/100 to 99/100 are the parts of a hundred"
        raise UsageError(Diagnostic("usage.sweep", "sweep part", what, remedy))
    done = _output(run_part(_folder(folder), int(first), int(parts)))
    return Output(done.text, done.data)


def _script(made: Any, args: argparse.Namespace) -> Output:
    from flexmbs.study.script import slurm_script
    from flexmbs.study.store import Store

    path = slurm_script(Store.create(made.folder, made.data, resume=args.resume), args.parts)
    gather = f"flexmbs sweep {args.words[0]} -o {made.folder} --resume"
    return Output(
        f"sbatch {path}\nand when all jobs are done, for the table: {gather}", {"script": str(path)}
    )


def _folder(name: str) -> Path:
    """The folder of a study, by its name with or without the ending."""
    path = Path(name)
    return path if path.is_dir() else Path(f"{path}.study")


def _dry(made: Any) -> Output:
    designs = [item["values"] for item in made.data["designs"]]
    lines = [f"{len(designs)} designs into {made.folder}"]
    lines += [", ".join(f"{name} = {value}" for name, value in values.items()) for values in designs[:SHOWN]]
    if len(designs) > SHOWN:
        lines.append(f"and {len(designs) - SHOWN} more")
    return Output("\n".join(lines), {"study": str(made.folder), "designs": designs})


def _output(study: Any) -> Output:
    counts = study.counts
    data = {"study": str(study.folder), "counts": counts, "rows": study.rows}
    bad = set(counts) - {"complete", "open"}
    return Output(f"{study.folder}\n{study.summary()}", data, ExitCode.SOLVER if bad else ExitCode.DONE)
