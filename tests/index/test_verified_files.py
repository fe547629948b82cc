"""Large files that were verified are not verified again until they change."""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from labelspan.errors import InvalidFile
from labelspan.index import SemanticIndex, ann, folder, verified_files, words
from labelspan.index.ann import ANN_FILE

TEXTS = ["red car", "blue car", "red boat", "green tree", "old tree", "blue boat"]
LABELS = [["car"], ["car"], ["boat"], ["tree"], ["tree"], ["boat"]]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verified_files, "_LARGE", 1)
    return tmp_path / "cache" / "labelspan" / "verified.json"


@pytest.fixture
def saved(tmp_path):
    """An index whose files have not changed for a while."""
    path = tmp_path / "index"
    SemanticIndex().fit(TEXTS, LABELS).save(path)
    for file in path.rglob("*"):
        os.utime(file, (1e9, 1e9))
    return path


@pytest.fixture
def verified(monkeypatch):
    """The names of files whose checksums were computed."""
    names = []
    check = folder._check_hash

    def counted(path, entry):
        names.append(Path(path).name)
        check(path, entry)

    monkeypatch.setattr(folder, "_check_hash", counted)
    return names


def ask(path, **options):
    with SemanticIndex.load(path, **options) as index:
        return [hit.id for hit in index.search("red car", 3)]


def arrays(names):
    return sorted(name for name in names if name.endswith(".npy"))


def overwrite_a_byte(path):
    """Change a file in its place."""
    with path.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-5, os.SEEK_END)
        file.write(bytes([byte ^ 1]))


def test_arrays_are_verified_once(cache, saved, verified, monkeypatch):
    first = ask(saved, lazy=True)
    assert "vectors.npy" in arrays(verified)
    assert "word_rows.npy" in arrays(verified)
    verified.clear()
    # Nor is it looked at again whether they fit together.
    monkeypatch.setattr(words, "within", None)
    assert ask(saved, lazy=True) == first
    assert arrays(verified) == []


def test_what_is_not_lazy_is_always_verified(cache, saved, verified):
    for _ in range(2):
        verified.clear()
        ask(saved)
        assert "vectors.npy" in arrays(verified)


def test_a_file_that_changes_is_verified_again(cache, saved, verified):
    ask(saved, lazy=True)
    file = next(saved.rglob("vectors.npy"))
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InvalidFile, match="its content is not what was written"):
        ask(saved, lazy=True)


def test_a_file_in_the_place_of_another_is_verified(cache, saved, verified):
    ask(saved, lazy=True)
    file = next(saved.rglob("vectors.npy"))
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    os.utime(copy, (1e9, 1e9))
    copy.replace(file)
    verified.clear()
    ask(saved, lazy=True)
    assert arrays(verified) == ["vectors.npy"]


def test_a_change_that_restores_the_time_is_noticed(cache, saved, verified):
    ask(saved, lazy=True)
    file = next(saved.rglob("vectors.npy"))
    overwrite_a_byte(file)
    os.utime(file, (1e9, 1e9))
    with pytest.raises(InvalidFile, match="its content is not what was written"):
        ask(saved, lazy=True)


def test_a_file_that_changed_just_now_is_not_remembered(cache, saved, verified):
    file = next(saved.rglob("vectors.npy"))
    os.utime(file)
    for _ in range(2):
        verified.clear()
        ask(saved, lazy=True)
        assert "vectors.npy" in arrays(verified)


def test_small_files_are_always_verified(cache, saved, verified, monkeypatch):
    monkeypatch.setattr(verified_files, "_LARGE", 1 << 26)
    for _ in range(2):
        verified.clear()
        ask(saved, lazy=True)
        assert "vectors.npy" in arrays(verified)
    assert not cache.exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', "[" * 100_000, None])
def test_a_cache_that_cannot_be_used_is_ignored(cache, saved, verified, content):
    cache.parent.mkdir(parents=True)
    if content is None:
        cache.mkdir()
    else:
        cache.write_text(content)
    assert ask(saved, lazy=True) == ask(saved, lazy=True)
    assert list(cache.parent.iterdir()) == [cache]


def test_the_cache_forgets_the_oldest_folders(cache, saved, monkeypatch):
    monkeypatch.setattr(verified_files, "_MOST_FOLDERS", 2)
    cache.parent.mkdir(parents=True)
    cache.write_text(json.dumps({"a": {}, "b": {}}))
    ask(saved, lazy=True)
    found = list(json.loads(cache.read_text()))
    assert found[0] == "b"
    assert len(found) == 2


def test_numbers_are_the_same_either_way(cache, saved):
    for _ in range(2):
        with SemanticIndex.load(saved, lazy=True) as index, SemanticIndex.load(saved) as other:
            np.testing.assert_array_equal(
                [hit.score for hit in index.search("blue", 4)],
                [hit.score for hit in other.search("blue", 4)],
            )


# --- the file for approximate search --------------------------------------------------------

needs_usearch = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: pip install 'labelspan[ann]'"
)


@pytest.fixture
def saved_with_ann(tmp_path):
    """An index with a file for approximate search; none has changed for a while."""
    path = tmp_path / "index"
    SemanticIndex(approximate_from=1).fit(TEXTS, LABELS).save(path)
    with SemanticIndex.load(path) as index:
        index.prepare_search()
    for file in path.rglob("*"):
        os.utime(file, (1e9, 1e9))
    return path


@pytest.fixture
def ann_checks(monkeypatch):
    """The checks of the file for approximate search that were made."""
    made = []

    def counted(name):
        check = getattr(ann, name)

        def run(*args):
            made.append(name)
            return check(*args)

        monkeypatch.setattr(ann, name, run)

    counted("_verify")
    counted("check_ann")
    return made


def search_by(path, **options):
    """Search, and return how it was done, and why not by the file."""
    with SemanticIndex.load(path, **options) as index:
        index.search("red car", 3)
        return index.search_by_, index.search_cache().reason


@needs_usearch
@pytest.mark.parametrize("mapped", [True, False])
def test_the_ann_file_is_verified_once(cache, saved_with_ann, ann_checks, mapped):
    for expected in (["_verify", "check_ann"], []):
        ann_checks.clear()
        assert search_by(saved_with_ann, lazy=True, mapped=mapped) == ("approximate", "")
        assert ann_checks == expected
    # Both are remembered: neither replaces what is known of the other.
    (known,) = json.loads(cache.read_text()).values()
    assert {ANN_FILE, "vectors.npy"} <= set(known)


@needs_usearch
@pytest.mark.parametrize("options", [{}, {"lazy": True, "verify": False}], ids=str)
def test_the_ann_file_is_always_verified_otherwise(cache, saved_with_ann, ann_checks, options):
    search_by(saved_with_ann, lazy=True)
    ann_checks.clear()
    assert search_by(saved_with_ann, **options) == ("approximate", "")
    assert ann_checks == ["_verify", "check_ann"]


@needs_usearch
@pytest.mark.parametrize("opened_before", [True, False])
def test_a_changed_ann_file_is_refused(cache, saved_with_ann, opened_before):
    if opened_before:
        assert search_by(saved_with_ann, lazy=True) == ("approximate", "")
    overwrite_a_byte(next(saved_with_ann.rglob(ANN_FILE)))
    for _ in range(2):
        way, reason = search_by(saved_with_ann, lazy=True)
        assert way == "exact"
        assert "its content is not what was written" in reason


@needs_usearch
def test_an_ann_file_that_is_built_again_is_verified_again(cache, saved_with_ann, ann_checks):
    search_by(saved_with_ann, lazy=True)
    file = next(saved_with_ann.rglob(ANN_FILE))
    # The same bytes in another file.
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    os.utime(copy, (1e9, 1e9))
    copy.replace(file)
    for expected in (["_verify", "check_ann"], []):
        ann_checks.clear()
        assert search_by(saved_with_ann, lazy=True) == ("approximate", "")
        assert ann_checks == expected


@needs_usearch
def test_a_verified_ann_file_of_another_usearch_is_refused(cache, saved_with_ann, monkeypatch):
    search_by(saved_with_ann, lazy=True)
    monkeypatch.setattr(ann.metadata, "version", lambda name: "99.0")
    way, reason = search_by(saved_with_ann, lazy=True)
    assert way == "exact"
    assert "its usearch differs" in reason
