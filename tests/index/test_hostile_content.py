"""Content that a manifest vouches for and that is still hostile: no code, no memory, no hang."""

import copy
import io
import json
import pickle
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from _support.forks import forked
from _support.hostile import Payload, attempt, header, refused, sample, works
from _support.stored import edited, generation, replaced

from labelspan.errors import LabelspanError
from labelspan.index.files import parse_json
from labelspan.index.folder import read_manifest, write_manifest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and pipes")


# --- the manifest -------------------------------------------------------------------------

DEEP = json.loads("[" * 400 + "]" * 400)
NASTY = [
    None, True, -1, 0, 3, 10**12, 2**63, 10**30, 1.5, float("nan"), float("inf"), "", "x", "../x",
    "/etc/passwd", "\0", "a" * 5000, "é\u202e\n", [], [1], ["x"], {}, {"a": 1}, DEEP,
]  # fmt: skip


def places(value, path=()):
    """The way to every entry of a manifest."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in inner:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def test_any_value_in_any_place_of_the_manifest(small):
    whole = read_manifest(small)
    before = attempt(small)
    every = [(path, value) for path in places(whole) for value in NASTY]
    chosen = sample(every, 200)
    loaded = 0
    for path, value in chosen:
        content = copy.deepcopy(whole)
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        write_manifest(small, content)
        # What is not needed may be anything; nothing but an answer or a sentence comes of it.
        loaded += not isinstance(attempt(small), str)
    print(f"\n{len(chosen)} of {len(every)} manifests: {loaded} loaded")
    assert loaded < len(chosen) / 5
    write_manifest(small, whole)
    assert attempt(small) == before


def test_any_entry_of_the_manifest_missing(small):
    whole = read_manifest(small)
    for path in sample(places(whole), 40):
        content = copy.deepcopy(whole)
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        write_manifest(small, content)
        attempt(small)


BROKEN = {
    "a name twice": b'{"a": 1, "a": 1}',
    "deep": b"[" * 200_000,
    "deep and closed": b"[" * 900 + b"]" * 900,
    "latin-1": '{"a": "\xe9"}'.encode("latin-1"),
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "a long number": b"9" * 10_000,
    "half a character": b'{"a": "\\ud800"}',
    "nothing": b"",
    "a pickle": pickle.dumps({"a": 1}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_json(name, small):
    (small / "manifest.json").write_bytes(BROKEN[name])
    refused(small, "manifest.json")


@pytest.mark.parametrize("name", BROKEN)
def test_broken_json_with_the_right_hash(name, small):
    replaced(small, "labels.json", BROKEN[name])
    refused(small)


def test_a_name_that_comes_twice_is_refused(small):
    """The last would count, and readers of other languages take the first."""
    path = small / "manifest.json"
    text = path.read_text()
    path.write_text(text.replace('"format":', '"format": "labelspan-index", "format":', 1))
    refused(small, "cannot be read as JSON")
    with pytest.raises(LabelspanError):
        parse_json(b'{"a": {"b": 1, "b": 2}}', path)


@pytest.mark.parametrize(
    "words", [3, "chess", None, {"chess": 0}, [1, 2], [["a"]], [None], ["a", "a"], []]
)
def test_labels_are_lists_of_strings(words, small):
    replaced(small, "labels.json", json.dumps(words).encode())
    refused(small)


@pytest.mark.parametrize(
    "words", [b"", b"chess", b"\xff\n", b"a\na\n", b"\n" * 9, bytes(100), b"a\n" * 10**5]
)
@pytest.mark.parametrize("name", ["features_words.npy", "vocabulary_words.npy"])
def test_words_are_different_strings(name, words, small):
    replaced(small, name, array_file(np.frombuffer(words, dtype=np.uint8)))
    edited(small, lambda content: content["files"][name].update(shape=[len(words)]))
    refused(small)


@pytest.mark.parametrize(
    "values",
    [
        {"_stream": 3},
        {"n_components_": True},
        {"n_components_": 2.0},
        {"n_features_in_": "x"},
    ],
)
def test_results_that_no_fit_leaves(values, small):
    edited(small, lambda content: content["estimator"]["values"].update(values))
    refused(small)


# --- arrays -------------------------------------------------------------------------------


def array_file(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def hidden(mark):
    """Files in which code waits to be unpickled."""
    bad = Payload(mark)
    objects = array_file(np.array([bad, bad], dtype=object), allow_pickle=True)
    fields = np.zeros(2, dtype=[("a", "<f4"), ("b", "O")])
    fields["b"] = [bad, bad]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("vectors.npy", objects)
    plain = header("{'descr': '<f4', 'fortran_order': False, 'shape': (8, 2), }")
    return {
        "an array of objects": objects,
        "objects in a field": array_file(fields, allow_pickle=True),
        "a bare pickle": pickle.dumps(bad),
        "an old pickle": pickle.dumps(bad, protocol=0),
        "an archive": packed.getvalue(),
        "behind a plain header": plain + pickle.dumps(bad),
        "in the header": header(f"__import__('pathlib').Path({str(mark)!r}).touch()"),
        "a second version": header("{'descr': '|O', 'shape': (2,), }", b"\x02\x00"),
    }


def test_no_code_is_run(small, tmp_path):
    mark = tmp_path / "ran"
    works(mark)
    whole = read_manifest(small)
    for name in ("vectors.npy", "features_idf.npy", "space_weights.npy", "labels.json"):
        old = (generation(small) / name).read_bytes()
        for where, content in hidden(mark).items():
            for kind in ("<f4", "|O"):
                replaced(small, name, content)
                edited(small, lambda c, n=name, k=kind: c["files"][n].update(dtype=k, shape=[8, 2]))
                # Behind the header of a plain array they are its numbers, and nothing more.
                numbers = (where, name, kind) == ("behind a plain header", "vectors.npy", "<f4")
                for verify in (True, False):
                    assert isinstance(attempt(small, verify=verify), str) != numbers
        (generation(small) / name).write_bytes(old)
        write_manifest(small, whole)
    assert not mark.exists()


def test_a_header_as_long_as_the_file_is_not_read(small):
    """The second version of the format counts its header by gigabytes."""
    path = generation(small) / "vectors.npy"
    length = 1 << 26
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (length - 12).to_bytes(4, "little"))
        file.truncate(length)
    part = {"bytes": length, "shape": [length // 8 - 2, 2]}
    edited(small, lambda content: content["files"]["vectors.npy"].update(part))
    tracemalloc.start()
    try:
        refused(small, "cannot be read as an array", verify=False)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


# --- sizes that promise terabytes ---------------------------------------------------------

LARGE = """
import resource, sys
from pathlib import Path
from _support.forks import forked
from _support.hostile import altered, attempt, refused, tiny
from _support.stored import edited, generation, replaced
from _support.forks import forked
from _support.hostile import header

small = tiny(Path(sys.argv[1]))
attempt(small)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
inner = generation(small)
whole = (small / "manifest.json").read_bytes()
count = 0


def check(match=""):
    global count
    for verify in (True, False):
        refused(small, match, verify=verify, seconds=20)
    (small / "manifest.json").write_bytes(whole)
    count += 1


for name in ("vectors.npy", "features_idf.npy"):
    old = (inner / name).read_bytes()
    for shape in ("(10**12, 2)", "(1000000000000, 2)", "(8, 1000000000000)", "(%s,)" % 10**20):
        for kind in ("<f4", "|V1000000000000"):
            said = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
            replaced(small, name, header(said) + bytes(64))
            check(name)
    # A header of four gigabytes, in a format whose headers may be as long.
    with (inner / name).open("wb") as file:
        file.write(b"\\x93NUMPY\\x02\\x00\\xff\\xff\\xff\\xff")
        file.truncate(1 << 40)
    check(name)
    def grown(content):
        content["files"][name].update(bytes=1 << 40)
    edited(small, grown)
    check(name)
    (inner / name).write_bytes(old)
old = (inner / "vectors.npy").read_bytes()
for shape in ([0, 2**62, 2**62], [0] * 70, [0, 10**30], [2**40, 2**40], [1] * 40, [10**12]):
    def shaped(content):
        content["files"]["vectors.npy"].update(shape=shape)
    edited(small, shaped)
    check()
    replaced(small, "vectors.npy", b"")
    edited(small, shaped)
    check()
    (inner / "vectors.npy").write_bytes(old)
for name in ("labels.json",):
    old = (inner / name).read_bytes()
    with (inner / name).open("r+b") as file:
        file.truncate(1 << 40)
    check(name)
    def said(content):
        content["files"][name].update(bytes=1 << 40)
    edited(small, said)
    check(name)
    (inner / name).write_bytes(old)
with (small / "manifest.json").open("r+b") as file:
    file.truncate(1 << 40)
check("is too large")
def dimensions(content):
    content["estimator"]["values"].update(n_components_=10**12, n_features_in_=10**12)
edited(small, dimensions)
check()
altered(small, "UPDATE about SET value = 1 << 50 WHERE name = 'next'")
check("items.sqlite")
print(count)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are Linux's")
def test_sizes_that_promise_terabytes_take_no_memory(tmp_path):
    done = forked(LARGE, tmp_path / "index")
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) > 35
