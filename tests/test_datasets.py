"""Data sets: their cards, their files, and where they come from when there is no file."""

import gzip
import io
import json
import os
import re
import sys
from dataclasses import replace
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch
from support import scattered

from labelspan import datasets
from labelspan.datasets import Card, DataSet, rcv1_full, read_npz, registry, write_npz
from labelspan.datasets.files import write_whole
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, MissingData

DOCS = Path(__file__).parent.parent / "docs" / "datasets.md"
FOLDER = Path(os.environ.get("LABELSPAN_DATA", ""))
needs_data = pytest.mark.skipif(
    not (FOLDER / "rcv1.npz").is_file(),
    reason="set LABELSPAN_DATA to the folder that holds rcv1.npz, yeast.npz and the others",
)
CARDS = [datasets.card(name) for name in datasets.names()]
SOURCES = {"balance": 11, "emotions": 40589, "housing": 531, "soybean": 42, "usps": 41082}
SOURCES["yeast"] = 40597


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(**_):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", refuse)


# --- cards ------------------------------------------------------------------------------


def each_card(function):
    return pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)(function)


@each_card
def test_a_card_is_complete_and_its_docstring_says_the_same(card):
    for field in ("title", "origin", "terms", "citation", "where"):
        assert getattr(card, field), field
        assert not getattr(card, field).endswith(".") or field == "citation"
    assert card.sha256 is None or re.fullmatch("[0-9a-f]{64}", card.sha256)
    assert set(card.papers) <= {"yu2005", "sun2009", "wang2010"}
    assert card.unpinned != card.file
    loader = getattr(datasets, f"load_{card.name}")
    text = sys.modules[loader.__module__].__doc__
    assert text.startswith(f"{card.name}: ")
    assert f"{card.n:,} " in text
    assert card.d is None or f" x {card.d:,} " in text
    assert f" {card.k} {card.task}" in text


def test_the_documented_table_is_that_of_the_cards():
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    for card in CARDS:
        row = [
            card.name,
            card.size,
            card.title,
            ", ".join(card.papers),
            card.public or "",
            card.terms,
        ]
        assert f"| `{row[0]}` | {' | '.join(row[1:])} |".replace("|  |", "| |") in lines


def test_names_and_unknown_names():
    assert datasets.names() == sorted(datasets.names())
    assert {"reuters21578", "rcv1", "mediamill", "pie", "protein"} <= set(datasets.names())
    with pytest.raises(InvalidParameter, match="no data set 'yest'; the names are balance, "):
        datasets.load("yest")


def test_the_registry_is_open(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    card = replace(datasets.card("yale"), name="mine")
    datasets.register(card, lambda data_home, *, download: DataSet("mine", np.eye(2)))
    assert "mine" in datasets.names()
    assert len(datasets.load("mine")) == 2
    with pytest.raises(InvalidParameter, match="there is a data set 'mine' already"):
        datasets.register(card, datasets.load_yale)


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
    rcv1 = datasets.load_rcv1(FOLDER).X
    assert rcv1.indices.dtype == np.int32
    np.testing.assert_allclose(rcv1.power(2).sum(axis=1), 1, atol=1e-4)
    usps = datasets.load_usps(FOLDER)
    assert usps.X.min() == 0
    assert usps.X.max() == 1
    assert np.bincount(usps.split).tolist() == [7291, 2007]
    cora = datasets.load_cora(FOLDER)
    assert (cora.links != cora.links.T).nnz == 0
    assert cora.links.nnz == 2 * 5278
    housing = datasets.load_housing(FOLDER)
    ends = [housing.extra["price"][housing.y == part] for part in range(3)]
    assert ends[0].max() < ends[1].min() < ends[1].max() < ends[2].min()
    assert isinstance(datasets.load_yeast(FOLDER).X, np.ndarray)


@needs_data
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_what_comes_with_scikit_learn_is_what_the_file_holds(name, tmp_path):
    ours = datasets.load(name, FOLDER)
    theirs = datasets.load(name, tmp_path, download=False)
    assert theirs.source == "scikit-learn; not pinned"
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.y, theirs.y)
    assert ours.label_names == theirs.label_names
    assert len(ours.feature_names) == ours.n_features
    assert ours.feature_names == theirs.feature_names
    assert list(tmp_path.iterdir()) == []


@needs_data
def test_the_selection_of_yu2005():
    chosen = datasets.load_reuters21578(FOLDER)
    topics = chosen.Y.sum(axis=0)
    assert (chosen.Y.shape, topics.min()) == ((1652, 47), 14)
    assert round(float(topics.mean()), 1) == 84.9
    documents = np.bincount(chosen.X.indices, minlength=chosen.X.shape[1])
    assert documents.min() == 5
    np.testing.assert_allclose(chosen.X.power(2).sum(axis=1), 1)
    every = datasets.load("reuters21578", FOLDER, selection="all")
    assert every.X is None
    assert len(every.texts) == 21578
    assert np.bincount(every.split)[:2].tolist() == [9603, 3299]
    row = every.ids.index(chosen.ids[7])
    assert every.texts[row] == chosen.texts[7]
    assert set(np.array(chosen.label_names)[chosen.Y[[7]].indices]) <= set(
        np.array(every.label_names)[every.Y[[row]].indices]
    )
    with pytest.raises(InvalidParameter, match="selection must be 'yu2005' or 'all', not 'x'"):
        datasets.load("reuters21578", FOLDER, selection="x")


# --- finding and refusing ---------------------------------------------------------------


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELSPAN_DATA", str(tmp_path / "named"))
    assert datasets.data_home(tmp_path) == tmp_path
    assert datasets.data_home() == tmp_path / "named"
    monkeypatch.delenv("LABELSPAN_DATA")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.data_home() == tmp_path / "cache" / "labelspan"


@pytest.mark.parametrize("name", ["yale", "rcv1", "reuters21578", "yeast"])
def test_a_missing_set_is_one_sentence(name, tmp_path):
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


@pytest.mark.parametrize("name", ["iris", "reuters21578"])
def test_a_file_with_another_hash_is_refused(name, tmp_path):
    # Even where scikit-learn has the set: a damaged file is said, not passed over.
    card = datasets.card(name)
    (tmp_path / card.file).write_bytes(b"PK not what it was")
    with pytest.raises(InvalidFile, match=f"is damaged or another version.*{card.sha256}"):
        datasets.load(name, tmp_path)


@needs_data
def test_one_flipped_bit_is_seen(tmp_path):
    content = bytearray((FOLDER / "yeast.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "yeast.npz").write_bytes(content)
    with pytest.raises(InvalidFile, match=r"yeast.npz is damaged"):
        datasets.load_yeast(tmp_path)


def test_an_unpinned_copy_is_taken_if_its_size_is_right(tmp_path):
    rng = np.random.default_rng(0)
    made = DataSet("yale", rng.random((165, 1024)), y=np.arange(165) % 15)
    write_npz(made, tmp_path / "yale.unpinned.npz")
    data = datasets.load_yale(tmp_path)
    np.testing.assert_array_equal(data.X, made.X)
    write_npz(made.take(range(100)), tmp_path / "yale.unpinned.npz")
    with pytest.raises(InvalidFile, match="has 100 rows, 1024 features and 15 classes, but"):
        datasets.load_yale(tmp_path)


def test_an_unpinned_copy_of_reuters_is_held_against_its_card(tmp_path):
    stories = [{"id": 1, "title": "t", "body": "b", "topics": ["a", "b"]}]
    path = tmp_path / "reuters21578.unpinned.jsonl.gz"
    for extra, message in [
        ({}, "does not hold stories of Reuters .*; get it anew"),
        ({"lewissplit": "TRAIN", "has_topics": "YES"}, None),
    ]:
        lines = "".join(json.dumps(story | extra) + "\n" for story in 20 * stories)
        path.write_bytes(gzip.compress(lines.encode()))
        if message is not None:
            with pytest.raises(InvalidFile, match=message):
                datasets.load_reuters21578(tmp_path)
    every = datasets.load_reuters21578(tmp_path, selection="all")
    assert every.label_names == ("a", "b")
    assert every.split.tolist() == [0] * 20


# --- .npz -------------------------------------------------------------------------------


def test_npz_keeps_everything(tmp_path):
    rng = np.random.default_rng(1)
    X = scattered((6, 5), 0.5, rng, np.float32)
    links = sparse.csr_array(np.eye(6)[::-1])
    data = DataSet(
        "all",
        X,
        sparse.csr_array(np.eye(6, 2, dtype=np.uint8)),
        feature_names=tuple("abcde"),
        label_names=("one", "two"),
        split=np.array([0, 0, 1, 1, 255, 0], dtype=np.uint8),
        links=links,
        extra={"price": np.arange(6.0)},
        source="here and there",
    )
    write_npz(data, tmp_path / "all.npz")
    back = read_npz(tmp_path / "all.npz")
    assert back.X.dtype == np.float32
    for name in ("X", "Y", "links"):
        np.testing.assert_array_equal(getattr(back, name).toarray(), getattr(data, name).toarray())
    for name in ("name", "feature_names", "label_names", "source"):
        assert getattr(back, name) == getattr(data, name)
    np.testing.assert_array_equal(back.split, data.split)
    np.testing.assert_array_equal(back.extra["price"], data.extra["price"])
    assert list(tmp_path.iterdir()) == [tmp_path / "all.npz"]


def test_links_go_both_ways(tmp_path):
    np.savez(tmp_path / "a.npz", y=[0, 1, 2], links_indptr=[0, 1, 1, 2], links_indices=[1, 2])
    links = read_npz(tmp_path / "a.npz").links
    assert links.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_npz_divides_and_widens(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[2, 4]], dtype=np.uint16), X_div=4.0, y=[1])
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz").X, [[0.5, 1.0]])
    assert read_npz(tmp_path / "a.npz").X.dtype == np.float64


def broken_files():
    good = io.BytesIO()
    np.savez(good, X=np.eye(3), y=np.zeros(3))
    pickled = io.BytesIO()
    np.savez(pickled, X=np.array([{}], dtype=object))
    single = io.BytesIO()
    np.save(single, np.eye(3))
    parts = {"X_data": [1.0], "X_indices": [7], "X_indptr": [0, 1], "X_shape": [1, 2]}
    beyond, less, uneven = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(beyond, **parts)
    np.savez(less, **{key: parts[key] for key in ("X_data", "X_indptr", "X_shape")})
    np.savez(uneven, X=np.eye(3), y=np.zeros(2))
    return {
        "empty": (b"", "damaged or no .npz file"),
        "text": (b"hello", "damaged or no .npz file"),
        "truncated": (good.getvalue()[:-40], "damaged or no .npz file"),
        "pickled": (pickled.getvalue(), "damaged or no .npz file.*allow_pickle"),
        "single": (single.getvalue(), "damaged or no .npz file: a single array"),
        "beyond": (beyond.getvalue(), "not a data set of labelspan"),
        "less": (less.getvalue(), "it has no array 'X_indices'"),
        "uneven": (uneven.getvalue(), "must have the same rows, but have X 3, y 2"),
    }


@pytest.mark.parametrize("name", broken_files())
def test_a_broken_npz_is_one_sentence(name, tmp_path):
    content, message = broken_files()[name]
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(InvalidFile, match=message) as caught:
        read_npz(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)


def test_texts_and_objects_are_not_written_as_npz(tmp_path):
    with pytest.raises(InvalidInput, match="holds no texts"):
        write_npz(DataSet("a", texts=["b"]), tmp_path / "a.npz")
    with pytest.raises(InvalidInput, match="what holds objects, which are never pickled"):
        write_npz(DataSet("a", np.eye(1), extra={"what": [None]}), tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written(tmp_path):
    path = tmp_path / "new" / "file"

    def fail(file):
        file.write(b"half")
        raise RuntimeError("the disk burns")

    with pytest.raises(RuntimeError, match="burns"):
        write_whole(path, fail)
    assert list(path.parent.iterdir()) == []
    write_whole(path, lambda file: file.write(b"old"))
    with pytest.raises(RuntimeError):
        write_whole(path, fail)
    assert [entry.read_bytes() for entry in path.parent.iterdir()] == [b"old"]
    with pytest.raises(InvalidFile, match=r"cannot be written: .*; choose another folder"):
        write_whole(path / "below", lambda file: None)


def test_a_path_that_cannot_be_read(tmp_path):
    with pytest.raises(MissingData, match=r"There is no file .*; correct the path"):
        read_npz(tmp_path / "none.npz")
    with pytest.raises(InvalidFile, match="cannot be read: "):
        read_npz(tmp_path)


# --- public sources ---------------------------------------------------------------------


def answer(card, seed=0):
    """What OpenML would say, in form; the numbers are drawn."""
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


@pytest.mark.parametrize("name", SOURCES)
def test_a_public_copy_is_kept_and_marked(name, tmp_path, monkeypatch):
    card, asked = datasets.card(name), []

    def fetch(**options):
        asked.append(options)
        return answer(card)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    home = tmp_path / "new"
    first = datasets.load(name, home)
    assert asked[0]["data_id"] == SOURCES[name]
    assert asked[0]["as_frame"] is asked[0]["cache"] is False
    assert card.public == f"OpenML {SOURCES[name]}"
    assert first.source == f"{card.public}; not pinned"
    assert [path.name for path in home.iterdir()] == [card.unpinned]
    again = datasets.load(name, home, download=False)
    assert (len(asked), again.source) == (1, first.source)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(
        first.y if first.Y is None else first.Y, again.y if again.Y is None else again.Y
    )
    assert first.label_names is None or tuple(first.label_names) == again.label_names


def test_what_public_copies_are_made_of(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sklearn.datasets,
        "fetch_openml",
        lambda data_id, **_: answer(
            next(datasets.card(name) for name, number in SOURCES.items() if number == data_id)
        ),
    )
    load = {name: datasets.load(name, tmp_path) for name in SOURCES}
    # A feature with listed numbers has those numbers, not their places.
    assert set(load["housing"].X[:, 8]) == {1.0, 2.0, 24.0, 3.0}
    assert np.bincount(load["housing"].y).tolist() == [169, 168, 169]
    assert set(np.unique(load["soybean"].X)) == {0.0, 1.0, 2.0}
    assert load["balance"].y[:4].tolist() == [0, 1, 2, 0]
    assert load["usps"].y[:11].tolist() == [*range(10), 0]
    assert load["usps"].X.min() >= 0
    assert load["yeast"].Y.dtype == np.uint8
    assert 0.4 < load["yeast"].Y.mean() < 0.6
    assert load["emotions"].label_names[0] == "c-0"


@pytest.mark.parametrize(
    "error", [URLError("down"), IncompleteRead(b""), ValueError("md5 differs\nof the file")]
)
def test_a_source_that_fails_is_one_sentence(error, tmp_path, monkeypatch):
    def fetch(**_):
        raise error

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
        datasets.load_yeast(tmp_path)
    strange = answer(datasets.card("balance"))
    strange.target[3] = "X"
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: strange)
    with pytest.raises(InvalidFile, match="a class 'X' that is not known"):
        datasets.load_balance(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_whole_of_rcv1(tmp_path, monkeypatch):
    card = replace(rcv1_full.CARD, n=40, d=9, k=3)
    monkeypatch.setattr(rcv1_full, "CARD", card)
    monkeypatch.setattr(rcv1_full, "TRAINING", 10)
    rng = np.random.default_rng(0)

    def fetch(data_home):
        # scikit-learn leaves files of its own in the folder it is given.
        (Path(data_home) / "samples.pkl").write_bytes(b"x")
        return Bunch(
            data=sparse.csr_matrix(rng.random((40, 9)) * (rng.random((40, 9)) < 0.3)),
            target=sparse.csr_matrix(np.eye(40, 3, dtype=np.uint8)),
            target_names=np.array(["C11", "C12", "C13"], dtype=object),
            sample_id=np.arange(40, dtype=np.uint32),
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", fetch)
    first = datasets.load_rcv1_full(tmp_path)
    assert first.X.dtype == np.float32
    assert np.bincount(first.split).tolist() == [10, 30]
    assert [path.name for path in tmp_path.iterdir()] == ["rcv1_full.unpinned.npz"]
    again = datasets.load_rcv1_full(tmp_path, download=False)
    assert (again.X != first.X).nnz == 0
    assert again.label_names == ("C11", "C12", "C13")


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
    with pytest.raises(InvalidInput, match="label_names must have one entry a column, 3 in all"):
        DataSet("a", Y=np.eye(3), label_names=["x"])


def test_dense_and_astype_leave_the_original():
    data = DataSet("a", sparse.csr_array(np.eye(3)), sparse.csr_array(np.eye(3)))
    assert isinstance(data.dense().X, np.ndarray)
    assert data.astype(np.float32).X.dtype == np.float32
    assert data.X.dtype == np.float64
    assert sparse.issparse(data.Y)
    assert len(DataSet("empty")) == 0


def test_a_card_is_data():
    assert isinstance(datasets.card("yeast"), Card)
    with pytest.raises(AttributeError):
        datasets.card("yeast").n = 1
