"""Rows on the workers of a cluster: the local answers, no X on the way, workers killed."""

import os
import signal
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from _support.support import angle, assert_equals_dense, classes, features, indicator, scattered
from scipy import sparse
from sklearn.base import clone

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.errors import (
    InvalidInput,
    InvalidParameter,
    LabelspanWarning,
    LostWorkers,
    Mismatch,
)
from labelspan.operators.cluster import row_blocks, row_blocks_of, worker_blocks
from labelspan.papers.sun2009 import LeastSquares
from labelspan.solvers import Krylov, KrylovOptions

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@contextmanager
def started():
    """Start two workers with one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # Otherwise it wants one port, and warns where another cluster has that.
            scheduler_kwargs={"dashboard_address": ":0"},
            silence_logs=60,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with started() as client:
        yield client


@pytest.fixture
def mortal_client():
    """Workers of one test, which may kill them: a cluster does not always replace them."""
    with started() as client:
        yield client


def kinds(X):
    return {"dense": X, "csr": sparse.csr_array(X)}


def dense_of(operator):
    return operator.matmat(np.eye(operator.shape[1]))


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_operators_equal_dense_arrays(client, kind):
    X = features("wide", 0)
    plain = row_blocks_of(client, kinds(X)[kind], 4)
    centered, means = plain.centered()
    np.testing.assert_allclose(means, X.mean(axis=0), atol=1e-12)
    index, again, few = np.array([3, 17, 1, 7, 7]), np.array([4, 2, 0, 1]), np.array([16, 17])
    for operator, reference in (
        (plain, X),
        (centered, X - means),
        (centered.rows(index).rows(again), (X - means)[index][again]),
        (plain.rows(few).shifted(means), X[few] - means),
    ):
        assert_equals_dense(operator, reference, 1e-11)
    # Columns with large means, and a constant one.
    X = np.random.default_rng(0).standard_normal((90, 6)) + 1e8
    X[:, 2], X[:, 4] = 1e8 / 3, X[:, 4] - 1e8
    near = X - X.mean(axis=0)
    near[:, 2] = 0.0
    operator, means = row_blocks_of(client, kinds(X)[kind], 3).centered()
    np.testing.assert_allclose(means, X.mean(axis=0), rtol=1e-15)
    assert means[2] == X[0, 2]
    assert_equals_dense(operator, near, 1e-6)
    Y = (X[:, :2] > X[:, :2].mean(axis=0)).astype(float)
    found = OPLS(2).fit(row_blocks_of(client, kinds(X)[kind], 3), Y)
    np.testing.assert_allclose(found.eigenvalues_, OPLS(2).fit(X, Y).eigenvalues_, rtol=1e-6)


MODELS = [
    LSI(3, center=True, solver="krylov", tol=1e-10),
    MLSI(4),
    MLSI(4, solver="krylov", tol=1e-10),
    MLSI(4, solver="exact"),
    CCA(alpha=0.5),
    OPLS(alpha=0.1, solver="exact"),
    CCA(1, alpha=0.5, solver=LeastSquares(tol=1e-7)),
    HSL(laplacian="star"),
    LDA(alpha=0.1),
]


@pytest.fixture(scope="module")
def held(client):
    """Rows that all models learn from; they are sent to the workers once."""
    rows = {("wide", "csr"): features("wide", 3), ("tall", "dense"): features("tall", 3)}
    return {
        (shape, kind): (X, row_blocks_of(client, kinds(X)[kind], 2))
        for (shape, kind), X in rows.items()
    }


@pytest.mark.parametrize(
    ("model", "shape", "kind"),
    [(model, *[("wide", "csr"), ("tall", "dense")][n % 2]) for n, model in enumerate(MODELS)],
    ids=str,
)
def test_estimators_give_the_local_answer(held, model, shape, kind):
    X, operator = held[shape, kind]
    y = classes(len(X), 3) if isinstance(model, LDA) else indicator(len(X), 3)
    y[5:8] = -1
    local = clone(model).fit(X, y)
    found = clone(model).fit(operator, y)
    np.testing.assert_allclose(found.eigenvalues_, local.eigenvalues_, rtol=1e-5)
    assert angle(found.transform(X), local.transform(X)) < 1e-5
    if not isinstance(model, LSI):
        np.testing.assert_allclose(found.label_scores(X), local.label_scores(X), atol=1e-5)


# --- parts --------------------------------------------------------------------------------


def test_parts_of_every_kind(client, tmp_path):
    delayed = pytest.importorskip("dask").delayed
    X = features("tall", 2)
    rows = [X[start : start + 10] for start in range(0, 60, 10)]
    sparse.save_npz(tmp_path / "scipy.npz", sparse.coo_array(rows[2]))
    passes = []
    operator = row_blocks(
        client,
        [
            client.submit(np.asarray, rows[0]),
            delayed(sparse.csr_array)(rows[1]),
            partial(sparse.load_npz, tmp_path / "scipy.npz"),
            rows[3],
            partial(np.zeros, (0, 12)),
            partial(np.array, rows[4]),
            sparse.csc_matrix(rows[5]),
        ],
        on_pass=passes.append,
    )
    np.testing.assert_allclose(dense_of(operator), X, atol=1e-12)
    np.testing.assert_allclose(operator.column_means(), X.mean(axis=0), atol=1e-12)
    assert passes == ["load", "matmat", "column_sums"]


def test_a_plain_collection_is_gathered_with_a_warning():
    arrays = pytest.importorskip("dask.array")
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 3
    with pytest.warns(LabelspanWarning, match=r"gathered into memory.*row_blocks"):
        found = LDA(2).fit(arrays.from_array(X, chunks=(10, 5)), y)
    np.testing.assert_allclose(found.components_, LDA(2).fit(X, y).components_)


def test_refusals(client):
    X, Y = features("tall", 8), indicator(60, 8)
    operator = row_blocks_of(client, X, 3)
    with pytest.raises(InvalidInput, match=r"the same number of columns, but they have \[5, 12\]"):
        row_blocks(client, [X, X[:, :5]])

    with pytest.raises(InvalidInput, match="No block has any rows"):
        row_blocks(client, [X[:0]])
    with pytest.raises(InvalidInput, match="row_blocks_of splits a whole matrix"):
        row_blocks(client, X)
    with pytest.raises(InvalidInput, match="client must be a distributed"):
        row_blocks("tcp://here:8786", [X])
    with pytest.raises(InvalidParameter, match="n_blocks must be from 1 to 60, but 61"):
        row_blocks_of(client, X, 61)
    for index in ([60], [-1], [0.5], [[1]]):
        with pytest.raises(InvalidInput, match="row numbers from 0 to 59"):
            operator.rows(np.array(index))

    with pytest.raises(Mismatch, match="X stays on the workers"):
        OPLS(alpha=0.1, solver=LeastSquares("l1")).fit(operator, Y)
    for gone in (operator.cogram, operator.toarray):
        with pytest.raises(Mismatch):
            gone()
    with pytest.raises(InvalidInput, match="NaN or infinity"):
        MLSI(2).fit(row_blocks_of(client, np.where(X > 2, np.nan, X)), Y)


# --- what travels -------------------------------------------------------------------------


def received(dask_worker):
    return [
        (key, size)
        for entry in dask_worker.transfer_incoming_log
        for key, size in entry["keys"].items()
    ]


def test_only_thin_blocks_are_sent(client, monkeypatch):
    rng = np.random.default_rng(0)
    rows, columns, width = 600, 500, 34
    X = scattered((rows, columns), 0.6, rng)
    Y = (rng.random((rows, 6)) < 0.3).astype(float)
    thin = 8 * max(rows, columns) * width
    parts = [partial(X.__getitem__, slice(start, start + 150)) for start in range(0, rows, 150)]
    operator = row_blocks(client, parts)
    blocks = {future.key for future in operator.store._futures}
    assert all(size > 2 * thin for size in client.nbytes(blocks, summary=False).values())
    seen = {"scatter": [], "gather": []}
    scatter, gather = client.scatter, client.gather

    async def spied_gather(futures, **options):
        answer = await gather(futures, **options)
        seen["gather"] += [getattr(value, "nbytes", 8) for value in answer]
        return answer

    def spied_scatter(values, **options):
        for value in values:
            seen["scatter"].append(sum(part.nbytes for part in value if part is not None))
        return scatter(values, **options)

    monkeypatch.setattr(client, "gather", spied_gather)
    monkeypatch.setattr(client, "scatter", spied_scatter)
    before = {worker: len(log) for worker, log in client.run(received).items()}
    # So few columns would be regressed by their Gram matrix.
    krylov = Krylov(max_iter=12, tol=0.5, options=KrylovOptions(direct=0))
    MLSI(4, alpha=1.0, solver=krylov, center=True).fit(operator, Y)
    CCA(alpha=5.0, solver=krylov).fit(operator, Y)
    assert len(seen["scatter"]) > 10
    assert len(seen["gather"]) > 10
    # Besides a block, a shared message holds the means, and numbers of rows.
    assert max(seen["scatter"]) <= thin + 8 * columns
    assert max(seen["gather"]) <= thin
    between = [
        item for worker, log in client.run(received).items() for item in log[before[worker] :]
    ]
    assert between, "partial sums go from worker to worker"
    assert not blocks & {key for key, _ in between}
    assert max(size for _, size in between) <= thin + 8 * columns + 1000


# --- workers that are lost ----------------------------------------------------------------


def kill_one(client, address=None):
    """SIGKILL to the process of a worker; its nanny starts another."""
    pids = client.run(os.getpid)
    address = sorted(pids)[0] if address is None else address
    os.kill(pids[address], signal.SIGKILL)


class Killer:
    """Kills a worker just before it is sent the tasks of a pass: it dies with them."""

    def __init__(self, client, monkeypatch, when):
        self.client, self.map = client, client.map
        self.count, self.when = 0, when
        monkeypatch.setattr(client, "map", self)

    def __call__(self, task, *arguments, **options):
        self.count += 1
        if self.count == self.when:
            kill_one(self.client, *options.get("workers", [])[:1])
        return self.map(task, *arguments, **options)


def problem():
    rng = np.random.default_rng(4)
    X = scattered((400, 300), 0.1, rng)
    signal = X @ rng.standard_normal((300, 5))
    Y = (signal > 0.5 * signal.std()).astype(float)
    model = MLSI(5, solver="krylov", tol=1e-10)
    return model, X, Y, clone(model).fit(X, Y)


def agrees(found, local):
    np.testing.assert_allclose(found.eigenvalues_, local.eigenvalues_, rtol=1e-5)
    return angle(found.components_.T, local.components_.T) < 1e-5


def test_a_worker_killed_in_a_pass_changes_nothing(mortal_client, monkeypatch):
    client = mortal_client
    model, X, Y, local = problem()
    parts = [partial(X.__getitem__, slice(start, start + 100)) for start in range(0, 400, 100)]
    operator = row_blocks(client, parts)
    killer = Killer(client, monkeypatch, when=14)
    before = set(operator.store._homes)
    found = clone(model).fit(operator, Y)
    assert killer.count > killer.when
    assert set(operator.store._homes) != before
    assert agrees(found, local)


def test_a_cluster_without_workers_and_endless_losses_are_named(client, monkeypatch):
    X = features("tall", 3)
    operator = row_blocks_of(client, X, 2)
    monkeypatch.setattr(worker_blocks, "_LOOK", 0.01)
    monkeypatch.setattr(operator.store, "_homes", ["tcp://127.0.0.1:1"] * 2)
    monkeypatch.setattr(operator.store, "_settle", lambda: None)
    with pytest.raises(LostWorkers, match=r"in each of 5 tries.* smaller blocks"):
        operator.gram()
    monkeypatch.setattr(worker_blocks, "_PATIENCE", 0.0)
    monkeypatch.setattr(client, "nthreads", dict)
    with pytest.raises(
        LostWorkers, match="no worker for 0 s; start some, for example with 'dask worker tcp"
    ):
        row_blocks(client, [X])


def test_alpha_next_to_a_column_of_unix_times(client):
    rng = np.random.default_rng(0)
    X = (rng.random((300, 12)) < 0.1) * 1.0
    Y = X[:, :3].astype(int)
    both = np.c_[X, 1.7e9 + rng.uniform(0, 3e7, 300)]
    for rows in kinds(both).values():
        found, expected = OPLS().fit(row_blocks_of(client, rows), Y), OPLS().fit(both, Y)
        assert 1 / 3 < found.alpha_ / expected.alpha_ < 3
        assert found.score(both, Y) > 0.99
