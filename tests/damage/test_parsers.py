"""Mutations of all that is parsed, in one process: every parser answers with a value or an error for people.

`pytest -m soak tests/damage/test_parsers.py -k million` is the long one: slices of 10,000, with
FLEXMBS_MUTATIONS and FLEXMBS_SEED. What is done stands in the file FLEXMBS_PROGRESS: a second start goes on.
What fails is kept as `finds/NAME-...` beside this file, and tried again by the default suite from then on.
"""

import contextlib
import hashlib
import itertools
import os
import re
import resource
import shutil
import signal
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import FlexmbsError
from flexmbs.expressions import ExpressionError, parse
from flexmbs.expressions.files import read_table, table_loader
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.readers import read_mesh
from flexmbs.reduce import stage1
from flexmbs.reduce.matrices import symmetric
from flexmbs.reduce.matrix_files import read_matrix_file
from flexmbs.toml_file import parse_toml
from flexmbs.units import UnitError, parse_quantity
from tests.damage import generators as g
from tests.damage import inputs
from tests.fe.mesh_samples import sample

FINDS = Path(__file__).parent / "finds"
EXPRESSION = b'3.5*sin(2*pi*t)**2 - max(0, main.angle)*table("push.csv", t) + where(t < 1, a, -b/1e-3)'
QUANTITY = b"-12.5e-3 kg*m/s^2"
SECONDS, MEGABYTES = 10.0, 300  # that the parser of a small file may take
SLICE = 10_000


def text_of(path):
    return path.read_bytes().decode("utf-8", "replace")


def rigid_body(path):
    given = {"material": "steel"} if path.suffix in (".unv", ".mail") else {}  # which have none
    return fm.reduce(path, modes=0, geometric_stiffness=False, stress="none", **given)


PARSERS = {
    **{name: lambda path: check_mesh(read_mesh(path)) for name in inputs.MESHES},
    **{name: rigid_body for name in inputs.DECKS},
    **{name: lambda path: symmetric(read_matrix_file(path).entries, path.name) for name in inputs.MATRICES},
    "case.toml": lambda path: parse_toml(text_of(path)),
    "rod.reduce.toml": lambda path: parse_toml(text_of(path)),
    "push.csv": read_table,
    "an.expression": lambda path: parse(text_of(path), load_table=table_loader(path.parent)),
    "a.quantity": lambda path: parse_quantity(text_of(path)),
}
ALLOWED = (FlexmbsError, ExpressionError, UnitError)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    for name, write in inputs.MESHES.items():
        write(sample("tet4"), folder / name)
    inputs.make_matrices(folder)
    texts = {name: text() for name, text in inputs.DECKS.items()}
    texts |= {"case.toml": inputs.CASE, "rod.reduce.toml": inputs.RECIPE, "push.csv": inputs.PUSH}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "an.expression").write_bytes(EXPRESSION)
    (folder / "a.quantity").write_bytes(QUANTITY)
    return folder


def kinds_of(name):
    if name.endswith(".toml"):
        return g.TOML + g.BLIND
    return g.BLIND if name in inputs.BINARY else g.TEXT + g.BLIND


def attempt(name, path):
    """The error that no parser may raise, or None."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PARSERS[name](path)
    except ALLOWED:
        return None
    except (Exception, SystemExit) as error:  # meshio ends the interpreter on some files
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def _late(number, frame):
    raise TimeoutError(f"more than {SECONDS} s")


@contextlib.contextmanager
def limits():
    """Time and memory of every attempt; reductions do not look for threads of this process each time."""
    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGPROF, _late)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEGABYTES * 2**20, before[1]))
    try:
        with mock.patch.object(stage1, "threadpool_limits", contextlib.nullcontext):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGPROF, handler)


@pytest.fixture
def folder(good):
    """A copy of the good inputs, in memory where that can be: a disk takes milliseconds for each file."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as made:
        shutil.copytree(good, made, dirs_exist_ok=True)
        yield Path(made)


def mutate(folder, count, seed):
    """Damage inputs one to three times each, in turn; returns what was raised that may not be."""
    rng, failed = np.random.default_rng(seed), []
    whole = {name: (folder / name).read_bytes() for name in PARSERS}
    with limits():
        for name in itertools.islice(itertools.cycle(PARSERS), count):
            kinds, data = kinds_of(name), whole[name]
            for _ in range(int(rng.integers(1, 4))):
                data = g.damaged(data, kinds[int(rng.integers(len(kinds)))], rng).data
            path = folder / name
            path.write_bytes(data)
            error = attempt(name, path)
            if error is not None:
                FINDS.mkdir(exist_ok=True)
                (FINDS / f"{hashlib.sha256(data).hexdigest()[:8]}-{name}").write_bytes(data)
                failed.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            path.write_bytes(whole[name])
    return failed


def places(text, line, new):
    """What a message may name where a number on a line became another: the line, or that on which its entry
    begins; the entities whose numbers stand there; an array; what was found. A node that has moved is told by
    a cell of it."""
    lines = text.split("\n")
    first = line
    while first > 1 and (lines[first - 1][:1] in "+* " or lines[first - 2].rstrip().endswith(",")):
        first -= 1
    numbers = re.findall(r"\d+", lines[line - 1][:200]) + re.findall(r"\d+", lines[first - 1][:200])
    shown = [rf":{number}\b" for number in range(first, line + 2)]
    shown += [rf"(?<![\w.-]){number}(?![\w.])" for number in numbers]
    shown += [re.escape(f'"{array}"') for array in re.findall(r'Name="(\w+)"', lines[line - 1])]
    shown.append(r"\b(cell|row) \d+")
    return "|".join([*shown, *([re.escape(new)] if new else [])])


def named(good, folder, name, count, seed):
    """Of numbers that became others in a text: how many were refused, and what of it did not say where."""
    rng, data, refused, silent = np.random.default_rng(seed), (good / name).read_bytes(), 0, []
    for _ in range(count):
        damage = g.other_number(data, rng)
        line, old, new = re.match(r"line (\d+): (.*) -> '(.*)'", damage.what).groups()
        (folder / name).write_bytes(damage.data)
        try:
            PARSERS[name](folder / name)
        except ALLOWED as error:
            refused += 1
            told = " ".join(f"{item.where} {item.what}" for item in error.diagnostics)
            if not re.search(places(damage.data.decode(), int(line), new), told):
                silent.append(f"{name}:{line}: {old} -> {new}: {told[-200:]}")
    return refused, silent


def test_numbers_that_became_others_are_told_with_their_place(good, folder):
    refused, silent = 0, []
    with limits():
        for name in (*inputs.MESHES, *inputs.DECKS, *inputs.MATRICES):
            if name not in inputs.BINARY:
                more, quiet = named(good, folder, name, 12, 7)
                refused, silent = refused + more, silent + quiet
    assert refused > 150 and len(silent) <= 0.05 * refused, f"{len(silent)} of {refused}:\n" + "\n".join(
        silent
    )


@pytest.mark.parametrize("name", PARSERS)
def test_what_is_not_damaged_is_taken(good, name):
    PARSERS[name](good / name)


def test_mutations_are_parsed_or_refused(folder):
    assert mutate(folder, 600, 1) == []


@pytest.mark.soak
def test_many_mutations_are_parsed_or_refused(folder):
    assert mutate(folder, 6000, 2) == []


@pytest.mark.soak
def test_a_million_mutations_are_parsed_or_refused(folder):
    count, seed = (
        int(os.environ.get("FLEXMBS_MUTATIONS", "1_000_000")),
        int(os.environ.get("FLEXMBS_SEED", "3")),
    )
    progress = Path(os.environ.get("FLEXMBS_PROGRESS", folder / "progress"))
    progress.touch()
    done = {int(line.split()[0]) for line in progress.read_text().splitlines()}
    for k in range(-(-count // SLICE)):
        if k not in done:
            failed = mutate(folder, min(SLICE, count - k * SLICE), [seed, k])
            with progress.open("a") as notes:
                notes.write(f"{k} {min(SLICE, count - k * SLICE)} {failed}\n")
    found = [line for line in progress.read_text().splitlines() if not line.endswith(" []")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("find", sorted(FINDS.glob("*")), ids=lambda path: path.name)
def test_finds_stay_mended(find):
    assert attempt(find.name.partition("-")[2], find) is None
