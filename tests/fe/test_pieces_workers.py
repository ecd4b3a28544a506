"""The factor on workers of a cluster against the factor in memory, also when some are lost."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import flexmbs as fm
from flexmbs.errors import UsageError
from flexmbs.fe.pieces import on_worker
from flexmbs.fe.pieces.cluster import Cluster
from flexmbs.fe.pieces.plan import make_plan
from flexmbs.fe.pieces.store import Store
from flexmbs.fe.pieces.workers import WorkersFactor, gain_in_words, refuse_front
from flexmbs.fe.solve.cholesky import SingularMatrix, SparseFactor
from flexmbs.fe.solve.shifted import Shifted
from flexmbs.fe.solve.symbolic import analyse
from tests.fe.test_cholesky import grid_matrix
from tests.modal.test_pieces import BLOCK

LOST = object()


class Task:
    def __init__(self, value=LOST, error=None):
        self.value, self.error = value, error


class Here:
    """A cluster in this process: every task is done at once, by workers that can be lost with what they had.

    lose : number of a task -> the worker that is gone before it;  full : workers whose disk is
    """

    name = "here"

    def __init__(self, names, folder, lose=None, full=()):
        self.kept = {name: {} for name in names}
        self.folder, self.lose, self.full, self.tasks, self.did = folder, lose or {}, full, 0, []

    def workers(self):
        return list(self.kept)

    def _as(self, name, task, *args):
        before = on_worker._PIECES, on_worker._folder
        on_worker._PIECES, on_worker._folder = self.kept[name], lambda: (name, self.folder)
        try:
            return task(*args)
        finally:
            on_worker._PIECES, on_worker._folder = before

    def submit(self, task, *args, on, memory=0):
        self.tasks += 1
        self.kept.pop(self.lose.get(self.tasks), None)
        usable = [name for name in ([on] if isinstance(on, str) else on) if name in self.kept]
        values = [item.value if isinstance(item, Task) else item for item in args]
        if not usable or any(value is LOST for value in values):
            return Task()
        name = usable[self.tasks % len(usable)]
        self.did.append((name, task.__name__))
        if name in self.full and task is on_worker.eliminated:
            return Task((name, None))
        try:
            return Task(self._as(name, task, *values))
        except SingularMatrix as error:
            return Task(None, error)

    def first_of(self, futures):
        return [item for item in futures if item.value is not LOST]

    def result(self, future):
        if future.error is not None:
            raise future.error
        return future.value

    def gather(self, futures):
        return [self.result(item) for item in futures]

    def cancel(self, futures):
        pass

    def everywhere(self, call, *args):
        return {name: self._as(name, call, *args) for name in self.kept}


def factor_of(A, node_of, cluster, folder, **options):
    plan = make_plan(analyse(A, node_of), 15)
    columns = lambda which: A[:, which]  # noqa: E731
    return WorkersFactor(columns, A.diagonal(), plan=plan, cluster=cluster, store=Store(folder), **options)


@pytest.mark.parametrize(
    ("lose", "full"), [({}, ()), ({9: "b"}, ()), ({60: "b", 110: "a"}, ()), ({100: "a"}, ()), ({}, ("b",))]
)
def test_solutions_and_counts_are_those_of_the_factor_in_memory(tmp_path, lose, full):
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1)
    node_of[[0, 17, 18, 200]] = -1
    said = []
    cluster = Here(["a", "b", "c"], tmp_path, lose, full)
    factor = factor_of(A, node_of, cluster, tmp_path, say=said.append)
    B = np.random.default_rng(2).normal(size=(A.shape[0], 29))
    direct = SparseFactor(A, node_of)
    expected = direct.solve(B)
    assert np.abs(factor.solve(B) - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.abs(factor.solve(B[:, 0]) - expected[:, 0]).max() < 1e-10 * np.abs(expected).max()
    assert cluster.tasks > 100 and len(said) == len(lose)
    assert (factor.made > len(factor.plan.pieces)) == bool(lose)
    assert ("b", "forward") not in cluster.did or not full
    one = sparse.identity(A.shape[0], format="csr")
    negative, product = factor.inertia(Shifted(A.tocsr(), one, 20.0), B)
    other = SparseFactor((A - 20.0 * one).tocsc(), node_of)
    assert negative == other.negative_pivots > 0
    assert np.abs(product - B.T @ other.solve(B)).max() < 1e-9 * np.abs(product).max()
    assert not any(cluster.kept.values()), "workers have given everything back"


def test_what_ends_it(tmp_path):
    A = sparse.csc_matrix(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    with pytest.raises(SingularMatrix) as caught:
        factor_of(A, np.arange(3), Here(["a"], tmp_path), tmp_path)
    assert caught.value.unknown == 2
    pieces = {("alive 1", 0): 1, ("gone 2", 0): 1}
    Here(["a"], tmp_path).everywhere(on_worker.forget_all_but, ["alive"])
    before, on_worker._PIECES = on_worker._PIECES, pieces
    on_worker.forget_all_but(["alive", "another"])
    on_worker._PIECES = before
    assert list(pieces) == [("alive 1", 0)]
    A, node_of = grid_matrix((6, 5, 4), 3, seed=3)
    with pytest.raises(fm.InputError, match="disks of all workers"):
        factor_of(A, node_of, Here(["a", "b"], tmp_path, full=("a", "b")), tmp_path)
    with pytest.raises(fm.InputError, match="largest worker has 1.0 GB") as refused:
        refuse_front(2 * 10**9, [10**9, 10**8])
    assert refused.value.diagnostics[0].code == "pieces.workers"


def test_the_gain_of_workers_follows_from_the_tree():
    A, node_of = grid_matrix((9, 6, 3), 3, seed=1)
    plan = make_plan(analyse(A, node_of), 40)
    cost = plan.work
    parent = {child: k for k, piece in enumerate(plan.pieces) for child in piece.children}
    way = cost.copy()
    for k in range(len(cost) - 1, -1, -1):
        way[k] += way[parent[k]] if k in parent else 0.0
    assert plan.gain(cost, 1) == pytest.approx(1.0)
    assert 1.0 < plan.gain(cost, 2) <= 2.0
    assert plan.gain(cost, 1000) == pytest.approx(cost.sum() / way.max())
    assert "pieces on 2 workers" in gain_in_words(plan, 2)


@pytest.mark.needs("distributed")
@pytest.mark.filterwarnings("ignore")
def test_what_keeps_from_a_cluster(monkeypatch):
    import distributed  # noqa: F401  (its settings are there then)
    from dask import config

    monkeypatch.setattr("flexmbs.fe.pieces.cluster.PATIENCE", 0.2)
    with pytest.raises(UsageError, match="not encrypted") as caught:
        Cluster("tcp://192.0.2.1:8786")
    assert caught.value.diagnostics[0].code == "pieces.open_cluster"
    with config.set({"distributed.comm.timeouts.connect": "0.2s"}), pytest.raises(fm.InputError) as caught:
        Cluster("tcp://127.0.0.1:1")
    assert caught.value.diagnostics[0].code == "pieces.cluster"
    cluster = Cluster.__new__(Cluster)
    cluster.address, cluster.client = "tcp://head:8786", SimpleNamespace(nthreads=dict)
    with pytest.raises(fm.SolverError, match="no worker") as caught:
        cluster.workers()
    assert caught.value.diagnostics[0].code == "pieces.scheduler"


@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    "question", [lambda cluster: cluster.workers(), lambda cluster: cluster.submit(int, on="a")]
)
def test_a_scheduler_that_dies_is_told_whatever_is_asked_of_it_first(question):
    """Whether a task, a question or a connection tells it first depends on a millisecond."""
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    def lost(*unused, **options):
        raise CommClosedError("connection reset by peer")

    def closed(*unused, **options):
        raise ClosedClientError("client is closed")

    cluster = Cluster.__new__(Cluster)
    cluster.address, cluster.client = "tcp://head:8786", SimpleNamespace(nthreads=lost, submit=closed)
    with pytest.raises(fm.SolverError, match="the scheduler at tcp://head:8786 is gone"):
        question(cluster)


@pytest.mark.slow
@pytest.mark.needs("distributed")
@pytest.mark.filterwarnings("ignore")
def test_a_reduction_on_a_cluster_one_of_whose_workers_is_killed(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("flexmbs.fe.pieces.plan.FREEDOMS", 300)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://", host="127.0.0.1"
    ) as cluster:
        said, killed, real = [], [], WorkersFactor._pass

        def killing(factor, B):
            if not killed:
                owner = factor.owner[0]
                killed.append(factor.cluster.client.run(os.getpid, workers=[owner])[owner])
                os.kill(killed[0], signal.SIGKILL)
            return real(factor, B)

        monkeypatch.setattr(WorkersFactor, "_pass", killing)
        limits = fm.Limits("always", scratch=tmp_path, say=said.append, cluster=cluster.scheduler_address)
        ours = fm.reduce(BLOCK, limits=limits)
    theirs = fm.reduce(BLOCK)
    assert said[0].endswith("in pieces on 2 workers") and any("a worker is lost" in text for text in said)
    np.testing.assert_allclose(ours.frequency_hz, theirs.frequency_hz, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.integrals.S_f), np.abs(theirs.integrals.S_f), atol=1e-9)
    assert not list(Path(tmp_path).iterdir())
