"""Files of arrays: there and back, damage, and headers that lie."""

import tracemalloc

import numpy as np
import pytest
from _support.stored import crafted

from labelspan._arrays import ArrayFile, Rows, write_arrays
from labelspan.errors import InvalidFile
from labelspan.index.folder import ArrayBlocks

ARRAYS = {
    "floats": np.linspace(0, 1, 12, dtype="f4").reshape(4, 3),
    "nothing": np.zeros((0, 5)),
    "bytes": np.frombuffer(b"labels", dtype="u1"),
    "wide": np.asfortranarray(np.arange(6).reshape(2, 3)),
}


@pytest.mark.parametrize("mapped", [True, False])
def test_arrays_come_back(tmp_path, mapped):
    entry = write_arrays(tmp_path / "x.arrays", ARRAYS, made="here")
    found = ArrayFile(tmp_path / "x.arrays", mapped=mapped)
    assert found.entry == entry
    assert (list(found.arrays()), found.about) == (list(ARRAYS), {"made": "here"})
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found.array(name), array, strict=True)
        assert not found.array(name).flags.writeable
    assert list(found.arrays("f")) == ["loats"]
    for missing in (found.array, found.arrays().__getitem__):
        with pytest.raises(InvalidFile, match="'other'"):
            missing("other")


def test_arrays_of_numbers_are_written_whole_or_by_parts(tmp_path):
    whole = np.arange(20, dtype="f4").reshape(10, 2)
    parts = Rows((10, 2), "<f4", (whole[n : n + 3] for n in range(0, 10, 3)))
    assert write_arrays(tmp_path / "a", {"x": parts}) == write_arrays(tmp_path / "b", {"x": whole})
    before = (tmp_path / "a").read_bytes()
    wrong = [(Rows((n, 2), "<f4", [whole]), "does not have the shape") for n in (9, 11)]
    other = (np.array(["text"]), np.array([{}], dtype=object), np.zeros(2, dtype="c16"))
    for array, message in wrong + [(one, "are not written") for one in other]:
        with pytest.raises(InvalidFile, match=message):
            write_arrays(tmp_path / "a", {"x": array})
    assert (tmp_path / "a").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_every_byte_is_guarded(tmp_path):
    path = tmp_path / "x.arrays"
    write_arrays(path, ARRAYS)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    changed = [bytearray(content) for _ in content]
    for place, copy in enumerate(changed):
        copy[place] ^= 1 << int(rng.integers(8))
    cuts = [content[:n] for n in range(0, len(content), 7)]
    for damaged in [*changed, *cuts, content + b"\0", content + content]:
        path.write_bytes(damaged)
        with pytest.raises(InvalidFile, match=r"x\.arrays is damaged"):
            ArrayFile(path).array("nothing")


def described(kind, *shape):
    return {"arrays": {"x": [kind, list(shape)]}, "about": {}}


LIES = {
    "terabytes": described("<f4", 10**12, 5),
    "more than a number": described("<f4", 2**62, 2**62),
    "a larger type": described("<f8", 4),
    "negative": described("<f4", -4),
    "a fraction": described("<f4", 4.0),
    "words": described("<f4", "4"),
    "true": described("<f4", True, 4),
    "many dimensions": described("<f4", *[1] * 80, 4),
    "objects": described("|O", 4),
    "records": described("|V1000000000000", 4),
    "no shape": {"arrays": {"x": ["<f4"]}, "about": {}},
    "a list": [1],
    "deep": b"[" * 200_000,
    "latin-1": '{"a": "\xe9"}'.encode("latin-1"),
}


def test_headers_that_lie_take_no_memory(tmp_path):
    path = tmp_path / "x.arrays"

    def read(head, size=16):
        content = crafted(head)[:-32]
        path.write_bytes(content + bytes(-len(content) % 64 + size + 32))
        return ArrayFile(path, verify=False).array("x")

    assert read(described("<f4", 4)).tolist() == [0, 0, 0, 0]
    for name, head in LIES.items():
        tracemalloc.start()
        with pytest.raises(InvalidFile, match=r"x\.arrays is damaged"):
            read(head)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000, name
        tracemalloc.stop()
    for shape in ((0, 2**62, 2**62), (0,) * 70, (0, 10**30)):
        with pytest.raises(InvalidFile, match="no valid array 'x'"):
            read(described("<f4", *shape), 0)
    with path.open("wb") as file:
        file.write(b"labelspan array\n" + (1 << 39).to_bytes(8, "little"))
        file.truncate(1 << 40)
    with pytest.raises(InvalidFile, match="not a file of arrays"):
        ArrayFile(path)


def test_blocks_go_on_after_the_last_whole_one(tmp_path):
    blocks = ArrayBlocks(tmp_path / "blocks")
    for number in range(2):
        blocks.append({"values": np.arange(number + 1)})
    (tmp_path / "blocks" / ".000002.arrays.0a1b2c3d").write_bytes(b"half a bl")
    again = ArrayBlocks(tmp_path / "blocks")
    assert len(again) == 2
    again.append({"values": np.arange(5)})
    assert [len(block["values"]) for block in ArrayBlocks(tmp_path / "blocks")] == [1, 2, 5]
