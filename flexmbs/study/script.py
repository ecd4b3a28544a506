"""Studies by job arrays, for clusters without a daemon: every job takes its part of the designs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from flexmbs import disk
from flexmbs.study.pool import run_all
from flexmbs.study.store import Store
from flexmbs.study.study import Study

SLURM = """#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=1
#SBATCH --output={log}
# Part i of {parts} of the designs of a study that are not done yet. Submit it again to go on;
# time, memory and account are options of sbatch.
export OMP_NUM_THREADS=1
exec {python} -m flexmbs.cli.main sweep part {folder} "${{SLURM_ARRAY_TASK_ID}}/{parts}"
"""


def slurm_script(store: Store, parts: int) -> Path:
    """Write the script of a study into its folder."""
    folder = store.folder.resolve()
    parts = min(parts, len(set(store.ids)))
    text = SLURM.format(
        name=shlex.quote(folder.stem),
        last=parts - 1,
        parts=parts,
        log=shlex.quote(str(folder / "slurm-%a.log")),
        python=shlex.quote(sys.executable),
        folder=shlex.quote(str(folder)),
    )
    path = folder / "slurm.sh"
    with disk.atomic_file(path, overwrite=True, accept=lambda path: True) as file:
        file.write(text.encode())
    return path


def run_part(folder: Path, part: int, parts: int) -> Study:
    """Do one part of a study that is there; parts need not know of each other, as rows need no lock."""
    store = Store.open(folder)
    store.begin()
    firsts = {name: k for k, name in reversed(list(enumerate(store.ids)))}
    mine = [k for k in sorted(firsts.values())[part::parts] if store.row(k) is None]
    for _ in run_all(store, mine, 1):
        pass
    return Study(store)
