"""Word vectors as text: means of the vectors of words, read once."""

import gzip

import numpy as np
import pytest
from _support.tiny_models import MEANING

from labelspan.errors import InvalidFile
from labelspan.models import VectorStore, open_model


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def text_file(path, lines):
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


LINES = [f"{word} {a} {b}" for word, (a, b) in MEANING.items()]


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.vec.gz"])
def test_means_of_words(tmp_path, name):
    head = [f"{len(LINES) + 1} 2"] if name == "v.vec" else []
    path = text_file(tmp_path / name, [*head, *LINES, "Oslo 3 4"])
    model = open_model(path)
    found = model.vectors(["Car, cake!", "in OSLO", "nothing known", ""])
    np.testing.assert_allclose(found, [[0.5, 0.5], [3, 4], [0, 0], [0, 0]], atol=1e-6)
    # Vectors that cost nothing are not stored.
    np.testing.assert_array_equal(VectorStore().vectors(model, ["Car, cake!"]), found[:1])
    assert not VectorStore().path.exists()


def test_a_word_is_preferred_to_one_in_another_case(tmp_path):
    path = text_file(tmp_path / "v.txt", ["Apple 1 0", "apple 0 1", "New York 5 5"])
    np.testing.assert_array_equal(open_model(path).vectors(["an APPLE"]), [[0, 1]])


def test_the_file_is_read_once_and_again_after_a_change(tmp_path, monkeypatch, cache):
    path = text_file(tmp_path / "v.txt", LINES)
    first = open_model(path).vectors(["car"])
    assert len(list(cache.rglob("*.arrays"))) == 1
    with monkeypatch.context() as patch:
        patch.setattr("labelspan.models.word_vectors._from_text", lambda _: 1 / 0)
        np.testing.assert_array_equal(open_model(path).vectors(["car"]), first)
    text_file(path, ["car 7 7"])
    np.testing.assert_array_equal(open_model(path).vectors(["car"]), [[7, 7]])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["car 1 2", "bus 1"], "line 2: expected a word and 2 numbers"),
        (["car 1 2", "bus 1 x"], "line 2"),
        (["9 2", "car 1 2"], "cut off: it has 1 of 9"),
        (["car 1 nan"], "NaN"),
        ([], "no word vectors"),
    ],
)
def test_damaged_files(tmp_path, lines, message):
    with pytest.raises(InvalidFile, match=message):
        open_model(text_file(tmp_path / "v.txt", lines))


def test_a_cut_archive(tmp_path):
    path = text_file(tmp_path / "v.gz", LINES * 50)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidFile, match="cannot be read"):
        open_model(path)
