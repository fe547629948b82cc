"""Figures that others have published, found again through our estimators.

Each comes with where it stands; scikit-learn's tests are those of version 1.8.0.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSCanonical
from sklearn.datasets import load_iris, load_linnerud
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from labelspan import CCA, LDA, LSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput, LabelspanWarning
from labelspan.labels.factor import class_scatter
from labelspan.operators import as_operator


def standardized(*arrays):
    return [StandardScaler().fit_transform(array) for array in arrays]


def parallel(one, two):
    """The cosine between two directions, whatever their signs and lengths."""
    return abs(np.dot(one, two)) / np.linalg.norm(one) / np.linalg.norm(two)


# --- canonical correlations -----------------------------------------------------------


def test_cca_of_linnerud_is_that_of_sas():
    """statsmodels, multivariate/tests/test_cancorr.py, test_cancorr, against PROC CANCORR's
    example of a fitness club: Wilks' lambda of all, two and one correlation, Pillai's and
    Hotelling-Lawley's traces and Roy's root are functions of the correlations.
    """
    exercise, body = load_linnerud(return_X_y=True)
    squares = CCA(alpha=0.0).fit(body, exercise).correlations_ ** 2
    wilks = np.cumprod((1 - squares)[::-1])[::-1]
    np.testing.assert_allclose(wilks, [0.35039053, 0.95472266, 0.99473355], atol=5e-9)
    assert squares.sum() == pytest.approx(0.67848151, abs=5e-9)
    assert (squares / (1 - squares)).sum() == pytest.approx(1.77194146, abs=5e-9)
    assert (squares / (1 - squares))[0] == pytest.approx(1.72473874, abs=5e-9)
    # The other way round, the pairs change sides and nothing else.
    np.testing.assert_allclose(
        CCA(alpha=0.0).fit(exercise, body).correlations_ ** 2, squares, atol=1e-12
    )


def test_cca_of_600_freshmen_is_that_of_r():
    """R's CCA::cc on UCLA's mmreg (stats.oarc.ucla.edu/r/dae/canonical-correlation-analysis):
    matcor gives the correlations between the variables, cc1$cor those of the pairs. Any rows
    with these correlations have these pairs.
    """
    X, Y, XY = np.eye(3), np.eye(5), np.zeros((3, 5))
    X[np.triu_indices(3, 1)] = 0.1711878, 0.2451323, 0.2885707
    Y[np.triu_indices(5, 1)] = [
        *(0.62859089, 0.67927568, 0.69069291, -0.04174278),
        *(0.63266640, 0.56914983, 0.24433183),
        *(0.64952612, -0.04821830, -0.13818587),
    ]
    XY[0] = 0.37356505, 0.35887684, 0.3372690, 0.32462694, 0.11341075
    XY[1] = 0.06065584, 0.01944856, 0.0535977, 0.06982633, -0.12595132
    XY[2] = 0.21060992, 0.25424818, 0.1950135, 0.11566948, 0.09810277
    upper = np.block([[X, XY], [np.zeros((5, 3)), Y]])
    together = np.triu(upper, 1) + np.triu(upper, 1).T + np.eye(8)
    rows = np.random.default_rng(0).standard_normal((600, 8))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0] @ np.linalg.cholesky(together).T
    model = CCA(alpha=0.0).fit(rows[:, :3], rows[:, 3:])
    np.testing.assert_allclose(model.correlations_, [0.4640861, 0.1675092, 0.1039911], atol=2e-7)


# --- partial least squares ------------------------------------------------------------


def first_weights(X, Y):
    """OPLS where the penalty outweighs X'X: the leading direction of X'Y, as PLS has it."""
    model = OPLS(1, alpha=1e12).fit(*standardized(X, Y))
    return model.components_[0] / np.linalg.norm(model.components_[0])


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        # test_pls.py, test_sanity_check_pls_regression and test_sanity_check_pls_canonical,
        # against R's plspm, mixOmics and pls: the first column of x_weights_.
        (False, [0.61330704, 0.74697144, 0.25668686]),
        # test_sanity_check_pls_regression_constant_column_y, against R's plsdepot.
        (True, [0.6273573, 0.7493417, 0.2119194]),
    ],
)
def test_the_first_weights_of_pls_on_linnerud(constant, expected):
    X, Y = load_linnerud(return_X_y=True)
    if constant:
        Y[:, 0] = 1.0
    # They come from an iteration that stops at 1e-6.
    np.testing.assert_allclose(np.abs(first_weights(X, Y)), expected, atol=3e-6)


def test_the_first_weights_of_pls_on_two_latent_variables():
    """test_pls.py, test_sanity_check_pls_canonical_random, against R's plspm.

    Its two largest singular values are close, and the iteration that gave the figures stops
    before it has told them apart: they are a hundredth off the leading direction and reach
    all but 1e-4 of its covariance. Run to full convergence, the iteration gives our weights.
    """
    rng = check_random_state(11)
    one, two = rng.normal(size=500), rng.normal(size=500)
    latent = np.array([one, one, two, two]).T
    X = latent + rng.normal(size=2000).reshape(500, 4)
    Y = latent + rng.normal(size=2000).reshape(500, 4)
    X = np.hstack([X, rng.normal(size=5000).reshape(500, 10)])
    Y = np.hstack([Y, rng.normal(size=2500).reshape(500, 5)])
    expected = [0.65803719, 0.7009113, 0.13528197, 0.16854574, -0.03232333, 0.1148816, 0.04792138]
    expected += [-0.06781, -0.00266945, -0.00849528, -0.00949471, -0.03572177, 0.05584937]
    expected += [0.05744254]
    found = first_weights(X, Y)
    np.testing.assert_allclose(found, expected, atol=0.012)
    X, Y = standardized(X, Y)
    reached, most = (np.linalg.norm(Y.T @ X @ weights) for weights in (expected, found))
    assert 1 - 1e-4 < reached / most < 1
    reference = PLSCanonical(1, tol=1e-18, max_iter=5000).fit(X, Y)
    np.testing.assert_allclose(found, reference.x_weights_[:, 0], atol=1e-7)
    # The labels' side, by exchanging the two.
    np.testing.assert_allclose(first_weights(Y, X), reference.y_weights_[:, 0], atol=1e-7)


def hard_pairs():
    """test_pls.py, the data of test_scale_and_stability: large units, a constant feature, few
    rows, and two seeds on which an iteration by power steps once failed.
    """
    rng = np.random.RandomState(0)
    mix = rng.randn(5, 10)
    Y = rng.randn(1000, 5)
    yield 1000 * (Y @ mix + 2 * rng.randn(1000, 10) + 1), Y
    X, Y = load_linnerud(return_X_y=True)
    X[:, -1] = 1.0
    yield X, Y
    X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [3.0, 5.0, 4.0]])
    yield X, np.array([[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]])
    for seed in (530, 741):
        rng = np.random.RandomState(seed)
        yield rng.randn(4, 3), rng.randn(4, 2)


@pytest.mark.parametrize(("X", "Y"), hard_pairs())
def test_cca_does_not_depend_on_standardizing(X, Y):
    """test_pls.py, test_scale_and_stability."""
    plain, scaled = CCA(alpha=0.0).fit(X, Y), CCA(alpha=0.0).fit(*standardized(X, Y))
    np.testing.assert_allclose(plain.correlations_, scaled.correlations_, atol=1e-7)
    a, b = plain.transform(X), scaled.transform(standardized(X)[0])
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-7)


# --- discriminants --------------------------------------------------------------------


def test_lda_of_iris_is_that_of_r():
    """R's MASS::lda(Species ~ ., iris): coefficients, scaled so that classes have unit
    variance with n - 3 degrees of freedom, and the proportion of trace.
    """
    X, y = load_iris(return_X_y=True)
    model = LDA(alpha=0.0).fit(X, y)
    expected = np.array(
        [
            [0.8293776, 1.5344731, -2.2012117, -2.8104603],
            [0.02410215, 2.16452123, -0.93192121, 2.83918785],
        ]
    )
    # W'S_t W = I here; S_w = S_t (1 - lambda) along a discriminant.
    scale = np.sqrt((150 - 3) / (1 - model.eigenvalues_))
    found = model.components_ * scale[:, None]
    signs = np.sign((found * expected).sum(axis=1))
    np.testing.assert_allclose(signs[:, None] * found, expected, atol=1e-7)
    ratio = model.eigenvalues_ / (1 - model.eigenvalues_)
    np.testing.assert_allclose(ratio / ratio.sum(), [0.9912, 0.0088], atol=5e-5)
    # The first rows' scores as S-PLUS prints them (docslib.org/doc/13699513/lda-on-iris).
    scores = [[-8.061800, 0.300420621], [-7.128688, -0.786660426], [-7.489828, -0.265384488]]
    found = model.transform(X)[:3] * scale * np.sign(model.transform(X)[0] * scores[0])
    np.testing.assert_allclose(found, scores, atol=1e-6)


TOY = np.array(
    [[0, 0], [-2, -2], [-2, -1], [-1, -1], [-1, -2], [1, 3], [1, 2], [2, 1], [2, 2]], dtype=float
)
TOY_CLASSES = np.array([1, 1, 1, 1, 1, 2, 2, 2, 2])


def test_scatter_within_classes_is_the_stored_covariance():
    """test_discriminant_analysis.py, test_lda_store_covariance: ``covariance_``."""
    Y = (TOY_CLASSES[:, None] == [1, 2]).astype(float)
    within = class_scatter(as_operator(TOY), Y).within / len(TOY)
    expected = [[0.422222, 0.088889], [0.088889, 0.533333]]
    np.testing.assert_allclose(within, expected, atol=1e-6)


def test_lda_puts_a_kite_of_classes_on_its_axes():
    """test_discriminant_analysis.py, test_lda_orthogonality: the longer diagonal of four means
    is the first component, the shorter one the second, and classes are round.
    """
    means = np.array([[0.0, 0, -1], [0, 2, 0], [0, -2, 0], [0, 0, 5]])
    around = 0.1 * np.vstack([np.eye(3), -np.eye(3)])
    X = (means[:, None] + around).reshape(-1, 3)
    y = np.repeat(np.arange(4), 6)
    model = LDA(2, alpha=0.0).fit(X, y)
    places = model.transform(means)
    assert parallel(places[3] - places[0], [1, 0]) == pytest.approx(1.0)
    assert parallel(places[2] - places[1], [0, 1]) == pytest.approx(1.0)
    spread = model.transform(around) / np.sqrt(1 - model.eigenvalues_)
    found = np.cov(spread.T)
    np.testing.assert_allclose(found, found[0, 0] * np.eye(2), atol=1e-10)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_lda_separates_features_of_very_different_scales(store):
    """test_discriminant_analysis.py, test_lda_scaling: accuracy 1."""
    rng = np.random.RandomState(1234)
    y = np.repeat([0, 1], 100)
    X = np.vstack([rng.uniform(-1, 1, (100, 3)) for _ in range(2)])
    X[:, 0] += np.where(y == 0, -10, 10)
    X *= [1, 100, 10000]
    model = LDA(alpha=0.0).fit(store(X), y)
    assert (model.classes_[model.label_scores(store(X)).argmax(axis=1)] == y).all()


# --- principal components -------------------------------------------------------------


@pytest.mark.parametrize("solver", ["exact", "krylov"])
@pytest.mark.parametrize("center", [False, True])
def test_singular_values_that_were_put_in_come_out(solver, center):
    """test_truncated_svd.py, test_singular_values_expected, and test_pca.py,
    test_pca_singular_values: 3.142, 2.718, 1.
    """
    rng = np.random.RandomState(0)
    rows, axes = rng.randn(100, 3), rng.randn(110, 3)
    rows = rows - rows.mean(axis=0)
    X = np.linalg.qr(rows)[0] * [3.142, 2.718, 1.0] @ np.linalg.qr(axes)[0].T
    model = LSI(3, solver=solver, center=center).fit(X)
    np.testing.assert_allclose(np.sqrt(model.eigenvalues_), [3.142, 2.718, 1.0], rtol=1e-12)
    lengths = np.linalg.norm(model.transform(X), axis=0)
    np.testing.assert_allclose(lengths, [3.142, 2.718, 1.0], rtol=1e-12)


def test_an_indefinite_kernel_counts_by_its_positive_part():
    """test_kernel_pca.py, test_precomputed_kernel_not_psd: the figures of its matrix, whose
    leading eigenvalues are printed as 52.72, 7.65, 7.65, 5.02.
    """
    K = np.array(
        [
            [4.48, -1.0, 8.07, 2.33, 2.33, 2.33, -5.76, -12.78],
            [-1.0, -6.48, 4.5, -1.24, -1.24, -1.24, -0.81, 7.49],
            [8.07, 4.5, 15.48, 2.09, 2.09, 2.09, -11.1, -23.23],
            [2.33, -1.24, 2.09, 4.0, -3.65, -3.65, 1.02, -0.9],
            [2.33, -1.24, 2.09, -3.65, 4.0, -3.65, 1.02, -0.9],
            [2.33, -1.24, 2.09, -3.65, -3.65, 4.0, 1.02, -0.9],
            [-5.76, -0.81, -11.1, 1.02, 1.02, 1.02, 4.86, 9.75],
            [-12.78, 7.49, -23.23, -0.9, -0.9, -0.9, 9.75, 21.46],
        ]
    )
    with pytest.warns(LabelspanWarning, match="not positive semi-definite"):
        model = LSI(4).fit(KernelFeatures("precomputed").fit_transform(K))
    np.testing.assert_allclose(model.eigenvalues_, [52.72, 7.65, 7.65, 5.02], atol=5e-3)


def test_rows_that_are_equal_up_to_rounding_have_no_component():
    """test_kernel_pca.py, test_remove_zero_eig: no component is left; here that is refused."""
    X = np.array([[1 - 1e-30, 1], [1, 1], [1, 1 - 1e-20]])
    for rows in (X, KernelFeatures("rbf").fit_transform(X)):
        with pytest.raises(InvalidInput, match="all rows of X are equal"):
            LSI(center=True).fit(rows)
