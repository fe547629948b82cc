"""Whatever comes in: an answer that solves the method's own problem, or one clear refusal."""

import warnings

import numpy as np
import pytest
from _support.certificates import FAMILY, GRAPHS, nothing_to_find
from _support.fitting import fit
from _support.strategies import cases, examples, narrow_scales, scales
from hypothesis import given, note
from hypothesis import strategies as st

from labelspan import DLEClassifier
from labelspan.errors import InvalidInput


def check_faces(model, X, y):
    """Shapes, widths, finite numbers, and one answer from all methods."""
    rows, columns = X.shape
    m = model.n_components_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = model.transform(X)
    assert Z.shape == (rows, m)
    assert Z.dtype == X.dtype
    assert m >= 1
    assert model.n_features_in_ == columns
    assert model.eigenvalues_.shape == (m,)
    assert (model.eigenvalues_ >= 0).all()
    dense = X.toarray() if hasattr(X, "toarray") else X
    if hasattr(model, "components_"):
        assert model.components_.shape == (m, columns)
        assert model.components_.dtype == model.mean_.dtype == X.dtype
        tall = np.abs(model.components_).max(axis=1)
        assert (model.components_.max(axis=1) == tall).all()
        long = np.abs(dense - model.mean_).max() * tall.max() * columns
        gap = np.abs(Z - (dense - model.mean_) @ model.components_.T).max()
        assert gap <= 100 * np.finfo(X.dtype).eps * max(long, np.abs(dense).max() * tall.max())
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), name
    if hasattr(model, "label_scores"):
        k = model.classes_.size
        assert model.label_loadings_.shape == (m, k)
        assert model.label_means_.shape == (k,)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scores = model.label_scores(X)
        assert scores.shape == (rows, k)
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", FAMILY)
def test_narrow_features_and_targets_out_of_range(name):
    """float32 with targets that fit it, or do not: finite numbers, or an error."""
    member = FAMILY[name]

    @examples(1 / 3)
    @given(cases(kinds=member.kinds, dtype=np.float32), narrow_scales, scales)
    def check(case, scale, larger):
        note(repr(case))
        scaled = "targets" in member.kinds and case.y.dtype.kind == "f"
        y = case.y * larger if scaled else case.y
        X = case.with_scale(scale).given
        model = fit(member(scale), X, y)
        if model is not None:
            check_faces(model, X, y)

    check()


@examples(1)
@given(cases(kinds=("classes", "names", "indicator"), least=2), st.sampled_from(["auto", 1.0]))
def test_the_classifier_gives_classes_or_refuses(case, weight):
    X, y = case.given, case.y
    model = DLEClassifier(n_neighbors=3, alpha=0.5, label_weight=weight)
    if fit(model, X, y) is None:
        return
    try:
        found = model.predict(X)
        again = model.fit_predict(X, y)
    except InvalidInput as error:
        found = again = None
        sentence = str(error)
    if found is None:
        assert "is unknown in all rows of y" in sentence
        return
    assert found.shape == again.shape == y.shape or y.shape[1:] == (1,)
    assert np.isin(found, model.classes_ if found.ndim == 1 else [0, 1]).all()


@pytest.mark.parametrize("name", FAMILY)
def test_an_answer_with_its_certificate_or_a_refusal(name):
    member = FAMILY[name]

    @given(cases(kinds=member.kinds))
    def check(case):
        note(repr(case))
        X, y = case.given, case.y
        model = fit(member(), X, y)
        if model is None:
            assert name in GRAPHS or nothing_to_find(member(), case.X, y)
        else:
            check_faces(model, X, y)
            if member.certify is not None:
                member.certify(model, case.X, y)

    check()
