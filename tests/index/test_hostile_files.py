"""Every byte, every cut and every exchange of a saved index: as before, or an error message."""

import shutil
import sys

import numpy as np
import pytest
from _support.hostile import THOROUGH, aside, attempt, changed, files, refused, sample
from _support.stored import answers, generation, made
from _support.topics import corpus

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.index.folder import read_manifest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM")

# Nobody reads the room that SQLite leaves in its pages.
LOOSE = "items.sqlite"


@pytest.fixture
def before(small):
    return attempt(small)


def test_the_index_is_what_it_should_be(small, before):
    assert not isinstance(before, str)
    named = set(read_manifest(small)["files"])
    assert set(files(small)) == {"manifest.json", "items.sqlite", *named}
    # Each of these parts has files of its own.
    starts = ("estimator_", "features_", "segment0_", "space_", "tagger_", "vocabulary_")
    assert {name.partition("_")[0] + "_" for name in named if "_" in name} == set(starts)


def count_flips(folder, before, cases):
    """Flip a bit of a byte at a time; gives how many were refused, and how many did no harm."""
    refusals = harmless = 0
    for name, place, bit in cases:
        path = files(folder)[name]
        content = bytearray(path.read_bytes())
        content[place] ^= 1 << bit
        with changed(path, bytes(content)):
            found = attempt(folder)
        if isinstance(found, str):
            refusals += 1
        else:
            assert name == LOOSE, (name, place, bit)
            assert found == before, (name, place, bit)
            harmless += 1
    return refusals, harmless


def test_flipped_bytes(small, before, record_property):
    rng = np.random.default_rng(0)
    cases = [
        (name, place, int(rng.integers(8)))
        for name, path in files(small).items()
        for place in range(path.stat().st_size)
    ]
    chosen = sample(cases, 200)
    refusals, harmless = count_flips(small, before, chosen)
    record_property("flips", f"{len(chosen)} of {len(cases)}: {refusals}, {harmless} harmless")
    if THOROUGH:
        print(f"\n{len(chosen)} bytes: {refusals} refused, {harmless} harmless")
    assert refusals > len(chosen) / 4
    assert attempt(small) == before


def test_every_byte_of_the_headers_is_guarded(small, before):
    heads = [
        (name, place, 3)
        for name, path in files(small).items()
        for place in range(min(128, path.stat().st_size))
        if name in {"manifest.json", "vectors.npy", LOOSE}
    ]
    count_flips(small, before, sample(heads, 60))


def cuts(path):
    """Where a file is cut: at its ends, at its header's parts, and at every block."""
    size = path.stat().st_size
    step = 4096 if path.suffix == ".sqlite" else 64
    near = {n + d for n in range(0, size, step) for d in (-1, 0, 1)}
    return sorted(n for n in {0, 1, 6, 8, 10, 16, 100, size - 1} | near if 0 <= n < size)


def test_cut_files(small, before):
    cases = [(name, place) for name, path in files(small).items() for place in cuts(path)]
    for name, place in sample(cases, 150):
        path = files(small)[name]
        with changed(path, path.read_bytes()[:place]):
            refused(small)
    for path in files(small).values():
        for more in (b"\0", b"{}", path.read_bytes()):
            with changed(path, path.read_bytes() + more):
                found = attempt(small)
            assert isinstance(found, str) or (path.name == LOOSE and found == before)
    assert attempt(small) == before


def test_files_in_the_place_of_others(small, before):
    found = files(small)
    pairs = [(a, b) for a in found for b in found if a < b]
    for one, two in sample(pairs, 60):
        contents = found[one].read_bytes(), found[two].read_bytes()
        with changed(found[one], contents[1]), changed(found[two], contents[0]):
            refused(small)
    assert attempt(small) == before


def test_parts_of_another_index(small, before, tmp_path):
    texts, labels, ids, metadata = corpus(8, seed=1)
    other = SemanticIndex(estimator=MLSI(2)).fit(texts, labels, ids, metadata=metadata)
    other.save(tmp_path / "other")
    foreign = files(tmp_path / "other")
    different = 0
    for name, path in files(small).items():
        content = foreign[name].read_bytes()
        if content != path.read_bytes():
            different += 1
            with changed(path, content):
                refused(small)
    assert different > 10
    assert attempt(small) == before


def test_parts_that_are_missing_or_too_many(small, before):
    for name, path in files(small).items():
        with aside(path):
            said = refused(small)
        assert name in said or "There is no index" in said
    inner = generation(small)
    with aside(inner):
        refused(small, inner.name)
    more = [inner / "more.npy", inner / ".vectors.npy.0a1b2c3d", inner / "code.py", inner / "sub"]
    more += [small / "generation-00000000", small / "__init__.py"]
    for path in more[:3]:
        path.write_bytes(b"import os")
    for path in more[3:]:
        path.mkdir()
    try:
        assert attempt(small) == before
    finally:
        for path in more:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_model_of_vectors_only(tmp_path):
    """Without words and labels: another set of files, all of them guarded."""
    X = np.random.default_rng(0).standard_normal((6, 4))
    index = SemanticIndex(estimator=LSI(2)).fit([""] * 6, vectors=X)
    index.save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index") as loaded:
        before = loaded.search(X[0])
    rng = np.random.default_rng(1)
    cases = [
        (path, int(place))
        for name, path in files(tmp_path / "index").items()
        if name != LOOSE
        for place in range(path.stat().st_size)
    ]
    for path, place in sample(cases, 60):
        content = bytearray(path.read_bytes())
        content[place] ^= 1 << int(rng.integers(8))
        with changed(path, bytes(content)):
            refused(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index") as loaded:
        assert loaded.search(X[0]) == before


def test_unverified_damage_never_crashes(small, before, monkeypatch):
    """Only sizes and shapes are checked: the result is an answer or an error of labelspan."""
    monkeypatch.setattr("labelspan.index.files._SMALL", 0)
    monkeypatch.setattr("labelspan.index.saved._SMALL_DATABASE", 0)
    rng = np.random.default_rng(2)
    names = list(files(small))
    cases = [(n, p) for n in names for p in range(files(small)[n].stat().st_size)]
    for name, place in sample(cases, 150):
        path = files(small)[name]
        content = bytearray(path.read_bytes())
        content[place] = int(rng.integers(256))
        with changed(path, bytes(content)):
            attempt(small, verify=False)
    assert attempt(small, verify=False) == before


def test_damage_is_refused_to_writers_too(small, before):
    for name, path in files(small).items():
        content = path.read_bytes()
        with changed(path, content[: len(content) // 2]):
            refused(small, write=True)
        assert answers(SemanticIndex.load(small)) == before, name
    assert made(8, estimator=MLSI(2)).save(small) is not None
    assert attempt(small, write=True) == before
