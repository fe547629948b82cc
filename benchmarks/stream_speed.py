"""Learning from a stream of batches: ``partial_fit`` against scikit-learn's IncrementalPCA.

Every case sees the same dense batches and then maps one of them. labelspan solves for the
space when it is asked for; the cases "every batch" ask after each one, as a reader who
watches the stream would. IncrementalPCA has its components after every batch anyway.

LSI with ``center=True`` is what IncrementalPCA approximates: ``variance kept`` is that of
the whole stream, by an orthonormal basis of the components, in percent of what the exact
PCA keeps. MLSI also heeds the labels: ``labels explained`` is the share of their variance
that least squares finds in the mapped rows.

The data is synthetic: a hundred latent variables of falling size, mixed, with noise and a mean
far from zero; labels are thresholds of mixtures of the latent variables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA

from labelspan import LSI, MLSI

from .data import DataSet
from .harness import Report, Row, make_parser, measure

PEER = "IncrementalPCA"
LATENT = 100


def draw(shape: tuple[int, int], labels: int, seed: int) -> DataSet:
    """Dense features in float64 and 0/1 labels."""
    n, d = shape
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, LATENT))
    sizes = 3.0 / np.sqrt(1 + np.arange(LATENT))
    X = (hidden * sizes) @ rng.standard_normal((LATENT, d))
    X += rng.standard_normal((n, d)) + 3 * rng.standard_normal(d)
    tastes = hidden @ rng.standard_normal((LATENT, labels))
    cuts = np.quantile(tastes, 1 - rng.uniform(0.02, 0.3, labels), axis=0).diagonal()
    return DataSet("stream", X, (tastes > cuts).astype(np.uint8))


def batches(data: DataSet, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Views of consecutive rows."""
    for start in range(0, data.X.shape[0], size):
        yield data.X[start : start + size], data.Y[start : start + size]


def cases(data: DataSet, size: int, count: int) -> dict[str, Callable[[], Any]]:
    """The streams to time; each gives back the model."""

    def peer() -> Any:
        model = IncrementalPCA(count)
        for X, _ in batches(data, size):
            model.partial_fit(X)
        model.transform(data.X[:size])
        return model

    def features(every: bool) -> Any:
        model = LSI(count, center=True)
        for X, _ in batches(data, size):
            model.partial_fit(X, solve=every)
        model.solve().transform(data.X[:size])
        return model

    def informed(every: bool) -> Any:
        model = MLSI(count, center=True, alpha=1.0)
        for X, Y in batches(data, size):
            model.partial_fit(X, Y, solve=every)
        model.solve().transform(data.X[:size])
        return model

    return {
        PEER: peer,
        "LSI": lambda: features(every=False),
        "LSI, every batch": lambda: features(every=True),
        "MLSI": lambda: informed(every=False),
        "MLSI, every batch": lambda: informed(every=True),
    }


def covariance(data: DataSet, size: int) -> np.ndarray:
    """``X'X`` of the centred features, in float64, without a copy of them."""
    mean = data.X.mean(axis=0, dtype=np.float64)
    return sum((X - mean).T @ (X - mean) for X, _ in batches(data, size))


def kept(square: np.ndarray, components: np.ndarray) -> float:
    """The variance in the span of the components."""
    basis = np.linalg.qr(components.T.astype(np.float64))[0]
    return float(np.einsum("ij,ij->", basis, square @ basis))


def explained(data: DataSet, model: Any) -> float:
    """The share of the labels' variance that least squares finds in the mapped rows."""
    mapped = np.asarray(model.transform(data.X)).astype(np.float64)
    basis = np.linalg.qr(mapped - mapped.mean(axis=0))[0]
    labels = data.Y - data.Y.mean(axis=0)
    return float(np.square(basis.T @ labels).sum() / np.square(labels).sum())


def add_quality(rows: list[Row], data: DataSet, size: int, count: int) -> None:
    """What the models of the warm-up are worth."""
    square = covariance(data, size)
    exact = float(np.linalg.eigvalsh(square)[-count:].sum())
    for row in rows:
        share = 100 * kept(square, row.value.components_) / exact
        row.notes = {
            "variance kept, % of PCA": f"{share:.4f}",
            "labels explained, %": f"{100 * explained(data, row.value):.2f}",
            "dtype": str(row.value.components_.dtype),
        }


def main(args: argparse.Namespace) -> None:
    """One table for each shape and width; says where labelspan was the slower."""
    report = Report("stream_speed", args)
    shapes = [(6000, 64), (4000, 128)] if args.quick else [(100_000, 256), (50_000, 768)]
    size, count = (500, 20) if args.quick else (args.batch, args.components)
    slower = []
    for shape in shapes:
        wide = draw(shape, args.labels, args.seed)
        for dtype in (np.float32, np.float64):
            title = f"{shape[0]} x {shape[1]}, {np.dtype(dtype).name}"
            print(f"{title} ...", file=sys.stderr)
            data = wide.astype(dtype)
            rows = measure(cases(data, size, count), args.repeats, memory=args.memory)
            add_quality(rows, data, size, count)
            title += f", batches of {size}, K={count}, {args.labels} labels"
            report.add(title, rows, peer=PEER)
            peer = np.median(rows[0].runs)
            slower += [f"{row.name} ({title})" for row in rows if np.median(row.runs) > peer]
    print(f"\nslower than {PEER}: {'; '.join(slower) or 'none'}")
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--batch", type=int, default=2000, help="rows of a batch")
    parser.add_argument("--components", type=int, default=50, help="K")
    parser.add_argument("--labels", type=int, default=50, help="of MLSI")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too")
    main(parser.parse_args())
