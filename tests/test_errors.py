"""Bad input gets one clear sentence: the parameter, what came, what to do."""

import contextlib
import warnings

import numpy as np
import pytest
from _support.stress import rotated
from _support.support import features, indicator, scattered
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, KernelFeatures, errors
from labelspan.errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    LabelspanWarning,
    Mismatch,
    NotConverged,
)
from labelspan.operators import as_operator
from labelspan.papers.sun2009 import LeastSquares
from labelspan.papers.sun2009.graph_penalty import VStack
from labelspan.solvers import Krylov, KrylovOptions

X = features("tall", 0)
Y = indicator(60, 0)
SUPERVISED = [MLSI, CCA, OPLS, LDA, HSL]
THIN = [CCA, OPLS, LDA, HSL]

PARAMETERS = [
    (MLSI(beta=1.5), "MLSI: beta must be a number from 0 to 1, or 'auto', but 1.5 was given"),
    (MLSI(beta=-0.1), "beta must be a number from 0 to 1, or 'auto', but -0.1"),
    (MLSI(beta=float("nan")), "beta must be a number from 0 to 1, or 'auto', but nan"),
    (MLSI(alpha=-1), "MLSI: alpha must be a number of at least 0, or 'auto', but -1"),
    (OPLS(alpha=float("inf")), "OPLS: alpha must be a number of at least 0, or 'auto', but inf"),
    (MLSI(beta="most"), "beta must be a number from 0 to 1, or 'auto', but 'most'"),
    (OPLS(scale="yes"), "scale must be 'eigenvalue', or None, but 'yes'"),
    (MLSI(label_weight=1), "label_weight must be 'balanced', or None, but 1"),
    (LSI(center="no"), "center must be True or False, but 'no'"),
    (LSI(0), "n_components must be a whole number of at least 1, or None, but 0"),
    (LSI(2.0), "n_components must be a whole number of at least 1, or None, but 2.0"),
    (LSI(solver="svd"), "solver must be one of 'auto', 'exact', .*, but 'svd'"),
    (LSI(solver=Krylov), "solver must be one of"),
    (OPLS(solver="least-squares"), r"use labelspan.papers.sun2009.LeastSquares\(\)"),
    (LSI(tol=-1.0), "tol must be a number of at least 0, or None, but -1.0"),
    (LSI(max_iter=0), "max_iter must be a whole number of at least 1, or None, but 0"),
    (LSI(random_state="x"), "random_state must be"),
    (HSL(laplacian="random"), "laplacian must be one of 'clique', 'star', 'zhou', but 'random'"),
]


@pytest.mark.parametrize(("estimator", "message"), PARAMETERS)
def test_parameters(estimator, message):
    with pytest.raises(InvalidParameter, match=message):
        estimator.fit(X, Y)


TOO_MANY = [
    (LSI(13), "LSI: n_components=13 exceeds the 12 available, because X has 60 rows", 12),
    (MLSI(13), "MLSI: n_components=13 exceeds the 12", 12),
    (MLSI(5, beta=1.0), "exceeds the 4.*, because with beta=1 only the 4 directions", 4),
    (OPLS(5), "n_components=5 exceeds the 4.*, because the labels span 4", 4),
]


@pytest.mark.parametrize(("estimator", "message", "count"), TOO_MANY)
def test_more_components_than_there_are_become_fewer(estimator, message, count):
    with pytest.warns(LabelspanWarning, match=message):
        estimator.fit(X, Y)
    assert estimator.n_components_ == count


PAIRS = [
    (LSI(solver=LeastSquares()), "LSI: LeastSquares needs a factor made only of labels"),
    (MLSI(solver=LeastSquares()), "MLSI: LeastSquares .*Use solver='auto'"),
    (OPLS(solver="exact", tol=1e-3), "tol=0.001 has no meaning for solver='exact'.*at None"),
    (OPLS(solver="exact", max_iter=5), "max_iter=5 has no meaning for solver='exact'"),
    (OPLS(solver=Krylov(), tol=1e-3), "tol is set both here and on the solver"),
]


@pytest.mark.parametrize(("estimator", "message"), PAIRS)
def test_choices_that_do_not_fit(estimator, message):
    with pytest.raises(Mismatch, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("kind", SUPERVISED, ids=lambda kind: kind.__name__)
def test_data(kind):
    bad = X.copy()
    bad[3, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kind().fit(bad, Y)
    with pytest.raises(InvalidLabels, match="X has 60 rows, y has 59 rows"):
        kind().fit(X, Y[:-1])
    with pytest.raises(InvalidLabels, match="y has no columns; give at least one label"):
        kind().fit(X, np.zeros((60, 0)))
    with pytest.raises(InvalidLabels, match="every label in y is unknown"):
        kind().fit(X, np.full((60, 3), -1))
    with pytest.raises(InvalidLabels, match="-1 means unknown here; write 0"):
        kind().fit(X, 2 * Y - 1)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        kind().fit(X, None)
    with pytest.raises(ValueError, match="expecting 12 features"):
        kind(1, alpha=1.0).fit(X, np.arange(60) % 3).transform(X[:, :5])


@pytest.mark.parametrize("kind", THIN, ids=lambda kind: kind.__name__)
def test_labels_without_information(kind):
    with pytest.raises(InvalidLabels, match="y has one class, 7; at least two"):
        kind().fit(X, np.full(60, 7))
    constant = np.zeros((60, 2))
    constant[:, 0] = 1
    with pytest.raises(InvalidInput, match="no direction to find, because the labels span 0"):
        kind().fit(X, constant)
    few = np.full(60, -1)
    few[4] = 2
    with pytest.raises(InvalidLabels, match="only one row"):
        kind().fit(X, few)
    with pytest.raises(InvalidInput, match="does not explain y"):
        kind().fit(np.ones((60, 3)), np.arange(60) % 3)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_kinds_of_labels():
    with pytest.raises(InvalidLabels, match="LDA takes one label per row, but y has rows with"):
        LDA().fit(X, Y)
    for kind in (LDA, HSL):
        with pytest.raises(InvalidLabels, match="continuous targets; use OPLS, CCA or MLSI"):
            kind().fit(X, Y + 0.5)
        with pytest.raises(InvalidLabels, match="continuous targets"):
            kind().fit(X, X[:, 0])
    with pytest.warns(LabelspanWarning, match="directions have an eigenvalue above the rounding"):
        OPLS(3).fit(np.repeat(X[:, :1], 5, axis=1), Y)
    fitted = CCA().fit(X, np.arange(60) % 3)
    with pytest.raises(InvalidLabels, match="classes that fit did not have"):
        fitted.transform_labels([0, 5])
    with pytest.raises(InvalidLabels, match="y must have 4 columns as in fit, but has 3"):
        CCA().fit(X, Y).transform_labels(Y[:, :3])


def test_an_early_stop_warns_with_the_remedy():
    wide = scattered((600, 1200), 0.05, np.random.default_rng(0))
    labels = np.random.default_rng(1).integers(0, 2, (600, 4))
    iterative = Krylov(options=KrylovOptions(direct=0), max_iter=1)
    with pytest.warns(NotConverged, match="OPLS: .* raise alpha, max_iter or tol"):
        OPLS(solver=iterative, alpha=0.0).fit(wide, labels)
    with pytest.warns(NotConverged, match="LSI: .* raise max_iter or tol"):
        LSI(20, solver="krylov", max_iter=2).fit(wide)


def test_an_operator_is_checked_by_the_same_rules():
    with pytest.raises(InvalidInput, match=r"LSI: X has 1 row\(s\); at least 2 are needed"):
        LSI(1).fit(as_operator(X[:1]))
    with pytest.raises(InvalidInput, match="LSI: X has 11 features, but fit had 12"):
        LSI(2).fit(as_operator(X)).transform(as_operator(X[:, :11]))
    with pytest.raises(InvalidInput, match="LSI: X contains NaN or infinity"):
        LSI(1).fit(as_operator(np.where(X.max() == X, np.nan, X)))


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("model", [LDA(), DLE(), MLSI(2), LSI(2), LPP(2)], ids=str)
def test_data_of_other_types_is_named(model):
    y = np.arange(60) % 3
    record = np.array([(1.0, 2.0)] * 60, dtype=[("a", float), ("b", float)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix(X)
    for wrong in (matrix, record):
        with pytest.raises(InvalidInput, match=f"{type(model).__name__}: .* X was .* a sparse"):
            clone(model).fit(wrong, y)
    fitted = clone(model).fit(X, y)
    with pytest.raises(InvalidInput, match=r"np\.matrix is not supported"):
        fitted.transform(matrix)


def caller_cases():
    rng = np.random.default_rng(0)
    condition = rotated(60, 12, 1e14, rng)
    crooked = np.triu(np.ones((60, 60)), 1)
    indefinite = -np.eye(60) + 0.5
    prices = np.round(1000 * rng.random(60)) + 500.0
    narrow = X.astype(np.float32)
    return {
        "a failed check": lambda: OPLS(2, alpha=0.0).fit(condition, rng.standard_normal((60, 3))),
        "scikit-learn in between": lambda: OPLS(2, alpha=0.0).fit_transform(
            condition, rng.standard_normal((60, 3))
        ),
        "a pipeline": lambda: make_pipeline(OPLS(2, alpha=0.0)).fit(
            condition, rng.standard_normal((60, 3))
        ),
        "a solver": lambda: LSI(3, solver="krylov", tol=1e-9).fit(
            VStack([as_operator(narrow), as_operator(narrow)])
        ),
        "an operator": lambda: LPP(2, alpha=1.0).fit(X, graph=crooked),
        "a kernel": lambda: KernelFeatures("precomputed").fit(indefinite),
        "labels": lambda: OPLS(2, alpha=1.0).fit(X, prices),
        "the 1-norm": lambda: OPLS(2, alpha=1e9, solver=LeastSquares("l1")).fit(X, Y),
    }


@pytest.mark.parametrize("case", caller_cases())
def test_warnings_point_at_the_line_that_called(case):
    call = caller_cases()[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(InvalidInput):
            call()
    ours = [one for one in caught if issubclass(one.category, errors.LabelspanWarning)]
    assert ours
    assert {one.filename for one in ours} == {__file__}
