"""Studies with the real command and real processes, against closed forms and against each other."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.build import cache
from flexmbs.case.runner import execute
from flexmbs.cli.main import command
from flexmbs.errors import InputError
from flexmbs.study.pool import TRIES, run_all, serve
from flexmbs.study.run import plan
from flexmbs.study.store import Store
from tests.study.conftest import THROW


def flexmbs(*words):
    """Exit code and output of a command."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        raise SystemExit(command([str(word) for word in words]))
    return end.value.code, out.getvalue()


def numbers(folder):
    """All that may not depend on who computed it, and when: results hold a log with times."""
    return [
        {key: value for key, value in row.items() if key not in ("seconds", "stepping", "bytes")}
        for row in Store.open(folder).rows()
    ]


def test_a_study_gives_what_a_thrown_ball_does(study, tmp_path):
    path = study('grid = { speed = [1, 2, "3 m/s", 4] }')
    found = fm.sweep(path, tmp_path / "s", workers=2)
    assert found.counts == {"complete": 4}
    columns = found.columns
    np.testing.assert_array_equal(columns["speed"], [1, 2, 3, 4])
    np.testing.assert_allclose(columns["height"], columns["speed"] * 0.2 - 0.5 * 9.81 * 0.04, rtol=1e-9)
    assert found.result(2)["metrics/height"] == columns["height"][2]
    assert (tmp_path / "s" / "table.csv").read_text().startswith("design,speed,height,energy,status")
    again = fm.Study.load(tmp_path / "s")
    assert repr(again) == repr(found) and "4 complete" in repr(found)


def test_one_worker_and_two_give_the_same_bits_and_so_does_a_loop(study, tmp_path):
    path = study('sample = { method = "halton", n = 6, parameters = { speed = [1, 4] } }\nkeep = "none"')
    for name, workers in (("one", 1), ("two", 2)):
        fm.sweep(path, tmp_path / name, workers=workers)
    assert numbers(tmp_path / "one") == numbers(tmp_path / "two")
    assert not list((tmp_path / "one" / "runs").iterdir())
    case = Case.load(path)
    for row, item in zip(
        numbers(tmp_path / "one"), Store.open(tmp_path / "one").data["designs"], strict=True
    ):
        assert fm.run_one(case, **item["values"]) == row["metrics"]


def test_a_result_in_memory_is_the_one_that_is_written(study, tmp_path):
    case = Case.load(study("grid = { speed = [1] }"))
    written = execute(case, tmp_path / "a.h5").result
    kept = execute(case, keep=False).result
    assert set(kept.paths) <= set(written.paths)
    left = {path.split("/")[0] for path in set(written.paths) - set(kept.paths)}
    assert left <= {"provenance", "checkpoint", "topology"}
    for path in kept.paths:
        if path.startswith(("summary", "provenance")):
            continue
        a, b = written[path], kept[path]
        assert np.array_equal(a, b), path
        assert path.startswith("topology") or written.dimensions(path) == kept.dimensions(path), path
        assert written.attributes_of(path).get("units", "1") == kept.attributes_of(path).get("units", "1")
    assert kept.status == written.status == "complete" and kept.metrics.height == written.metrics.height


def test_a_study_that_was_cut_off_goes_on_to_the_same_numbers(study, tmp_path):
    path = study('grid = { speed = [1, 2, 3, 4, 5, 6] }\nkeep = "none"')
    fm.sweep(path, tmp_path / "whole", workers=1)
    made = plan(path, tmp_path / "cut")
    store = Store.create(made.folder, made.data)
    rows = run_all(store, range(6), 1)
    for _ in range(2):
        next(rows)
    rows.close()
    (store.folder / "rows" / f"{store.ids[4]}.json").write_text('{"id": "')  # of a power cut
    assert 2 <= sum(store.row(k) is not None for k in range(6)) < 6
    with pytest.raises(InputError, match="is a study already"):
        fm.sweep(path, tmp_path / "cut")
    before = {k: store.row(k) for k in range(6) if store.row(k)}
    fm.sweep(path, tmp_path / "cut", workers=2, resume=True)
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")
    assert all(store.row(k) == row for k, row in before.items())  # nothing is done twice


@pytest.mark.slow
def test_killed_workers_change_no_number(study, tmp_path):
    path = study(f'grid = {{ speed = {list(range(1, 201))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "whole", workers=2)
    made = plan(path, tmp_path / "killed")
    store = Store.create(made.folder, made.data)
    import multiprocessing

    before, stop, kills = set(multiprocessing.active_children()), threading.Event(), []

    def kill():
        rng = np.random.default_rng(0)
        while not stop.wait(rng.uniform(0.3, 0.9)) and len(kills) < 6:
            for process in set(multiprocessing.active_children()) - before:
                if process.pid and rng.random() < 0.7:
                    os.kill(process.pid, signal.SIGKILL)
                    kills.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        rows = list(run_all(store, range(200), 2))
    finally:
        stop.set()
        thread.join()
    assert kills and len(rows) == 200
    crashed = [row for row in rows if row["status"] == "crashed"]
    assert len(crashed) <= len(kills) // TRIES
    for row in crashed:
        store.forget(row["design"])
    list(run_all(store, [row["design"] for row in crashed], 1))
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")


class Deadly:
    """Designs that end their process, hold it up, or are a defect of the program."""

    def __init__(self, connection):
        self.connection, self.send = connection, connection.send

    def recv(self):
        k = self.connection.recv()
        if k == 1:
            os._exit(9)
        if k == 2:
            time.sleep(100.0)
        return k if k != 3 else "no number"


def deadly(connection, folder):
    serve(Deadly(connection), folder)


@pytest.mark.slow
def test_designs_that_kill_or_hold_up_their_worker_do_not_end_the_study(study, tmp_path):
    made = plan(study('grid = { speed = [1, 2, 3, 4, 5] }\nkeep = "none"\ntime_out = "6 s"'), tmp_path / "s")
    store = Store.create(made.folder, made.data)
    rows = {row["design"]: row for row in run_all(store, range(5), 1, life=deadly)}
    assert [rows[k]["status"] for k in range(5)] == ["complete", "crashed", "timed out", "failed", "complete"]
    assert rows[1]["message"] == f"ended its process {TRIES} times, with code 9"
    assert "time_out = 6 s" in rows[2]["message"] and "TypeError" in rows[3]["message"]
    assert {k: store.row(k) for k in rows} == rows


def lethal(folder, k, version):
    """Design 1 ends its worker, and tells how often."""
    from flexmbs.study import cluster, work

    def call(self, k, real=work.Worker.__call__):
        if k == 1:
            with open(os.path.join(folder, "ends"), "a") as file:
                file.write("x")
            os._exit(9)
        return real(self, k)

    if work.Worker.__call__.__name__ != "call":
        work.Worker.__call__ = call
    return cluster.design(folder, k, version)


@pytest.mark.slow
def test_a_design_that_ends_three_workers_of_a_cluster_is_marked_and_the_study_goes_on(study, tmp_path):
    distributed = pytest.importorskip("distributed")
    from flexmbs.study.cluster import run_on_cluster

    made = plan(study('grid = { speed = [1, 2, 3, 4, 5, 6] }\nkeep = "none"'), tmp_path / "s")
    store = Store.create(made.folder, made.data)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        rows = {
            r["design"]: r for r in run_on_cluster(store, range(6), cluster.scheduler_address, work=lethal)
        }
    assert {k: row["status"] for k, row in rows.items()} == {k: "complete" for k in range(6)} | {1: "crashed"}
    assert rows[1]["message"] == f"ended its worker {TRIES} times"
    assert len((tmp_path / "s" / "ends").read_text()) == TRIES
    assert {k: store.row(k) for k in rows} == rows
    assert not list((tmp_path / "s" / "rows").glob("*.tries"))


BAR = """
method = "craig-bampton"
modes = 1
material = "steel"
interfaces = { left = { set = "x_min" }, right = { set = "x_max" } }

[parameters]
length = "0.5 m"

[mesh]
shape = "beam"
length = "=length"
divisions = 4
section = { rectangle = ["20 mm", "10 mm"] }
"""
ARM = """
include = ["arm.toml"]

[bodies.bar]
type = "flexible"
reduce = "bar.reduce.toml"
recipe = { parameters = { length = "=L" } }
[joints.hub]
type = "revolute"
from = "ground"
to = "bar.left"
axis = "y"
[analysis]
t_end = 0.0
[metrics]
lever = "=system.com.x[0]"
"""


@pytest.fixture
def bars(tmp_path, monkeypatch):
    """A bar by a recipe whose keys a study changes; bodies are kept apart from those of other tests."""
    (tmp_path / "bar.reduce.toml").write_text(BAR)
    (tmp_path / "other.reduce.toml").write_text(BAR.replace("0.5 m", "0.7 m"))
    (tmp_path / "arm.toml").write_text("[parameters]\nL = 0.4\nspeed = 1.0\n")

    def make(sweep):
        (tmp_path / "bars.toml").write_text(f"{ARM}\n[sweep]\n{sweep}\n")
        return tmp_path / "bars.toml"

    monkeypatch.setattr(cache, "own_folder", lambda: tmp_path / "own")
    return make


def test_each_distinct_recipe_is_reduced_once_and_named_by_its_content(bars, tmp_path):
    """Lengths of the case, modes of the recipe; a speed that no recipe knows makes no further body."""
    path = bars(
        'grid = { L = [0.3, 0.6], "bodies.bar.recipe.modes" = [1, 2], speed = [1, 2, 3] }\nkeep = "none"'
    )
    found = fm.sweep(path, tmp_path / "s", workers=1)
    assert found.counts == {"complete": 12}
    np.testing.assert_allclose(found.columns["lever"], found.columns["L"] / 2, rtol=1e-9)
    kept = sorted((tmp_path / "s" / "bodies").glob("*.modal.h5"))
    assert len(kept) == 4
    times = [item.stat().st_mtime_ns for item in kept]
    again = fm.sweep(path, tmp_path / "s", workers=1, resume=True)
    assert again.counts == found.counts and [item.stat().st_mtime_ns for item in kept] == times


def test_whole_recipes_vary(bars, tmp_path):
    files = '["bar.reduce.toml", "other.reduce.toml"]'
    path = bars(f'grid = {{ "bodies.bar.recipe" = [{{}}], "bodies.bar.reduce" = {files} }}')
    found = fm.sweep(path, tmp_path / "s", workers=1)
    np.testing.assert_allclose(found.columns["lever"], [0.25, 0.35], rtol=1e-9)
    assert len(list((tmp_path / "s" / "bodies").glob("*.modal.h5"))) == 2


@pytest.mark.slow
@pytest.mark.needs("distributed")
def test_a_cluster_reduces_each_distinct_recipe_once(bars, tmp_path):
    from distributed import LocalCluster

    path = bars('grid = { L = [0.3, 0.6], speed = [1, 2, 3, 4] }\nkeep = "none"')
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://", host="127.0.0.1"
    ) as cluster:
        found = fm.sweep(path, tmp_path / "s", cluster=cluster.scheduler_address)
    np.testing.assert_allclose(found.columns["lever"], found.columns["L"] / 2, rtol=1e-9)
    assert len(list((tmp_path / "s" / "bodies").glob("*.modal.h5"))) == 2


CANTILEVER = """
[bodies.bar]
type = "flexible"
reduce = "bar.reduce.toml"
[joints.clamp]
type = "fixed"
from = "ground"
to = "bar.left"
[forces.tip]
type = "point"
on = "bar.right"
force = [0, 0, "=P"]
[parameters]
P = 10.0
[analysis]
type = "statics"
"""


def test_hot_spots_of_a_body_are_collected(bars, tmp_path):
    """The root of a cantilever: sigma = 6 P L / (b h^2) at the outermost fibres, whatever was kept."""
    path = bars("grid = { L = [1] }")
    table = (
        '[sweep]\ngrid = { P = [10, -20] }\nkeep = "worst 1"\nrank = "bar.hot_spot"\nhot_spots = ["bar"]\n'
    )
    path.write_text(CANTILEVER + table + 'limits = { "bar.hot_spot" = [0, "20 MPa"] }\n')
    found = fm.sweep(path, tmp_path / "s", workers=1)
    columns = found.columns
    np.testing.assert_allclose(columns["bar.hot_spot"], 6 * abs(columns["P"]) * 0.5 / (0.02 * 0.01**2), 1e-3)
    np.testing.assert_allclose(columns["bar.hot_spot.x"], 0.0, atol=1e-12)
    assert abs(columns["bar.hot_spot.z"]) == pytest.approx(0.005) and not columns["bar.hot_spot.time"].any()
    assert found.outside()["bar.hot_spot"][0] == 0.5 and found.file(1) and not found.file(0)
    for body, what in (
        ("rod", 'there is no body "rod"|"rod" is no body'),
        ("ball", '"ball" is not flexible'),
    ):
        ball = '[bodies.ball]\ntype = "particle"\nmass = 1.0\n'
        path.write_text(ball + CANTILEVER + table.split("keep")[0] + f'hot_spots = ["{body}"]')
        with pytest.raises(InputError, match=what):
            plan(path)


def test_a_case_changes_keys_of_its_recipe(bars, tmp_path):
    case = Case.load(bars("grid = { L = [1] }"))
    assert case.model().bodies["bar"].modal.nf == 7
    more = case.with_values(**{"bodies.bar.recipe.modes": 3, "bodies.bar.recipe.mesh.divisions": 6, "L": 0.8})
    body = more.model().bodies["bar"].modal
    assert body.nf == 9 and body.integrals.S_O[0] / body.integrals.mass == pytest.approx(0.4)
    with pytest.raises(InputError, match=r"bodies.bar.recipe: .*modees.*did you mean"):
        case.with_values(**{"bodies.bar.recipe.modees": 3}).model()
    with pytest.raises(InputError, match='"recipe" changes keys of the file that "reduce" names'):
        case.with_tables(lambda data: data["bodies"]["bar"].update(modal="a.h5", reduce=None))


def stillborn(connection, folder):
    """A process that ends before it takes anything."""
    with open(f"{folder}/born", "a") as file:
        file.write(".")
    os._exit(7)


def test_processes_that_cannot_start_end_the_study_at_once(study, tmp_path):
    """They restarted for every design, which was marked as crashed for it."""
    made = plan(study('grid = { speed = [1, 2, 3, 4, 5, 6, 7, 8] }\nkeep = "none"'), tmp_path / "s")
    store = Store.create(made.folder, made.data)
    with pytest.raises(fm.SolverError, match="3 processes ended before their first design: code 7"):
        list(run_all(store, range(8), 1, life=stillborn))
    assert (tmp_path / "s" / "born").read_text() == "..."
    (tmp_path / "throw.toml").unlink()  # a case that a process cannot read is said by it
    with pytest.raises(fm.SolverError, match=r"before their first design: .*throw.toml"):
        list(run_all(store, range(8), 1))
    assert list(store.rows()) == []


def cramped(connection, folder):
    """A process whose files may have 20 kB: a result has more."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    serve(connection, folder)


def test_a_full_disk_ends_a_study_and_blames_no_design(study, tmp_path):
    """All designs that followed were marked as failed, and --resume left them so."""
    path = study("grid = { speed = [1, 2, 3] }")
    made = plan(path, tmp_path / "s")
    store = Store.create(made.folder, made.data)
    with pytest.raises(fm.SolverError, match="the disk is full.*--resume"):
        list(run_all(store, range(3), 1, life=cramped))
    assert not list(store.rows()) and not list((tmp_path / "s" / "runs").iterdir())
    found = fm.sweep(path, tmp_path / "s", workers=1, resume=True)
    assert found.counts == {"complete": 3} and found.file(2)


def test_a_design_that_fails_is_told_and_done_again_when_asked(study, tmp_path):
    path = study('zip = { "bodies.ball.mass" = [0.5, -1.0, 2.0] }\nkeep = "failed"')
    code, out = flexmbs("sweep", path, "-o", tmp_path / "s", "--workers", 1, "--quiet")
    assert code == 4 and "2 complete, 1 failed" in out and "design 1 failed" in out and "mass" in out
    code, out = flexmbs("sweep", path, "-o", tmp_path / "s", "--workers", 1, "--only", "failed", "--quiet")
    assert code == 4 and "2 complete, 1 failed" in out
    code, out = flexmbs("sweep", "status", tmp_path / "s", "--json")
    told = json.loads(out)
    assert code == 4 and told["counts"] == {"complete": 2, "failed": 1}
    with pytest.raises(fm.SolverError, match="design 1"):
        fm.sweep(
            study('zip = { "bodies.ball.mass" = [0.5, -1.0, 2.0] }\non_failure = "stop"'),
            tmp_path / "t",
            workers=1,
        )


def test_the_worst_results_are_kept(study, tmp_path):
    path = study('grid = { speed = [4, 1, 3, 2] }\nkeep = "worst 2"\nrank = "-height"')
    found = fm.sweep(path, tmp_path / "s", workers=1)
    assert [(tmp_path / "s" / "runs" / f"{name}.h5").exists() for name in Store.open(tmp_path / "s").ids] == [
        False, True, False, True,
    ]  # fmt: skip
    with pytest.raises(InputError, match="keeps no result of design 0"):
        found.result(0)
    fm.sweep(path, tmp_path / "s", workers=1, resume=True)  # what was not kept is not missing


def test_what_is_wrong_is_said_before_anything_is_written(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out = flexmbs("sweep", study("grid = { speed = [1, 2, 3] }"), "--dry-run")
    assert code == 0 and "3 designs into speeds.study" in out and "speed = 1" in out
    assert not (tmp_path / "speeds.study").exists()
    for words in (("status", "elsewhere"), (tmp_path / "throw.toml",)):
        assert flexmbs("sweep", *words)[0] == 3
    assert flexmbs("sweep", "a", "b", "c")[0] == 2
    assert flexmbs("sweep", tmp_path / "speeds.toml", "--workers", "0")[0] == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert flexmbs("sweep", tmp_path / "speeds.toml", "-o", tmp_path / "mine", "--resume")[0] == 3
    assert [item.name for item in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_another_case_is_no_resumption(study, tmp_path):
    path = study('grid = { speed = [1] }\nkeep = "none"')
    fm.sweep(path, tmp_path / "s", workers=1)
    (tmp_path / "throw.toml").write_text(THROW.replace("0.5", "0.6"))
    with pytest.raises(InputError, match="is of another study"):
        fm.sweep(path, tmp_path / "s", workers=1, resume=True)


def test_a_design_that_takes_too_long_ends_by_itself(study, tmp_path):
    from flexmbs.study.work import measured

    case = Case.load(study("grid = { speed = [1] }"))
    long = {"analysis.t_end": 1e4, "analysis.method": "rk4", "analysis.step": 1e-4, "output.every": 100.0}
    row = measured(case, long, None, time_out=1.0)
    assert row["status"] == "timed out" and "time_out = 1 s, at t = " in row["message"]


@pytest.mark.needs("distributed")
@pytest.mark.slow
def test_a_cluster_gives_the_same_rows_and_loses_none_with_a_worker(study, tmp_path):
    """Real workers of Dask, one of them killed; a finished design of a dead worker is not computed again."""
    from distributed import LocalCluster

    path = study(f'grid = {{ speed = {list(range(1, 61))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "here", workers=2)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://", host="127.0.0.1"
    ) as cluster:
        killed = []

        def progress(share, text):
            if share > 0.3 and not killed:
                killed.append(next(iter(cluster.workers.values())).process.process.pid)
                os.kill(killed[0], signal.SIGKILL)

        fm.sweep(path, tmp_path / "there", cluster=cluster.scheduler_address, progress=progress)
        assert killed and numbers(tmp_path / "there") == numbers(tmp_path / "here")
        with pytest.raises(InputError, match="no scheduler answers"):
            fm.sweep(path, tmp_path / "nobody", cluster="tcp://127.0.0.1:1")
    with pytest.raises(fm.FlexmbsError, match="is not encrypted"):
        fm.sweep(path, tmp_path / "open", cluster="tcp://10.1.2.3:8786")


@pytest.mark.slow
def test_a_client_that_is_killed_leaves_a_study_that_goes_on(study, tmp_path):
    """Its processes end with it, its lock is free, and its rows stay."""
    path = study(f'grid = {{ speed = {list(range(1, 201))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "whole", workers=2)
    command = [sys.executable, "-m", "flexmbs.cli.main", "sweep", str(path), "-o", str(tmp_path / "cut")]
    rows = tmp_path / "cut" / "rows"
    with subprocess.Popen([*command, "--workers", "2", "--quiet"]) as client:
        while client.poll() is None and len(list(rows.glob("*.json"))) < 20:
            time.sleep(0.02)
        client.kill()
    before = {item.name: item.stat().st_mtime_ns for item in rows.glob("*.json")}
    assert 20 <= len(before) < 200
    fm.sweep(path, tmp_path / "cut", workers=2, resume=True)
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")
    assert all((rows / name).stat().st_mtime_ns == when for name, when in before.items())


def dask_commands():
    """An address that is free, and what starts a scheduler there, and one of its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    start = [sys.executable, "-m"]
    scheduler = [*start, "distributed.cli.dask_scheduler", "--no-dashboard", "--host", address]
    return (
        address,
        scheduler,
        [*start, "distributed.cli.dask_worker", address, "--no-dashboard", "--nthreads", "1"],
    )


#: processes of a cluster, each with its children in a group of its own
silent = partial(
    subprocess.Popen, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
)


def answers(process, place):
    """Wait for a program that listens at a place; whether it does, as it may have ended."""
    while process.poll() is None:
        with suppress(OSError), socket.create_connection(place, timeout=5.0):
            return True
        time.sleep(0.1)
    return False


def scheduling(command, address):
    """A scheduler that answers: how long its program takes to begin is nothing that a client waits for."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    process = silent(command)
    assert answers(process, (host, int(port))), f"the scheduler ended with {process.returncode}"
    return process


@pytest.mark.slow
@pytest.mark.needs("distributed")
def test_all_processes_that_are_killed_at_once_leave_a_study_that_goes_on(study, tmp_path):
    """Client, scheduler and workers, as by a power cut: what has a row keeps it, all else is done once."""
    path = study(f'grid = {{ speed = {list(range(1, 81))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "whole", workers=2)
    address, scheduler_of, worker_of = dask_commands()
    rows = tmp_path / "cut" / "rows"
    client_of = [sys.executable, "-m", "flexmbs.cli.main", "sweep", str(path), "-o", str(rows.parent)]
    running = [scheduling(scheduler_of, address), *(silent(worker_of) for _ in range(2))]
    try:
        running.insert(0, silent([*client_of, "--cluster", address, "--quiet"]))
        while running[0].poll() is None and len(list(rows.glob("*.json"))) < 10:
            time.sleep(0.01)
    finally:
        for item in running:  # SIGKILL: nobody says anything to anybody
            os.killpg(item.pid, signal.SIGKILL)
        for item in running:
            item.wait()
    before = {item.name: item.stat().st_mtime_ns for item in rows.glob("*.json")}
    assert 10 <= len(before) < 80
    fm.sweep(path, tmp_path / "cut", workers=2, resume=True)
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")
    assert len(list(rows.iterdir())) == 80  # and nothing half done beside them
    assert all((rows / name).stat().st_mtime_ns == when for name, when in before.items())


@pytest.mark.slow
@pytest.mark.needs("distributed")
@pytest.mark.parametrize("pause", [0.0, 1.5], ids=["told by a design", "told by a question"])
def test_a_scheduler_that_dies_takes_no_design_with_it(study, tmp_path, pause):
    """All designs that it had not handed out were marked as failed, and --resume left them so.

    pause : after which the client asks it who is there, before it hears of a design.
    """
    import distributed  # noqa: F401  (its settings are there then)
    from dask import config

    path = study(f'grid = {{ speed = {list(range(1, 41))} }}\nkeep = "none"')
    fm.sweep(path, tmp_path / "here", workers=2)
    address, scheduler_of, worker_of = dask_commands()
    with (
        config.set({"distributed.comm.timeouts.connect": "10s"}),
        scheduling(scheduler_of, address) as scheduler,
        silent(worker_of) as one,
    ):
        try:

            def progress(share, text):
                if share > 0.3:
                    scheduler.kill()
                    time.sleep(pause)

            with pytest.raises(fm.SolverError, match="the scheduler at .* is gone.*--resume"):
                fm.sweep(path, tmp_path / "there", cluster=address, progress=progress)
        finally:
            scheduler.kill()
            one.kill()
    assert {row["status"] for row in Store.open(tmp_path / "there").rows()} == {"complete"}
    fm.sweep(path, tmp_path / "there", workers=2, resume=True)
    assert numbers(tmp_path / "there") == numbers(tmp_path / "here")


def test_equal_designs_are_run_once_and_found_by_each_of_their_numbers(study, tmp_path):
    """As the trajectories of Morris have them; otherwise all but one would count as missing."""
    path = study('zip = { speed = [1, 2, 1, 2] }\nkeep = "worst 1"\nrank = "height"')
    told = []
    found = fm.sweep(path, tmp_path / "s", workers=1, progress=lambda share, text: told.append(text))
    assert told[-1] == "2 of 2, 0 failed" and found.counts == {"complete": 4}
    columns = found.columns
    np.testing.assert_array_equal(columns["design"], range(4))
    np.testing.assert_array_equal(columns["height"][:2], columns["height"][2:])
    assert found.file(1) == found.file(3) != "" and found.file(0) == ""


def test_other_contents_of_a_file_that_varies_are_another_study(study, tmp_path):
    (tmp_path / "a.csv").write_text("0, 0\n1, 1\n")
    made = [plan(study('grid = { "output.file" = ["a.csv"], speed = [1] }'))]
    (tmp_path / "a.csv").write_text("0, 0\n1, 2\n")
    made.append(plan(tmp_path / "speeds.toml"))
    assert made[0].data["designs"] != made[1].data["designs"]


WRONG = [
    ("names", "speed"), ("limits", {"height": [1]}), ("time_out", "1 s"), ("keep", "some"), ("worst", -1),
    ("allow_python", 1), ("designs", []), ("designs", [{"id": "../../thesis", "values": {"speed": 1}}]),
    ("designs", [{"id": 20 * "a", "values": {"mass": 1}}]), ("sample", "saltelli"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_damaged_study_is_told(study, tmp_path, name, value):
    made = plan(study("grid = { speed = [1, 2] }"), tmp_path / "s.study")
    Store.create(made.folder, made.data)
    path = made.folder / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    wrong = name if name != "sample" else "designs"
    with pytest.raises(InputError, match=f'study.json .*"{wrong}" is missing or not as it was written'):
        Store.open(made.folder)


def test_rows_that_are_not_whole_count_as_not_done(study, tmp_path):
    made = plan(study("grid = { speed = [1, 2] }"), tmp_path / "s.study")
    store = Store.create(made.folder, made.data)
    row = {"status": "complete", "message": "", "metrics": {"height": 1.0}, "seconds": 0.1}
    store.result(0).write_bytes(b"")
    store.write_row(0, row)
    assert store.row(0)["metrics"] == {"height": 1.0} and store.row(1) is None
    for key, value in (("metrics", [1]), ("metrics", {"height": "1"}), ("seconds", None), ("message", 3)):
        store.write_row(0, row | {key: value})
        assert store.row(0) is None
    (made.folder / "rows" / f"{store.ids[0]}.json").write_text(100_000 * "[")
    assert store.row(0) is None


def test_workers_do_what_is_asked_now_not_what_a_folder_says(study, tmp_path):
    """A folder from elsewhere cannot let Python functions in, or name another case."""
    made = plan(study("grid = { speed = [1, 2] }"), tmp_path / "s.study")
    Store.create(made.folder, made.data | {"allow_python": True, "case": "/elsewhere/evil.toml"})
    Store.create(made.folder, made.data, resume=True)
    told = Store.open(made.folder).data
    assert told["allow_python"] is False and told["case"] == made.data["case"]


def test_a_result_that_is_written_at_once_is_the_one_of_segments(study, tmp_path):
    """Bit for bit, with everything: attributes, scales, the state to go on from."""
    case = Case.load(study("grid = { speed = [1] }"))
    execute(case, tmp_path / "a.h5")
    execute(case, tmp_path / "b.h5", at_once=True)
    a, b = (fm.Result.load(tmp_path / name) for name in ("a.h5", "b.h5"))
    assert a.paths == b.paths and len(a.paths) > 40 and not (tmp_path / "b.h5.parts").exists()
    assert a.attributes.keys() == b.attributes.keys() and b.attributes["t_reached"] == 0.2
    for path in a.paths:
        if not path.startswith(("summary", "provenance/drawing", "provenance/log")):
            np.testing.assert_array_equal(a[path], b[path], path)
            assert a.dimensions(path) == b.dimensions(path) and a.attributes_of(path) == b.attributes_of(path)
    start = Case.load(tmp_path / "speeds.toml", **{"analysis.start": str(tmp_path / "b.h5")})
    assert execute(start, keep=False).result.status == "complete"


def test_a_design_that_stops_leaves_what_it_computed(study, tmp_path):
    path = study('grid = { big = [0.0, 1.0] }\nkeep = "failed"')
    wall = '[forces.wall]\ntype = "point"\non = "ball"\nforce = ["=big/(0.123 - t)", 0, 0]\n'
    (tmp_path / "throw.toml").write_text(THROW.replace("[parameters]", "[parameters]\nbig = 0.0") + wall)
    found = fm.sweep(path, tmp_path / "s", workers=1)
    assert found.counts == {"complete": 1, "failed": 1}, found
    left = found.result(1)
    assert left.status == "failed" and 0.0 < left["time"][-1] <= 0.123
    assert found.file(0) == ""


def test_rows_are_read_together_and_a_row_without_its_result_is_no_row(study, tmp_path):
    path = study("grid = { speed = [1, 2] }")
    found = fm.sweep(path, tmp_path / "s", workers=1)
    assert found.table["height"].tolist() == found.columns["height"].tolist()
    assert found.to_xarray()["height"].sel(speed=2).item() == found.columns["height"][1]
    store = Store.open(tmp_path / "s")
    together = (tmp_path / "s" / "rows.json").read_text()
    assert [row["design"] for row in json.loads(together)] == [0, 1]
    assert list(store.rows()) == [store.row(0), store.row(1)] == found.rows
    for text in (100_000 * "[", "[1, 2]", together[:-30], "{}"):  # the rows themselves tell it then
        (tmp_path / "s" / "rows.json").write_text(text)
        assert list(store.rows()) == found.rows
    torn = store.result(1)
    torn.write_bytes(torn.read_bytes()[:-100])  # as a power cut may leave it
    assert store.row(1) is None
    again = fm.sweep(path, tmp_path / "s", workers=1, resume=True)
    assert again.columns["height"][1] == found.columns["height"][1] and store.row(1) is not None
    assert fm.Result.load(torn).status == "complete"


def test_jobs_of_an_array_do_what_a_sweep_does(study, tmp_path, monkeypatch):
    """The script that sbatch would run, by bash; every job takes its part, in any order, twice or never."""
    import subprocess

    path = study('grid = { speed = [1, 2, 3, 4, 5] }\nkeep = "none"')
    fm.sweep(path, tmp_path / "whole", workers=1)
    folder = tmp_path / "jobs of mine"
    code, out = flexmbs("sweep", path, "-o", folder, "--script", "slurm", "--parts", 2)
    assert code == 0 and "sbatch" in out
    script = folder / "slurm.sh"
    assert "#SBATCH --array=0-1\n" in script.read_text()
    for job in ("1", "0", "1"):
        env = os.environ | {"SLURM_ARRAY_TASK_ID": job}
        done = subprocess.run(["bash", str(script)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if job == "1" and "3 open" not in done.stdout:
            assert "5 complete" in done.stdout
    found = fm.sweep(path, folder, workers=1, resume=True)
    assert numbers(folder) == numbers(tmp_path / "whole") and found.counts == {"complete": 5}
    assert (folder / "table.csv").read_text().count("complete") == 5
    for wrong in ("2/2", "a/2", "1"):
        assert flexmbs("sweep", "part", folder, wrong)[0] == 2
    assert flexmbs("sweep", "part", tmp_path / "nowhere", "0/2")[0] == 3


def test_a_study_of_many_designs_is_as_large_as_the_manual_says():
    """85 bytes a design of two parameters in study.json."""
    from flexmbs.study.store import identity

    values = [{"a": k * 1.2345678, "b": k / 3.0} for k in range(1, 10_001)]
    told = [{"id": identity("case", item), "values": item} for item in values]
    assert 80 < len(json.dumps(told)) / len(told) < 95
    row = {"id": 20 * "a", "design": 10**5, "status": "complete", "message": "", "metrics": {"peak": 1 / 3}}
    assert len(json.dumps(row | {"seconds": 0.0123456789, "bytes": 119442})) < 4096
