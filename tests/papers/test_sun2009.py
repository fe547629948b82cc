"""sun2009 measured again: its parts on made-up data. CI reproduces them on the real sets."""

import json

import numpy as np
import pytest
from _support.support import SHAPES, classes, features, indicator
from scipy import sparse
from scipy.stats import chi2_contingency

from labelspan import CCA, HSL, LDA, OPLS
from labelspan.datasets import DataSet
from labelspan.evaluation.measurements import Results
from labelspan.papers.paper import Scale
from labelspan.papers.sun2009 import PAPER, LeastSquares, measures, subsets
from labelspan.papers.sun2009.figure1 import GAMMAS
from labelspan.papers.sun2009.paper_solvers import DirectLeastSquares, Factored
from labelspan.papers.verdicts import judge, load_claims

PARTS = {part.name: part for part in PAPER.parts}
CLAIMS = load_claims("sun2009")

# Of each part a few jobs, small enough for data made up on the spot.
TINY = {
    "figure 1": [
        {"data": name, "train": train, "seed": seed}
        for name, train, seed in (
            ("yeast", 24, 0),
            ("yeast", 90, 0),
            ("usps", 24, 0),
            ("usps", 24, 1),
            ("usps", 90, 0),
        )
    ],
    "figure 1 on digits": [{"data": "digits", "train": 60, "seed": 0}],
    "figure 2": [
        {"grows": grows, "sizes": "30 60", "other": 40, "method": method, "seed": 0}
        for grows in ("features", "rows")
        for method in ("CCA", "HSL star")
    ],
    "equivalence": [
        {"data": name, "rows": count, "features": width, "seed": 0}
        for name, width in (("yeast", 40), ("yahoo_arts", 80), ("yahoo_arts", 30), ("usps", 40))
        for count in (25, 90)
    ],
    "beyond": [
        {"data": name, "rows": 70, "features": 40, "alpha": alpha, "method": method, "seed": 0}
        for name, method in (("yeast", "OPLS"), ("yahoo_arts", "CCA"), ("usps", "LDA"))
        for alpha in (0.0, 1.0)
    ],
}


def made_up(name, data_home):
    """Like the set of that name, with a few rows and features."""
    rng = np.random.default_rng(sorted(subsets.FEATURES).index(name))
    if name == "yahoo_arts":
        counts = sparse.csr_array(rng.poisson(0.3, size=(150, 80)).astype(np.float32))
        return DataSet(name, counts, sparse.csr_array(indicator(150, 1).astype(np.uint8)))
    X = rng.standard_normal((150, 40))
    if name == "usps":
        y = classes(150, 2)
        return DataSet(name, X + 3 * np.eye(40)[y], y=y)
    return DataSet(name, X.astype(np.float32), indicator(150, 3).astype(np.uint8))


def run(part, keys, data_home=None):
    """The records of some jobs, as the runner writes them."""
    records = [{**key, **record} for key in keys for record in PARTS[part].run(key, data_home)]
    return Results(json.loads(json.dumps(records, allow_nan=False)))


@pytest.fixture(scope="module")
def tiny():
    """Records of every part, on made-up data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "load", made_up)
        patch.setattr(measures, "_LEAST", 0.01)
        return {part: run(part, keys) for part, keys in TINY.items()}


# --- jobs, tables, figures ----------------------------------------------------------------


def test_jobs_are_those_of_the_paper():
    sizes = {key["train"] for key in PARTS["figure 1"].jobs(Scale())}
    assert sizes == set(range(100, 1000, 100))
    assert GAMMAS == (1e-6, 1e-4, 1e-2, 1, 10, 100, 1000)
    sweeps = {(key["grows"], key["other"]) for key in PARTS["figure 2"].jobs(Scale())}
    assert sweeps == {("features", 1000), ("rows", 5000)}
    for scale in (Scale(), Scale(quick=True)):
        jobs = PARTS["equivalence"].jobs(scale)
        for name in subsets.FEATURES:
            wide = {key["features"] >= key["rows"] - 1 for key in jobs if key["data"] == name}
            assert wide == {True, False}


@pytest.mark.parametrize("part", PARTS)
def test_tables_are_complete(part, tiny):
    tables = PARTS[part].tables(tiny[part])
    assert tables
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.head)}
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
        assert not any("nan" in cell for row in table.rows for cell in row)


# --- claims -------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_finds_its_records(claim, tiny):
    verdict = judge(claim, tiny[claim.part])
    assert verdict.outcome != "not run"
    assert verdict.outcome == "holds" or not claim.sure


# --- records ------------------------------------------------------------------------------


def test_equivalence_distinguishes_whether_the_condition_holds(tiny):
    lsqr = tiny["equivalence"].only(solver="least squares")
    assert set(lsqr.only(shape="wide").distinct("condition")) == {"holds"}
    assert set(lsqr.only(shape="tall").distinct("condition")) == {"fails"}
    assert lsqr.only(condition="holds").values("weights gap").max() < 1e-8
    assert lsqr.only(condition="fails").values("weights gap").min() > 1e-3
    methods = set(lsqr.only(data="yeast").distinct("method"))
    assert methods == set(subsets.METHODS) - {"LDA"}


# --- solvers that only the experiments use ------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "form", "method"),
    zip(SHAPES, [np.asarray, sparse.csr_array, np.asarray], [CCA, OPLS, HSL], strict=True),
)
def test_factored_solves_the_penalised_eigenproblem(shape, form, method):
    X = features(shape, 0)
    Y = indicator(X.shape[0], 0)
    reference = method(alpha=0.5, solver="exact").fit(X, Y)
    model = method(alpha=0.5, solver=Factored()).fit(form(X), Y)
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-9)
    assert measures.gaps(reference, model)["weights gap"] < 1e-7


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_direct_least_squares_is_what_lsqr_comes_to(shape, alpha):
    X = features(shape, 1)
    y = classes(X.shape[0], 1)
    lsqr = LDA(alpha=alpha, solver=LeastSquares(tol=1e-13)).fit(X, y)
    direct = LDA(alpha=alpha, solver=DirectLeastSquares()).fit(X, y)
    np.testing.assert_allclose(direct.components_, lsqr.components_, atol=1e-8)
    np.testing.assert_allclose(direct.eigenvalues_, lsqr.eigenvalues_, rtol=1e-9)


# --- measures -----------------------------------------------------------------------------


def test_gaps_see_past_a_rotation_and_nothing_else():
    X = features("tall", 2)
    one, two = (OPLS(solver="exact", alpha=0.0).fit(X, indicator(X.shape[0], 2)) for _ in range(2))
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    two.components_ = rotation @ two.components_
    assert max(measures.gaps(one, two).values()) < 1e-12
    two.components_ = 2 * two.components_
    stretched = measures.gaps(one, two)
    assert stretched["weights gap"] == pytest.approx(1.0)
    assert stretched["angle"] < 1e-12


# --- rows ---------------------------------------------------------------------------------


def test_chi_square_is_that_of_a_two_by_two_table():
    data = made_up("yahoo_arts", None)
    labels = data.Y.toarray()
    found = subsets.chi_square(data.X, labels)
    for word in (0, 17, 79):
        present = data.X.toarray()[:, word] > 0
        statistics = []
        for label in labels.T:
            table = [
                [(present & (label == v)).sum(), (~present & (label == v)).sum()] for v in (1, 0)
            ]
            statistics.append(chi2_contingency(table, correction=False).statistic)
        assert found[word] == pytest.approx(max(statistics))
