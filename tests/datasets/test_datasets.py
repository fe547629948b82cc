"""Data sets: their cards, their files, and where they come from when there is no file."""

import importlib
import os
import re
import sys
from dataclasses import replace
from http.client import IncompleteRead
from pathlib import Path
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch

from labelspan import datasets
from labelspan.datasets import DataSet
from labelspan.errors import InvalidFile, InvalidInput, MissingData

DOCS = Path(__file__).parent.parent.parent / "docs"
FOLDER = Path(os.environ.get("LABELSPAN_DATA", ""))
needs_data = pytest.mark.skipif(
    not (FOLDER / "rcv1.npz").is_file(),
    reason="set LABELSPAN_DATA to the folder that holds rcv1.npz, yeast.npz and the others",
)
SOURCES = {"balance": 11, "emotions": 40589, "housing": 531, "soybean": 42, "usps": 41082}
SOURCES["yeast"] = 40597
CARDS = [datasets.card(name) for name in datasets.names()]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    for name in ("fetch_openml", "fetch_rcv1"):
        monkeypatch.setattr(sklearn.datasets, name, Mock(side_effect=URLError("no network")))


# --- cards ------------------------------------------------------------------------------


def each_card(function):
    return pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)(function)


@each_card
def test_a_card_is_complete_and_its_description_agrees(card):
    for field in ("title", "origin", "terms", "citation", "where"):
        assert getattr(card, field), field
        assert not getattr(card, field).endswith(".") or field == "citation"
    assert card.sha256 is None or re.fullmatch("[0-9a-f]{64}", card.sha256)
    assert set(card.papers) <= {"yu2005", "sun2009", "wang2010"}
    assert card.unpinned != card.file
    text = card.about
    assert f"{card.n:,} " in text
    assert card.d is None or f" x {card.d:,} " in text
    assert f" {card.k} {card.task}" in text


def test_the_documented_table_is_made_from_the_cards(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    made = importlib.import_module("data_sets")
    page = DOCS / "reference" / "datasets.md"
    assert page.read_text(encoding="utf-8").count(made.MARK) == 1
    lines = made.table().splitlines()
    assert len(lines) == 2 + len(CARDS)
    kinds = "150 x 4, 3 classes | flowers of three species | wang2010"
    assert f"| `iris` | {kinds} | scikit-learn |" in lines


# --- the sets themselves ----------------------------------------------------------------


@needs_data
@each_card
def test_a_set_is_what_its_card_says(card):
    if card.name == "rcv1_full":
        pytest.skip("rcv1_full is 650 MB, and not in the folder")
    data = datasets.load(card.name, FOLDER, download=False)
    assert (len(data), data.n_features, data.n_labels) == (card.n, card.d, card.k)
    assert data.name == card.name
    if card.public != "labelspan":
        assert data.source == str(FOLDER / card.file)
    if card.d is not None:
        assert data.X.dtype in (np.float32, np.float64)
        assert np.isfinite(data.X.data if sparse.issparse(data.X) else data.X).all()
    if card.task == "classes":
        assert data.Y is None
        assert data.y.dtype == np.int64
        assert data.label_names is None or data.y.max() < len(data.label_names)
    else:
        assert data.y is None
        assert set(np.unique(data.Y.data if sparse.issparse(data.Y) else data.Y)) <= {0, 1}
        assert len(data.label_names) == card.k


@needs_data
def test_what_is_known_of_single_sets():
    rcv1 = datasets.load("rcv1", FOLDER).X
    assert rcv1.indices.dtype == np.int32
    np.testing.assert_allclose(rcv1.power(2).sum(axis=1), 1, atol=1e-4)
    usps = datasets.load("usps", FOLDER)
    assert usps.X.min() == 0
    assert usps.X.max() == 1
    assert np.bincount(usps.split).tolist() == [7291, 2007]
    cora = datasets.load("cora", FOLDER)
    assert (cora.links != cora.links.T).nnz == 0
    assert cora.links.nnz == 2 * 5278
    housing = datasets.load("housing", FOLDER)
    ends = [housing.extra["price"][housing.y == part] for part in range(3)]
    assert ends[0].max() < ends[1].min() < ends[1].max() < ends[2].min()
    assert isinstance(datasets.load("yeast", FOLDER).X, np.ndarray)


@needs_data
def test_the_selection_of_yu2005():
    chosen = datasets.load("reuters21578", FOLDER)
    topics = chosen.Y.sum(axis=0)
    assert (chosen.Y.shape, topics.min()) == ((1652, 47), 14)
    assert round(float(topics.mean()), 1) == 84.9
    documents = np.bincount(chosen.X.indices, minlength=chosen.X.shape[1])
    assert documents.min() == 5
    np.testing.assert_allclose(chosen.X.power(2).sum(axis=1), 1)
    assert np.bincount(chosen.split)[:2].sum() == 1652


# --- finding and refusing ---------------------------------------------------------------


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELSPAN_DATA", str(tmp_path / "named"))
    assert datasets.data_home(tmp_path) == tmp_path
    assert datasets.data_home() == tmp_path / "named"
    monkeypatch.delenv("LABELSPAN_DATA")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.data_home() == tmp_path / "cache" / "labelspan"


@pytest.mark.parametrize("name", ["yale", "reuters21578", "yeast"])
def test_a_missing_or_damaged_set_raises_an_error(name, tmp_path):
    card = datasets.card(name)
    with pytest.raises(MissingData) as caught:
        datasets.load(name, tmp_path, download=False)
    message = str(caught.value)
    assert f"there is no {card.file} in {str(tmp_path)!r}; put it there" in message
    assert card.where in message
    assert card.unpinned in message
    assert ("OpenML" in message) == (name == "yeast")
    assert "\n" not in message
    assert isinstance(caught.value, FileNotFoundError)
    (tmp_path / card.file).write_bytes(b"PK not what it was")
    with pytest.raises(InvalidFile, match=f"is damaged or another version.*{card.sha256}"):
        datasets.load(name, tmp_path)


# --- the object -------------------------------------------------------------------------


def test_rows_are_taken_from_every_part():
    links = sparse.csr_array(np.arange(9.0).reshape(3, 3))
    data = DataSet(
        "a", np.eye(3), np.eye(3, 2), np.arange(3), list("xyz"), ids=("p", "q", "r"), links=links
    )
    for rows in ([2, 0], np.array([False, True, True])):
        index = np.arange(3)[rows]
        part = data.take(rows)
        np.testing.assert_array_equal(part.X, data.X[index])
        np.testing.assert_array_equal(part.y, index)
        assert part.texts == [data.texts[row] for row in index]
        assert part.ids == [data.ids[row] for row in index]
        np.testing.assert_array_equal(part.links.toarray(), links.toarray()[np.ix_(index, index)])


def test_parts_must_fit():
    with pytest.raises(InvalidInput, match="same rows, but have X 3, texts 1"):
        DataSet("a", np.eye(3), texts=["x"])
    with pytest.raises(InvalidInput, match=r"label_names must have one entry per column \(3\)"):
        DataSet("a", Y=np.eye(3), label_names=["x"])


# --- public sources, none of which is asked here ------------------------------------------


def answer(card, seed=0):
    """Return random numbers in the form of an answer of OpenML."""
    rng = np.random.default_rng(seed)
    n = 683 if card.name == "soybean" else card.n
    names = [f"a{column}" for column in range(card.d)]
    X, categories = rng.random((n, card.d)), {}
    if card.task == "labels":
        target = np.where(rng.random((n, card.k)) < 0.5, "TRUE", "FALSE").astype(object)
    else:
        classes = {"balance": ["L", "B", "R"], "usps": [str(c + 1) for c in range(10)]}
        known = classes.get(card.name, [f"ill-{c}" for c in range(15)])
        target = np.array(known, dtype=object)[np.arange(n) % len(known)]
    if card.name == "housing":
        target = rng.permutation(n) / 10
        categories["a8"] = ["1", "2", "24", "3"]
        X[:, 8] = np.arange(n) % 4
    if card.name == "soybean":
        X = rng.integers(3, size=X.shape).astype(float)
        categories = {name: ["lt-norm", "norm", "gt-norm"] for name in names}
        X[card.n :, 5] = np.nan
    if card.name == "usps":
        X = 2 * X - 1
    return Bunch(
        data=X,
        target=target,
        feature_names=names,
        target_names=[f"c.{label}" for label in range(card.k)],
        categories=categories,
    )


def test_public_copies_are_kept_and_marked(tmp_path, monkeypatch):
    asked, copies = [], {}

    def fetch(**options):
        asked.append(options)
        name = next(name for name, number in SOURCES.items() if number == options["data_id"])
        return answer(datasets.card(name))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    for name, number in SOURCES.items():
        card, home = datasets.card(name), tmp_path / name
        first = copies[name] = datasets.load(name, home)
        assert asked[-1]["as_frame"] is asked[-1]["cache"] is False
        assert card.public == f"OpenML {number}"
        assert first.source == f"{card.public}; not pinned"
        assert [path.name for path in home.iterdir()] == [card.unpinned]
        again = datasets.load(name, home, download=False)
        assert again.source == first.source
        for part in ("X", "y", "Y"):
            np.testing.assert_array_equal(getattr(first, part), getattr(again, part))
        assert first.label_names is None or tuple(first.label_names) == again.label_names
    assert len(asked) == len(SOURCES)
    # A feature with listed numbers has those numbers, not their places.
    assert set(copies["housing"].X[:, 8]) == {1.0, 2.0, 24.0, 3.0}
    assert np.bincount(copies["housing"].y).tolist() == [169, 168, 169]
    assert set(np.unique(copies["soybean"].X)) == {0.0, 1.0, 2.0}
    assert copies["balance"].y[:4].tolist() == [0, 1, 2, 0]
    assert copies["usps"].y[:11].tolist() == [*range(10), 0]
    assert copies["usps"].X.min() >= 0
    assert copies["yeast"].Y.dtype == np.uint8
    assert 0.4 < copies["yeast"].Y.mean() < 0.6
    assert copies["emotions"].label_names[0] == "c-0"


def test_a_source_that_fails_raises_an_error(tmp_path, monkeypatch):
    for error in (URLError("down"), IncompleteRead(b""), ValueError("md5 differs\nof the file")):
        fetch = Mock(side_effect=error)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", fetch)
        for name in ("yeast", "rcv1_full"):
            with pytest.raises(
                MissingData, match=r"gave no data .*; try again later, or put"
            ) as caught:
                datasets.load(name, tmp_path)
            assert "\n" not in str(caught.value)
            assert type(error).__name__ in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_public_copy_of_another_size_is_refused(tmp_path, monkeypatch):
    small = answer(replace(datasets.card("yeast"), n=13))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: small)
    with pytest.raises(InvalidFile, match="OpenML 40597 has 13 rows, 103 features and 14 labels"):
        datasets.load("yeast", tmp_path)
    strange = answer(datasets.card("balance"))
    strange.target[3] = "X"
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: strange)
    with pytest.raises(InvalidFile, match="a class 'X' that is not known"):
        datasets.load("balance", tmp_path)
    assert list(tmp_path.iterdir()) == []
