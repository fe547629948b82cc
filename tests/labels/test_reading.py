"""Reading labels: one table of what may come in, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from labelspan.errors import AmbiguousLabels, InvalidInput
from labelspan.labels import read_labels
from labelspan.labels.reading import Reading

NAN = np.nan


def objects(*items):
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


ONE_HOT = [[0, 1], [1, 0], [0, 1], [1, 0]]
CLASSES = {
    "ints": ([7, 3, 7, 3], [3, 7]),
    "uint8": (np.array([255, 3, 255, 3], dtype=np.uint8), [3, 255]),
    "bools": ([True, False, True, False], [False, True]),
    "categorical": (pd.Series(["b", "a", "b", "a"], dtype="category"), ["a", "b"]),
    "strings": (["b", "a", "b", "a"], ["a", "b"]),
    "integral-floats": ([2.0, 0.0, 2.0, 0.0], [0, 2]),
    "negative": ([5, -2, 5, -2], [-2, 5]),
    "object-strings": (objects("b", "a", "b", "a"), ["a", "b"]),
    "column": (np.array([[7], [3], [7], [3]]), [3, 7]),
    "sparse-column": (sparse.csr_array(np.array([[1], [0], [1], [0]])), [0, 1]),
    "series": (pd.Series(["b", "a", "b", "a"], index=[9, 8, 7, 6]), ["a", "b"]),
    "frame-column": (pd.DataFrame({"class": ["b", "a", "b", "a"]}), ["a", "b"]),
}


UNKNOWN_CLASSES = {
    "minus-one": ([4, -1, 2], [2, 4]),
    "float-minus-one": ([4.0, -1.0, 2.0], [2, 4]),
    "float-nan": ([4.0, NAN, 2.0], [2, 4]),
    "object-none": (objects("b", None, "a"), ["a", "b"]),
    "object-numbers-minus-one": (objects(4, -1, 2), [2, 4]),
    "nullable-ints": (pd.Series([4, None, 2], dtype="Int64"), [2, 4]),
    "pandas-na": (objects("b", pd.NA, "a"), ["a", "b"]),
    "dates": (
        np.array(["2021-01-01", "NaT", "2020-01-01"], dtype="datetime64[D]"),
        [np.datetime64(f"{year}-01-01").item() for year in (2020, 2021)],
    ),
}


TARGETS = {
    "floats": ([0.5, -1.0, 2.0], None),
    "column": (np.array([[0.5], [-1.0], [2.0]], dtype=np.float32), None),
    "objects": (objects(0.5, -1, 2), None),
    "nan": ([0.5, -1.0, 2.0, NAN], [[0], [0], [0], [1]]),
    "none": (objects(0.5, -1, 2, None), [[0], [0], [0], [1]]),
}


Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]])
INDICATORS = {
    "ints": Y,
    "lists": Y.tolist(),
    "uint8": Y.astype(np.uint8),
    "float32": Y.astype(np.float32),
    "bool": Y.astype(bool),
    "objects": Y.astype(object),
    "fortran": np.asfortranarray(Y),
    "csr_matrix-bool": sparse.csr_matrix(Y.astype(bool)),
    "csc_array-int64": sparse.csc_array(Y),
    "coo_array-float32": sparse.coo_array(Y.astype(np.float32)),
}


HOLES = [[1, 0, NAN], [NAN, NAN, NAN], [0, -1, 1], [-1, -1, -1], [0, NAN, -1]]
ALL_MINUS = np.where(np.isnan(HOLES), -1, HOLES).astype(int)
UNKNOWN_ENTRIES = {
    "both": np.array(HOLES),
    "nan": np.where(ALL_MINUS == -1, NAN, ALL_MINUS).astype(np.float32),
    "csr": sparse.csr_matrix(ALL_MINUS),
    "coo": sparse.coo_array(np.array(HOLES)),
    "none": np.where(ALL_MINUS == -1, None, ALL_MINUS.astype(object)),
    "nullable": pd.DataFrame(ALL_MINUS, dtype="Int64").replace(-1, pd.NA),
}


REAL = np.array([[-1.0, 2.5, NAN], [NAN, NAN, NAN], [1.0, -1.0, 0.0]])
OTHERS = {
    "the string minus one is a class": (["-1", "a"], "classes", ["-1", "a"], np.eye(2)),
    "a frame names its labels": (
        pd.DataFrame(Y, columns=["red", "green", "blue"], index=list("wxyz")),
        "indicator",
        ["red", "green", "blue"],
        Y,
    ),
    "a frame of targets": (
        pd.DataFrame({"height": [1.5, 2.0], "width": [3.0, NAN]}),
        "targets",
        ["height", "width"],
        [[1.5, 3.0], [2.0, 0.0]],
        [[0, 0], [0, 1]],
    ),
    "minus one is a value of real targets": (
        REAL,
        "targets",
        [0, 1, 2],
        np.nan_to_num(REAL),
        np.isnan(REAL),
    ),
    "and of whole ones": ([[3, -1], [0, 1]], "targets", [0, 1], [[3, -1], [0, 1]]),
}
# Minus one is a value of a target: only what is missing is unknown.
ONE_TARGET = np.array([[0.5], [-1.0], [2.0], [0.0]])
READ = {
    **{f"classes, {name}": (y, "classes", names, ONE_HOT) for name, (y, names) in CLASSES.items()},
    **{
        f"unknown classes, {name}": (
            y,
            "classes",
            names,
            [[0, 1], [0, 0], [1, 0]],
            [[0, 0], [1, 1], [0, 0]],
        )
        for name, (y, names) in UNKNOWN_CLASSES.items()
    },
    **{
        f"target, {name}": (y, "targets", ["target"], ONE_TARGET[: len(y)], unknown)
        for name, (y, unknown) in TARGETS.items()
    },
    # The second label is carried by no row, the second row by no label: both are known.
    **{f"indicator, {name}": (y, "indicator", [0, 1, 2], Y) for name, y in INDICATORS.items()},
    **{
        f"unknown entries, {name}": (
            y,
            "indicator",
            [0, 1, 2],
            [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]],
            ALL_MINUS == -1,
        )
        for name, y in UNKNOWN_ENTRIES.items()
    },
    **OTHERS,
}


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_what_may_come_in(case):
    y, kind, names, values, unknown = (*case, None)[:5]
    labels = read_labels(y, len(values), "CCA")
    assert labels.kind == kind
    assert labels.names.tolist() == names
    given = getattr(y, "dtype", None) if sparse.issparse(y) else np.asarray(y).dtype
    if kind == "classes" and given.kind in "biuf":
        assert labels.names.dtype == given
    assert labels.values.dtype == np.float64
    assert_array_equal(labels.values, values)
    if unknown is None:
        assert labels.unknown is None
        assert labels.labelled.all()
    else:
        assert labels.unknown.dtype == bool
        assert_array_equal(labels.unknown, np.array(unknown, dtype=bool))
        assert_array_equal(labels.labelled, ~np.array(unknown, dtype=bool).all(axis=1))


def test_means_and_rows_of_random_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (20, 4)).astype(float)
    y[rng.random(y.shape) < 0.2] = NAN
    y[3] = NAN
    labels = read_labels(y, 20, "CCA")
    np.testing.assert_allclose(labels.means(), np.nanmean(y, axis=0))
    assert_array_equal(labels.labelled, ~np.isnan(y).all(axis=1))
    index = rng.integers(0, 20, 7)
    index[0] = 3
    part = labels.rows(index)
    assert_array_equal(part.values, np.nan_to_num(y[index]))
    assert_array_equal(part.unknown, np.isnan(y[index]))


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -1, 2]),
        np.array([1.0, NAN, 2.0]),
        np.array([0.5, NAN, 2.0]),
        np.array([[1.0, 0.0], [NAN, -1.0], [0.0, 1.0]]),
        np.array([[1.5, 0.0], [NAN, -1.0], [0.0, 1.0]]),
        objects("a", None, "b"),
    ],
    ids=["ints", "floats", "target", "indicator", "targets", "objects"],
)
def test_the_input_is_neither_changed_nor_shared(y):
    before = y.copy()
    y.flags.writeable = False
    labels = read_labels(y, 3, "CCA")
    labels.values[:] = 7
    assert_array_equal(y, before)


REFUSED = {
    "none": (None, r"^CCA requires y to be passed, but the target y is None.*use LSI"),
    "too-short": ([1, 2], r"^CCA: y must have one row .* X has 3 rows, y has 2 rows"),
    "scalar": (1, r"X has 3 rows, y has a scalar"),
    "complex": (np.ones(3) * 1j, "^CCA: complex data not supported in y"),
    "no-columns": (np.ones((3, 0)), "^CCA: y has no columns; give at least one label"),
    "all-minus-one": ([-1, -1, -1], "^CCA: every label in y is unknown.*use LSI"),
    "all-nan": ([NAN, NAN, NAN], "^CCA: every label in y is unknown"),
    "indicator-nan": (np.full((3, 2), NAN), "^CCA: every label in y is unknown"),
    "infinite-vector": ([1.0, np.inf, 2.0], "^CCA: y contains infinity"),
    "infinite-matrix": ([[1, 0], [0, -np.inf], [1, 1]], "^CCA: y contains infinity"),
    "plus-minus-one": ([[1, -1], [-1, 1], [1, 1]], "^CCA: y contains only -1 and 1.*write 0"),
    "mixed-vector": (objects(1, "a", 2), "^CCA: y mixes classes that cannot be sorted"),
    "text-matrix": (
        np.array([["a", "b"]] * 3),
        "^CCA: y with several columns must contain numbers, .*<U1",
    ),
    "mixed-matrix": (
        pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")}),
        "^CCA: y with several columns must contain numbers, .*object.*MultiLabelBinarizer",
    ),
    "ragged-lists": ([[1], [1, 2], []], "MultiLabelBinarizer"),
    "structured": (
        np.array([(1.0, 2.0)] * 3, dtype=[("a", float), ("b", float)]),
        r"CCA: y is a structured array .*'a', 'b'.*; pass",
    ),
    "three-dimensions": (np.ones((3, 2, 2)), r"y must have one or two dimensions, .*\(3, 2, 2\)"),
}


@pytest.mark.parametrize(("y", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_by_name(y, message):
    with pytest.raises(InvalidInput, match=message):
        read_labels(y, 3, "CCA")


LISTS = [{"a"}, ["b", "a", "b"], (), None]


@pytest.mark.parametrize(
    "y", [pd.Series(LISTS, index=[7, 8, 9, 10]), objects(*LISTS), LISTS, tuple(LISTS)]
)
def test_lists_of_labels_have_a_column_per_label(y):
    found = read_labels(y, 4, "mine")
    assert (found.kind, found.names.tolist()) == ("indicator", ["a", "b"])
    assert found.values.tolist() == [[1, 0], [1, 1], [0, 0], [0, 0]]
    assert found.labelled.tolist() == [True, True, True, False]


def test_whole_floats_with_many_values_are_probably_a_target():
    rng = np.random.default_rng(0)
    prices = np.round(rng.lognormal(12, 0.5, 500), -3)
    for dtype in (np.float64, np.float32, object):
        with pytest.warns(AmbiguousLabels, match=r"mine: .* classes\. If .* y\.std\(\); .*\(int\)"):
            assert read_labels(prices.astype(dtype), 500, "mine").kind == "classes"
    with pytest.warns(AmbiguousLabels):
        read_labels(pd.Series(prices), 500, "mine")
    # What the message says to do is silent.
    assert read_labels((prices - prices.mean()) / prices.std(), 500, "mine").kind == "targets"
    assert read_labels(prices.astype(int), 500, "mine").kind == "classes"
    fitted = Reading("targets", np.array(["target"]), 1)
    assert read_labels(prices, 500, "mine", like=fitted).kind == "targets"


@pytest.mark.parametrize(
    "y",
    [
        np.arange(90.0) % 3,
        np.arange(400.0) // 10,  # forty classes of ten
        np.arange(400.0) // 10 + 1,
        np.tile([2.0, 4.0, 8.0], 30),
        np.repeat(np.arange(30.0) * 7, 60),  # thirty classes of sixty
        np.arange(100),
        np.round(np.random.default_rng(0).lognormal(5, 1, 300)).astype(int),
        np.where(np.arange(90) % 9 == 0, np.nan, np.arange(90) % 3),
        np.where(np.arange(400) % 9 == 0, -1.0, np.arange(400) // 10),
    ],
)
def test_classes_do_not_warn(y):
    assert read_labels(y, len(y), "mine").kind == "classes"


def test_a_vector_of_minus_one_and_one_has_two_classes():
    for y in ([1.0, np.nan, 1.0], [1, None, 1], [[1.0], [np.nan], [1.0]]):
        labels = read_labels(y, 3, "mine")
        assert labels.labelled.tolist() == [True, False, True]
    for y in ([1, -1, 1], [1.0, -1.0, 1.0], [[1], [-1], [1]]):
        labels = read_labels(y, 3, "mine")
        assert labels.unknown is None
        assert labels.names.tolist() == [-1, 1]
        assert labels.values.tolist() == [[0, 1], [1, 0], [0, 1]]
    for y in ([1, -1, None, 1], [1.0, -1.0, np.nan, 1.0]):
        labels = read_labels(y, 4, "mine")
        assert labels.labelled.tolist() == [True, True, False, True]
        assert labels.names.tolist() == [-1, 1]
    # With another class -1 means unknown.
    assert read_labels([1, -1, 2], 3, "mine").names.tolist() == [1, 2]
    # A part of the rows is read alike, and later ones as the first were.
    assert read_labels([1, -1, 1], 3, "mine", part=True).names.tolist() == [-1, 1]
    for names, known in (([-1, 1], True), ([0, 1], False)):
        fitted = Reading("classes", np.array(names), 1)
        assert read_labels([-1, -1], 2, "mine", part=True, like=fitted).labelled.all() == known


@pytest.mark.parametrize("y", [[-1, 0, 1], [-1.0, 1.0, 0.0, np.nan], [-2, -1, 0, 1, 2]])
def test_minus_one_among_numbers_that_may_be_classes_is_said(y):
    """It was dropped without a word."""
    with pytest.warns(AmbiguousLabels, match="-1 was read as unknown, in 1 of "):
        assert -1 not in read_labels(y, len(y), "mine").names
    numbers = np.array(y)
    named = np.where(np.isnan(numbers), "none", numbers.astype(str))
    read_labels(named, len(y), "mine")
    read_labels(np.where(numbers == -1, np.nan, numbers), len(y), "mine")
    with pytest.warns(AmbiguousLabels) as found:
        fitted = read_labels(y, len(y), "mine")
    # Once, by the fit.
    read_labels(y, len(y), "mine", like=Reading(fitted.kind, fitted.names, 1))
    assert len(found) == 1


def test_a_constant_label_is_zero_about_its_mean():
    # Sums are rounded: what is left of some of the columns is not zero by itself.
    y = np.tile(np.random.default_rng(0).random(50), (101, 1))
    labels = read_labels(y, 101, "mine")
    assert (y - labels.means()).any()
    assert not labels.centred.any()
