"""Products of dense rows about their means: in one pass, and with the digits that matter."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from labelspan import LSI, MLSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput
from labelspan.metrics import principal_angles
from labelspan.operators import Dense
from labelspan.solvers import Statistics


def rows(far, dtype="float64", shape=(400, 12), seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + far * rng.random(shape[1])).astype(dtype)


@pytest.fixture
def many_rows(monkeypatch):
    """Treat few rows as many, which are not copied and centred once."""
    monkeypatch.setattr("labelspan.operators.dense._COPIED", 0)
    monkeypatch.setattr("labelspan.operators.dense._CONVERTED", 0)


FAR = [
    (0.0, "float32", True),
    (0.0, "float64", False),
    (30.0, "float32", False),
    (30.0, "float64", False),
    (1e7, "float64", True),
    (1e7, "float64", False),
    (1e7, "float32", False),
]


@pytest.mark.parametrize(("far", "dtype", "few"), FAR)
def test_moments_about_the_means(far, dtype, few, request):
    if not few:
        request.getfixturevalue("many_rows")
    X = rows(far, dtype)
    block = np.random.default_rng(1).standard_normal((400, 3))
    operator, means = Dense(X).centered()
    gram, cross = operator.moments(block)
    wide = X.astype(np.float64) - means
    np.testing.assert_allclose(gram, wide.T @ wide, rtol=1e-9, atol=1e-9 * 400)
    np.testing.assert_allclose(cross, wide.T @ block, rtol=1e-9, atol=1e-9 * 400)
    np.testing.assert_allclose(operator.gram(), gram, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("far", "dtype", "few"), FAR)
def test_products_after_moments_keep_their_digits(far, dtype, few, request):
    """Means that are not large are subtracted afterwards; large ones, and of few rows, before."""
    if not few:
        request.getfixturevalue("many_rows")
    X = rows(far, dtype)
    rng = np.random.default_rng(1)
    block, weights = rng.standard_normal((400, 3)), rng.standard_normal((12, 2))
    operator, means = Dense(X).centered()
    operator.gram()
    assert operator._mild == (not few and far < (1e3 if dtype == "float64" else 1.0))
    wide = X.astype(np.float64) - means
    close = 1e-12 if dtype == "float64" else 1e-4
    size = 400 * np.abs(wide).max()
    np.testing.assert_allclose(operator.matmat(weights), wide @ weights, atol=close * size)
    np.testing.assert_allclose(operator.rmatmat(block), wide.T @ block, atol=close * size)
    np.testing.assert_allclose(operator.cross(block), wide.T @ block, atol=1e-12 * size)


@pytest.mark.parametrize(
    ("far", "dtype", "after", "shape", "few"),
    [
        (0.0, "float32", False, (400, 12), True),
        (0.0, "float64", True, (3000, 300), False),
        (0.0, "float64", False, (40, 9000), False),
        (30.0, "float64", False, (400, 12), False),
        (30.0, "float32", True, (3000, 300), False),
        (30.0, "float32", False, (40, 9000), True),
        (1e7, "float64", True, (400, 12), True),
        (1e7, "float32", True, (400, 12), False),
        (1e7, "float32", False, (3000, 300), True),
        (1e7, "float64", False, (40, 9000), False),
    ],
)
def test_products_from_both_sides(far, dtype, after, shape, few, request):  # noqa: PLR0917
    """In blocks of rows, of which both data sets with 300 columns or more have several."""
    if not few:
        request.getfixturevalue("many_rows")
    X = rows(far, dtype, shape)
    rng = np.random.default_rng(1)
    block, other = rng.standard_normal((shape[1], 3)), rng.standard_normal((shape[0], 2))
    operator, means = Dense(X).centered()
    if after and shape[1] < 1000:
        operator.gram()
    wide = X.astype(np.float64) - means
    expected, size = wide.T @ (wide @ block), np.abs(wide.T) @ np.abs(wide @ block)
    close = 1e-12 if dtype == "float64" else 1e-5
    normal, rare = operator.normal(block), np.where(other > 2.5, other, 0.0)
    assert (np.abs(normal - expected) <= close * size).all()
    assert normal.dtype == dtype
    for each in (other, rare):
        gap = np.abs(operator.cross(each) - wide.T @ each)
        assert (gap <= 1e-12 * (np.abs(wide.T) @ np.abs(other))).all()


@pytest.mark.usefixtures("many_rows")
@pytest.mark.parametrize("columns", [1, 30])
def test_sums_of_float32_columns_that_are_far_from_zero(columns):
    """One column of 40 is summed again, or all of them; the others are off by little."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 40))
    X[:, :columns] += 1e6
    X = X.astype(np.float32)
    exact = X.mean(axis=0, dtype=np.float64)
    means = Dense(X).column_means()
    np.testing.assert_allclose(means[:columns], exact[:columns], rtol=1e-14)
    np.testing.assert_allclose(means[columns:], exact[columns:], atol=1e-7)


@pytest.mark.usefixtures("many_rows")
def test_a_rare_value_does_not_make_a_column_constant():
    X = rows(0.0, "float32", (5000, 40))
    X[:, 3] = -1.0
    X[777, 3] = 1.0
    operator, means = Dense(X).centered()
    wide = X.astype(np.float64) - means
    exact, rough = wide.T @ wide, operator.rough_gram()
    np.testing.assert_allclose(rough, exact, atol=3e-6 * np.trace(exact))
    assert not np.array_equal(rough, operator.gram())
    assert means[3] == pytest.approx(-1.0 + 2 / 5000, abs=1e-9)


@pytest.mark.parametrize("far", [0.0, 30.0, 1e7])
def test_the_squared_norm_about_the_means(far):
    X = rows(far)
    operator, means = Dense(X).centered()
    assert operator.sum_of_squares() == pytest.approx(np.square(X - means).sum(), rel=1e-12)


def test_rows_are_zero_where_no_row_differs():
    X = np.full((3000, 100), 1 / 3)
    assert Dense(X).centered()[0].sum_of_squares() == 0
    X[2999, 99] += 1e-9
    assert Dense(X).centered()[0].sum_of_squares() > 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_fit_that_centres_refuses_what_is_not_finite(bad, dtype):
    X = rows(0.0, dtype)
    X[17, 3] = bad
    with pytest.raises(InvalidInput, match="NaN" if np.isnan(bad) else "infinity"):
        LSI(2, center=True).fit(X)
    # Both infinities add up to NaN.
    X[18, 3] = -bad
    wrong = pytest.raises(InvalidInput, match="NaN" if np.isnan(bad) else "infinity")
    with np.errstate(invalid="ignore"), wrong:
        OPLS(1).fit(X, X[:, :1] > 0)


@pytest.mark.parametrize("far", [0.0, 1e7])
def test_statistics_of_a_batch_far_from_zero(far):
    X = rows(far)
    block = np.random.default_rng(1).random((400, 2))
    found = Statistics.of(Dense(X), block)
    wide = X - X.mean(axis=0)
    few, labels, _ = found.rows(center=True)
    np.testing.assert_allclose(few.T @ few, wide.T @ wide, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(few.T @ labels, wide.T @ (block - block.mean(axis=0)), atol=1e-6)


def test_narrow_rows_with_small_directions_are_solved_in_float64():
    rng = np.random.default_rng(2)
    sizes = np.logspace(0, -3, 10)
    X = ((rng.standard_normal((3000, 10)) * sizes) @ np.linalg.qr(rng.random((10, 10)))[0]).astype(
        "float32"
    )
    narrow, wide = LSI(9).fit(X), LSI(9).fit(X.astype("float64"))
    np.testing.assert_allclose(narrow.eigenvalues_, wide.eigenvalues_, rtol=1e-5)


@pytest.mark.parametrize("gamma", [1.0, 1e-4])
def test_a_kernel_becomes_features_by_either_factor(gamma):
    X = rows(0.0, shape=(60, 5))
    X[-1] = X[0] if gamma < 1 else X[-1]
    model = KernelFeatures("rbf", gamma=gamma)
    coordinates = model.fit_transform(X)
    triangular = np.allclose(coordinates, np.tril(coordinates))
    assert triangular == (gamma == 1.0)
    values = rbf_kernel(X, gamma=gamma)
    np.testing.assert_allclose(coordinates @ coordinates.T, values, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), coordinates, atol=1e-4)


def test_mlsi_under_a_kernel_is_the_same_by_either_factor(monkeypatch):
    X = rows(0.0, shape=(150, 5))
    Y = (np.random.default_rng(4).random((150, 3)) < 0.4).astype(int)
    one = make_pipeline(KernelFeatures(gamma=1.0), MLSI(4)).fit(X, Y)
    monkeypatch.setattr("labelspan.estimators.kernel_features._SAFE", 2.0)
    two = make_pipeline(KernelFeatures(gamma=1.0), MLSI(4)).fit(X, Y)
    np.testing.assert_allclose(one[-1].eigenvalues_, two[-1].eigenvalues_, rtol=1e-8)
    assert principal_angles(one.transform(X), two.transform(X)).max() < 1e-6
