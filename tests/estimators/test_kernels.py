"""KernelFeatures: the kernel form of every method, against dense equations and KernelPCA."""

import itertools
import pickle

import numpy as np
import pytest
from _support.support import SHAPES, angle, classes, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput, InvalidParameter, LabelspanWarning
from labelspan.estimators import kernel_features

FAMILY = [
    LSI(3),
    MLSI(3, alpha=0.3),
    CCA(alpha=0.5),
    OPLS(alpha=0.5),
    HSL(alpha=0.5),
    LDA(alpha=0.5),
]


def labels_for(estimator, rows):
    return classes(rows, 0) if isinstance(estimator, LDA) else indicator(rows, 0)


@pytest.mark.parametrize(
    ("kernel", "shape"),
    zip(["linear", "poly", "rbf", "cosine", "laplacian"], itertools.cycle(SHAPES), strict=False),
)
def test_inner_products_are_the_kernel(kernel, shape):
    X = features(shape, 3)
    options = {"metric": kernel, "filter_params": True, "gamma": 0.02, "degree": 3, "coef0": 1}
    model = KernelFeatures(kernel, gamma=0.02)
    Z, K = model.fit_transform(X), pairwise_kernels(X, **options)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-6 * np.abs(Z).max())
    # Of new rows, what the rows of the fit have of them.
    new = features(shape, 4)[:5]
    cross = model.transform(new) @ Z.T
    expected = pairwise_kernels(new, X, **options)
    np.testing.assert_allclose(cross, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("estimator", "shape"), zip(FAMILY, itertools.cycle(SHAPES), strict=False), ids=str
)
def test_a_linear_kernel_gives_the_primal_answer(estimator, shape):
    X = features(shape, 1)
    y = labels_for(estimator, X.shape[0])
    primal = clone(estimator).fit(X, y)
    # A function of one's own, so that nothing shortens the way.
    dual = make_pipeline(KernelFeatures(np.dot), clone(estimator)).fit(X, y)
    np.testing.assert_allclose(dual[-1].eigenvalues_, primal.eigenvalues_, rtol=1e-8)
    assert angle(dual.transform(X), primal.transform(X)) < 1e-7
    new = features(shape, 2)[:5]
    np.testing.assert_allclose(
        np.abs(dual.transform(new)), np.abs(primal.transform(new)), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("kernel", ["poly", "rbf", "cosine", "laplacian"])
def test_lsi_is_kernel_pca(kernel):
    X, new = features("tall", 3), features("tall", 4)
    options = {"metric": kernel, "filter_params": True, "gamma": 0.02, "degree": 3, "coef0": 1}
    reference = KernelPCA(4, kernel="precomputed").fit(pairwise_kernels(X, **options))
    ours = make_pipeline(KernelFeatures(kernel, gamma=0.02), LSI(4, center=True)).fit(X)
    np.testing.assert_allclose(ours[-1].eigenvalues_, reference.eigenvalues_, rtol=1e-8)
    expected = reference.transform(pairwise_kernels(new, X, **options))
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(expected), rtol=1e-5, atol=1e-8)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_precomputed_equals_the_named_kernel():
    X, Y = features("tall", 7), indicator(60, 7)
    new = features("tall", 8)
    options = {"metric": "rbf", "gamma": 0.1}
    named = make_pipeline(KernelFeatures("rbf", gamma=0.1), MLSI(3)).fit(X, Y)
    given = make_pipeline(KernelFeatures("precomputed"), MLSI(3))
    given.fit(pairwise_kernels(X, **options), Y)
    np.testing.assert_allclose(
        given.transform(pairwise_kernels(new, X, **options)), named.transform(new), atol=1e-10
    )
    assert given.__sklearn_tags__().input_tags.pairwise
    pipeline = make_pipeline(KernelFeatures("precomputed"), CCA(1, alpha=1.0))
    assert np.isfinite(cross_val_score(pipeline, pairwise_kernels(X, **options), Y)).all()


@pytest.mark.parametrize("estimator", [CCA(2, alpha=0.1), MLSI(3)], ids=["CCA", "MLSI"])
def test_landmarks_approach_the_exact_answer(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    Y = np.c_[X[:, 0] > 0, X[:, 0] * X[:, 1] > 0, np.abs(X[:, 2]) > 1].astype(float)
    exact = make_pipeline(KernelFeatures("rbf", gamma=0.3), estimator)
    expected = clone(exact).fit(X, Y).transform(X)
    gaps = []
    for count in (10, 40, 150, 300):
        near = clone(exact).set_params(kernelfeatures__landmarks=count).fit(X, Y)
        assert near[0].projection_.shape[0] == count
        gaps.append(angle(near.transform(X), expected))
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[2] < 0.1
    assert gaps[3] < 1e-6


@pytest.mark.filterwarnings("ignore::labelspan.errors.LabelspanWarning")
def test_null_directions_and_units_are_not_those_of_nystroem():
    """Why scikit-learn's transformer, with a fixed limit of 1e-12, does not do this work."""
    X, Y = features("tall", 0)[:, :4], indicator(60, 0)
    primal = CCA(alpha=0.0).fit(X, Y).correlations_
    ours, theirs = KernelFeatures("linear"), Nystroem("linear", n_components=60)
    np.testing.assert_allclose(CCA(alpha=0.0).fit(ours.fit_transform(X), Y).correlations_, primal)
    assert CCA(alpha=0.0).fit(theirs.fit_transform(X), Y).correlations_[0] > 1.3 * primal[0]
    small = 1e-8 * X
    lengths = [np.linalg.norm(kernel.fit_transform(small)) for kernel in (ours, theirs)]
    np.testing.assert_allclose(lengths[0], np.linalg.norm(small))
    assert lengths[1] < 0.5 * lengths[0]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_fit_does_not_change_with_the_array_it_came_from(kind):
    X = kind(features("tall", 0))
    model = KernelFeatures("rbf").fit(X)
    again, before = pickle.loads(pickle.dumps(model)), model.transform(X)
    np.testing.assert_array_equal(again.transform(X), before)
    given = X.copy()
    X *= 0.0
    np.testing.assert_array_equal(model.transform(given), before)


def test_refusals(monkeypatch):
    X = features("tall", 0)
    monkeypatch.setattr(kernel_features, "_LIMIT", 50)
    with pytest.raises(InvalidInput, match=r"60 x 60 array, above the limit of 50; give landmarks"):
        KernelFeatures("rbf").fit(X)
    with pytest.raises(InvalidParameter, match="landmarks=70 exceeds the 60 rows"):
        KernelFeatures("rbf", landmarks=70).fit(X)
    with pytest.raises(InvalidInput, match="takes a square matrix in fit"):
        KernelFeatures("precomputed").fit(X)
    with pytest.raises(InvalidParameter, match="cannot be used with kernel='precomputed'"):
        KernelFeatures("precomputed", landmarks=5).fit(X @ X.T)
    with pytest.raises(InvalidParameter, match=r"kernel must be one of 'linear'.*but 'gauss'"):
        KernelFeatures("gauss").fit(X)
    with pytest.raises(InvalidInput, match="no eigenvalue of the kernel matrix is above zero"):
        KernelFeatures(lambda a, b: 0.0, landmarks=20).fit(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_that_are_not_kernels(dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    K = (A @ A.T).astype(dtype)
    model = KernelFeatures("precomputed").fit(K)
    skewed = K.copy()
    skewed[3, 5] += 0.1
    with pytest.raises(InvalidInput, match=r"must be symmetric, but .* \(K \+ K\.T\) / 2"):
        model.fit(skewed)
    with pytest.warns(LabelspanWarning, match=r"not positive semi-definite.* to the diagonal"):
        model.fit((K - 3 * np.eye(40)).astype(dtype))
    # Rounding is neither.
    rounded = K * (1 + 2 * np.finfo(dtype).eps * rng.standard_normal(K.shape))
    model.fit(rounded.astype(dtype))


@pytest.mark.parametrize("rank", [3, 7])
def test_the_rank_of_a_float32_kernel_is_that_of_its_digits(rank):
    A = np.random.default_rng(0).standard_normal((60, rank))
    for dtype in (np.float32, np.float64):
        K = (A.astype(dtype) @ A.astype(dtype).T).astype(dtype)
        assert KernelFeatures("precomputed").fit_transform(K).shape[1] == rank
    short = np.diag([1.0, 3e-7])
    Z = KernelFeatures("linear").fit_transform(short)
    np.testing.assert_allclose(Z @ Z.T, short @ short.T, atol=1e-25)
    full = pairwise_kernels(A, metric="rbf", gamma=2.0).astype(np.float32)
    assert KernelFeatures("precomputed").fit_transform(full).shape[1] == 60
