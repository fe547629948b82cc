"""A grid of badly scaled, ill-conditioned and oddly stored data, with exact references.

Every cell is an estimator, a penalty, a solver and a data set. The answer has to be right, or to
come with a warning, or to be refused; a wrong answer without a warning is a defect. References are
computed in extended precision, from the numbers as they are.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy import sparse

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS
from labelspan.errors import LabelspanError
from labelspan.labels.factor import hsl_factor
from labelspan.labels.reading import read_labels

from .support import duplicated

WIDE = np.longdouble
SHAPES = {"n > d": (90, 12), "n < d": (24, 40)}
ALPHAS = (0.0, 1e-3, 1e2)
SOLVERS = ("auto", "exact", "krylov")
COUNT, BETA = 2, 0.5


def rotated(rows, columns, condition, rng):
    """Rows with a given condition number, along directions that are not the axes."""
    side = min(rows, columns)
    left = np.linalg.qr(rng.standard_normal((rows, side)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, side)))[0]
    return left * np.logspace(0, -np.log10(condition), side) @ right.T


def data_sets(shape):
    """Name, numbers, and how an estimator gets them, of every kind, for one shape."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal(shape)
    columns = shape[1]
    yield "plain", X, np.asarray
    yield "units over 8 decades", X * 10.0 ** rng.uniform(-4, 4, columns), np.asarray
    yield "units over 16 decades", X * 10.0 ** rng.uniform(-8, 8, columns), np.asarray
    huge = X.copy()
    huge[:, 3] = 1.7e9 + 3e7 * X[:, 3]
    yield "one huge column", huge, np.asarray
    for gap in (1e-3, 1e-6, 1e-9, 1e-12, 0.0):
        near = X.copy()
        near[:, 1] = X[:, 0] + gap * X[:, 1]
        yield f"near-duplicate columns, {gap:.0e}", near, np.asarray
    for power in (2, 4, 6, 8, 10, 12, 14):
        yield f"condition 1e{power}", rotated(*shape, 10.0**power, rng), np.asarray
    for power in (3, 6, 9):
        yield f"means of 1e{power}", X + 10.0**power, np.asarray
        yield f"means of 1e{power}, sparse", X + 10.0**power, sparse.csr_array
    yield "float32", X.astype(np.float32), np.asarray
    units = 10.0 ** rng.uniform(-4, 4, columns)
    yield "float32, units over 8 decades", (X * units).astype(np.float32), np.asarray
    ill = rotated(*shape, 1e4, rng)
    yield "float32, condition 1e4", ill.astype(np.float32), np.asarray
    yield "duplicate entries in CSR", X, duplicated


def labels_of(X, rng):
    """Three labels that the features say something of, two of them through every direction."""
    wide = X.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    left, _, _ = np.linalg.svd(centred / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    Y = rng.standard_normal((X.shape[0], 3))
    Y[:, 0] += 4 * left[:, min(4, left.shape[1] - 1)]
    Y[:, 1] += 3 * left[:, : min(X.shape) - 1].sum(axis=1)
    return Y - Y.mean(axis=0)


# --- references in extended precision -----------------------------------------------------


def _orthonormal(A):
    """Orthonormal columns of A's range, columns of unit length first, in extended precision."""
    A = A.astype(WIDE)
    lengths = np.sqrt((A * A).sum(axis=0))
    A = A[:, lengths > 0] / lengths[lengths > 0]
    basis = np.zeros((A.shape[0], 0), dtype=WIDE)
    rest = A.copy()
    for _ in range(min(A.shape)):
        sizes = np.sqrt((rest * rest).sum(axis=0))
        pick = int(sizes.argmax())
        if sizes[pick] < 1e-17:
            break
        vector = rest[:, pick] / sizes[pick]
        for _ in range(2):
            vector = vector - basis @ (basis.T @ vector)
            vector = vector / np.sqrt((vector * vector).sum())
        basis = np.column_stack([basis, vector])
        rest = rest - np.outer(vector, vector @ rest)
    return basis


def _inside(X, alpha):
    """The rows of an orthonormal basis of ``[X; sqrt(alpha) I]`` that belong to X."""
    if alpha == 0:
        return _orthonormal(X)
    border = WIDE(np.sqrt(alpha)) * np.eye(X.shape[1], dtype=WIDE)
    return _orthonormal(np.vstack([X, border]))[: X.shape[0]]


def _leading(square):
    return np.linalg.eigvalsh(square.astype(np.float64))[::-1][:COUNT]


def centred_exactly(X):
    X = X.astype(WIDE)
    # Twice: where extended precision is 80 bits, the rounding of a large mean would be a direction.
    X = X - X.mean(axis=0)
    return X - X.mean(axis=0)


def graph_of(rows):
    """Weights between the rows that do not depend on the features."""
    place = np.random.default_rng(5).standard_normal((rows, 2))
    distances = ((place[:, None] - place[None]) ** 2).sum(axis=2)
    weights = np.exp(-distances)
    np.fill_diagonal(weights, 0.0)
    return weights


class References:
    """Leading eigenvalues of every estimator for one data set."""

    def __init__(self, X, Y, classes):
        self.X, self.Y, self.classes = centred_exactly(X), Y, classes
        self.graph = graph_of(X.shape[0])
        self._bases, self._small = {}, None

    def basis(self, alpha):
        if alpha not in self._bases:
            self._bases[alpha] = _inside(self.X, alpha)
        return self._bases[alpha]

    def thin(self, H, alpha):
        seen = self.basis(alpha).T @ H.astype(WIDE)
        return _leading(seen.T @ seen)

    def lsi(self, alpha):
        return _leading(self.X @ self.X.T)

    def mlsi(self, alpha):
        """The fitted labels have the norm of the features."""
        Q = self.basis(alpha)
        fitted = Q @ (Q.T @ self.Y.astype(WIDE))
        both = np.column_stack(
            [
                np.sqrt(WIDE(1 - BETA)) * self.X / np.sqrt((self.X**2).sum()),
                np.sqrt(WIDE(BETA)) * fitted / np.sqrt((fitted**2).sum()),
            ]
        )
        return _leading(both @ both.T)

    def opls(self, alpha):
        return self.thin(self.Y, alpha)

    def cca(self, alpha):
        return self.thin(np.linalg.qr(self.Y)[0], alpha)

    def lda(self, alpha):
        members = np.eye(3)[self.classes]
        centred = members - members.mean(axis=0)
        left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
        return self.thin(left[:, lengths > 1e-8], alpha)

    def hsl(self, alpha):
        labels = read_labels((self.Y > 0) * 1, self.Y.shape[0], "HSL")
        H = hsl_factor(labels, laplacian="clique").toarray()
        return self.thin(H, alpha)

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
    yield "MLSI", "mlsi", partial(_mlsi, alpha, options), "targets"
    yield "OPLS", "opls", lambda s: OPLS(COUNT, alpha=alpha, **options(s)), "targets"
    yield "CCA", "cca", lambda s: CCA(COUNT, alpha=alpha, **options(s)), "targets"
    yield "LDA", "lda", lambda s: LDA(COUNT, alpha=alpha, **options(s)), "classes"
    yield "HSL", "hsl", lambda s: HSL(COUNT, alpha=alpha, **_centred(options(s))), "indicator"
    yield "LPP", "lpp", lambda _: LPP(COUNT, alpha=alpha), "graph"
    yield "DLE", "dle", lambda _: DLE(COUNT, alpha=alpha), "classes, graph"


def cells(shape, *, solvers=SOLVERS, kinds=None, names=None):
    """Outcome of every cell of one shape: right, warned, refused or silent."""
    for kind, numbers, make_X in data_sets(SHAPES[shape]):
        if kinds is not None and kind not in kinds:
            continue
        Y = labels_of(numbers, np.random.default_rng(3))
        classes = np.digitize(Y[:, 1], np.quantile(Y[:, 1], [0.35, 0.7]))
        references, X = References(numbers, Y, classes), make_X(numbers)
        wanted = 1e-6 if numbers.dtype == np.float64 else 1e-4
        answers = {
            "targets": (Y,),
            "classes": (classes,),
            "indicator": ((Y > 0) * 1,),
            "graph": (None, references.graph),
            "classes, graph": (classes, references.graph),
        }
        for alpha in ALPHAS:
            for name, method, make, which in estimators(alpha, numbers.dtype):
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
