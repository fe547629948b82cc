"""Every estimator of the property tests, and the plain dense problem that its answer must solve.

A certificate takes a fitted model and what it was fitted to. It forms the method's own
matrices, from the papers' formulas and nothing of the library but the reading of y, and
holds the answer against them: the metric, the residual, the eigenvalues, and how many.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import assume

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS
from labelspan.errors import InvalidLabels
from labelspan.labels import cca_factor, hsl_factor, lda_factor, opls_factor, read_labels
from labelspan.papers.sun2009 import LeastSquares

ANY = ("classes", "names", "indicator", "targets")
NAMED = ("classes", "names", "indicator")
ONE = ("classes", "names", "one per row")
FACTORS = {CCA: cca_factor, LDA: lda_factor, HSL: hsl_factor}


@dataclass(frozen=True)
class Member:
    """An estimator with its parameters; ``make(s)`` is for features s times as large."""

    make: Callable[[float], Any]
    certify: Callable[..., None] | None
    kinds: tuple[str, ...] = ANY

    def __call__(self, scale: float = 1.0) -> Any:
        return self.make(scale)


# --- the problems ---------------------------------------------------------------------


def centered(X, model):
    return X - X.mean(axis=0) if model.center else X


def block(values, unknown, center):
    """Labels with unknown entries at the mean of the known ones, about it where asked."""
    known = np.ones(values.shape, dtype=bool) if unknown is None else ~unknown
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values - means * center, 0.0)


def factor(model, labels):
    """H of the thin methods; ``tests/labels`` holds it against the formulas of sun2009."""
    options = {"laplacian": model.laplacian} if isinstance(model, HSL) else {}
    H = FACTORS.get(type(model), opls_factor)(labels, center=model.center, **options).toarray()
    if isinstance(model, CCA):
        Y = block(labels.values, labels.unknown, model.center)
        lengths = np.linalg.norm(Y, axis=0)
        clear_rank(np.linalg.svd(Y / np.where(lengths > 0, lengths, 1.0), compute_uv=False) ** 2)
    return H


def clear_rank(squares, low=1e-13, high=1e-8):
    """Leave out the random cases whose rank depends on a threshold."""
    top = max(squares.max(initial=0.0), 1e-300)
    assume(not ((squares > low * top) & (squares < high * top)).any())


def pinv(A):
    return np.linalg.pinv(A, rcond=1e-11, hermitian=True)


def root(A, alpha=0.0, floor=0.0):
    """``(A + alpha I)^-1/2`` on the range of A."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    clear_rank(values)
    keep = (values > max(1e-10 * values[-1], floor)) | (alpha > 0)
    return vectors[:, keep] / np.sqrt(np.maximum(values[keep], 0) + alpha) @ vectors[:, keep].T


def pencil(left, metric):
    """The eigenvalues of ``left w = lambda metric w`` on the range of the metric, falling."""
    white = root(metric)
    return np.linalg.eigvalsh(white @ left @ white.T)[::-1]


def agree(model, expected, tolerance=1e-5):
    """The model's eigenvalues are the expected ones, as many as there are above zero."""
    clear_rank(np.abs(expected), 1e-13, 1e-7)
    expected = expected[expected > 1e-10 * max(expected.max(initial=0.0), 1e-300)]
    if model.n_components is not None:
        expected = expected[: model.n_components]
    assert model.n_components_ == expected.size
    np.testing.assert_allclose(model.eigenvalues_, expected, atol=tolerance * expected.max())


def solves(W, left, metric, eigenvalues, tolerance, *, top=None):
    """W has unit length in the metric and satisfies ``left W = metric W diag(lambda)``.

    ``top`` is the largest eigenvalue there may be, where those found are not the largest.
    """
    top = eigenvalues.max() if top is None else top
    np.testing.assert_allclose(W.T @ metric @ W, np.eye(W.shape[1]), atol=tolerance)
    gap = left @ W - metric @ W * eigenvalues
    size = (np.abs(left).max() + np.abs(metric).max() * top) * np.abs(W).max()
    assert np.abs(gap).max() <= tolerance * size


def thin(model, X, y, tolerance=1e-6):
    labels = read_labels(y, X.shape[0], "test")
    keep = np.flatnonzero(labels.labelled)
    labels = labels.rows(keep)
    H = factor(model, labels)
    Xc = centered(X[keep], model)
    clear_rank(np.linalg.svd(Xc, compute_uv=False) ** 2)
    metric = Xc.T @ Xc + model.alpha * np.eye(X.shape[1])
    left = Xc.T @ H @ H.T @ Xc
    agree(model, pencil(left, metric), tolerance)
    roots = np.sqrt(model.eigenvalues_) if model.scale else np.ones(model.n_components_)
    solves(model.components_.T / roots, left, metric, model.eigenvalues_, tolerance)
    Y = block(labels.values, labels.unknown, model.center)
    expected = (model.transform(X[keep]) / roots).T @ Y
    found = model.label_loadings_ * roots[:, None]
    size = max(1e-300, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, atol=tolerance * size)


def lsi(model, X, y, tolerance=1e-6):
    Xc = centered(X, model)
    s = np.linalg.svd(Xc, compute_uv=False)
    agree(model, s**2, tolerance)
    solves(model.components_.T, Xc.T @ Xc, np.eye(X.shape[1]), model.eigenvalues_, tolerance)


def mlsi(model, X, y, tolerance=1e-6):
    labels = read_labels(y, X.shape[0], "test")
    Xc, Y = centered(X, model), block(labels.values, labels.unknown, model.center)
    clear_rank(np.linalg.svd(Xc, compute_uv=False) ** 2)
    if model.beta_ > 0 and labels.unknown is not None:
        Y = completed(X, labels, model)
    x, y_ = np.linalg.norm(Xc) or 1.0, np.linalg.norm(Y) or 1.0
    a, b = 1 - model.beta_, model.beta_
    gram = Xc.T @ Xc
    B = pinv(gram + model.alpha * np.eye(len(gram))) @ Xc.T @ Y
    fitted = Xc @ (B * roots_of_deviations(labels, model))
    if np.linalg.norm(fitted) <= 1e-13 * y_:
        # Rounding of labels of which nothing is predicted, as where labelled rows are all alike.
        fitted = np.zeros_like(fitted)
    size = np.linalg.norm(fitted) or 1.0
    Z = np.hstack([np.sqrt(a) / x * Xc, np.sqrt(b) / size * fitted])
    if b > 0:
        Y = Xc @ B
    agree(model, np.linalg.svd(Z, compute_uv=False) ** 2, tolerance)
    # A label on most rows moves the origin of transform.
    V = Xc @ model.components_.T / np.sqrt(model.eigenvalues_)
    solves(V, Z @ Z.T, np.eye(len(X)), model.eigenvalues_, tolerance)
    found = model.label_loadings_ * np.sqrt(model.eigenvalues_)[:, None]
    np.testing.assert_allclose(found, V.T @ Y, atol=tolerance * y_)


def roots_of_deviations(labels, model):
    """Return what each label is multiplied by, from the entries that are known."""
    Y = labels.values
    if getattr(model, "scaling", "equalized") != "equalized" or not getattr(
        model, "label_weight", "balanced"
    ):
        return np.ones(Y.shape[1])
    known = np.ones(Y.shape, dtype=bool) if labels.unknown is None else ~labels.unknown
    columns = [column[own] for column, own in zip(Y.T, known.T, strict=True)]
    squares = [np.mean((c - c.mean() * model.center) ** 2) if c.size else 0.0 for c in columns]
    return np.array([square**-0.25 if square > 1e-30 else 1.0 for square in squares])


def completed(X, labels, model):
    """Return labels with fitted values where they are unknown, one label at a time."""
    Y = labels.values.copy()
    for j, unknown in enumerate(labels.unknown.T):
        if unknown.all():
            continue
        rows = X[~unknown]
        means, shift = rows.mean(axis=0) * model.center, Y[~unknown, j].mean() * model.center
        A = rows - means
        # Without a penalty, fitted values of other rows are unique only where these rows span all.
        assume(model.alpha > 0 or np.linalg.matrix_rank(A) == np.linalg.matrix_rank(X - means))
        gram = A.T @ A + model.alpha * np.eye(X.shape[1])
        slopes = pinv(gram) @ A.T @ (Y[~unknown, j] - shift)
        Y[unknown, j] = shift + (X[unknown] - means) @ slopes
    return Y - Y.mean(axis=0) * model.center


def lpp(model, X, y, tolerance=1e-6):
    Xc = centered(X, model)
    W = model.graph_.toarray()
    D = np.diag(W.sum(axis=1))
    metric = Xc.T @ D @ Xc
    values, axes = np.linalg.eigh(metric)
    clear_rank(values)
    kept = axes[:, values > 1e-10 * values[-1]]
    left, metric = Xc.T @ (D - W) @ Xc, metric + model.alpha * kept @ kept.T
    expected = pencil(left, metric)[: kept.shape[1]][::-1]
    assert model.n_components_ == min(kept.shape[1], model.n_components or 100)
    np.testing.assert_allclose(
        model.eigenvalues_, expected[: model.n_components_], atol=tolerance * 2
    )
    solves(model.components_.T, left, metric, model.eigenvalues_, tolerance, top=2.0)


def dle(model, X, y, tolerance=1e-5):
    labels = read_labels(y, X.shape[0], "test")
    keep = labels.labelled
    Xc, Y = X - X.mean(axis=0), labels.values[keep]
    rows = Xc[keep]
    mean = Y.sum(axis=1) @ rows / Y.sum()
    within, between = 0.0, 0.0
    for member in Y.T[Y.sum(axis=0) > 0]:
        center = member @ rows / member.sum()
        within = within + (rows - center).T @ np.diag(member) @ (rows - center)
        between = between + member.sum() * np.outer(center - mean, center - mean)
    W = model.graph_.toarray()
    A = Xc.T @ (np.diag(W.sum(axis=1)) - W) @ Xc
    trace = np.trace(within + between)
    assume(not 1e-15 * trace < np.trace(within) < 1e-9 * trace)
    tight = root(within, model.alpha, 1e-13 * trace)
    smooth = root(A)
    M = smooth @ tight @ between @ tight @ smooth
    agree(model, np.linalg.eigvalsh((M + M.T) / 2)[::-1], tolerance)
    if model.projection == "printed":
        U = model.components_.T
        solves(U, M, np.eye(X.shape[1]), model.eigenvalues_, tolerance)


def nothing_to_find(model, X, y):
    """Whether a refusal is right: labels that cannot be read, or no direction at all."""
    if len(X) < 2:
        return True
    rows = X
    if not isinstance(model, LSI):
        try:
            labels = read_labels(y, len(X), "test")
        except InvalidLabels:
            return True
        if isinstance(model, MLSI):
            H = block(labels.values, labels.unknown, model.center)
            if model.beta != 1:
                H = np.eye(len(X))
        else:
            rows = X[labels.labelled]
            if len(rows) < 2 or (labels.kind == "classes" and labels.names.size < 2):
                return True
            H = factor(model, labels.rows(np.flatnonzero(labels.labelled)))
    else:
        H = np.eye(len(X))
    rows = centered(rows, model)
    return np.abs(rows.T @ H).max(initial=0.0) <= 1e-12 * np.abs(X).max() * np.abs(H).max(initial=1)


# --- the family -----------------------------------------------------------------------


def _thin(kind, kinds, **parameters):
    alpha = parameters.pop("alpha", 0.0)
    return Member(lambda s: kind(alpha=alpha * s**2, **parameters), thin, kinds)


def _mlsi(certify=mlsi, alpha=1.0, **parameters):
    return Member(lambda s: MLSI(alpha=alpha * s**2, **parameters), certify)


def _lsi(certify=lsi, **parameters):
    return Member(lambda s: LSI(**parameters), certify, ("indicator",))


def _graph(kind, certify, kinds, **parameters):
    alpha = parameters.pop("alpha", 0.0)
    return Member(lambda s: kind(alpha=alpha * s**2, n_neighbors=3, **parameters), certify, kinds)


LINEAR = {
    "LSI": _lsi(),
    "LSI-centred": _lsi(center=True),
    "LSI-exact": _lsi(solver="exact", center=True),
    "MLSI": _mlsi(),
    "MLSI-alpha0": _mlsi(alpha=0.0),
    "MLSI-raw": _mlsi(center=False, beta=0.8),
    "MLSI-plain": _mlsi(label_weight=None, beta=0.5),
    "MLSI-beta0": _mlsi(beta=0.0),
    "MLSI-beta1": _mlsi(beta=1.0),
    "MLSI-eigen": _mlsi(solver="exact"),
    "OPLS": _thin(OPLS, ANY),
    "OPLS-alpha": _thin(OPLS, ANY, alpha=0.5),
    "OPLS-raw": _thin(OPLS, ANY, center=False),
    "OPLS-exact": _thin(OPLS, ANY, solver="exact"),
    "CCA": _thin(CCA, ANY),
    "CCA-alpha": _thin(CCA, ANY, alpha=0.5),
    "CCA-raw": _thin(CCA, ANY, center=False),
    "LDA": _thin(LDA, ONE),
    "LDA-alpha": _thin(LDA, ONE, alpha=0.5),
    "HSL-clique": _thin(HSL, NAMED),
    "HSL-star": _thin(HSL, NAMED, laplacian="star", alpha=0.5),
    "HSL-zhou": _thin(HSL, NAMED, laplacian="zhou"),
}
GRAPHS = {
    "LPP": _graph(LPP, lpp, ("indicator",)),
    "LPP-rbf": _graph(LPP, lpp, ("indicator",), affinity="rbf", alpha=0.5),
    "DLE": _graph(DLE, dle, NAMED),
    "DLE-alpha": _graph(DLE, dle, NAMED, alpha=0.5, affinity="rbf"),
    "DLE-whitened": _graph(DLE, dle, NAMED, projection="whitened"),
}
ITERATED = {
    "LSI-krylov": Member(lambda s: LSI(1, solver="krylov", tol=1e-13), lsi, ("indicator",)),
    "MLSI-krylov": Member(
        lambda s: MLSI(1, alpha=s**2, solver="krylov", tol=1e-13), partial(mlsi, tolerance=1e-5)
    ),
    "OPLS-least-squares": Member(lambda s: OPLS(alpha=0.5 * s**2, solver=LeastSquares()), None),
    # Not CCA, whose targets are of one length: which basis of them the lasso gets is open.
    "OPLS-lasso": Member(lambda s: OPLS(alpha=0.2 * s, solver=LeastSquares("l1")), None),
}
FAMILY = {**LINEAR, **GRAPHS, **ITERATED}
