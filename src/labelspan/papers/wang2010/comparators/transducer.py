"""The spectral graph transducer, compared in wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh

from ...._params import Boolean, Constraint, Integer, Real
from ...._typing import Array
from ....errors import InvalidLabels
from ....graph import Laplacian
from ....labels import Labels
from ....operators import Operator
from .graph_classifier import GraphClassifier, documented
from .graph_systems import reached

__all__ = ["SpectralGraphTransducer", "smallest_eigenvectors", "sphere_minimum"]

# Maximum number of rows for a full eigendecomposition of the Laplacian, an n x n array.
_DENSE_LIMIT = 2000
# Relative size below which a number is a rounding error.
_ROUNDING = 1e-12


@documented
class SpectralGraphTransducer(GraphClassifier):
    """Spectral graph transducer, compared in wang2010.

    By Joachims (ICML 2003). One class against the rest: a balanced cut of the graph,
    relaxed to real numbers, with a cost for labelled rows on the wrong side::

        min z'Lz + c (z - g)'C(z - g)      with  z'1 = 0  and  z'z = n

    With p labelled rows in the class and q outside, ``g_i = (q/p)^1/2`` inside,
    ``-(p/q)^1/2`` outside and 0 for unlabelled rows, and the diagonal of C is
    ``(p + q) / 2p``, ``(p + q) / 2q`` and 0. z lies in the span of the eigenvectors V of L
    with the smallest eigenvalues but the first, which are replaced by their squared ranks,
    ``D = diag(1, 4, 9, ...)``. Then ``z = V w`` with::

        (G - l I) w = b,   w'w = n,   G = D + c V'CV,   b = c V'C g

    where l is the one solution below the smallest eigenvalue of G: the smallest eigenvalue of
    ``[[G, -I], [-bb'/n, G]]``, found here as the root of a scalar function. ``scores_`` are z
    minus ``((q/p)^1/2 - (p/q)^1/2) / 2``, the midpoint of the two targets, and the highest wins.
    Rows that no label reaches have scores of zero, and so have labels that all labelled rows
    carry, or none.

    With ``normalized=True`` L is ``I - D^-1/2 W D^-1/2``, and its null vector, the square
    roots of the degrees, replaces 1.

    Special cases: for c to 0, z is the first eigenvector and the labels choose only its sign;
    for two classes the scores are the negatives of each other.

    Parameters
    ----------
    c : float, default=3200.0
        Weight of the labelled rows, above 0.
    n_eigenvectors : int, default=80
        Maximum number of eigenvectors. Up to 2,000 rows they come from a full
        eigendecomposition of an n x n array, beyond that from Lanczos iterations.
    normalized : bool, default=True
        Whether to use the normalised Laplacian, for which every row needs a neighbour.
    {graph}

    Attributes
    ----------
    {labels}
    graph_ : operator of shape (n, n)
        The graph.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    KMeansLaplacian : Clusters of the graph and the features.

    References
    ----------
    .. [1] Joachims, T. (2003). Transductive learning via spectral graph partitioning. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from labelspan.papers.wang2010.comparators import SpectralGraphTransducer
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.arange(150) % 10 == 0
    >>> found = SpectralGraphTransducer().fit_predict(X, np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        "c": Real(1e-12),
        "n_eigenvectors": Integer(1),
        "normalized": Boolean(),
    }

    def __init__(
        self,
        *,
        c: float = 3200.0,
        n_eigenvectors: int = 80,
        normalized: bool = True,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
    ) -> None:
        self.c = c
        self.n_eigenvectors = n_eigenvectors
        self.normalized = normalized
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        owner = type(self).__name__
        rows, labelled = data.shape[0], labels.labelled
        total = int(labelled.sum())
        if labels.kind == "classes" and labels.names.size < 2:
            raise InvalidLabels(
                f"{owner}: y has only the class {labels.names[0]}, but at least two are needed; "
                "label rows of another class."
            )
        near = reached(owner, graph, labels)
        laplacian = Laplacian(graph, normalized=self.normalized)
        vectors = smallest_eigenvectors(laplacian, min(self.n_eigenvectors, rows - 1))
        known = vectors[labelled]
        ranks = np.diag(np.arange(1.0, vectors.shape[1] + 1) ** 2)
        scores = np.zeros(labels.values.shape)
        for column, values in enumerate(labels.values[labelled].T):
            inside = values == 1
            p = int(inside.sum())
            q = total - p
            if p == 0 or q == 0:
                continue
            high, low = np.sqrt(q / p), -np.sqrt(p / q)
            target = np.where(inside, high, low)
            cost = self.c * np.where(inside, total / (2 * p), total / (2 * q))
            metric = ranks + known.T @ (cost[:, None] * known)
            weights, _ = sphere_minimum(metric, known.T @ (cost * target), float(rows))
            scores[:, column] = vectors @ weights - (high + low) / 2
        scores[~near] = 0.0
        return scores


def smallest_eigenvectors(laplacian: Laplacian, count: int) -> Array:
    """Compute orthonormal eigenvectors of the smallest eigenvalues but the known null vector.

    The null vector is constant, or the square roots of the degrees for a normalised Laplacian.
    It is deflated explicitly, and not dropped as the first eigenvector, because a graph with
    several components has several null vectors in an arbitrary basis.
    """
    rows = laplacian.shape[0]
    null = np.sqrt(laplacian.degrees) if laplacian.normalized else np.ones(rows)
    null = null / np.linalg.norm(null)
    # An upper bound of the eigenvalues; shifted beyond it, the null vector comes last.
    bound = 2.0 * (1.0 if laplacian.normalized else float(laplacian.degrees.max()))
    bound = bound or 1.0
    if rows <= _DENSE_LIMIT or count >= rows - 1:
        moved = laplacian.toarray() + 2 * bound * np.outer(null, null)
        return np.asarray(np.linalg.eigh((moved + moved.T) / 2)[1][:, :count])

    def turned(vector: Array) -> Array:
        column = vector.reshape(-1, 1)
        image = laplacian.matmat(column) + 2 * bound * null[:, None] * (null @ column)
        return np.asarray(bound * column - image)[:, 0]

    operator = LinearOperator((rows, rows), matvec=turned, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(rows)
    width = min(rows, max(2 * count + 1, 40))
    values, vectors = eigsh(operator, k=count, which="LA", v0=start, ncv=width, tol=1e-8)
    return np.asarray(vectors[:, np.argsort(-values)])


def sphere_minimum(G: Array, b: Array, square: float) -> tuple[Array, float]:
    """Minimise ``w'Gw - 2 b'w`` with ``w'w = square``; return w and l of ``(G - l I) w = b``.

    In the eigenvectors of G, ``sum b_i^2 / (g_i - l)^2 = square`` has one root l below all
    g_i. If b is orthogonal to the lowest eigenvector, that sum may stay too small; then l is
    the lowest g, and a multiple of its eigenvector is added to reach the length.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators.transducer import sphere_minimum
    >>> w, l = sphere_minimum(np.diag([1.0, 2.0]), np.array([0.0, 0.5]), 4.0)
    >>> float((w @ w).round(9)), float(l)
    (4.0, 1.0)
    """
    values, turn = np.linalg.eigh(G)
    gaps = values - values[0]
    along = turn.T @ b
    length = float(np.linalg.norm(b))
    lowest = gaps <= _ROUNDING * max(abs(values[0]), abs(values[-1]))
    pull = float(np.linalg.norm(along[lowest]))
    far = ~lowest
    if pull <= _ROUNDING * length:
        weights = np.zeros(b.size)
        weights[far] = along[far] / gaps[far]
        missing = square - float(weights @ weights)
        if missing >= 0:
            weights[0] = np.sqrt(missing)
            return np.asarray(turn @ weights), float(values[0])
        along = np.where(far, along, 0.0)

    # In terms of the distance below the lowest g, which avoids cancellation.
    def excess(distance: float) -> float:
        kept = along != 0
        return float(np.square(along[kept] / (gaps[kept] + distance)).sum()) - square

    root = np.sqrt(square)
    distance = float(
        brentq(excess, pull / root * (1 - 1e-9), length / root * (1 + 1e-9), xtol=1e-300)
    )
    return np.asarray(turn @ (along / (gaps + distance))), float(values[0] - distance)
