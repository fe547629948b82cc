"""Approximate search: links that a save writes, used, bypassed, and never trusted."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from _support.stored import generation, rewritten
from _support.tagged import as_lines, rows
from typer.testing import CliRunner

from labelspan import LSI, SemanticIndex
from labelspan.cli import app
from labelspan.datasets import make_tagged_vectors
from labelspan.errors import InvalidFile
from labelspan.index import vectors as ann
from labelspan.index.vectors import AnnIndex, UnitVectors, check_ann, nearest, unit_rows

pytestmark = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: pip install 'labelspan[ann]'"
)
WIDTH = 24


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch):
    monkeypatch.setattr(ann, "LARGE", 20)


@pytest.fixture(scope="module")
def X():
    return make_tagged_vectors(1500, WIDTH, 40, rank=16, random_state=3).X


@pytest.fixture(scope="module")
def original(tmp_path_factory, X):
    """A saved index of vectors, with a rare label to filter by."""
    labels = [["odd" if n % 2 else "even", *(["rare"] if n % 50 == 0 else [])] for n in range(1500)]
    index = SemanticIndex(estimator=LSI(12)).fit([""] * 1500, labels, vectors=X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann, "LARGE", 20)
        index.save(folder := tmp_path_factory.mktemp("size") / "index")
    index.search(X[0])
    assert index.search_by_ == "exact"
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "index"))


def names(hits):
    return [hit.id for hit in hits]


# --- an index and its links ---------------------------------------------------------------


def test_a_saved_large_index_is_searched_approximately(folder, X, monkeypatch):
    with SemanticIndex.load(folder) as index:
        found = index.search(X[:20])
        assert index.search_by_ == "approximate"
        exact = index.search(X[:20], approximate=False)
        assert index.search_by_ == "exact"
        index.search(X[0], filter={"labels": "rare"})
        assert index.search_by_ == "exact"
    assert np.mean([names(a) == names(b) for a, b in zip(found, exact, strict=True)]) > 0.9
    # Another version of usearch, or none.
    monkeypatch.setattr(ann, "_version", lambda: "99.0")
    with SemanticIndex.load(folder) as index:
        assert index.search(X[:20]) == exact
        assert index.search_by_ == "exact"
    monkeypatch.setattr(ann, "find_spec", lambda name: None)
    with SemanticIndex.load(folder, write=True) as index:
        assert index.search(X[:20]) == exact
        index.save()
    assert not (generation(folder) / "usearch.arrays").exists()


def test_changes_are_found_and_a_save_links_them(folder, X, monkeypatch, caplog):
    with SemanticIndex.load(folder, write=True) as index:
        first = names(index.search(X[7]))[0]
        index.add(["copy"], [["odd"]], ["copy"], vectors=X[7:8]).remove(first)
        hits = names(index.search(X[7], 2))
        assert index.search_by_ == "approximate"
        assert hits[0] == "copy"
        assert first not in hits
        index.save()
        assert len(index.store.ann) == 1501
        assert names(index.search(X[7], 2)) == hits
        monkeypatch.setattr("labelspan.operators.machine.available_memory", lambda: 1000)
        index.save()
        assert index.store.ann is None
    assert "Search stays exact" in caplog.text


def test_damaged_links_are_refused(folder, X):
    path = generation(folder) / "usearch.arrays"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with (
        SemanticIndex.load(folder) as index,
        pytest.raises(InvalidFile, match=r"usearch\.arrays is damaged"),
    ):
        index.search(X[0])
    # A manifest that vouches for wrong links.
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    rewritten(folder, "usearch", usearch=np.zeros(5000, dtype="u1"))
    with SemanticIndex.load(folder) as index:
        with pytest.raises(InvalidFile, match="links for approximate search are not valid"):
            index.search(X[0])
        assert index.search(X[0], approximate=False)


def test_the_command_links_reports_and_searches(tmp_path):
    def run(*args):
        result = CliRunner().invoke(app, [str(arg) for arg in args], env={"TERM": "dumb"})
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    (tmp_path / "corpus.jsonl").write_text(as_lines(rows()))
    out = tmp_path / "texts"
    for way in ((), ("--stream",)):
        fit = ("fit", tmp_path / "corpus.jsonl", "-o", out, "--force", "--dimensions", 6, "--json")
        run(*fit, *way)
        assert run("info", out, "--json")["search"] == "approximate"
        search = ("search", "chess", "-i", out, "-n", 3, "--json")
        near, exact = run(*search), run(*search, "--exact")
        assert (near["search"], exact["search"]) == ("approximate", "exact")
        assert near["hits"] == exact["hits"]


# --- proposals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "k", "proposed"), [(1, 10, True), (0.9, 10, True), (0.2, 10, False), (1, 257, False)]
)
def test_approximate_search_finds_nearly_all_and_scores_are_exact(X, share, k, proposed):
    base = unit_rows(X - X.mean(axis=0))
    queries, vectors = base[:40], UnitVectors(base)
    mask = np.random.default_rng(0).random(len(base)) < share
    links = AnnIndex.build(base)
    found, used = nearest(vectors, links, queries, k, mask)
    assert used is proposed
    exact = vectors.top(queries, k, mask)
    hits = [len(set(a) & set(b)) / len(b) for (a, _), (b, _) in zip(found, exact, strict=True)]
    assert np.mean(hits) > 0.98
    for (own, scores), query in zip(found, queries, strict=True):
        assert mask[own].all()
        np.testing.assert_array_equal(scores, vectors.rank(query, own, k)[1])
    one, _ = nearest(vectors, links, queries[:1], k, mask)
    np.testing.assert_array_equal(one[0][0], found[0][0])


def test_wrong_links_are_refused_with_any_hash(X):
    count = len(X)
    content, empty = AnnIndex.build(X).content().tobytes(), bytes(ann._empty(WIDTH).save())
    check_ann(content, empty, count)
    nodes = 8 + count * 2 * WIDTH + 64 + 40
    ground = nodes + 2 * count
    wrong = [
        (0, (count + 1).to_bytes(4, "little")),  # rows
        (8 + count * 2 * WIDTH + 33, b"\xff"),  # head
        (nodes - 32, b"\x11"),  # links of a node
        (nodes - 16, b"\x09"),  # highest level
        (nodes - 8, b"\xff\xff"),  # entry
        (ground, count.to_bytes(8, "little")),  # key
        (ground + 8, b"\x01\x00"),  # level of a node
        (ground + 10, b"\x21"),  # count of links
        (ground + 14, count.to_bytes(4, "little")),  # link
    ]
    for place, data in wrong:
        changed = content[:place] + data + content[place + len(data) :]
        with pytest.raises(InvalidFile, match="not valid"):
            check_ann(changed, empty, count)
    for cut in (0, 3, 50, len(content) // 2, len(content) - 1):
        with pytest.raises(InvalidFile, match="not valid"):
            check_ann(content[:cut], empty, count)
