"""Large files that were verified are not verified again until they change."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from labelspan.errors import InvalidFile
from labelspan.index import SemanticIndex, folder, verified_files, words

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
def test_a_cache_that_cannot_be_used_is_no_error(cache, saved, verified, content):
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
