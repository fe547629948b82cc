"""Data sets from public sources, none of which is asked here."""

from dataclasses import replace
from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from labelspan import datasets
from labelspan.errors import InvalidFile, MissingData

SOURCES = {"balance": 11, "emotions": 40589, "housing": 531, "soybean": 42, "usps": 41082}
SOURCES["yeast"] = 40597


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(**_):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", refuse)


# --- public sources ---------------------------------------------------------------------


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
def test_a_source_that_fails_raises_an_error(error, tmp_path, monkeypatch):
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
        datasets.load("yeast", tmp_path)
    strange = answer(datasets.card("balance"))
    strange.target[3] = "X"
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: strange)
    with pytest.raises(InvalidFile, match="a class 'X' that is not known"):
        datasets.load("balance", tmp_path)
    assert list(tmp_path.iterdir()) == []
