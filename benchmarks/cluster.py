"""Rows on Dask workers against rows at hand: the overhead on rcv1, and weak scaling.

Workers are processes of this machine with one thread each, so nothing here is gained by
more machines; what is measured is the price of tasks, messages and copies. *Overhead* fits
the same model on the same rows, locally (with one thread, and with those there are) and on
one and two workers; ``angle`` is that between the spaces. With ``--texts`` the local fit also runs
in a process of its own, which the threads of a cluster do not disturb, with as many threads as
there are workers. *Weak scaling* gives every worker
all rows of rcv1, as a file that it reads itself, with the labels to match: with two workers
there are twice the rows, and the time would ideally stay. The client's own share of a fit,
the orthogonalisation of n x K blocks, doubles in any case.

*Traffic* counts the bytes of arrays that a pass sends: from the client, back to it, and
between workers, compared with the bytes of X, which stay. *Empty passes* are passes over blocks of
one row and one column: what is left is scheduling and messages, for a pass and for a block.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from scipy import sparse
from threadpoolctl import threadpool_limits

from labelspan import CCA, MLSI
from labelspan.metrics import principal_angles
from labelspan.operators.cluster import row_blocks, row_blocks_of

from .data import DataSet, load
from .harness import Report, Row, make_parser, measure

WORKERS = (1, 2)
LOCAL = "local, one thread"
WIDTH = 110
EMPTY = (1, 16)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def start(stack: ExitStack, workers: int) -> Client:
    """A cluster of processes with one thread each, closed with the stack."""
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": ":0"},
        silence_logs=40,
    )
    return stack.enter_context(Client(stack.enter_context(cluster)))


def made_up(rows: int, columns: int = 20_000, words: int = 80, labels: int = 100) -> DataSet:
    """Rows like texts: words by Zipf's law, three in ten by the first label, one or two labels."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, labels, rows)
    often = 1 / np.arange(1, columns + 1)
    any_word = np.searchsorted(np.cumsum(often / often.sum()), rng.random((rows, words)))
    own = np.stack([rng.permutation(columns)[:300] for _ in range(labels)])
    place = (300 * rng.random((rows, words)) ** 2).astype(int)
    chosen = np.where(rng.random((rows, words)) < 0.3, own[topics[:, None], place], any_word)
    chosen = rng.permutation(columns)[np.minimum(chosen, columns - 1)]
    starts = np.arange(0, rows * words + 1, words)
    ones = np.ones(rows * words)
    X = sparse.csr_array((ones, chosen.ravel(), starts), shape=(rows, columns))
    X.sum_duplicates()
    counts = np.bincount(X.indices, minlength=columns)
    X.data = np.sqrt(X.data) * (np.log((1 + rows) / (1 + counts)) + 1)[X.indices]
    X = sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X
    Y = np.zeros((rows, labels))
    Y[np.arange(rows), topics] = 1
    second = np.flatnonzero(rng.random(rows) < 0.5)
    Y[second, rng.integers(0, labels, second.size)] = 1
    return DataSet(f"{rows:,} made-up texts", sparse.csr_array(X), Y)


def overhead(
    data: DataSet, model: Any, clients: dict[int, Client], blocks: int, repeats: int
) -> list[Row]:
    """The same fit at hand and on workers."""
    passes: list[str] = []
    held = {
        workers: row_blocks_of(client, data.X, blocks * workers, on_pass=passes.append)
        for workers, client in clients.items()
    }

    def fit(X: Any) -> Any:
        return model(X, data.Y)

    def one_thread() -> Any:
        with threadpool_limits(1):
            return fit(data.X)

    cases: dict[str, Callable[[], Any]] = {LOCAL: one_thread, "local": lambda: fit(data.X)}
    for workers, operator in held.items():
        cases[f"{workers} worker(s)"] = lambda operator=operator: fit(operator)
    passes.clear()
    rows = measure(cases, repeats, memory=False)
    each = len(passes) / (len(held) * (repeats + 1))
    space = rows[0].value.components_.T.astype(np.float64)
    for row in rows:
        angles = principal_angles(row.value.components_.T.astype(np.float64), space)
        row.notes = {"solver": row.value.solver_, "angle": f"{angles.max():.1e}"}
        if row.name.endswith("worker(s)"):
            row.notes["passes"] = f"{each:.0f}"
    return rows


def in_own_process(args: argparse.Namespace, threads: int) -> Row:
    """The local fit in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--own-process", "--texts", str(args.texts)]
    command += ["--components", str(args.components), "--repeats", str(args.repeats)]
    limits = dict.fromkeys(THREADS, str(threads))
    done = subprocess.run(command, env=os.environ | limits, stdout=subprocess.PIPE, check=True)
    runs = json.loads(done.stdout.splitlines()[-1])
    return Row(f"local, own process, {threads} thread(s)", tuple(runs))


def weak_scaling(
    data: DataSet, model: Any, clients: dict[int, Client], folder: Path, repeats: int
) -> list[Row]:
    """All rows for every worker: one product of each kind, and a fit."""
    file = folder / "rows.npz"
    sparse.save_npz(file, sparse.csr_matrix(data.X), compressed=False)
    cases: dict[str, Callable[[], Any]] = {}
    for workers, client in clients.items():
        X = row_blocks(client, [partial(sparse.load_npz, file)] * workers)
        Y = np.concatenate([data.Y] * workers)
        rng = np.random.default_rng(0)
        wide, tall = (X.random_block(side, WIDTH, rng) for side in X.shape[::-1])
        cases[f"X V, {workers} worker(s)"] = lambda X=X, wide=wide: X.matmat(wide)
        cases[f"X' U, {workers} worker(s)"] = lambda X=X, tall=tall: X.rmatmat(tall)
        cases[f"MLSI, {workers} worker(s)"] = lambda X=X, Y=Y: model(X, Y)
    rows = {row.name: row for row in measure(cases, repeats, memory=False)}
    for name, row in rows.items():
        first = rows[name.replace(f"{WORKERS[1]} w", f"{WORKERS[0]} w")]
        row.notes = {"efficiency": f"{first.median / row.median:.2f}"}
    return [rows[name] for name in sorted(rows)]


def between_workers(dask_worker: Any) -> int:
    """Bytes that a worker has had from others; run on it."""
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


@contextmanager
def counted(client: Client) -> Iterator[dict[str, int]]:
    """Bytes of arrays on the way while this is open, by direction."""
    seen = {"to workers": 0, "back": 0, "between": 0}
    scatter, gather = client.scatter, client.gather

    def size(value: Any) -> int:
        parts = value if isinstance(value, tuple) else (value,)
        return sum(getattr(part, "nbytes", 0) for part in parts)

    def scattered(values: list[Any], workers: Any = None, **options: Any) -> Any:
        seen["to workers"] += len(workers) * sum(size(value) for value in values)
        return scatter(values, workers=workers, **options)

    async def gathered(futures: Any, **options: Any) -> Any:
        answer = await gather(futures, **options)
        seen["back"] += sum(size(value) for value in answer)
        return answer

    before = sum(client.run(between_workers).values())
    client.scatter, client.gather = scattered, gathered
    try:
        yield seen
    finally:
        del client.scatter, client.gather
    seen["between"] = sum(client.run(between_workers).values()) - before


def traffic(data: DataSet, model: Any, clients: dict[int, Client]) -> list[Row]:
    """What one pass of each kind sends, and a fit in all."""
    rows = []
    for workers, client in clients.items():
        passes: list[str] = []
        X = row_blocks_of(client, data.X, workers, on_pass=passes.append)
        rng = np.random.default_rng(0)
        wide, tall = (X.random_block(side, WIDTH, rng) for side in X.shape[::-1])
        cases: dict[str, Callable[[], Any]] = {
            f"X V, {WIDTH} columns": lambda X=X, wide=wide: X.matmat(wide),
            f"X' U, {WIDTH} columns": lambda X=X, tall=tall: X.rmatmat(tall),
            "MLSI, the whole fit": lambda X=X: model(X, data.Y),
        }
        for name, run in cases.items():
            passes.clear()
            with counted(client) as seen:
                run()
            notes: dict[str, Any] = {"passes": len(passes)}
            notes |= {f"MB {way}": f"{bytes_ / 1e6:.1f}" for way, bytes_ in seen.items()}
            held = sparse.csr_matrix(data.X)
            size = held.data.nbytes + held.indices.nbytes + held.indptr.nbytes
            rows.append(
                Row(f"{name}, {workers} worker(s)", notes=notes | {"MB of X": f"{size / 1e6:.1f}"})
            )
    return rows


def empty_passes(clients: dict[int, Client], repeats: int) -> list[Row]:
    """Passes that have nothing to compute and next to nothing to send."""
    cases: dict[str, Callable[[], Any]] = {}
    one = np.ones((1, 1), dtype=np.float32)
    for workers, client in clients.items():
        for blocks in EMPTY:
            X = row_blocks(client, [one] * (blocks * workers))
            tall = np.ones((X.shape[0], 1), dtype=np.float32)
            named = f"{workers} worker(s), {blocks} block(s) each"
            cases[f"X V, {named}"] = lambda X=X: X.matmat(one)
            cases[f"X' U, {named}"] = lambda X=X, tall=tall: X.rmatmat(tall)
    # Milliseconds each: more rounds cost little, and the median needs them.
    rows = {row.name: row for row in measure(cases, 4 * repeats, memory=False)}
    for name, row in rows.items():
        first = rows[name.replace(f", {EMPTY[1]} b", f", {EMPTY[0]} b")]
        if row is not first:
            workers = int(name.split(", ")[1].split()[0])
            more = (EMPTY[1] - EMPTY[0]) * workers
            row.notes = {"ms a further block": f"{1e3 * (row.median - first.median) / more:.2f}"}
    return list(rows.values())


def main(args: argparse.Namespace) -> None:
    """Two tables of overhead, one of scaling, of traffic, and of empty passes."""
    report = Report("cluster", args)
    data = made_up(args.texts) if args.texts else load("rcv1", args.data)
    count = args.components
    if args.quick:
        some = np.random.default_rng(args.seed).permutation(data.X.shape[0])[:2000]
        data, count = data.take(some), min(count, 20)
    data = data.astype(np.float32)
    models = {
        f"MLSI, K={count}": lambda X, Y: MLSI(count, random_state=args.seed, alpha=1.0).fit(X, Y),
        "CCA": lambda X, Y: CCA(alpha=1.0).fit(X, Y),
    }
    name = "made-up texts" if args.texts else "rcv1"
    size = f"{name} {data.X.shape[0]} x {data.X.shape[1]}, float32"
    if args.texts:
        models.pop("CCA")
    if args.own_process:
        model = next(iter(models.values()))
        [row] = measure({"local": lambda: model(data.X, data.Y)}, args.repeats, memory=False)
        print(json.dumps(row.runs))
        return
    local = [in_own_process(args, workers) for workers in WORKERS] if args.texts else []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clients = {workers: start(stack, workers) for workers in WORKERS}
        for name, model in models.items():
            print(f"{name} ...", file=sys.stderr)
            rows = overhead(data, model, clients, args.blocks, args.repeats)
            report.add(f"overhead, {name}, {size}", rows + local, peer=LOCAL)
        if args.texts:
            report.write()
            return
        rows = weak_scaling(data, next(iter(models.values())), clients, folder, args.repeats)
        report.add(f"weak scaling, {size} per worker, {WIDTH} columns", rows)
        print("traffic and empty passes ...", file=sys.stderr)
        report.add(f"traffic, {size}", traffic(data, next(iter(models.values())), clients))
        report.add("empty passes", empty_passes(clients, args.repeats))
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=5)
    parser.add_argument("--texts", type=int, help="only the overhead of MLSI on this many rows")
    parser.add_argument("--components", type=int, default=100, help="K of MLSI")
    parser.add_argument("--blocks", type=int, default=1, help="blocks per worker")
    parser.add_argument("--own-process", action="store_true", help=argparse.SUPPRESS)
    main(parser.parse_args())
