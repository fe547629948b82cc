"""LSI and MLSI against scikit-learn's TruncatedSVD on rcv1: time and quality.

Every case is timed to the same end, the fitted model and the training rows mapped
(``--fit-only`` times only the fit; scikit-learn's ``fit`` maps the rows in any case).
Quality is computed again from the components, in float64: the energy of X that their span
keeps, relative to ARPACK's (not for MLSI, whose components are not orthonormal and serve
another end), and MLSI's objective of the mapped rows, relative to the converged one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from labelspan import LSI, MLSI

from . import reference
from .data import DataSet, load
from .harness import Report, make_parser, measure

ARPACK = "TruncatedSVD, arpack"
RANDOMIZED = "TruncatedSVD, randomized"
BETA = 0.5
ALPHA = 1.0
# The form whose objective is compared.
FORM: dict[str, Any] = {"label_weight": None, "center": False}


def cases(data: DataSet, count: int, seed: int, *, fit_only: bool) -> dict[str, Callable[[], Any]]:
    """The models to fit, by name."""

    def fit(model: Any) -> Any:
        model.fit(data.X, data.Y) if fit_only else model.fit_transform(data.X, data.Y)
        return model

    return {
        RANDOMIZED: lambda: fit(TruncatedSVD(count, random_state=seed)),
        ARPACK: lambda: fit(TruncatedSVD(count, algorithm="arpack", random_state=seed)),
        "LSI": lambda: fit(LSI(count, random_state=seed)),
        "MLSI": lambda: fit(MLSI(count, beta=BETA, alpha=ALPHA, random_state=seed, **FORM)),
    }


def converged_objective(data: DataSet, fitted: np.ndarray, count: int, tol: float) -> float:
    """MLSI's objective at the end of the iteration; data in float64."""
    model = MLSI(count, beta=BETA, alpha=ALPHA, solver="krylov", tol=tol, **FORM)
    model.fit(data.X, data.Y)
    print(f"converged MLSI: {model.status_} ({model.n_iter_} iterations)")
    return reference.mlsi_objective(data.X, data.Y, fitted, model.transform(data.X), BETA)


def main(args: argparse.Namespace) -> None:
    """Measure, then judge the models that the warm-up left."""
    report = Report("rcv1_speed", args)
    data = load("rcv1", args.data)
    count = args.components
    if args.quick:
        some = np.random.default_rng(args.seed).permutation(data.X.shape[0])[:5000]
        data, count = data.take(some), min(count, 30)
    wide = data.astype(np.float64)
    fitted = wide.X @ reference.ridge(wide.X, data.Y, ALPHA)
    best = converged_objective(wide, fitted, count, args.tol)
    for dtype in (np.float32, np.float64) if args.float64 else (np.float32,):
        typed = data.astype(dtype)
        rows = measure(cases(typed, count, args.seed, fit_only=args.fit_only), args.repeats)
        exact = next(
            reference.energy(data.X, r.value.components_) for r in rows if r.name == ARPACK
        )
        for row in rows:
            model = row.value
            kept = reference.energy(data.X, model.components_) / exact
            energy = None if isinstance(model, MLSI) else f"{100 * kept:.3f}"
            embedding = typed.X @ model.components_.T
            objective = reference.mlsi_objective(data.X, data.Y, fitted, embedding, BETA)
            row.notes = {
                "energy of X, % of ARPACK": energy,
                "MLSI objective, % of converged": f"{100 * objective / best:.3f}",
                "solver": getattr(model, "solver_", None),
                "blocks": getattr(model, "n_iter_", None),
            }
        title = f"rcv1 {data.X.shape[0]} x {data.X.shape[1]}, K={count}, {np.dtype(dtype).name}"
        report.add(title, rows, peer=RANDOMIZED)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=7)
    parser.add_argument("--components", type=int, default=100, help="K")
    parser.add_argument("--float64", action="store_true", help="also in float64")
    parser.add_argument("--fit-only", action="store_true", help="leave the mapping out")
    parser.add_argument("--tol", type=float, default=1e-8, help="of the converged MLSI")
    main(parser.parse_args())
