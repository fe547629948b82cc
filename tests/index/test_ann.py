"""The cache for approximate search: used, built again, and never trusted."""

import importlib.metadata
import json
import logging
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from _support.tagged import as_lines, rows
from typer.testing import CliRunner

from labelspan import LSI, SemanticIndex
from labelspan.cli import app
from labelspan.datasets import make_tagged_vectors
from labelspan.errors import InvalidFile, InvalidParameter, Mismatch
from labelspan.index import ann
from labelspan.index.ann import ANN_FILE, AnnCache
from labelspan.web.snapshot import Snapshot

needs_usearch = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: pip install 'labelspan[ann]'"
)
WIDTH = 24


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A saved index of vectors, with labels and metadata to filter by."""
    folder = tmp_path_factory.mktemp("size") / "index"
    X = make_tagged_vectors(1500, WIDTH, 40, rank=16, random_state=3).X
    labels = [["odd" if n % 2 else "even", *(["rare"] if n % 50 == 0 else [])] for n in range(1500)]
    index = SemanticIndex(estimator=LSI(12))
    index.fit([""] * 1500, labels, vectors=X, metadata=[{"n": n % 3} for n in range(1500)])
    index.save(folder)
    np.save(folder.parent / "X.npy", X)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "index"))


@pytest.fixture(scope="module")
def X(original):
    return np.load(original.parent / "X.npy")


def ann_file(folder):
    (generation,) = folder.glob("generation-*")
    return generation / ANN_FILE


def names(hits):
    return [hit.id for hit in hits]


# --- an index and its cache ---------------------------------------------------------------


@needs_usearch
def test_an_index_uses_an_existing_cache(folder, X):
    with SemanticIndex.load(folder) as index:
        exact = index.search(X[:20])
        assert index.search_by_ == "exact"
        assert index.search_cache().reason == "none was built"
        assert not ann_file(folder).exists()
        index.prepare_search()
        found = index.search(X[:20])
        assert index.search_by_ == "approximate"
        assert index.search(X[:20], approximate=False) == exact
        assert index.search_by_ == "exact"
    assert np.mean([names(a) == names(b) for a, b in zip(found, exact, strict=True)]) > 0.9
    with SemanticIndex.load(folder) as other:
        # From the file: the same answers, and nothing is built.
        before = ann_file(folder).stat().st_mtime_ns
        assert other.search(X[:20]) == found
        assert other.search_by_ == "approximate"
        assert other.search_cache().vectors == 1500
        assert ann_file(folder).stat().st_mtime_ns == before
        other.search(X[0], approximate=True)
        assert other.search_by_ == "approximate"
        other.search(X[0], filter={"labels": "rare"}, approximate=True)
        assert other.search_by_ == "exact"


@needs_usearch
def test_adding_and_removing_keep_the_cache_and_saving_drops_it(folder, X):
    with SemanticIndex.load(folder, write=True) as index:
        first = names(index.prepare_search().search(X[7]))[0]
        index.add(["copy"], [["odd"]], ["copy"], vectors=X[7:8]).remove(first)
        hits = names(index.search(X[7], 2))
        assert index.search_by_ == "approximate"
        assert hits[0] == "copy"
        assert first not in hits
        index.save()
        assert not ann_file(folder).exists()
        assert names(index.search(X[7], 2)) == hits
        assert index.search_by_ == "exact"
        assert names(index.search(X[7], 2, approximate=True)) == hits
        assert index.search_cache().vectors == 1501
        assert ann_file(folder).exists()


def test_without_usearch_search_is_exact_and_says_so(folder, X, monkeypatch):
    monkeypatch.setattr(ann, "find_spec", lambda name: None)
    with SemanticIndex.load(folder) as index:
        hits = index.search(X[:3])
        assert index.search_by_ == "exact"
        assert hits == index.search(X[:3], approximate=False)
        assert index.search_cache() == ann.AnnState(0, 0, "usearch is not installed")
        for ask in (lambda: index.search(X[0], approximate=True), index.prepare_search):
            with pytest.raises(Mismatch, match=r"needs usearch.*pip install '.*\[ann\]'"):
                ask()
        with pytest.raises(InvalidParameter, match="approximate must be True, False or None"):
            index.search(X[0], approximate="yes")


# --- damage -------------------------------------------------------------------------------


def damages(content):
    rng = np.random.default_rng(0)
    yield "empty", b""
    yield "cut", content[: len(content) // 2]
    yield "short", content[:20]
    yield "longer", content + b"\0"
    yield "foreign", b"\x93NUMPY" + bytes(5000)
    for place in [3, 17, 30, 200, *rng.integers(len(content), size=12)]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        yield f"flipped at {place}", bytes(flipped)


@needs_usearch
def test_a_damaged_cache_is_not_used_and_built_again(folder, X, caplog):
    with SemanticIndex.load(folder) as index:
        good = names(index.prepare_search().search(X[3]))
        exact = names(index.search(X[3], approximate=False))
    path = ann_file(folder)
    content = path.read_bytes()
    for what, damaged in damages(content):
        path.write_bytes(damaged)
        loaded = SemanticIndex.load(folder, verify=False)
        with loaded as index, caplog.at_level(logging.WARNING):
            assert names(index.search(X[3])) == exact, what
            assert index.search_by_ == "exact", what
            assert str(path) in index.search_cache().reason, what
    assert "is not used" in caplog.text
    with SemanticIndex.load(folder) as index:
        assert names(index.search(X[3], approximate=True)) == good
    assert path.read_bytes() == content


@needs_usearch
def test_a_cache_of_other_vectors_is_out_of_date(folder, tmp_path, X, monkeypatch):
    with SemanticIndex.load(folder) as index:
        index.prepare_search()
    content = ann_file(folder).read_bytes()
    other = SemanticIndex(estimator=LSI(12))
    other.fit([""] * 1500, vectors=X + 1e-3).save(tmp_path / "other")
    ann_file(tmp_path / "other").write_bytes(content)
    with SemanticIndex.load(tmp_path / "other") as loaded:
        assert "its vectors differs" in loaded.search_cache().reason
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    with SemanticIndex.load(folder) as loaded:
        assert "its usearch differs" in loaded.search_cache().reason
        loaded.search(X[0])
        assert loaded.search_by_ == "exact"
        # Built by the one that is installed now, it is used.
        loaded.prepare_search()
    with SemanticIndex.load(folder) as loaded:
        assert loaded.search_cache().vectors == 1500


@needs_usearch
def test_a_link_or_a_folder_in_its_place_is_not_followed(folder, tmp_path):
    with SemanticIndex.load(folder) as index:
        index.prepare_search()
    path = ann_file(folder)
    aside = path.rename(tmp_path / "aside")
    path.symlink_to(aside)
    with SemanticIndex.load(folder) as index:
        assert "not a regular file" in index.search_cache().reason
    path.unlink()
    path.mkdir()
    with SemanticIndex.load(folder) as index:
        assert "not a regular file" in index.search_cache().reason
        # What cannot be written is held.
        assert index.prepare_search().search_cache().vectors == 1500


# --- at the same time ---------------------------------------------------------------------


@needs_usearch
def test_a_full_disk_leaves_no_part_of_a_cache(folder, X, monkeypatch, caplog):
    def full(path, *_, **about):
        raise InvalidFile(f"{path} cannot be written: No space left on device.")

    monkeypatch.setattr("labelspan.index.ann.write_arrays", full)
    with SemanticIndex.load(folder) as index, caplog.at_level(logging.WARNING):
        assert len(index.search(X[0], approximate=True)) == 10
        assert index.search_by_ == "approximate"
    assert "in memory only" in caplog.text
    assert not ann_file(folder).exists()


# --- the command, the explorer and the page -------------------------------------------------


def run(*args, **options):
    env = {"COLUMNS": "120", "TERM": "dumb"}
    result = CliRunner().invoke(app, [str(arg) for arg in args], env=env, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """An index made by the command, which takes 20 items for many."""
    monkeypatch.setattr(ann, "LARGE", 20)
    (tmp_path / "corpus.jsonl").write_text(as_lines(rows()))
    run("fit", tmp_path / "corpus.jsonl", "-o", tmp_path / "texts", "--dimensions", 6)
    return tmp_path / "texts"


@needs_usearch
def test_the_command_builds_reports_and_uses_the_cache(texts):
    about = json.loads(run("info", texts, "--json"))
    assert about["search"] == "approximate"
    assert about["search_cache"]["vectors"] == 48
    assert "48 vectors, 0.0 MB" in run("info", texts)
    search = ("search", "-i", texts, "-n", 3, "--json")
    plain, near, exact = (
        json.loads(run(*search, "chess", *way)) for way in ((), ("--approximate",), ("--exact",))
    )
    assert (plain["search"], near["search"], exact["search"]) == (*["approximate"] * 2, "exact")
    assert plain["hits"] == near["hits"] == exact["hits"]
    lines = run(*search, "-", input="chess\npaint\n").splitlines()
    assert [json.loads(line)["query"] for line in lines] == ["chess", "paint"]
    assert json.loads(lines[0])["hits"] == plain["hits"]
    ann_file(texts).unlink()
    about = json.loads(run("info", texts, "--json"))
    assert (about["search"], about["search_cache"]["reason"]) == ("exact", "none was built")
    assert "none (none was built)" in run("info", texts)
    assert json.loads(run(*search, "chess"))["search"] == "exact"
    assert not ann_file(texts).exists()
    run(*search, "chess", "--approximate")
    assert ann_file(texts).exists()


@needs_usearch
def test_the_explorer_builds_the_cache_of_a_large_index(folder, monkeypatch, caplog):
    with SemanticIndex.load(folder, mapped=False) as index:
        snapshot = Snapshot(index)
        snapshot.prepare_search()
        assert not ann_file(folder).exists()
        monkeypatch.setattr(ann, "LARGE", 1000)
        monkeypatch.setattr(AnnCache, "prepare", lambda *args: 1 / 0)
        snapshot.prepare_search()
        assert "could not be prepared" in caplog.text
        monkeypatch.undo()
        monkeypatch.setattr(ann, "LARGE", 1000)
        snapshot.prepare_search()
        assert ann_file(folder).exists()
