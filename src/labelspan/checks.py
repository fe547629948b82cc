"""Checks for estimators that learn from multi-label data, and for operators.

scikit-learn's checks use class vectors; these checks cover multi-label data. Run them on your own
estimator with::

    @parametrize_with_multilabel_checks([MyEstimator()])
    def test_multilabel(estimator, check):
        check(estimator)

Estimators whose tags say ``target_tags.multi_output = False`` get one label per row.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ._typing import Array
from .errors import InvalidInput
from .operators import Operator, dottest
from .operators.array_backend import host

__all__ = ["MULTILABEL_CHECKS", "check_operator", "parametrize_with_multilabel_checks"]


def _data(estimator: Any, seed: int = 0, rows: int = 60) -> tuple[Array, Array]:
    """Make features, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 8))
    scores = X[:, :4] + 0.5 * rng.standard_normal((rows, 4))
    if not estimator.__sklearn_tags__().target_tags.multi_output:
        return X, np.eye(4)[scores.argmax(axis=1)]
    Y = (scores > 0.3).astype(float)
    Y[:4] = np.eye(4)
    return X, Y


def check_sparse_labels(estimator: Any) -> None:
    """Check that sparse labels, matrix or array, give the answer of dense ones."""
    X, Y = _data(estimator)
    expected = clone(estimator).fit(X, Y).transform(X)
    for convert in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        found = clone(estimator).fit(X, convert(Y)).transform(X)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def check_sparse_features(estimator: Any) -> None:
    """Check that sparse features give the answer of dense ones, centred or not."""
    X, Y = _data(estimator)
    X[np.abs(X) < 0.5] = 0.0
    dense = clone(estimator).fit(X, Y)
    for convert in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        found = clone(estimator).fit(convert(X), Y)
        np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(found.transform(convert(X)), dense.transform(X), atol=1e-7)


def check_label_names(estimator: Any) -> None:
    """Check that the column names of a data frame become ``classes_``."""
    import pandas as pd

    X, Y = _data(estimator)
    names = ["red", "green", "blue", "grey"]
    fitted = clone(estimator).fit(X, pd.DataFrame(Y, columns=names))
    assert list(fitted.classes_) == names
    assert fitted.label_loadings_.shape == (fitted.n_components_, len(names))


def check_unknown_labels(estimator: Any) -> None:
    """Check that -1 and NaN mean unknown, and neither yes nor no."""
    X, Y = _data(estimator)
    minus, missing = Y.copy(), Y.copy()
    minus[5:9], missing[5:9] = -1, np.nan
    one, two = clone(estimator).fit(X, minus), clone(estimator).fit(X, missing)
    np.testing.assert_allclose(one.transform(X), two.transform(X), atol=1e-12)
    known = np.r_[0:5, 9 : len(X)]
    left_out = clone(estimator).fit(X[known], Y[known])
    as_no = clone(estimator).fit(X, np.where(minus == -1, 0.0, minus))
    assert not np.allclose(one.label_means_, as_no.label_means_) or not one.center
    assert left_out.n_components_ == one.n_components_
    single = Y.copy()
    single[7, 2] = np.nan
    assert np.isfinite(clone(estimator).fit(X, single).transform(X)).all()


def check_inputs_unchanged(estimator: Any) -> None:
    """Check that features and labels are not modified."""
    X, Y = _data(estimator)
    Y[3] = -1
    before = X.copy(), Y.copy()
    X.flags.writeable = Y.flags.writeable = False
    clone(estimator).fit(X, Y).transform(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])


def check_label_scores(estimator: Any) -> None:
    """Check that ``label_scores`` has one column per label, higher for rows with the label."""
    X, Y = _data(estimator)
    scores = clone(estimator).fit(X, Y).label_scores(X)
    assert scores.shape == Y.shape
    for label in range(Y.shape[1]):
        positive = Y[:, label] == 1
        assert scores[positive, label].mean() > scores[~positive, label].mean()


def check_pipeline_and_grid_search(estimator: Any) -> None:
    """Check use in a pipeline and in a grid search with multi-label data."""
    X, Y = _data(estimator)
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    assert pipeline.fit_transform(X, Y).shape[0] == len(X)

    def agreement(model: Any, X: Array, Y: Array) -> float:
        return -float(np.square(model.label_scores(X) - Y).mean())

    search = GridSearchCV(
        clone(estimator),
        {"n_components": [1, 2]},
        scoring=agreement,
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.n_components_ == search.best_params_["n_components"]


def check_pandas_output(estimator: Any) -> None:
    """Check that ``set_output`` gives data frames with names, and that scores stay arrays."""
    import pandas as pd

    X, Y = _data(estimator)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    fitted = clone(estimator).set_output(transform="pandas").fit(frame, Y)
    out = fitted.transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert isinstance(fitted.label_scores(frame), np.ndarray)


def check_pickle_and_clone(estimator: Any) -> None:
    """Check that a pickle gives the same numbers, and a clone the same parameters."""
    X, Y = _data(estimator)
    fitted = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(again.transform(X), fitted.transform(X), atol=1e-12)
    assert clone(fitted).get_params().keys() == estimator.get_params().keys()
    assert not hasattr(clone(fitted), "components_")


def check_float32(estimator: Any) -> None:
    """Check that float32 stays float32 and is close to float64."""
    X, Y = _data(estimator)
    wide = clone(estimator).fit(X, Y)
    narrow = clone(estimator).fit(X.astype(np.float32), Y.astype(np.float32))
    out = narrow.transform(X.astype(np.float32))
    assert out.dtype == narrow.label_loadings_.dtype == np.float32
    np.testing.assert_allclose(narrow.eigenvalues_, wide.eigenvalues_, rtol=1e-4)
    np.testing.assert_allclose(out, wide.transform(X), atol=1e-3 * np.abs(out).max())


def check_row_and_label_order(estimator: Any) -> None:
    """Check that the order of rows and of labels does not matter."""
    X, Y = _data(estimator)
    rng = np.random.default_rng(1)
    rows, labels = rng.permutation(len(X)), rng.permutation(Y.shape[1])
    one = clone(estimator).fit(X, Y)
    two = clone(estimator).fit(X[rows], Y[rows][:, labels])
    np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(two.transform(X), one.transform(X), atol=1e-7)


MULTILABEL_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_sparse_labels,
    check_sparse_features,
    check_label_names,
    check_unknown_labels,
    check_inputs_unchanged,
    check_label_scores,
    check_pipeline_and_grid_search,
    check_pandas_output,
    check_pickle_and_clone,
    check_float32,
    check_row_and_label_order,
)


def check_operator(operator: Operator, *, seed: int = 0) -> None:
    """Check that the products of an operator agree with each other and with a dense array.

    Forms the dense array, so use an operator that fits into memory. Raises AssertionError
    at the first error found.

    Parameters
    ----------
    operator : Operator
        With at least one row and one column.
    seed : int, default=0
        Seed of the random blocks that it is multiplied by.

    See Also
    --------
    parametrize_with_multilabel_checks : The same for estimators.
    labelspan.operators.Operator : The base class of operators.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.checks import check_operator
    >>> from labelspan.operators import as_operator
    >>> check_operator(as_operator(np.arange(6.0).reshape(3, 2)))
    """
    gap = dottest(operator, seed=seed)
    close = 1e3 * float(np.finfo(operator.dtype).eps)
    assert gap < close, (
        f"the dot-test fails: <X v, u> and <v, X'u> differ by {gap:.2g} of their size"
    )
    dense = operator.toarray().astype(np.float64)
    rng = np.random.default_rng(seed)
    index = rng.integers(operator.shape[0], size=3)
    means, center = dense.mean(axis=0), rng.standard_normal(operator.shape[1])
    block = rng.standard_normal((operator.shape[0], 2)).astype(operator.dtype)
    offered = {
        "rmatmat": (operator.rmatmat(block), dense.T @ block),
        "cross": (operator.cross(block), dense.T @ block),
        "T": (operator.T.toarray(), dense.T),
        "gram": (operator.gram(), dense.T @ dense),
        "column_means": (operator.column_means(), means),
        "sum_of_squares": (operator.sum_of_squares(), np.square(dense).sum()),
        "column_squares": (operator.column_squares(), np.square(dense).sum(axis=0)),
        "shifted": (operator.shifted(center).toarray(), dense - center),
        "centered": (operator.centered()[0].toarray(), dense - means),
        "rows": (operator.rows(index).toarray(), dense[index]),
    }
    if operator.dual:
        offered["cogram"] = (operator.cogram(), dense @ dense.T)
    for name, (found, expected) in offered.items():
        values = np.asarray(found if name == "sum_of_squares" else host(found), dtype=np.float64)
        assert values.shape == np.shape(expected), f"{name} has shape {values.shape}"
        size = max(1.0, float(np.abs(expected).max()))
        gap = float(np.abs(values - expected).max()) / size
        assert gap < close * max(operator.shape), (
            f"{name} differs from the dense equivalent: {gap:.2g}"
        )
    for product, rows in ((operator.matmat, operator.shape[1]), (operator.rmatmat, len(dense))):
        _refuses(product, np.ones((rows + 1, 1), dtype=operator.dtype))
        _refuses(product, np.ones(rows, dtype=operator.dtype))


def _refuses(product: Callable[[Array], Array], block: Array) -> None:
    try:
        product(block)
    except InvalidInput:
        return
    raise AssertionError(f"{product.__name__} took a block of the wrong shape {block.shape}")


def parametrize_with_multilabel_checks(estimators: Sequence[Any]) -> Any:
    """Return a pytest decorator that runs every check on every estimator.

    Parameters
    ----------
    estimators : sequence of estimators
        Not fitted.

    Returns
    -------
    decorator
        For a test that takes ``estimator`` and ``check``.

    See Also
    --------
    check_operator : The same for operators.

    Examples
    --------
    >>> from labelspan import CCA
    >>> from labelspan.checks import parametrize_with_multilabel_checks
    >>> @parametrize_with_multilabel_checks([CCA()])
    ... def test_several_labels(estimator, check):
    ...     check(estimator)
    """
    import pytest

    return pytest.mark.parametrize(
        ("estimator", "check"),
        [
            pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.__name__}")
            for estimator in estimators
            for check in MULTILABEL_CHECKS
        ],
    )
