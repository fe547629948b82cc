"""Unit costs of this machine: what a nonzero, a row, a byte and a task take.

Products are of one thread with synthetic text-like data in float32 (word frequencies by Zipf),
per nonzero and column of the block. Orthonormalising is per row and square of the columns,
small eigenproblems per cube of their side. Sending is of float32 blocks from the client to
a Dask worker on the loopback and back, a byte of the block; a task is one of many that do
nothing. Search is per query, row and dimension, many queries at once, with vectors held in
float32 and in float16. A unit cost is that of the fastest run: others had company.

``--billion`` measures nothing: it prints what docs/billion.md states, worked out from the
unit costs on that page. ``--page RESULT.json`` puts the costs of a run into the page, and
works all of it out again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, wait
from scipy import sparse
from threadpoolctl import threadpool_limits

from labelspan.operators import as_operator
from labelspan.solvers.orthonormal import orthonormalize

from .billion import Costs, rewrite, worked_page
from .cluster import start
from .harness import Report, Row, make_parser

WIDTHS = (16, 32, 64, 128)
SIDES = (100, 200, 400, 800)
QUERIES = 64


def seconds(run: Callable[[], Any], repeats: int) -> tuple[float, ...]:
    """Times of a callable after one untimed run."""
    run()
    out = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        out.append(time.perf_counter() - begin)
    return tuple(out)


def draw(rows: int, columns: int, each: int, rng: np.random.Generator) -> sparse.csr_array:
    """Make rows of about ``each`` words, with frequencies by Zipf's law, at random columns."""
    words = rng.permutation(columns)
    rank = np.minimum((columns ** rng.random((rows, each))).astype(np.int64), columns - 1)
    pointers = np.arange(rows + 1) * each
    values = rng.random(rows * each, dtype=np.float32)
    X = sparse.csr_array((values, words[rank].ravel(), pointers), shape=(rows, columns))
    X.sum_duplicates()
    return X


def products(args: argparse.Namespace, rng: np.random.Generator) -> tuple[list[Row], int, int]:
    """``X V`` and ``X'U`` by width; also the bytes and nonzeros of X."""
    rows, columns = (20_000, 20_000) if args.quick else (200_000, 100_000)
    operator = as_operator(draw(rows, columns, 75, rng))
    csr = operator._csr
    out = []
    for width in WIDTHS:
        wide, tall = (operator.random_block(side, width, rng) for side in (columns, rows))
        for name, run in (
            ("X V", lambda wide=wide: operator.matmat(wide)),
            ("X'U", lambda tall=tall: operator.rmatmat(tall)),
        ):
            row = Row(f"{name}, {width} columns", seconds(run, args.repeats))
            row.value = row.fastest / (csr.nnz * width)
            row.notes = {"ns per nonzero and column": f"{1e9 * row.value:.3f}"}
            out.append(row)
    held = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    return out, held, csr.nnz


def small_algebra(args: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Orthonormal columns, and eigenproblems by side."""
    rows = 20_000 if args.quick else 200_000
    out = []
    for width in WIDTHS:
        block = rng.standard_normal((rows, width), dtype=np.float32)
        row = Row(
            f"orthonormalise, {width} columns",
            seconds(lambda b=block: orthonormalize(b), args.repeats),
        )
        row.value = row.fastest / (rows * width**2)
        row.notes = {"ns per row and column squared": f"{1e9 * row.value:.3f}"}
        out.append(row)
    for side in SIDES[: 2 if args.quick else None]:
        half = rng.standard_normal((side, side))
        row = Row(
            f"eigenproblem, side {side}",
            seconds(lambda h=half: np.linalg.eigh(h + h.T), args.repeats),
        )
        row.value = row.fastest / side**3
        row.notes = {"ns per cubed side": f"{1e9 * row.value:.3f}"}
        out.append(row)
    return out


def messages(args: argparse.Namespace, client: Client, rng: np.random.Generator) -> list[Row]:
    """Bytes to a worker and back, and tasks that do nothing."""
    worker = sorted(client.nthreads())[0]
    block = rng.standard_normal((2_000 if args.quick else 100_000, 110), dtype=np.float32)
    there, back = [], []
    for _ in range(args.repeats + 1):
        begin = time.perf_counter()
        future = client.scatter([block], workers=[worker], hash=False)[0]
        sent = time.perf_counter()
        client.gather(future)
        there.append(sent - begin)
        back.append(time.perf_counter() - sent)
        del future
    out = []
    for name, runs in (("to a worker", there[1:]), ("back", back[1:])):
        row = Row(f"{block.nbytes / 1e6:.0f} MB {name}", tuple(runs))
        row.value = row.fastest / block.nbytes
        row.notes = {"ns per byte": f"{1e9 * row.value:.3f}"}
        out.append(row)
    count = 200 if args.quick else 2000

    def tasks() -> None:
        wait(client.map(_nothing, range(count), pure=False))

    row = Row(f"{count} empty tasks", seconds(tasks, args.repeats))
    row.value = row.fastest / count
    row.notes = {"ms a task": f"{1e3 * row.value:.3f}"}
    return [*out, row]


def _nothing(number: int) -> None:
    return None


def searching(args: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Scores of all rows for many queries, and the ten best."""
    rows, width = (20_000 if args.quick else 500_000), 100
    vectors = rng.standard_normal((rows, width), dtype=np.float32)
    queries = rng.standard_normal((QUERIES, width), dtype=np.float32)
    out = []
    for held in (np.float32, np.float16):
        kept = vectors.astype(held)
        row = Row(
            f"search, {np.dtype(held).name}",
            seconds(lambda kept=kept: _best(kept, queries), args.repeats),
        )
        row.value = row.fastest / (rows * width * QUERIES)
        row.notes = {"ns per query, row and dimension": f"{1e9 * row.value:.4f}"}
        out.append(row)
    return out


def _best(vectors: np.ndarray, queries: np.ndarray, at_once: int = 1 << 14) -> np.ndarray:
    best = []
    for first in range(0, len(vectors), at_once):
        scores = queries @ vectors[first : first + at_once].astype(np.float32, copy=False).T
        best.append(np.partition(scores, -10, axis=1)[:, -10:])
    return np.partition(np.concatenate(best, axis=1), -10, axis=1)[:, -10:]


def as_costs(rows: Iterable[Row], bytes_held: float, nonzeros: int) -> Costs:
    """The few costs that the page works with: those of the widest blocks and largest sides."""
    by_name = {row.name: row for row in rows}

    def last(start: str) -> float:
        return float(next(row.value for name, row in reversed(by_name.items()) if start in name))

    return Costs(
        xv=1e9 * last("X V"),
        xtu=1e9 * last("X'U"),
        orth=1e9 * last("orthonormalise"),
        eigen=1e9 * last("eigenproblem"),
        send=1e9 * last("to a worker"),
        back=1e9 * last("back"),
        task=1e3 * last("tasks"),
        search=1e9 * last("search, float16"),
        held=bytes_held / nonzeros,
    )


def main(args: argparse.Namespace) -> None:
    """Measure, or work out the page."""
    if args.page is not None:
        rewrite(Costs.read(args.page))
        return
    if args.billion:
        print(worked_page())
        return
    report = Report("costs", args)
    rng = np.random.default_rng(args.seed)
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        print("products ...", file=sys.stderr)
        multiplied, held, nonzeros = products(args, rng)
        report.add("products, one thread, float32", multiplied)
        print("small algebra ...", file=sys.stderr)
        small = small_algebra(args, rng)
        report.add("orthonormal blocks (float32) and eigenproblems (float64), one thread", small)
        print("search ...", file=sys.stderr)
        found = searching(args, rng)
        report.add(f"exact search, {QUERIES} queries at once, one thread", found)
        print("messages ...", file=sys.stderr)
        sent = messages(args, start(stack, 1), rng)
        report.add("one Dask worker on the loopback", sent)
    costs = as_costs([*multiplied, *small, *found, *sent], held, nonzeros)
    report.add(
        "unit costs",
        [Row(name, notes={"value": f"{value:.4g}"}) for name, value in vars(costs).items()],
    )
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=5)
    parser.add_argument("--billion", action="store_true", help="work out the page from its costs")
    parser.add_argument("--page", type=Path, help="a JSON file of results to put into the page")
    main(parser.parse_args())
