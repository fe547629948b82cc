"""Kernels: the dual of every method, against plain dense transcriptions and KernelPCA."""

import numpy as np
import pytest
from _support.support import SHAPES, angle, classes, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.checks import parametrize_with_multilabel_checks
from labelspan.errors import InvalidInput, InvalidParameter, Mismatch
from labelspan.operators import kernel_map

FAMILY = [
    LSI(3),
    MLSI(3, alpha=0.3),
    MLSI(3, alpha=0.3, form="inverse"),
    CCA(alpha=0.5),
    OPLS(alpha=0.5),
    HSL(alpha=0.5),
    LDA(alpha=0.5),
]


def labels_for(estimator, rows):
    return classes(rows, 0) if isinstance(estimator, LDA) else indicator(rows, 0)


@parametrize_with_checks([LSI(kernel="rbf"), MLSI(kernel="rbf"), OPLS(kernel="rbf", alpha=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_multilabel_checks([CCA(kernel="rbf", gamma=0.05, alpha=0.1)])
def test_multilabel_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", FAMILY, ids=lambda e: f"{type(e).__name__}")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_linear_kernel_gives_the_primal_answer(estimator, shape):
    X = features(shape, 1)
    y = labels_for(estimator, X.shape[0])
    primal = clone(estimator).fit(X, y)
    # A function of one's own, so that nothing shortens the way.
    dual = clone(estimator).set_params(kernel=np.dot).fit(X, y)
    np.testing.assert_allclose(dual.eigenvalues_, primal.eigenvalues_, rtol=1e-8)
    assert angle(dual.transform(X), primal.transform(X)) < 1e-7
    new = features(shape, 2)[:5]
    np.testing.assert_allclose(
        np.abs(dual.transform(new)), np.abs(primal.transform(new)), rtol=1e-6, atol=1e-8
    )
    assert dual.dual_coef_.shape == (X.shape[0], dual.n_components_)
    assert not hasattr(dual, "components_")


@pytest.mark.parametrize("kernel", ["poly", "rbf", "cosine", "laplacian"])
def test_lsi_is_kernel_pca(kernel):
    X, new = features("tall", 3), features("tall", 4)
    options = {"metric": kernel, "filter_params": True, "gamma": 0.02, "degree": 3, "coef0": 1}
    reference = KernelPCA(4, kernel="precomputed").fit(pairwise_kernels(X, **options))
    ours = LSI(4, kernel=kernel, gamma=0.02, center=True).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, reference.eigenvalues_, rtol=1e-8)
    expected = reference.transform(pairwise_kernels(new, X, **options))
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(expected), rtol=1e-5, atol=1e-8)


def test_an_indefinite_kernel_counts_by_its_positive_part():
    X, Y = features("tall", 3), indicator(60, 3)
    K = pairwise_kernels(X, metric="sigmoid", gamma=0.1)
    values, vectors = np.linalg.eigh(K)
    assert values[0] < -0.1
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    ours = OPLS(kernel="sigmoid", gamma=0.1, alpha=1.0).fit(X, Y)
    reference = OPLS(kernel="precomputed", alpha=1.0).fit(positive, Y)
    np.testing.assert_allclose(ours.eigenvalues_, reference.eigenvalues_, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.2, 3.0])
@pytest.mark.parametrize("estimator", [OPLS(), CCA(), LDA()], ids=lambda e: type(e).__name__)
def test_thin_methods_are_two_stages_in_the_dual(estimator, alpha):
    """``A = (K + alpha I)^-1 H``, ``M = H'K A``, with K centred as kernel PCA does."""
    X = features("tall", 5)
    y = labels_for(estimator, 60)
    ours = clone(estimator).set_params(kernel="rbf", gamma=0.05, alpha=alpha).fit(X, y)
    centring = np.eye(60) - 1 / 60
    K = centring @ pairwise_kernels(X, metric="rbf", gamma=0.05) @ centring
    Y = (np.eye(4)[y] if y.ndim == 1 else y).astype(float)
    Y = Y - Y.mean(axis=0)
    S = Y @ Y.T if isinstance(estimator, OPLS) else Y @ np.linalg.pinv(Y)
    values = np.linalg.eigvals(np.linalg.solve(K + alpha * np.eye(60), K) @ S).real
    np.testing.assert_allclose(
        ours.eigenvalues_, np.sort(values)[::-1][: ours.n_components_], rtol=1e-7
    )


@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("beta", [0.3, 0.7])
@pytest.mark.parametrize("label_kernel", ["linear", "rbf", "poly"])
def test_mlsi_is_yu2005_table_2(beta, gamma, label_kernel):
    """``K_x^2 a = lambda (K_x C^-1 K_x + gamma K_x) a``, a kernel on either side."""
    X, Y = features("wide", 6), indicator(18, 6)
    options = {} if label_kernel == "linear" else {"gamma": 0.7}
    ours = MLSI(
        4,
        beta=beta,
        alpha=gamma,
        form="inverse",
        center=False,
        kernel="rbf",
        gamma=0.01,
        label_kernel=label_kernel,
        label_kernel_params=options,
    ).fit(X, Y)
    Kx = pairwise_kernels(X, metric="rbf", gamma=0.01)
    Ky = pairwise_kernels(Y, metric=label_kernel, **options)
    Kx, Ky = Kx / np.trace(Kx), Ky / np.trace(Ky)
    C = (1 - beta) * Kx + beta * Ky
    metric = Kx @ np.linalg.inv(C) @ Kx + gamma * Kx
    values = np.linalg.eigvals(np.linalg.solve(metric, Kx @ Kx)).real
    np.testing.assert_allclose(ours.eigenvalues_, np.sort(values)[::-1][:4], rtol=1e-6)


def test_precomputed_equals_the_named_kernel():
    X, Y = features("tall", 7), indicator(60, 7)
    new = features("tall", 8)
    options = {"metric": "rbf", "gamma": 0.1}
    named = MLSI(3, kernel="rbf", gamma=0.1).fit(X, Y)
    given = MLSI(3, kernel="precomputed").fit(pairwise_kernels(X, **options), Y)
    np.testing.assert_allclose(
        given.transform(pairwise_kernels(new, X, **options)), named.transform(new), atol=1e-10
    )
    assert given.__sklearn_tags__().input_tags.pairwise
    scores = cross_val_score(
        CCA(1, kernel="precomputed", alpha=1.0),
        pairwise_kernels(X, **options),
        Y,
        scoring=lambda model, X, Y: -np.square(model.label_scores(X) - Y).mean(),
    )
    assert np.isfinite(scores).all()


def test_sparse_rows_and_float32():
    X, Y = features("tall", 9), indicator(60, 9)
    dense = OPLS(2, kernel="rbf", alpha=1.0).fit(X, Y)
    thin = OPLS(2, kernel="rbf", alpha=1.0).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-8)
    narrow = OPLS(2, kernel="rbf", alpha=1.0).fit(X.astype(np.float32), Y)
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("estimator", [CCA(2, alpha=0.1), MLSI(3)], ids=["CCA", "MLSI"])
def test_landmarks_approach_the_exact_answer(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    Y = np.c_[X[:, 0] > 0, X[:, 0] * X[:, 1] > 0, np.abs(X[:, 2]) > 1].astype(float)
    estimator = clone(estimator).set_params(kernel="rbf", gamma=0.3)
    exact = clone(estimator).fit(X, Y)
    gaps = []
    for count in (10, 40, 150, 300):
        near = clone(estimator).set_params(landmarks=count).fit(X, Y)
        assert near.dual_coef_.shape == (count, near.n_components_)
        gaps.append(angle(near.transform(X), exact.transform(X)))
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[2] < 0.1
    assert gaps[3] < 1e-6


def test_refusals(monkeypatch):
    X, Y = features("tall", 0), indicator(60, 0)
    monkeypatch.setattr(kernel_map, "KERNEL_LIMIT", 50)
    with pytest.raises(InvalidInput, match=r"60 x 60 array, above the limit of 50; give landmarks"):
        MLSI(kernel="rbf").fit(X, Y)
    with pytest.raises(InvalidInput, match="landmarks=70 is more than the 60 rows"):
        MLSI(kernel="rbf", landmarks=70).fit(X, Y)
    with pytest.raises(InvalidParameter, match="landmarks=5 has no meaning for kernel='linear'"):
        MLSI(landmarks=5).fit(X, Y)
    with pytest.raises(InvalidInput, match="takes a square matrix in fit"):
        MLSI(kernel="precomputed").fit(X, Y)
    with pytest.raises(InvalidInput, match="cannot be taken from kernel='precomputed'"):
        MLSI(kernel="precomputed", landmarks=5).fit(X @ X.T, Y)
    with pytest.raises(InvalidParameter, match=r"kernel must be one of 'linear'.*but 'gauss'"):
        MLSI(kernel="gauss").fit(X, Y)
    with pytest.raises(InvalidParameter, match="label_kernel must be one of"):
        MLSI(label_kernel="precomputed").fit(X, Y)
    with pytest.raises(Mismatch, match=r"penalty='l1'.*kernel='rbf' does not have"):
        CCA(penalty="l1", alpha=1.0, kernel="rbf").fit(X, Y)
    with pytest.raises(InvalidInput, match="no eigenvalue of the kernel matrix is above zero"):
        MLSI(kernel=lambda a, b: 0.0, landmarks=20).fit(X, Y)
    with pytest.raises(InvalidInput, match="inverse_transform needs weights on features"):
        LSI(2, kernel="rbf", landmarks=20).fit(X).inverse_transform(np.zeros((1, 2)))


def test_label_kernel_has_a_limit(monkeypatch):
    from labelspan.estimators import mlsi

    monkeypatch.setattr(mlsi, "KERNEL_LIMIT", 50)
    with pytest.raises(InvalidParameter, match="label_kernel='rbf' on 60 labelled rows"):
        MLSI(label_kernel="rbf").fit(features("tall", 0), indicator(60, 0))


def test_a_refit_of_the_other_kind_leaves_nothing_stale():
    X, Y = features("tall", 0), indicator(60, 0)
    model = MLSI(2).fit(X, Y)
    model.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(model, "components_")
    assert not hasattr(model.set_params(kernel="linear").fit(X, Y), "dual_coef_")


def test_label_kernel_params_are_named():
    with pytest.raises(InvalidParameter, match="may hold gamma, degree and coef0, but has width"):
        MLSI(label_kernel="rbf", label_kernel_params={"width": 1}).fit(
            features("tall", 0), indicator(60, 0)
        )


@pytest.mark.parametrize("center", [False, True])
def test_a_function_on_the_labels_equals_the_named_kernel(center):
    X, Y = features("tall", 9), indicator(60, 9)

    def gaussian(one, two, gamma):
        return np.exp(-gamma * np.square(one - two).sum())

    options = {"center": center, "label_kernel_params": {"gamma": 0.7}}
    named, own = (MLSI(4, label_kernel=kernel, **options) for kernel in ("rbf", gaussian))
    expected = named.fit(X, Y).eigenvalues_
    np.testing.assert_allclose(own.fit(X, Y).eigenvalues_, expected, rtol=1e-8)
