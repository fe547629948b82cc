"""MLSI on one GPU, with data of RCV1's full size resident: time, quality, and the ceilings.

Synthetic data, made on the device: 804,414 x 47,236 with 60 M nonzeros whose columns follow a
power law, and 103 labels that depend on them. Rounds are timed whole, with the device idle
before and after. The peer knows no labels: ``torch.svd_lowrank`` of the same data. *Stages* time
one fit with the device idle before and after each. A product must at least read the entries of X
and the block and write the sum, at the speed of a copy; where the cache holds nothing of the
block, it reads a row of it for every entry. Without a device that torch can use the script
says so and ends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

from labelspan import MLSI, as_operator
from labelspan.estimators import mlsi
from labelspan.metrics import principal_angles
from labelspan.solvers import two_stage

from .harness import Report, Row, make_parser

LABELS = 103


def make(shape: tuple[int, int, int], device: str, seed: int) -> Any:
    """A CSR tensor with rows of length 1, and a 0/1 tensor of labels."""
    rows, columns, nonzeros = shape
    generator = torch.Generator(device=device).manual_seed(seed)

    def uniform(*shape: int) -> Any:
        return torch.rand(shape, generator=generator, device=device)

    each = nonzeros // rows
    topics = 200
    topic = (uniform(rows) * topics).long()
    # Half of a row's words come from its topic's own part of the vocabulary.
    common = (uniform(rows, each) ** 3 * columns).long()
    start = (uniform(topics) * (columns - 400)).long()
    own = start[topic][:, None] + (uniform(rows, each) ** 2 * 400).long()
    words = torch.where(uniform(rows, each) < 0.5, own, common).sort(dim=1).values
    values = uniform(rows, each) + 0.1
    values[:, 1:][words[:, 1:] == words[:, :-1]] = 0.0
    values = values / values.norm(dim=1, keepdim=True)
    starts = torch.arange(rows + 1, device=device) * each
    X = torch.sparse_csr_tensor(
        starts.int(), words.reshape(-1).int(), values.reshape(-1), (rows, columns)
    )
    of_topic = uniform(topics, LABELS) < 3.0 / LABELS
    Y = of_topic[topic] ^ (uniform(rows, LABELS) < 0.002)
    return X, Y.float()


def timed(run: Callable[[], Any], repeats: int, device: str) -> tuple[list[float], Any]:
    """Seconds of each round after two untimed ones, and the last answer."""
    seconds, value = [], None
    for number in range(repeats + 2):
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        value = run()
        if device != "cpu":
            torch.cuda.synchronize()
        if number > 1:
            seconds.append(time.perf_counter() - start)
    return seconds, value


def main(args: argparse.Namespace) -> None:
    """Times of the fit and its parts; angles to the answer of the CPU in float64."""
    if args.device != "cpu" and not torch.cuda.is_available():
        raise SystemExit(f"torch finds no device {args.device!r} here; try --device cpu --quick.")
    report = Report("gpu", args)
    shape = (20_000, 5_000, 1_500_000) if args.quick else (804_414, 47_236, 60_331_050)
    X, Y = make(shape, args.device, args.seed)
    seconds, operator = timed(lambda: as_operator(X), 3, args.device)
    rows = [Row("as_operator, with the stored transpose", tuple(seconds))]
    K = 20 if args.quick else 100

    def fit(**options: Any) -> Any:
        return MLSI(K, **options).fit(operator, Y)

    seconds, model = timed(fit, args.repeats, args.device)
    notes = {"blocks": int(model.n_iter_), "status": model.status_}
    rows.append(Row("MLSI.fit", tuple(seconds), notes=notes))
    rows += products(operator, args)
    lowrank, _ = timed(lambda: torch.svd_lowrank(X, q=K + 10, niter=2), 3, args.device)
    rows.append(Row("torch.svd_lowrank", tuple(lowrank), notes={"labels": "not known to it"}))
    if args.device != "cpu":
        peak = torch.cuda.max_memory_allocated() / 2**30
        notes["device GiB"] = f"{peak:.1f}"
    report.add(
        f"{shape[0]:,} x {shape[1]:,}, {shape[2]:,} nonzeros, {LABELS} labels, K = {K}", rows
    )
    if args.device != "cpu":
        report.add("stages of one fit", stages(operator, Y, K))
    report.add("against the CPU in float64", agreement(args, (20, 50, 100)))
    report.write()


def products(operator: Any, args: argparse.Namespace) -> list[Row]:
    """One pair of products, compared with what the bandwidth allows."""
    width = 112
    U, V = (operator.random_block(side, width, np.random.default_rng(0)) for side in operator.shape)
    forward, _ = timed(lambda: operator.matmat(V), args.repeats, args.device)
    backward, _ = timed(lambda: operator.rmatmat(U), args.repeats, args.device)
    plain = torch.empty(1 << (24 if args.quick else 29), device=args.device)
    copied, _ = timed(plain.clone, args.repeats, args.device)
    speed = 2 * 4 * plain.numel() / median(copied)
    entries = operator._csr._nnz()
    least = (8 * entries + 4 * width * sum(operator.shape)) / speed
    most = (8 * entries + 4 * width * entries) / speed
    rows = [Row("a copy", tuple(copied), notes={"TB/s": f"{speed / 1e12:.2f}"})]
    for name, runs in (("X V", forward), ("X' U", backward)):
        notes = {
            "at the speed of a copy, ms": f"{1e3 * least:.2f}",
            "with no cache, ms": f"{1e3 * most:.2f}",
        }
        rows.append(Row(f"{name}, {width} columns", tuple(runs), notes=notes))
    return rows


STAGES = (
    ("reading and centring", mlsi, "training_rows"),
    ("choice of alpha", mlsi, "choose_penalty"),
    ("regression", two_stage, "ridge"),
    ("Krylov space", two_stage, "truncated_svd"),
    ("thresholds", mlsi, "label_thresholds"),
)


def stages(operator: Any, Y: Any, K: int) -> list[Row]:
    """Where the time of a fit goes; the device is waited for at every border."""
    spent = dict.fromkeys((stage for stage, _, _ in STAGES), 0.0)

    def clocked(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            torch.cuda.synchronize()
            start = time.perf_counter()
            value = function(*args, **options)
            torch.cuda.synchronize()
            spent[stage] += time.perf_counter() - start
            return value

        return run

    kept = [getattr(module, name) for _, module, name in STAGES]
    for (stage, module, name), function in zip(STAGES, kept, strict=True):
        setattr(module, name, clocked(function, stage))
    try:
        seconds, _ = timed(lambda: MLSI(K).fit(operator, Y), 5, "cuda")
    finally:
        for (_, module, name), function in zip(STAGES, kept, strict=True):
            setattr(module, name, function)
    # Two untimed rounds were clocked as well.
    parts = {stage: value / 7 for stage, value in spent.items()}
    whole = median(seconds)
    parts["all else"] = whole - sum(parts.values())
    return [
        Row(stage, (value,), notes={"share": f"{value / whole:.2f}"})
        for stage, value in (parts | {"together": whole}).items()
    ]


def agreement(args: argparse.Namespace, counts: tuple[int, ...]) -> list[Row]:
    """Principal angles between the spaces of device and CPU, on a part of the data."""
    X, Y = make((20_000, 5_000, 1_500_000), args.device, args.seed)
    parts = X.crow_indices(), X.col_indices(), X.values().double()
    wide = torch.sparse_csr_tensor(*parts, X.shape)
    at_home = torch.sparse_csr_tensor(*(part.cpu() for part in parts), X.shape)
    rows = []
    for K in counts:
        exact = MLSI(K, solver="krylov", tol=1e-10, alpha=1.0).fit(at_home, Y.double().cpu())
        for name, data, tol in (("float32", X, 1e-7), ("float64", wide, 1e-10)):
            model = MLSI(K, solver="krylov", tol=tol, alpha=1.0).fit(data, Y.to(data.dtype))
            angles = principal_angles(
                model.components_.double().cpu().numpy().T, exact.components_.numpy().T
            )
            gap = float(np.max(np.abs(model.eigenvalues_ / exact.eigenvalues_ - 1)))
            notes = {
                "largest angle": f"{angles.max():.1e}",
                "median angle": f"{np.median(angles):.1e}",
                "eigenvalues differ by": f"{gap:.1e}",
                "gap at the cut": f"{1 - exact.eigenvalues_[-1] / exact.eigenvalues_[-2]:.1e}",
            }
            rows.append(Row(f"to full convergence, {name} on the device, K = {K}", notes=notes))
    return rows


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=10)
    parser.add_argument("--device", default="cuda")
    main(parser.parse_args())
