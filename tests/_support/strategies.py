"""What the property tests draw: data and labels with every flaw that data has.

A generated case is a recipe, a few small choices and a seed, from which numpy makes the
arrays: hypothesis then shrinks choices, and not entries. The numbers are small whole ones,
so that a direction is either there by a wide margin or not there at all, and rank is
no matter of opinion.

Profiles: ``LABELSPAN_PROPERTIES=search`` draws at random and far more; the default is fixed.
"""

import os
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from scipy import sparse

_PHASES = [Phase.explicit, Phase.generate, Phase.shrink]
_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
_COMMON = {
    "database": None,
    "deadline": None,
    "phases": _PHASES,
    "suppress_health_check": _CHECKS,
}
settings.register_profile("fixed", max_examples=24, derandomize=True, **_COMMON)
settings.register_profile("search", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("LABELSPAN_PROPERTIES", "fixed"))


def examples(share):
    """A part of the profile's number of examples, for what is tried on many estimators."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))


FLAWS = ("none", "constant column", "equal columns", "equal rows", "low rank", "far", "zero")
FORMATS = ("csr", "csc", "coo", "unsorted", "duplicates", "explicit zeros")


@dataclass(frozen=True, repr=False)
class Case:
    """Features and labels; ``form`` tells how the features are stored."""

    X: np.ndarray
    y: np.ndarray
    form: str = "dense"
    scale: float = 1.0

    @property
    def given(self):
        """The features as they are handed over."""
        return stored(self.X * self.X.dtype.type(self.scale), self.form)

    def with_scale(self, scale):
        return replace(self, scale=scale)

    def __repr__(self):
        X, y = (np.array2string(part, separator=",").replace("\n", "") for part in (self.X, self.y))
        return f"Case(np.array({X}), np.array({y}), {self.form!r}, {self.scale!r})"


def stored(X, form):
    """The same numbers in one of the ways of storing them."""
    if form == "dense":
        return X
    if form == "fortran":
        return np.asfortranarray(X)
    if form in ("csr", "csc", "coo"):
        return getattr(sparse, f"{form}_array")(X)
    csr = sparse.csr_array(X)
    if form == "unsorted":
        for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
            csr.indices[start:stop] = csr.indices[start:stop][::-1].copy()
            csr.data[start:stop] = csr.data[start:stop][::-1].copy()
        return sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    if form == "duplicates":
        # Halves add up exactly, whatever the width.
        parts = np.repeat(np.arange(X.shape[0]), 2 * np.diff(csr.indptr))
        halves = np.repeat(csr.data / 2, 2), (parts, np.repeat(csr.indices, 2))
        return sparse.coo_array(halves, shape=X.shape)
    rows, columns = np.indices(X.shape).reshape(2, -1)
    return sparse.csr_array((X.ravel(), (rows, columns)), shape=X.shape)


def same_contents(one, two):
    """Whether two matrices hold the very same arrays, entry for entry."""
    if not sparse.issparse(one):
        return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    parts = ("data", "row", "col") if one.format == "coo" else ("data", "indices", "indptr")
    return all(np.array_equal(getattr(one, part), getattr(two, part)) for part in parts)


def _features(rng, rows, columns, flaw):
    X = rng.integers(-4, 5, size=(rows, columns)).astype(float)
    if flaw == "constant column":
        X[:, rng.integers(columns)] = 3.0
    elif flaw == "equal columns":
        X[:, rng.integers(columns)] = X[:, rng.integers(columns)]
    elif flaw == "equal rows":
        X = X[rng.integers(max(1, rows // 2), size=rows)]
    elif flaw == "low rank":
        X = np.outer(rng.integers(-2, 3, size=rows), rng.integers(-2, 3, size=columns)) * 1.0
    elif flaw == "far":
        X += 1000.0
    elif flaw == "zero":
        X[:] = 0.0
    return X


def _indicator(rng, rows, labels, flaw):
    Y = (rng.random((rows, labels)) < 0.5).astype(float)
    if flaw == "empty label":
        Y[:, rng.integers(labels)] = 0.0
    elif flaw == "full label":
        Y[:, rng.integers(labels)] = 1.0
    elif flaw == "equal labels":
        Y[:, rng.integers(labels)] = Y[:, rng.integers(labels)]
    elif flaw == "rows without labels":
        Y[rng.random(rows) < 0.5] = 0.0
    elif flaw == "zero":
        Y[:] = 0.0
    return Y


LABEL_FLAWS = (
    "none",
    "empty label",
    "full label",
    "equal labels",
    "rows without labels",
    "zero",
)
UNKNOWN = ("none", "entries", "rows", "all but one")


def _labels(rng, shape, kind, *, flaw, unknown, mark):
    rows, labels = shape
    if kind == "classes":
        y = rng.integers(labels, size=rows)
        hidden = rng.random(rows) < 0.3
        if unknown == "all but one":
            hidden = np.arange(rows) > 0
        if unknown == "none":
            return y
        return np.where(hidden, mark, y) if mark == -1 else np.where(hidden, np.nan, y * 1.0)
    if kind == "names":
        return np.array([f"class {number}" for number in rng.integers(labels, size=rows)])
    if kind == "one per row":
        Y = np.eye(labels + 1)[rng.integers(labels + 1, size=rows)][:, :labels]
    else:
        Y = _indicator(rng, rows, labels, flaw)
    if kind == "targets":
        Y = Y * rng.integers(-6, 7, size=Y.shape) / 2 + 2 * (flaw == "full label")
        Y[0, 0], mark = 1.5, np.nan
    hidden = np.zeros(Y.shape, dtype=bool)
    if unknown == "entries":
        hidden = rng.random(Y.shape) < 0.25
    elif unknown == "rows":
        hidden[rng.random(rows) < 0.3] = True
    elif unknown == "all but one":
        hidden[1:] = True
    Y[hidden] = mark
    return Y


@st.composite
def cases(
    draw,
    *,
    kinds=("classes", "indicator"),
    flaws=FLAWS,
    label_flaws=LABEL_FLAWS,
    unknown=UNKNOWN,
    forms=("dense", "fortran", *FORMATS),
    least=1,
    most=9,
    dtype=np.float64,
):
    """Features and labels, from one row and one column upwards."""
    rows = draw(st.integers(least, most))
    columns = draw(st.integers(1, most - 1))
    # More labels than rows now and then.
    labels = draw(st.sampled_from([2, 1, 3, 5, 12]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = _features(rng, rows, columns, draw(st.sampled_from(flaws)))
    mark = draw(st.sampled_from([-1, np.nan]))
    kind = draw(st.sampled_from(kinds))
    flaw, hidden = draw(st.sampled_from(label_flaws)), draw(st.sampled_from(unknown))
    y = _labels(rng, (rows, labels), kind, flaw=flaw, unknown=hidden, mark=mark)
    return Case(X.astype(dtype), y, draw(st.sampled_from(forms)))


@st.composite
def ordinary(draw, *, kinds=("classes", "indicator"), tall=True, dtype=np.float64):
    """Features of full column rank and labels of some use: nothing to refuse."""
    columns = draw(st.integers(2, 6))
    rows = draw(st.integers(14, 24)) if tall else draw(st.integers(8, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.standard_normal((rows, columns)) + rng.standard_normal(columns)
    kind = draw(st.sampled_from(kinds))
    count = draw(st.integers(2, 4))
    scores = X @ rng.standard_normal((columns, count)) + rng.standard_normal((rows, count))
    if kind in ("classes", "names"):
        y = np.r_[np.arange(count), scores[count:].argmax(axis=1)]
    elif kind == "one per row":
        y = np.eye(count)[np.r_[np.arange(count), scores[count:].argmax(axis=1)]]
    elif kind == "targets":
        y = scores
    else:
        y = (scores > scores.mean(axis=0)).astype(float)
    return Case(X.astype(dtype), y)


# Powers of two change no digit: whatever differs then is a step that depends on the units.
scales = st.sampled_from([-498, -332, -100, -33, -3, 3, 33, 100, 332, 498]).map(
    lambda power: 2.0**power
)
narrow_scales = st.sampled_from([-50, -30, -3, 3, 30, 50]).map(lambda power: 2.0**power)
