"""Figures that others have published, found again through our estimators.

Each comes with where it stands; scikit-learn's tests are those of version 1.8.0.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_linnerud

from labelspan import CCA, LDA, LSI, KernelFeatures
from labelspan.errors import LabelspanWarning

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


# --- principal components -------------------------------------------------------------


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
