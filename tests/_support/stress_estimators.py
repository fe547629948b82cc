"""The grid of hard data through the public estimators, with references in extended precision."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy import sparse

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS
from labelspan.errors import LabelspanError
from labelspan.labels.factor import hsl_factor
from labelspan.labels.reading import read_labels

from .stress import (
    ALPHAS,
    COUNT,
    SHAPES,
    WIDE,
    Reference,
    _inside,
    _leading,
    _orthonormal,
    data_sets,
    labels_of,
)

SOLVERS = ("auto", "exact", "krylov")
BETA = 0.5


def given(data):
    """The rows in the form in which an estimator gets them."""
    if data.form == "dense":
        return data.X
    if data.form == "sparse":
        return sparse.csr_array(data.X)
    rows, columns = data.X.shape
    where = np.repeat(np.tile(np.arange(columns), rows), 2)
    ends = np.arange(rows + 1) * 2 * columns
    return sparse.csr_array((np.repeat(data.X.ravel() / 2, 2), where, ends), shape=data.X.shape)


def graph_of(rows):
    """Weights between the rows that do not depend on the features."""
    place = np.random.default_rng(5).standard_normal((rows, 2))
    distances = ((place[:, None] - place[None]) ** 2).sum(axis=2)
    weights = np.exp(-distances)
    np.fill_diagonal(weights, 0.0)
    return weights


# --- references ---------------------------------------------------------------------------


class References:
    """Leading eigenvalues of every estimator for one data set."""

    def __init__(self, X, Y, classes):
        self.reference = Reference(X)
        self.X, self.Y, self.classes = self.reference.X, Y, classes
        self.graph = graph_of(X.shape[0])
        self._small = None

    def lsi(self, alpha):
        return self.reference.values("features", self.Y, 1.0, 0.0)

    def mlsi(self, alpha, method="ridge"):
        share = (1 - BETA) / (self.X**2).sum()
        L = np.sqrt(BETA) * self.Y / np.linalg.norm(self.Y)
        return self.reference.values(method, L, share, alpha)

    def default(self, alpha):
        """MLSI as it is by default: the fitted labels have the norm of the features."""
        Q = self.reference._basis(alpha)
        fitted = Q @ (Q.T @ self.Y.astype(WIDE))
        both = np.column_stack(
            [
                np.sqrt(WIDE(1 - BETA)) * self.X / np.sqrt((self.X**2).sum()),
                np.sqrt(WIDE(BETA)) * fitted / np.sqrt((fitted**2).sum()),
            ]
        )
        return _leading(both @ both.T)

    def opls(self, alpha):
        return self.reference.values("thin", self.Y, 0.0, alpha)

    def cca(self, alpha):
        return self.reference.values("thin", np.linalg.qr(self.Y)[0], 0.0, alpha)

    def lda(self, alpha):
        members = np.eye(3)[self.classes]
        centred = members - members.mean(axis=0)
        left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
        return self.reference.values("thin", left[:, lengths > 1e-8], 0.0, alpha)

    def hsl(self, alpha):
        labels = read_labels((self.Y > 0) * 1, self.Y.shape[0], "HSL")
        H = hsl_factor(labels, laplacian="clique", edge_weight=None, center=True)
        return self.reference.values("thin", H, 0.0, alpha)

    def lpp(self, alpha):
        """The smallest of ``X'L X w = lambda (X'D X + alpha I) w``."""
        degrees = self.graph.sum(axis=1)
        roots = np.sqrt(degrees.astype(WIDE))[:, None]
        # Directions of the rows: any other would have the eigenvalue 0 under a penalty.
        rows = self.X if alpha == 0 else self.X @ _orthonormal(self.X.T)
        Q = _inside(roots * rows, alpha)
        inner = (Q / roots).T @ ((np.diag(degrees) - self.graph).astype(WIDE) @ (Q / roots))
        return np.linalg.eigvalsh(inner.astype(np.float64))[:COUNT]

    def dle(self, alpha):
        """Squared singular values of ``A^-1/2 S_w^-1/2 B``, in coordinates of the row space."""
        if self._small is None:
            rows = self.X @ _orthonormal(self.X.T)
            laplacian = np.diag(self.graph.sum(axis=1)) - self.graph
            members = np.eye(3, dtype=WIDE)[self.classes]
            sizes = members.sum(axis=0)
            means = (members.T @ rows) / sizes[:, None]
            left = rows - members @ means
            about = means - rows.mean(axis=0)
            self._small = (
                jacobi(rows.T @ (laplacian.astype(WIDE) @ rows)),
                jacobi(left.T @ left),
                (about * np.sqrt(sizes)[:, None]).T,
            )
        smooth, within, between = self._small
        product = root(*smooth, 0.0) @ (root(*within, alpha) @ between)
        return np.linalg.svd(product.astype(np.float64), compute_uv=False)[:COUNT] ** 2


def jacobi(matrix):
    """Eigenvalues and vectors of a small symmetric matrix in extended precision."""
    # Vectors in float64 first, made orthonormal in extended precision: two sweeps are left then.
    V = np.linalg.eigh(matrix.astype(np.float64))[1].astype(WIDE)
    for _ in range(2):
        V = V @ (3 * np.eye(V.shape[0], dtype=WIDE) - V.T @ V) / 2
    A = V.T @ matrix @ V
    for _ in range(30):
        off = np.abs(A - np.diag(np.diag(A)))
        scale = np.sqrt(np.abs(np.outer(np.diag(A), np.diag(A)))) + WIDE(1e-40)
        if not (off / scale).max(initial=0) > 1e-18:
            break
        for i in range(A.shape[0] - 1):
            for j in range(i + 1, A.shape[0]):
                if abs(A[i, j]) <= 1e-19 * np.sqrt(abs(A[i, i] * A[j, j])):
                    continue
                slope = (A[j, j] - A[i, i]) / (2 * A[i, j])
                t = (1 if slope >= 0 else -1) / (abs(slope) + np.sqrt(1 + slope * slope))
                c = 1 / np.sqrt(1 + t * t)
                turn = np.array([[c, t * c], [-t * c, c]], dtype=WIDE)
                A[:, [i, j]] = A[:, [i, j]] @ turn
                A[[i, j]] = turn.T @ A[[i, j]]
                V[:, [i, j]] = V[:, [i, j]] @ turn
    return np.diag(A), V


def root(values, vectors, alpha):
    """``(matrix + alpha I)_+^-1/2``, null directions left out unless there is a penalty."""
    keep = values > 1e-16 * values.max()
    if alpha > 0:
        keep[:] = True
    kept = vectors[:, keep]
    return (kept / np.sqrt(np.maximum(values[keep], 0) + WIDE(alpha))) @ kept.T


# --- the grid -----------------------------------------------------------------------------


def _mlsi(alpha, options, solver):
    return MLSI(COUNT, beta=BETA, alpha=alpha, label_weight=None, **options(solver))


def _centred(options):
    """HSL always centres."""
    return {name: value for name, value in options.items() if name != "center"}


def estimators(alpha, dtype):
    """Name, method of :class:`References`, the model for a solver, and what it is fitted to."""

    def options(solver):
        tol = None
        if solver == "krylov":
            tol = 1e-9 if dtype == np.float64 else 1e-5
        return {"center": True, "solver": solver, "tol": tol}

    if alpha == 0:
        yield "LSI", "lsi", lambda s: LSI(COUNT, **options(s)), "targets"
    yield "MLSI", "default", partial(_mlsi, alpha, options), "targets"
    yield "OPLS", "opls", lambda s: OPLS(COUNT, alpha=alpha, **options(s)), "targets"
    yield "CCA", "cca", lambda s: CCA(COUNT, alpha=alpha, **options(s)), "targets"
    yield "LDA", "lda", lambda s: LDA(COUNT, alpha=alpha, **options(s)), "classes"
    yield "HSL", "hsl", lambda s: HSL(COUNT, alpha=alpha, **_centred(options(s))), "indicator"
    yield "LPP", "lpp", lambda _: LPP(COUNT, alpha=alpha), "graph"
    yield "DLE", "dle", lambda _: DLE(COUNT, alpha=alpha, label_weight=0.0), "classes, graph"


def cells(shape, *, solvers=SOLVERS, kinds=None, names=None):
    """Outcome of every cell of one shape: right, warned, refused or silent."""
    for kind, data in data_sets(SHAPES[shape]):
        if kinds is not None and kind not in kinds:
            continue
        Y = labels_of(data.X, np.random.default_rng(3))
        classes = np.digitize(Y[:, 1], np.quantile(Y[:, 1], [0.35, 0.7]))
        references, X = References(data.X, Y, classes), given(data)
        wanted = 1e-6 if data.X.dtype == np.float64 else 1e-4
        answers = {
            "targets": (Y,),
            "classes": (classes,),
            "indicator": ((Y > 0) * 1,),
            "graph": (None, references.graph),
            "classes, graph": (classes, references.graph),
        }
        for alpha in ALPHAS:
            for name, method, make, which in estimators(alpha, data.X.dtype):
                if names is not None and name not in names:
                    continue
                exact = getattr(references, method)(alpha)
                # The eigenvalues of LPP lie between 0 and 2, and the smallest are wanted.
                size = 1.0 if name == "LPP" else exact[0]
                for solver in solvers if "graph" not in which else ("auto",):
                    outcome = outcome_of(make(solver), X, answers[which], exact, wanted * size)
                    yield kind, name, alpha, solver, outcome


def outcome_of(model, X, answer, exact, wanted):
    """Fit, and compare; ``wanted`` is the largest difference that is right."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, *answer)
        except LabelspanError:
            return "refused", 0.0
    values = np.zeros(COUNT)
    values[: model.eigenvalues_.size] = model.eigenvalues_
    off = float(np.abs(values - exact).max())
    if caught:
        return "warned", off
    return ("right" if off <= wanted else "silent"), off
