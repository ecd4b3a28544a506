"""No damaged input ends in a traceback, a signal, a hang, much memory, or a change outside the output.

The oracles: how it ended, time and memory, every file, link and pipe of a sandbox that holds the folder of
the try and a neighbour, what is on the screen, whether what is surely wrong was accepted, and whether the
message names the place.
"""

import os
import shutil

import numpy as np
import pytest

from tests.conftest import present
from tests.damage import generators as g
from tests.damage import inputs
from tests.damage.forks import command, warm

SECONDS, MEGABYTES, LINES, WIDTH = 10.0, 300.0, 12, 1000
OUTPUTS = {
    f"work/{name}"
    for name in ("out.h5", "out.modal.h5", "out.csv", "out.vtkhdf", "out.glb", "out.html", "out.toml")
}
#: refused with the place or entity, of those whose damage is known
NAMED = 0.95
#: damaged inputs of the default suite: 350 in all
COUNTS = {
    "case.toml": 40,
    "more.toml": 20,
    "rod.reduce.toml": 20,
    "push.csv": 8,
    "rod.modal.h5": 16,
    "result.h5": 20,
    **dict.fromkeys(inputs.MESHES, 8),
    **dict.fromkeys(inputs.ROBOTS, 10),
}
FEW = 3
#: meshio reads on in damaged ones until its time is over, ten seconds each
ENDLESS = {"m.tec", "m.mdpa"}
#: every name, with what it needs beside the dependencies
NAMES = [
    pytest.param(name, marks=pytest.mark.needs(*inputs.NEEDS[name]) if name in inputs.NEEDS else ())
    for name in sorted(inputs.READERS)
]
QUICK = [item for item in NAMES if item.values[0] not in ENDLESS]
#: exit codes of commands whose good input ends so: a study in which a design failed
ENDS = {("sweep", "status"): 4}


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """One good input of every kind; making them has also compiled and loaded all that the tries need."""
    folder = tmp_path_factory.mktemp("good")
    inputs.make(folder)
    before = set(os.listdir(folder))
    for words in {tuple(words): None for commands in inputs.READERS.values() for words in commands}:
        missing = [
            name for name, needed in inputs.NEEDS.items() if name in words and not all(map(present, needed))
        ]
        if "--resume" in words or missing:
            continue  # the one ends the unfinished result
        assert warm(list(words), folder) == ENDS.get(words[:2], 0), words
        for name in set(os.listdir(folder)) - before:
            (folder / name).unlink()
    return folder


def kinds_of(name):
    if name.endswith(".toml"):
        return g.TOML + g.BLIND[:2]
    if name.endswith(".json"):
        return g.JSON + g.TEXT + g.BLIND
    if name.endswith((".urdf", ".xml", ".xdmf")):
        return g.XML + g.TEXT + g.BLIND[:2]
    if name.endswith((".h5", ".med", ".cgns", ".h5m", ".exo")):
        return (g.HDF5 if "parts" not in name else ()) + g.BLIND[:2]
    return g.BLIND if name in inputs.BINARY else g.TEXT + g.BLIND[:2]


def complaint(damage, ending):
    """What is wrong with how a command took a damaged input; "" when nothing is."""
    if ending.signal:
        return f"signal {ending.signal}"
    if ending.code not in (0, 2, 3, 4, 6):
        return f"exit {ending.code}"
    if "Traceback" in ending.err or "Warning:" in ending.err:
        return "a traceback or a warning of Python"
    if ending.seconds > SECONDS or ending.megabytes > MEGABYTES:
        return f"{ending.seconds:.1f} s, {ending.megabytes:.0f} MB"
    if any(ord(c) < 32 and c not in "\n\t" for c in ending.err + ending.out):
        return "control characters on the screen"
    if ending.code == 3 and (len(ending.err.splitlines()) > LINES or not ending.errors):
        return f"{len(ending.err.splitlines())} lines, {len(ending.errors)} errors"
    if any(len(line) > WIDTH for line in ending.errors):
        return f"a message of {max(map(len, ending.errors))} characters"
    if damage.wrong and ending.code == 0:
        return "accepted"
    ours = (*OUTPUTS, f"work/{inputs.PARTS}", "work/cut.h5", "work/out.h5.parts")
    strange = [name for name in ending.changed if not name.startswith(ours)]
    if strange or (ending.code == 3 and OUTPUTS.intersection(ending.changed)):
        return f"changed {ending.changed}"
    return ""


def sandbox(good, box, name):
    """A folder beside another one, with the input and all that commands read with it."""
    if box.exists():
        shutil.rmtree(box)
    (box / "outside").mkdir(parents=True)
    (box / "outside" / "canary.txt").write_text("sings")
    (box / "work").mkdir()
    for path in good.iterdir():
        if path.name in inputs.ALONE and path.name != name:
            continue
        if path.is_dir():
            shutil.copytree(path, box / "work" / path.name, symlinks=True)
        elif path.is_fifo():
            os.mkfifo(box / "work" / path.name)
        else:
            shutil.copy(path, box / "work" / path.name, follow_symlinks=False)
    return box


def examine(good, tmp_path, name, count, seed):
    """Try damages of one input; returns how many were refused with a known place, and how many named it."""
    found, refused, named = [], 0, 0
    commands, box = inputs.READERS[name], sandbox(good, tmp_path / "box", name)
    for k, damage in enumerate(g.damages((good / name).read_bytes(), kinds_of(name), count, seed)):
        words = commands[k % len(commands)]
        (box / "work" / name).write_bytes(damage.data)
        ending = command(words, box / "work", box)
        if ending.changed:
            sandbox(good, box, name)
        wrong = complaint(damage, ending)
        if wrong:
            found.append(f"{' '.join(words)}: {damage.what}: {wrong}\n    {ending.err[:400]}")
        if ending.code == 3 and damage.names:
            refused += 1
            named += any(item in ending.err for item in damage.names)
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found)
    assert named >= NAMED * refused - 1, f"{named} of {refused} messages name what was damaged"


@pytest.mark.parametrize("name", QUICK)
def test_damaged_inputs_are_told(good, tmp_path, name):
    examine(good, tmp_path, name, COUNTS.get(name, FEW), 1)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_inputs_are_told(good, tmp_path, name):
    examine(good, tmp_path, name, 80, 2)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_damaged_inputs_are_told(good, tmp_path, name):
    examine(good, tmp_path, name, 250, int(os.environ.get("FLEXMBS_SEED", "3")))


def test_the_generators_damage(good):
    """They would prove nothing if they changed nothing."""
    rng = np.random.default_rng(3)
    for name in inputs.READERS:
        data = (good / name).read_bytes()
        changed = [g.damaged(data, kind, rng).data != data for kind in kinds_of(name) for _ in range(3)]
        assert np.mean(changed) > 0.8
