"""Learning in parts: any split of any rows is one fit of them all, refusals included."""

import numpy as np
import pytest
from _support.certificates import FAMILY, LINEAR, ONE
from _support.fitting import fit, unit
from _support.strategies import cases, examples, ordinary, scales
from hypothesis import given
from hypothesis import strategies as st

from labelspan import LSI
from labelspan.errors import LabelspanError

FEW = examples(1 / 2)
STREAMS = [
    name
    for name, member in LINEAR.items()
    if member().solver in ("auto", "exact") and hasattr(member(), "partial_fit")
]


def learn(model, X, y, cuts):
    """The model after partial_fit on each part, or None where it refused."""
    told = {} if isinstance(model, LSI) or y.ndim == 2 else {"classes": names(y)}
    try:
        for rows in np.split(np.arange(X.shape[0]), cuts):
            if rows.size:
                model.partial_fit(X[rows], y[rows], **told)
                told = {}
        model.transform(X)
    except LabelspanError:
        return None
    return model


def names(y):
    """What the first part is told of labels to come."""
    known = np.isfinite(y) & (y != -1) if y.dtype.kind in "if" else np.ones(y.shape, dtype=bool)
    found = np.unique(y[known])
    return found.astype(int) if found.dtype.kind == "f" else found


@pytest.mark.parametrize("name", STREAMS)
def test_parts_give_what_the_whole_gives(name):
    member = FAMILY[name]
    kinds = ("classes", "names", "one per row") if member.kinds == ONE else ("classes", "indicator")

    @FEW
    @given(
        cases(kinds=kinds, unknown=("none", "rows"), least=2, forms=("dense", "csr")),
        st.lists(st.integers(0, 9), max_size=3).map(sorted),
    )
    def check(case, cuts):
        X = case.given
        cuts = [cut for cut in cuts if cut <= X.shape[0]]
        whole = fit(member(), X, case.y)
        parts = learn(member(), X, case.y, cuts)
        if whole is None or parts is None:
            # A part may be refused where all rows together could be read otherwise.
            assert whole is None or case.y.ndim == 2 or "MLSI" in name
            return
        assert parts.n_components_ == whole.n_components_
        top = whole.eigenvalues_.max()
        np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, atol=1e-8 * top)
        a, b = unit(whole.transform(X)), unit(parts.transform(X))
        np.testing.assert_allclose(b @ b.T, a @ a.T, atol=1e-6)

    check()


@pytest.mark.parametrize("name", STREAMS)
def test_the_order_of_parts_does_not_matter(name):
    member = FAMILY[name]
    kinds = ("one per row",) if member.kinds == ONE else ("indicator",)

    @FEW
    @given(ordinary(kinds=kinds), st.integers(1, 13), scales)
    def check(case, cut, scale):
        X, y = case.X * scale, case.y
        first, second = slice(None, cut), slice(cut, None)
        one = member(scale).partial_fit(X[first], y[first]).partial_fit(X[second], y[second])
        two = member(scale).partial_fit(X[second], y[second])
        two.merge(member(scale).partial_fit(X[first], y[first]))
        np.testing.assert_allclose(unit(two.eigenvalues_), unit(one.eigenvalues_), atol=1e-9)
        a, b = unit(one.transform(X)), unit(two.transform(X))
        np.testing.assert_allclose(b @ b.T, a @ a.T, atol=1e-6)

    check()


@pytest.mark.parametrize("name", ["OPLS", "CCA", "LDA", "MLSI", "LSI-centred"])
def test_a_constant_feature_has_no_weight_after_many_parts(name):
    member = FAMILY[name]

    @FEW
    @given(ordinary(kinds=("one per row",)), st.sampled_from([0.1, 0.7, 1e6 / 3]))
    def check(case, constant):
        X = np.column_stack([case.X, np.full(len(case.X), constant)])
        model = member()
        for rows in np.array_split(np.arange(len(X)), 5):
            model.partial_fit(X[rows], case.y[rows])
        assert np.abs(model.components_[:, -1]).max() <= 1e-12 * np.abs(model.components_).max()

    check()
