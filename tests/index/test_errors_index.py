"""SemanticIndex: what it refuses, and with which words."""

import numpy as np
import pytest
from _support.topics import corpus, fresh
from sklearn.exceptions import NotFittedError

from labelspan import MLSI, SemanticIndex
from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter
from labelspan.index.searching import similar_labels


@pytest.fixture(scope="module")
def index():
    return fresh()


TEXTS, LABELS, IDS, _ = corpus(8)
FITS = [
    ({"texts": []}, "two items or more, but 0 were given"),
    ({"texts": ["one"]}, "two items or more, but 1 were given"),
    ({"texts": "one text"}, "texts must be a list of strings; put one text in a list"),
    ({"texts": [*TEXTS[:7], None]}, r"texts\[7\] is of type NoneType.*'' if there is no text"),
    ({"texts": [*TEXTS[:7], "\ud800"]}, r"texts\[7\] has an unpaired surrogate"),
    ({"texts": [""] * 8}, "no words to learn from"),
    ({"ids": ["a", "b", "c", "d", "e", "f", "b", "h"]}, "id 'b' occurs twice"),
    ({"ids": ["a"]}, "there are 8 items and 1 entries"),
    ({"ids": list(range(8))}, r"ids\[0\] must be a non-empty string"),
    ({"labels": None}, r"MLSI needs labels, but no item has a known label.*LSI\(\)"),
    ({"labels": [None] * 8}, "no item has a known label"),
    ({"labels": [[]] * 8}, "no item has a known label"),
    ({"labels": LABELS[:3]}, "there are 8 items and 3 entries"),
    ({"labels": ["game"] * 8}, r"labels\[0\] must be a list of strings"),
    ({"labels": [[1]] * 8}, r"labels\[0\] must be a list of non-empty strings"),
    ({"labels": np.eye(8)}, "a list of strings for each item, .* but is of type ndarray"),
    ({"metadata": [{}]}, "there are 8 items and 1 entries"),
    ({"metadata": [{"a": [1]}] * 8}, r"metadata\[0\] has 'a': \[1\]"),
    ({"metadata": [{"a": float("nan")}] * 8}, "finite numbers"),
    ({"metadata": [3] * 8}, "must be a dict"),
]


@pytest.mark.parametrize(("wrong", "message"), FITS)
def test_what_fit_refuses(wrong, message):
    given = {"texts": TEXTS, "labels": LABELS, "ids": IDS, **wrong}
    if len(given["texts"]) < 8 and "texts" in wrong:
        given |= {"labels": None, "ids": None}
    index = SemanticIndex()
    with pytest.raises(InvalidInput, match=message) as caught:
        index.fit(**given)
    assert str(caught.value).startswith("fit: ")
    assert len(index) == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": "MLSI"}, "estimator must be an estimator of labelspan"),
        ({"language": "xx"}, "language"),
        ({"estimator": MLSI(beta=2)}, "beta must be a number from 0 to 1"),
    ],
)
def test_what_the_constructor_refuses_in_fit(params, message):
    with pytest.raises(InvalidParameter, match=message):
        SemanticIndex(**params).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda i: i.search(), "give a text, items or labels"),
        (lambda i: i.search([]), "list of texts is empty"),
        (lambda i: i.search("a", 0), "k must be a whole number of at least 1, but 0"),
        (lambda i: i.search(3), "texts must be a list of strings"),
        (lambda i: i.search(items="nobody"), "There is no item 'nobody'"),
        (lambda i: i.search(labels="games"), "label 'games'; did you mean 'game'"),
        (lambda i: i.search("a", filter={"labels": "gone"}), "No item has the label 'gone'"),
        (lambda i: i.search("a", filter={"tags": "x"}), "filter must be a Filter, or a dict with"),
        (
            lambda i: i.search("a", filter={"metadata": {"size": 1}}),
            "the keys are: free, shelf, year",
        ),
        (lambda i: i.search("a", filter={"metadata": 3}), "metadata must be a dict"),
        (lambda i: i.tag("a", k=-1), "k must be"),
        (lambda i: i.explain(["a", "b"], "item0"), "one query, not several"),
        (lambda i: i.explain("a", "nobody"), "There is no item 'nobody'"),
        (lambda i: similar_labels(i.store, "gone", 3), "No item has the label 'gone'"),
        (lambda i: i.add(["a"], ids=["x", "y"]), "there are 1 items and 2 entries"),
        (lambda i: i.add(["a", "b"], ids=["x", "x"]), "id 'x' occurs twice"),
        (lambda i: i.remove(["item0", "nobody"]), "There is no item 'nobody'"),
        (lambda i: i.relabel(["item1", "item1"], [["a"], ["b"]]), "occurs twice"),
        (lambda i: i.relabel("item1", "game"), "labels"),
        (lambda i: i.relabel("nobody", ["a"]), "There is no item"),
        (lambda i: i.explain_tag("unheard", "chess"), "has not learned the label"),
        (lambda i: i.explain_tag("game", ["chess", "dice"]), "not several"),
    ],
)
def test_what_questions_refuse(index, ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask(index)
    assert len(index) == 60


def test_a_failed_fit_leaves_the_old_index(index):
    reference = fresh()
    with pytest.raises(InvalidLabels):
        reference.fit(TEXTS)
    assert reference.search("chess") == index.search("chess")


def test_an_index_that_holds_nothing_says_so():
    with pytest.raises(NotFittedError, match=r"call fit, or SemanticIndex\.load"):
        SemanticIndex().search("a")
    assert repr(SemanticIndex()) == "<SemanticIndex, not fitted>"
