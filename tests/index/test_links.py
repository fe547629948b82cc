"""Links between items: in the space and the tags, in every state, and what is shown of them."""

import json

import numpy as np
import pytest
from _support.streams import Corpus
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from labelspan import DLE, LPP, LSI, MLSI, SemanticIndex
from labelspan.answers.items import item
from labelspan.corpus.link_names import LINK_MARK, LINKS, link_text
from labelspan.errors import InvalidInput
from labelspan.index import links as links_module
from labelspan.index.fitting import FitOptions, fit_stream
from labelspan.index.links import LinkFields
from labelspan.index.results import Item

TOPICS = [["car", "engine", "road"], ["cake", "oven", "flour"]]
FILL = [f"word{n}" for n in range(60)]


def corpus(count=120, seed=0, per_item=2):
    """Texts that hardly say their topic; links mostly stay within it."""
    rng = np.random.default_rng(seed)
    texts, labels, links = [], [], []
    for n in range(count):
        topic = n % 2
        own = rng.choice(FILL, 5).tolist()
        if rng.random() < 0.3:
            own.append(str(rng.choice(TOPICS[topic])))
        texts.append(" ".join(own))
        labels.append([["traffic", "food"][topic]])
        others = topic + 2 * rng.integers(0, count // 2, per_item)
        links.append([str(one) for one in others if one != n])
    return texts, labels, links


def expected(index):
    """The features of all items, from ids and links with dense matrices, and their vectors."""
    items = index.items()
    place = {one.id: n for n, one in enumerate(items)}
    weights = np.zeros((len(items), len(items)))
    for n, one in enumerate(items):
        text = one.metadata.get("links") or ""
        given = json.loads(text) if text[:1] == "{" else dict.fromkeys(text.split("; "), 1.0)
        for name, weight in given.items():
            if name in place and place[name] != n:
                m = place[name]
                weights[n, m] = weights[m, n] = max(weight, weights[n, m])
    degree = (weights > 0).sum(axis=1)
    many = degree > links_module.MOST_LINKS
    weights[many] = 0
    weights[:, many] = 0
    np.fill_diagonal(weights, 1.0)
    mean = weights / weights.sum(axis=1, keepdims=True)
    blocks = index.model.blocks
    words = index.model.features.of_texts([one.text for one in items])
    axes = np.zeros((words.shape[1], blocks.links.width))
    axes[blocks.links.features] = blocks.links.axes
    own = (words.toarray().astype(float) @ axes).astype(np.float16).astype(float)

    def unit(rows):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms > 0, norms, 1)

    parts = [unit(mean @ own), unit(mean @ mean @ own)]
    pair = np.hstack(parts)
    pair = pair.astype(np.float32).astype(np.float16).astype(np.float32)
    row = np.hstack([words.toarray(), np.float32(blocks.links.lengths[0]) * pair])
    space = index.model.space
    found = unit(row @ space.weights - space.offset)
    found[~row.any(axis=1)] = 0
    return found, np.float32(blocks.links.lengths[1]) * pair


def check(index):
    """Features and vectors are those of the same items and links, however they came about."""
    vectors, columns = expected(index)
    assert_allclose(index.vectors(), vectors, atol=1e-6)
    tagger = index.tagger
    rows = index.store.rows(index.ids)
    at = tagger.places(rows)
    assert_allclose(tagger.features.block[at[at >= 0]], columns[at >= 0], atol=1e-6)


@pytest.fixture(scope="module")
def fitted():
    texts, labels, links = corpus()
    return SemanticIndex(MLSI(6)).fit(texts, labels, links=links)


def test_links_help_where_words_do_not_say_the_topic(fitted):
    texts, labels, _ = corpus()
    plain = SemanticIndex(MLSI(6)).fit(texts, labels)
    assert plain.link_use == {}
    assert fitted.link_use["in_space"]
    assert fitted.link_use["in_tags"]

    def quality(index):
        right = [index.tag(items=str(n), k=1)[0].label == own for n, (own,) in enumerate(labels)]
        near = [
            hit.labels == tuple(labels[n]) for n in range(40) for hit in index.search(items=str(n))
        ]
        return np.mean(right), np.mean(near)

    assert quality(fitted)[0] > quality(plain)[0] + 0.1
    assert quality(fitted)[1] >= quality(plain)[1]
    check(fitted)


@pytest.mark.parametrize(
    "estimator", [MLSI(6, tol=1e-6), DLE(), LPP(8)], ids=lambda e: type(e).__name__
)
def test_a_stream_has_the_links_between_its_blocks(tmp_path, estimator):
    texts, labels, links = corpus()
    whole = SemanticIndex(estimator, language="en").fit(texts, labels, links=links)
    items = [
        Item(str(n), *parts, {LINKS: link_text(dict.fromkeys(own, 1.0))} if own else {})
        for n, (*parts, own) in enumerate(zip(texts, labels, links, strict=True))
    ]
    options = FitOptions(estimator, "en", links=LinkFields({LINKS: LINK_MARK}))
    fit_stream(Corpus(items), tmp_path / "i", options, block=(35, 1 << 24))
    with SemanticIndex.load(tmp_path / "i", write=True) as index:
        assert index.link_use == whole.link_use
        assert index.link_use["in_tags"]
        mine, other = index.vectors(), whole.vectors()
        turn = linalg.orthogonal_procrustes(mine, other)[0]
        assert_allclose(mine @ turn, other, atol=2e-3)
        check(index)
        index.relink("3", ["5"]).remove("7")
        check(index)


@pytest.mark.parametrize("estimator", [DLE(), LPP(8)], ids=lambda e: type(e).__name__)
def test_the_links_are_the_graph_of_a_method_that_needs_one(monkeypatch, estimator):
    """Without the block of links in the embedding: the graph is all that differs."""
    texts, labels, links = corpus()
    known = [own if n % 3 else None for n, own in enumerate(labels)]
    monkeypatch.setattr("labelspan.index.fitting.choose_space_lengths", lambda *_: None)

    def right(links):
        index = SemanticIndex(estimator).fit(texts, known, links=links)
        hits = [index.search(items=str(n), k=10) for n in range(0, 120, 3)]
        return np.mean(
            [labels[int(h.id)] == labels[3 * n] for n, own in enumerate(hits) for h in own]
        )

    assert right(links) > right(None) + 0.03


def test_links_that_do_not_help_are_not_used():
    rng = np.random.default_rng(1)
    texts, labels = [], []
    for n in range(200):
        texts.append(" ".join([*rng.choice(FILL, 3), *TOPICS[n % 2][:2]]))
        labels.append([["traffic", "food"][n % 2]])
    links = [[str(one) for one in rng.integers(0, 200, 3)] for _ in texts]
    index = SemanticIndex(MLSI(6)).fit(texts, labels, links=links)
    assert not index.link_use["in_space"]
    assert not index.link_use["in_tags"]
    plain = SemanticIndex(MLSI(6)).fit(texts, labels)
    assert_allclose(index.vectors(), plain.vectors(), atol=1e-6)
    # They are shown all the same.
    assert index.links("0").to
    bare = SemanticIndex(LSI(6)).fit(texts, links=links)
    # Without labels nothing says whether they help, and there are no tags.
    assert (bare.link_use["in_space"], bare.link_use["in_tags"]) == (True, False)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("saved", [False, True])
def test_every_state_equals_the_same_items(tmp_path, seed, saved):
    rng = np.random.default_rng(seed)
    texts, labels, links = corpus(60, seed)
    links[3] = {"5": 0.25, "9": 3.0, "new2": 1.0}
    index = SemanticIndex(MLSI(5)).fit(texts, labels, links=links)
    assert index.link_use["in_tags"]
    if saved:
        index.save(tmp_path / "i")
        index = SemanticIndex.load(tmp_path / "i", write=True)
    check(index)
    more, own, _ = corpus(12, seed + 50)
    for step in range(24):
        ids = index.ids
        some = [str(one) for one in rng.choice(ids, 3, replace=False)]
        kind = rng.choice(["add", "remove", "replace", "relink", "relabel", "undo", "read"])
        if kind == "add":
            n = int(rng.integers(12))
            name = f"new{n}"
            index.add([more[n]], [own[n]], [name], links=[some], replace=True)
        elif kind == "remove" and len(ids) > 40:
            index.remove(some[:2])
        elif kind == "replace":
            index.add([texts[step]], [labels[step]], some[:1], replace=True)
        elif kind == "relink":
            index.relink(some[0], dict(zip(some[1:], rng.random(2), strict=True)))
        elif kind == "relabel":
            index.relabel(some[0], ["food"])
        elif kind == "undo" and (past := index.history(100)):
            try:
                index.undo(int(rng.choice([one.number for one in past])))
            except InvalidInput:
                continue
        elif kind == "read" and saved:
            if rng.random() < 0.5:
                index.save()
            index.close()
            index = SemanticIndex.load(tmp_path / "i", write=True, verify=True)
        check(index)
    if saved:
        with SemanticIndex.load(tmp_path / "i") as other:
            check(other)
    index.close()


def test_tags_in_every_state_are_those_of_one_tagger(tmp_path):
    texts, labels, links = corpus(80)
    index = SemanticIndex(MLSI(5)).fit(texts, labels, links=links)
    index.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i", write=True) as writer:
        writer.relink("4", ["6", "8", "11"]).remove("10")
        before = [(tag.label, tag.probability) for n in "4678" for tag in writer.tag(items=n)]
    with SemanticIndex.load(tmp_path / "i") as reader:
        after = [(tag.label, tag.probability) for n in "4678" for tag in reader.tag(items=n)]
    assert [one[0] for one in after] == [one[0] for one in before]
    assert_allclose([one[1] for one in after], [one[1] for one in before], atol=1e-5)
    _, columns = expected(index.relink("4", ["6", "8", "11"]).remove("10"))
    assert_allclose(index.tagger.features.block, columns, atol=1e-6)


def test_what_is_shown(fitted):
    texts, labels, links = corpus()
    index = SemanticIndex(MLSI(6)).fit(
        texts, labels, links=[[*own, str(n), "nowhere"][:4] for n, own in enumerate(links)]
    )
    told = index.link_use
    assert told["nothing"] >= 100
    assert told["loops"] > 0
    shown = index.links("0")
    assert set(shown.to) == set(links[0])
    assert set(shown.by) == {str(n) for n, own in enumerate(links) if "0" in own}
    # The links of what does not exist wait for it.
    assert shown.nothing in ((), ("nowhere",))
    index.add(["oven"], [["food"]], ["nowhere"])
    assert index.link_use["nothing"] == 0
    assert len(index.links("nowhere").by) >= 100
    with pytest.raises(InvalidInput, match="no item"):
        index.links("x")
    assert SemanticIndex(LSI(2)).fit(texts[:9]).links("0").to == ()


def test_titles_addresses_and_files_are_names():
    texts = ["Chess\nA game", "Go\nA game", "Oven\nhot", "Cake\nsweet"]
    tables = [{"url": "https://www.a.org/1/"}, {"url": "https://b.org/2"}, {}, {}]
    links = [["go", "http://b.org/2#part"], ["//a.org/1"], ["notes/Cake.md"], ["cake"]]
    ids = ["x1", "x2", "notes/oven.md", "notes/cake.md"]
    index = SemanticIndex(LSI(2)).fit(texts, None, ids, metadata=tables, links=links)
    assert index.links("x1").to == ("x2",)
    assert index.links("notes/oven.md").to == ("notes/cake.md",)
    assert index.links("notes/cake.md").to == ()
    assert index.links("x2").nothing == ("//a.org/1",)


def test_an_item_that_all_link_to_changes_nothing(monkeypatch):
    texts, labels, links = corpus(90)
    monkeypatch.setattr(links_module, "MOST_LINKS", 30)
    index = SemanticIndex(MLSI(6)).fit(
        [*texts, "word1 hub"], [*labels, ["food"]], links=[*links, []]
    )
    before = index.vectors(["2", "3"])
    for n in range(90):
        index.relink(str(n), [*links[n], "90"])
    check(index)
    assert_allclose(index.vectors(["2", "3"]), before, atol=1e-6)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (np.eye(3), "a matrix of 4 rows and columns"),
        (sparse.csr_matrix(-np.eye(4)), "finite and at least 0, but one is -1"),
        (np.full((4, 4), np.nan), "finite and at least 0, but one is nan"),
        ([["1"]], "links"),
        (["1", [], [], []], "list of ids"),
        ([{"1": -2}, [], [], []], "that of '1' is -2"),
        ([{"1": float("nan")}, [], [], []], "that of '1' is nan"),
        ([[3], [], [], []], "list of ids"),
    ],
)
def test_malformed_links_are_refused(links, message):
    texts = ["a chess game", "play chess online", "edit photos", "crop pictures"]
    with pytest.raises(InvalidInput, match=message):
        SemanticIndex(LSI(2)).fit(texts, links=links)


def test_evidence_filter_and_page():
    texts, labels, links = corpus(60)
    index = SemanticIndex(MLSI(5)).fit(texts, labels, links=[*links[:-1], ["gone"]])
    index.relink("8", ["2", "4", "5", "gone"]).relabel("4", ["food"]).relabel(["5"], [None])
    near = {*index.links("8").to, *index.links("8").by}
    own = [index.item(name).labels for name in near]
    why = index.explain_tag("traffic", items="8")
    assert why.linked == (
        sum("traffic" in (one or ()) for one in own),
        sum(one is not None for one in own),
    )
    assert index.explain_tag("traffic", "car").linked == (0, 0)
    found = index.browse(filter={"linked": ["8"]})
    assert {hit.id for hit in found.page(size=60)} == near
    hits = index.search("word1 word2 word3", 60, {"linked": ["8"], "labels": ["traffic"]})
    assert {hit.id for hit in hits} <= near
    with pytest.raises(InvalidInput, match="no item 'x'"):
        index.search("car", filter={"linked": ["x"]})
    page = item(index, {"id": "8", "k": 3})
    assert {one["id"] for one in page["linked"]} == near
    assert {one["id"] for one in page["linked"] if one["to"]} == set(index.links("8").to)
    assert page["links_to_nothing"] == ["gone"]
