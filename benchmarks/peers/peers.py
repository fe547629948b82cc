"""Other people's estimators on a task, as their documentation would have one call them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cross_decomposition import CCA, PLSSVD, PLSRegression
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from .ours import batches
from .printed import PRINTED, balanced
from .tasks import Contender, Fitted, Task, is_sparse

__all__ = ["PEERS"]


def _truncated(algorithm: str) -> Any:
    def run(task: Task) -> Fitted:
        model = TruncatedSVD(task.count, algorithm=algorithm, random_state=task.seed)
        mapped = model.fit_transform(task.X)
        return Fitted(mapped, model.components_.T)

    return run


def _gensim(task: Task) -> Fitted:
    from gensim.models import LsiModel  # noqa: PLC0415 - slow to import, and optional

    names = {column: str(column) for column in range(task.X.shape[1])}
    # It multiplies by *, which is a product only for matrices.
    columns = sparse.csc_matrix(task.X.T)
    model = LsiModel(columns, num_topics=task.count, id2word=names, random_seed=task.seed)
    weights = model.projection.u
    return Fitted(task.X @ weights, weights)


def _pca(solver: str) -> Any:
    def run(task: Task) -> Fitted:
        model = PCA(task.count, svd_solver=solver, random_state=task.seed)
        mapped = model.fit_transform(task.X)
        return Fitted(mapped, model.components_.T)

    return run


def _incremental(task: Task) -> Fitted:
    model = IncrementalPCA(task.count)
    for part in batches(task):
        model.partial_fit(task.X[part])
    return Fitted(model.transform(task.X), model.components_.T)


def _kernel_pca(solver: str) -> Any:
    def run(task: Task) -> Fitted:
        model = KernelPCA(
            task.count,
            kernel="rbf",
            gamma=task.gamma,
            eigen_solver=solver,
            random_state=task.seed,
        )
        return Fitted(model.fit_transform(task.X))

    return run


def _sklearn_cca(task: Task) -> Fitted:
    model = CCA(task.count, scale=False).fit(task.X, task.Y)
    return Fitted(model.transform(task.X), model.x_rotations_)


def _pls_regression(task: Task) -> Fitted:
    model = PLSRegression(task.count, scale=False).fit(task.X, task.Y)
    return Fitted(model.transform(task.X), model.x_rotations_)


def _pls_svd(task: Task) -> Fitted:
    model = PLSSVD(task.count, scale=False).fit(task.X, task.Y)
    return Fitted(model.transform(task.X), model.x_weights_)


def _ikpls(task: Task) -> Fitted:
    from ikpls.numpy import PLS  # noqa: PLC0415

    model = PLS(algorithm=1, scale_X=False, scale_Y=False)
    model.fit(task.X, task.Y, task.count)
    weights = np.asarray(model.R)
    return Fitted((task.X - task.X.mean(axis=0)) @ weights, weights)


def _ridge_cca(task: Task) -> Fitted:
    from cca_zoo.linear import RidgeCCA  # noqa: PLC0415

    # Its metric is (1 - c) X'X / (n - 1) + c I.
    alpha = task.alpha / (task.X.shape[0] - 1)
    model = RidgeCCA(task.count, shrinkage=[alpha / (1 + alpha), 0.0])
    mapped = model.fit_transform([task.X, task.Y])[0]
    return Fitted(mapped, model.weights_[0])


def _discriminant(solver: str) -> Any:
    def run(task: Task) -> Fitted:
        options: dict[str, Any] = {}
        if solver == "eigen" and task.alpha and not is_sparse(task.X):
            # Its metric is (1 - s) S_w / n + s t I, t the mean variance within classes.
            within = _variance_within(task)
            strength = task.alpha / task.X.shape[0]
            options = {"shrinkage": strength / (strength + within)}
        model = LinearDiscriminantAnalysis(solver=solver, n_components=task.count, **options)
        mapped = model.fit(task.X, task.y).transform(task.X)
        return Fitted(mapped, model.scalings_[:, : task.count])

    return run


def _variance_within(task: Task) -> float:
    parts = [task.X[task.y == one] for one in np.unique(task.y)]
    rows = sum(part.shape[0] * part.var(axis=0).mean() for part in parts)
    return float(rows / task.X.shape[0])


def _pcovr(task: Task) -> Fitted:
    from skmatter.decomposition import PCovR  # noqa: PLC0415

    X, Y = balanced(task.X), balanced(task.Y)
    scale = float(np.square(task.X.data if is_sparse(task.X) else task.X).sum())
    ridge = Ridge(alpha=task.alpha / scale, fit_intercept=False)
    model = PCovR(
        mixing=1 - task.beta,
        n_components=task.count,
        regressor=ridge,
        random_state=task.seed,
    )
    # Its transform subtracts means that its fit does not.
    weights = model.fit(X, Y).pxt_
    return Fitted(X @ weights, weights)


def _kernel_pcovr(task: Task) -> Fitted:
    from skmatter.decomposition import KernelPCovR  # noqa: PLC0415

    kernel = rbf_kernel(task.X, gamma=task.gamma)
    scale = float(np.trace(kernel))
    model = KernelPCovR(
        mixing=1 - task.beta,
        n_components=task.count,
        regressor=KernelRidge(alpha=task.alpha / scale, kernel="precomputed"),
        kernel="precomputed",
        random_state=task.seed,
    )
    mapped = model.fit(kernel / scale, balanced(task.Y)).transform(kernel / scale)
    return Fitted(mapped)


_RANDOMIZED = Contender("TruncatedSVD, randomized", _truncated("randomized"))
_COVARIANCE = "another criterion: covariance"

PEERS: dict[str, tuple[Contender, ...]] = {
    "lsi": (
        _RANDOMIZED,
        Contender("TruncatedSVD, arpack", _truncated("arpack")),
        Contender("gensim LsiModel", _gensim, package="gensim"),
    ),
    "pca": (
        Contender("PCA", _pca("auto")),
        Contender("PCA, randomized", _pca("randomized")),
        Contender("PCA, covariance_eigh", _pca("covariance_eigh"), square="d"),
    ),
    "mlsi": (
        Contender("skmatter PCovR", _pcovr, package="skmatter"),
        Contender(_RANDOMIZED.name, _RANDOMIZED.run, same=False, remark="knows no labels"),
    ),
    "cca": (
        Contender("scikit-learn CCA", _sklearn_cca, penalty=False),
        Contender("cca-zoo RidgeCCA", _ridge_cca, package="cca_zoo"),
    ),
    "opls": (
        Contender("PLSRegression", _pls_regression, same=False, remark=_COVARIANCE),
        Contender("PLSSVD", _pls_svd, same=False, remark=_COVARIANCE),
        Contender("ikpls", _ikpls, same=False, remark=_COVARIANCE, package="ikpls"),
    ),
    "lda": (
        Contender("LinearDiscriminantAnalysis, svd", _discriminant("svd"), penalty=False),
        Contender("LinearDiscriminantAnalysis, eigen", _discriminant("eigen"), square="d"),
    ),
    "kernel-lsi": (
        Contender("KernelPCA", _kernel_pca("auto"), square="n"),
        Contender("KernelPCA, randomized", _kernel_pca("randomized"), square="n"),
    ),
    "kernel-mlsi": (
        Contender("skmatter KernelPCovR", _kernel_pcovr, package="skmatter", square="n"),
    ),
    "stream": (Contender("IncrementalPCA", _incremental),),
}
for _method, _contenders in PRINTED.items():
    PEERS[_method] = (*PEERS.get(_method, ()), *_contenders)
