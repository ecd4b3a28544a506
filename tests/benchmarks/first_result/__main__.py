"""From a clone to a first own result, as a new user would: `python -m tests.benchmarks.first_result`.

A clone, an empty virtual environment, one part meshed from a gmsh script, one from STEP with bores clicked in
the browser, a mechanism of five bodies with both, a report. Nothing is compiled or kept before. Each step
with seconds of the wall clock and of CPU time. Needs gmsh, git and Chromium.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.post.chromium import Page
from tests.post.test_browser import PLACE_OF_POINT

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: interfaces of the rocker: name, and x of its bore [m]
BORES = (("pivot", 0.0), ("middle", 0.12), ("top", 0.2))


class Trial:
    def __init__(self, folder: Path) -> None:
        self.folder, self.total = folder, [0.0, 0.0]
        bare = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "FLEXMBS_CACHE")}
        path = f"{folder / 'flexmbs' / '.venv' / 'bin'}:/usr/bin:/bin"
        self.env = bare | {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}

    def step(self, what: str, work: Callable[[], None]) -> None:
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        wall = time.perf_counter() - begun
        self.total = [self.total[0] + wall, self.total[1] + spent]
        print(f"{wall:7.1f} s {spent:7.1f} CPU s  {what}", flush=True)

    def run(self, command: str, where: str = "mine") -> None:
        def work() -> None:
            done = subprocess.run(
                command, shell=True, cwd=self.folder / where, env=self.env, capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(f"{command}\n{done.stdout}{done.stderr}")

        self.step(command, work)

    def point(self) -> None:
        """Three bores are clicked and named, a material is taken, the recipe kept."""
        command = ["flexmbs", "view", "rocker.step", "--no-open"]
        program = self.folder / "flexmbs" / ".venv" / "bin" / "flexmbs"
        process = subprocess.Popen(
            command,
            executable=program,
            cwd=self.folder / "mine",
            env=self.env,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        url = next(line.split()[0] for line in process.stderr if line.startswith("http"))
        with Page(size=(1300, 820)) as page:
            page.call("Page.navigate", url=url)
            page.wait("window.flexmbs && window.flexmbs.ready", 120)
            page.run("flexmbs.viewer.camera.preset('top'), flexmbs.viewer.draw()")
            for name, x in BORES:
                self.click_bore(page, x)
                page.run("document.getElementById('interface-name').focus()")
                page.call("Input.insertText", text=name)
                page.run("document.getElementById('make').click()")
                page.wait(f"document.getElementById('source').value.includes('{name} = ')")
            page.run("document.getElementById('take').click()")
            page.wait("document.getElementById('source').value.includes('material')")
            page.run("document.getElementById('save').click()")
            page.wait("document.getElementById('said').textContent.includes('is kept')")
            assert page.console == []
        process.send_signal(2)
        assert process.wait(60) == 0

    def click_bore(self, page: Page, x: float) -> None:
        """The wall of a bore is seen from above at one side of it."""
        for k in range(24):
            angle = math.pi * k / 12
            place = [x + 0.0079 * math.cos(angle), 0.0079 * math.sin(angle), 0.004]
            page.click(*page.run(PLACE_OF_POINT % place))
            if "cylinder" in page.run("document.getElementById('chosen').textContent"):
                return
            page.run("document.getElementById('clear').click()")
        raise AssertionError(f"no bore was met at x = {x} m")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="flexmbs-first-") as name:
        trial = Trial(Path(name))
        (trial.folder / "mine").mkdir()
        for file in ("coupler.geo", "rocker.py", "sixbar.toml"):
            shutil.copy(HERE / file, trial.folder / "mine")
        trial.run(f"git clone -q {ROOT} flexmbs", ".")
        trial.run('python3 -m venv .venv && .venv/bin/pip install -q ".[plot,cad]"', "flexmbs")
        trial.run("python rocker.py")
        trial.run('flexmbs mesh coupler.geo -o coupler.msh --size "8 mm" --unit-system mm')
        trial.run(
            "flexmbs reduce coupler.msh --material steel --interface left --interface right:rbe3 --modes 6"
        )
        trial.step("flexmbs view rocker.step: three bores clicked and named", trial.point)
        trial.run("flexmbs reduce rocker.reduce.toml -o rocker.modal.h5")
        trial.run("flexmbs check sixbar.toml")
        trial.run("flexmbs run sixbar.toml -o sixbar.h5")
        trial.run("flexmbs stress sixbar.h5 rocker")
        trial.run("flexmbs report sixbar.h5 -o sixbar.html")
        print(f"{trial.total[0]:7.1f} s {trial.total[1]:7.1f} CPU s  in all")


if __name__ == "__main__":
    main()
