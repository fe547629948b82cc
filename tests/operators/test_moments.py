"""Products of dense rows about their means: in one pass, and with the digits that matter."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from labelspan import LSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput
from labelspan.operators import Dense


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


@pytest.mark.parametrize(("bad", "dtype"), [(np.nan, "float64"), (np.inf, "float32")])
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
