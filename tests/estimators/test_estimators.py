"""Estimators: scikit-learn's battery, our own for several labels, and identities."""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from _support.support import angle, classes, features, indicator
from sklearn.datasets import load_digits, load_iris, load_linnerud, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, KernelFeatures
from labelspan.checks import MULTILABEL_CHECKS, parametrize_with_multilabel_checks
from labelspan.errors import InvalidInput

FAMILY = [MLSI(), CCA(), OPLS(), LDA(), HSL()]


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@parametrize_with_checks([LSI(), *FAMILY, DLE(), LPP(), KernelFeatures()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_multilabel_checks([*FAMILY, DLE()])
def test_multilabel_checks(estimator, check):
    check(estimator)


class Broken(MLSI, auto_wrap_output_keys=None):
    """Changes its input, and never gives the same numbers twice."""

    numbers = itertools.count(1)

    def fit(self, X, y):
        if isinstance(X, np.ndarray) and not X.flags.writeable:
            raise ValueError("X cannot be changed")
        super().fit(X, y)
        self.classes_ = np.arange(self.classes_.size)
        self.components_ = self.components_.astype(np.float64) + next(self.numbers)
        return self

    def transform(self, X):
        return super().transform(X) + next(self.numbers)

    def label_scores(self, X):
        return np.full((X.shape[0], self.classes_.size), np.nan)


@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
def test_each_multilabel_check_can_fail(check):
    with pytest.raises((AssertionError, ValueError, AttributeError, UserWarning)):
        check(Broken())


# --- references in other libraries ---------------------------------------------------------


@pytest.mark.parametrize("center", [False, True])
def test_lsi_equals_truncated_svd_and_pca(center):
    X, _ = load_digits(return_X_y=True)
    reference = (
        (PCA if center else TruncatedSVD)(8, random_state=0, svd_solver="full")
        if center
        else (TruncatedSVD(8, algorithm="arpack", random_state=0))
    )
    expected = reference.fit_transform(X)
    ours = LSI(8, center=center)
    found = ours.fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(ours.eigenvalues_, reference.singular_values_**2)
    back = ours.inverse_transform(found)
    np.testing.assert_allclose(back, reference.inverse_transform(expected), atol=1e-7)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_lda_has_scikit_learns_space(load):
    X, y = load(return_X_y=True)
    reference = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours = LDA(alpha=0.0).fit(X, y)
    expected = (X - X.mean(axis=0)) @ reference.scalings_[:, :2]
    assert angle(ours.transform(X), expected) < 1e-8
    # lambda = S_b / S_t here, S_b / S_w there.
    ratio = ours.eigenvalues_ / (1 - ours.eigenvalues_)
    np.testing.assert_allclose(
        ratio / ratio.sum(), reference.explained_variance_ratio_[:2], rtol=1e-8
    )


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("solver", ["eigen", "svd"])
def test_lda_has_scikit_learns_scale(load, solver):
    """Angles do not show it: a factor with n - k instead of n was off by up to .05."""
    X, y = load(return_X_y=True)
    peer = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    ours = LDA(alpha=0.0).fit(X, y)
    # Before 1.9, "svd" divided by n - k.
    old = solver == "svd" and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
    factor = np.sqrt((len(y) - 3 * old) / (1 - ours.eigenvalues_))
    found, expected = ours.transform(X) * factor, peer.transform(X - X.mean(axis=0))
    if solver == "svd":
        expected = peer.transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)


def test_transform_labels_correlates_by_the_correlations():
    X, Y = load_linnerud(return_X_y=True)
    ours = CCA(alpha=0.0).fit(X, Y)
    a, b = ours.transform(X), ours.transform_labels(Y)
    found = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose(found, ours.correlations_, atol=1e-10)
    np.testing.assert_allclose(b.T @ b, np.eye(3), atol=1e-10)
    y = classes(40, 0)
    X = features("low-rank", 0)
    fitted = CCA(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(
        fitted.transform_labels(y[:5]), fitted.transform_labels(y)[:5], atol=1e-12
    )
    assert (fitted.transform_labels([-1, 0])[0] == 0).all()


def test_mlsi_is_principal_covariates_regression():
    from skmatter.decomposition import PCovR

    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 10))
    Y = X[:, :3] @ rng.standard_normal((3, 4)) + rng.standard_normal((80, 4))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    fitted = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    X, Y = X / np.linalg.norm(X), Y / np.linalg.norm(fitted)
    for beta in (0.2, 0.5, 0.8):
        ours = MLSI(4, beta=beta, alpha=0.0, label_weight=None, center=False).fit(X, Y)
        reference = PCovR(mixing=1 - beta, n_components=4, space="sample", regressor=Ridge(1e-14))
        assert angle(ours.transform(X), np.asarray(reference.fit(X, Y).transform(X))) < 1e-5


# --- identities -----------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_opls_with_all_components_is_ridge_regression(alpha):
    X, Y = features("tall", 9), indicator(60, 9)
    expected = Ridge(alpha=alpha).fit(X, Y).predict(X)
    np.testing.assert_allclose(OPLS(alpha=alpha).fit(X, Y).label_scores(X), expected, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", ">f8", "int64"])
def test_an_array_after_a_data_frame_leaves_no_names(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (30, 4)).astype(dtype)
    model = LSI(2, center=True).fit(pd.DataFrame(X, columns=list("abcd")))
    assert model.feature_names_in_.tolist() == list("abcd")
    model.fit(X[:, :3])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    wide = X[:, :3].astype(np.float64)
    expected = np.linalg.svd(wide - wide.mean(axis=0), compute_uv=False)[:2]
    np.testing.assert_allclose(model.eigenvalues_, expected**2, rtol=1e-5)
    for few in (X[:1], X[:, :0], X[0], X[None]):
        with pytest.raises(InvalidInput, match=r"LSI: .*(minimum|Expected 2D|dim 3)"):
            model.fit(few)
