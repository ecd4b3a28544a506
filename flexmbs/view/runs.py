"""Runs of the case that is seen: begun, followed, stopped and resumed beside the page, put side by side."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.interrupts import Stop, stoppable
from flexmbs.view.work import Work

if TYPE_CHECKING:
    from flexmbs.case import Case

MOST_DIFFERENCES = 12


class Run:
    """One run of a text. Its result stands beside where it will be kept, under a name of its own."""

    def __init__(self, number: int, case: Case, symbols: list[Any]) -> None:
        from flexmbs.case.runner import result_path, settings

        self.number, self.name, self.case = number, f"run {number}", case
        self.symbols = [item for item in symbols if item["kind"] not in ("redundant", "hidden")]
        self.target = result_path(case)
        self.path = self.target.with_name(f".{self.target.stem}.view-{os.getpid()}-{number}.h5")
        self.t_end = settings(case).t_end
        self.kept: Path | None = None
        self.metrics: dict[str, float] = {}
        self.expected: list[str] = []
        self.seconds = 0.0
        self.begin(resume=False)

    def begin(self, resume: bool) -> None:
        from flexmbs.case.runner import execute
        from flexmbs.post.live import Source

        self.stop, self.done = Stop(), threading.Event()
        self.source = Source(self.path, self.t_end, self.done)
        begun = time.perf_counter()

        def make(progress: Any) -> Any:
            try:
                with stoppable(self.stop):
                    made = execute(
                        self.case, self.path, overwrite=not resume, resume=resume, progress=progress
                    )
                paths = [path for path in made.result.paths if path.startswith("metrics/")]
                self.metrics = {path.removeprefix("metrics/"): float(made.result[path]) for path in paths}
                self.expected = [str(item) for item in made.comparisons]
                return made.summary
            finally:
                self.seconds += time.perf_counter() - begun
                self.done.set()

        self.work = Work(make)

    @property
    def state(self) -> str:
        if not self.work.done:
            return "running"
        if self.work.made is not None:
            return "complete"
        return "stopped" if self.stop.asked else "failed"

    def end(self) -> None:
        self.stop.asked = True
        self.work.close()

    def told(self) -> dict[str, Any]:
        return {
            "number": self.number, "name": self.name, "state": self.state, "parameters": self.case.parameters,
            "metrics": self.metrics, "expected": self.expected,
            "seconds": round(self.seconds, 2), "kept": self.kept.name if self.kept else "",
            **self.work.told(),
        }  # fmt: skip

    def scene(self) -> dict[str, Any]:
        """What is there so far as a scene; `next`: the sample from which `fresh` goes on."""
        from flexmbs.post.animation.animate import result_story
        from flexmbs.post.animation.page import SERVED_SAMPLES, scene_data
        from flexmbs.post.record import Record

        if self.state == "complete":
            record = Record.load(self.path)
            story, count = result_story(record, None), record.n_samples
        else:
            begun = self.source.begun()
            if begun is None:
                return {}
            story, count = begun
        more = {"symbols": self.symbols}
        tree, arrays = scene_data(
            story.scene, story.curves, story.shown, story.modes, more=more, samples=SERVED_SAMPLES
        )
        return {"scene": tree, "arrays": arrays.text(), "next": count, "end": self.t_end}

    def keep(self) -> None:
        """Give the result its own name; an older result of that name stays."""
        if self.state != "complete":
            what = f"{self.name} is not complete"
            raise InputError(Diagnostic("view.keep", self.target.name, what, "wait, or resume it"))
        if self.kept is None:
            disk.check_target(self.target, overwrite=False)
            os.rename(self.path, self.target)
            self.path = self.kept = self.target

    def remove(self) -> None:
        from flexmbs.results import segments

        if self.kept is None:
            folder = segments.parts_folder(self.path)
            if folder.is_dir():
                segments.remove(folder)
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()


class Runs:
    """All runs of a session, by number."""

    def __init__(self) -> None:
        self.all: list[Run] = []

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Requests about a run that is there."""
        number = data.get("run")
        run = next((item for item in self.all if type(number) is int and item.number == number), None)
        if word == "runs" or run is None:
            return self.told() if word == "runs" else None
        match word:
            case "scene":
                return {**run.scene(), **self.told()}
            case "fresh":
                start = data.get("from")
                batch = run.source.batch(start) if type(start) is int and start >= 0 else None
                return {"batch": batch, **self.told()}
            case "stop":
                run.stop.asked = True
            case "resume":
                if run.state == "stopped":
                    run.begin(resume=True)
            case "keep":
                run.keep()
            case "compare":
                return self.compare(run, data.get("with"))
            case _:
                return None
        return self.told()

    def begin(self, case: Case, symbols: list[Any]) -> dict[str, Any]:
        going = [run for run in self.all if run.state == "running"]
        if going:
            what = f"{going[0].name} is not at its end yet"
            raise InputError(Diagnostic("view.running", "view", what, "stop it first"))
        self.all.append(Run(1 + max((run.number for run in self.all), default=0), case, symbols))
        return {"run": self.all[-1].number, **self.told()}

    def told(self) -> dict[str, Any]:
        return {"runs": [run.told() for run in self.all]}

    def compare(self, one: Run, number: Any) -> dict[str, Any] | None:
        """What `flexmbs compare` says of two complete runs."""
        from flexmbs.results import Result
        from flexmbs.results.compare import compare

        other = next((item for item in self.all if item.number == number), None)
        if other is None:
            return None
        if not one.state == other.state == "complete":
            what = "only complete runs are compared"
            raise InputError(Diagnostic("view.compare", "view", what, "wait for their end"))
        found = compare(Result.load(one.path), Result.load(other.path))
        return {"compared": found.text.split("\n")[: MOST_DIFFERENCES + 1]}

    def close(self) -> None:
        """End what goes on, and take away what nobody kept."""
        for run in self.all:
            run.end()
            run.remove()
