"""Stored vectors: nothing is encoded twice, whatever stops or runs at the same time."""

import itertools
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from labelspan.errors import InvalidFile, InvalidInput, MissingData
from labelspan.models import TextModel, VectorStore

TEXTS = [f"text {'and more ' * (n % 7)}{n}" for n in range(50)]


class Counting(TextModel):
    """Vectors by a hash of the text; remembers what it was asked."""

    name = "counting"
    batch = 8

    def __init__(self, seed=0, fail_after=10**9):
        self.seed, self.asked, self.fail_after = seed, [], fail_after

    def _encode(self, texts, *, query):
        if len(self.asked) + len(texts) > self.fail_after:
            raise KeyboardInterrupt
        self.asked += texts
        rows = [np.frombuffer(text.encode().ljust(64)[:64], "u1") for text in texts]
        return np.sin(np.array(rows, dtype="f8") * (1 + self.seed))

    def fresh(self):
        """What was asked since, without the probes."""
        found, self.asked = [one for one in self.asked if one in TEXTS], []
        return found


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path / "vectors.sqlite")


def test_a_text_is_encoded_once(store):
    model = Counting()
    first = store.vectors(model, [*TEXTS, TEXTS[3]])
    assert sorted(model.fresh()) == sorted(TEXTS)
    np.testing.assert_array_equal(first[3], first[-1])
    np.testing.assert_array_equal(first[:-1], model.vectors(TEXTS))
    # Another collection, another order, another process: only what is new.
    model = Counting()
    found = store.vectors(model, ["new", *TEXTS[::-1]])
    assert "new" in model.asked
    assert model.fresh() == []
    np.testing.assert_array_equal(found[1:], first[:-1][::-1])


def test_batches_have_texts_of_about_one_length_and_progress(store):
    told = []
    store.vectors(Counting(), TEXTS, lambda *about: told.append(about))
    assert [done for done, _, _ in told] == [8, 16, 24, 32, 40, 48, 50]
    assert {total for _, total, _ in told} == {50}
    model = Counting()
    store.vectors(model, [text + "!" for text in TEXTS])
    lengths = [len(one) for one in model.asked if one.endswith("!")]
    batches = [lengths[start : start + 8] for start in range(0, 50, 8)]
    assert all(max(later) <= min(own) for own, later in itertools.pairwise(batches))


def test_what_a_stopped_run_encoded_is_there(store):
    model = Counting(fail_after=30)
    with pytest.raises(KeyboardInterrupt):
        store.vectors(model, TEXTS)
    done = model.fresh()
    assert len(done) in range(16, 31)
    model = Counting()
    store.vectors(model, TEXTS)
    assert sorted(model.fresh()) == sorted({*TEXTS} - {*done})


def test_a_process_killed_while_it_encodes_loses_one_batch(tmp_path):
    path = tmp_path / "vectors.sqlite"
    code = (
        "import sys, time; sys.path[:0] = sys.argv[2:]\n"
        "from models.test_vector_store import Counting, TEXTS, VectorStore\n"
        "from pathlib import Path\n"
        "class Slow(Counting):\n"
        "    def _encode(self, texts, *, query):\n"
        "        print(len(texts), flush=True); time.sleep(0.05)\n"
        "        return super()._encode(texts, query=query)\n"
        "VectorStore(Path(sys.argv[1])).vectors(Slow(), TEXTS)\n"
    )
    tests = os.path.dirname(os.path.dirname(__file__))
    given = [sys.executable, "-c", code, str(path), tests]
    process = subprocess.Popen(given, stdout=subprocess.PIPE, text=True)
    for _ in range(4):  # the probes, and three batches
        assert process.stdout.readline().strip()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    model = Counting()
    found = VectorStore(path).vectors(model, TEXTS)
    assert len(model.fresh()) <= len(TEXTS) - 16
    np.testing.assert_array_equal(found, Counting().vectors(TEXTS))


def _fill(path, texts, seed):
    model = Counting()
    order = np.random.default_rng(seed).permutation(len(texts))
    found = VectorStore(path).vectors(model, [texts[n] for n in order])
    assert np.array_equal(found, Counting().vectors([texts[n] for n in order]))


def test_two_processes_use_one_store(tmp_path):
    path = tmp_path / "vectors.sqlite"
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=_fill, args=(path, TEXTS, seed)) for seed in (1, 2)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    assert [one.exitcode for one in others] == [0, 0]
    model = Counting()
    VectorStore(path).vectors(model, TEXTS)
    assert model.fresh() == []


def test_another_model_under_the_same_name_has_its_own_vectors(store):
    first = store.vectors(Counting(), TEXTS)
    other = Counting(seed=1)
    second = store.vectors(other, TEXTS)
    assert len(other.fresh()) == len(TEXTS)
    assert not np.allclose(first, second)
    # And the first one is known again.
    model = Counting()
    np.testing.assert_array_equal(store.vectors(model, TEXTS), first)
    assert model.fresh() == []


def test_bad_vectors_are_not_stored(store):
    class Bad(Counting):
        def _encode(self, texts, *, query):
            found = super()._encode(texts, query=query)
            if TEXTS[7] in texts:
                found[texts.index(TEXTS[7]), 2] = np.nan
            return found

    with pytest.raises(InvalidInput, match="'counting' gave NaN or infinity"):
        store.vectors(Bad(), TEXTS)
    with sqlite3.connect(store.path) as database:
        ((count,),) = database.execute("SELECT count(*) FROM vectors").fetchall()
    database.close()
    assert 0 < count < len(TEXTS)
    assert np.isfinite(store.vectors(Counting(), TEXTS)).all()


def test_a_server_that_stops_meanwhile_is_not_taken_for_the_store(store):
    class Stopping(Counting):
        def _encode(self, texts, *, query):
            if len(self.asked) > 20:
                raise MissingData("The server cannot be reached.")
            return super()._encode(texts, query=query)

    with pytest.raises(MissingData, match="server cannot be reached"):
        store.vectors(Stopping(), TEXTS)
    model = Counting()
    store.vectors(model, TEXTS)
    assert len(model.fresh()) < len(TEXTS) - 10


def test_a_store_that_is_no_database_is_named(store):
    store.path.write_bytes(b"no database, but long enough for a header" * 10)
    with pytest.raises(InvalidFile, match=r"vectors\.sqlite.*remove it"):
        store.vectors(Counting(), TEXTS)


def test_no_texts_and_time_left(store):
    assert store.vectors(Counting(), []).shape == (0, 0)
    begin = time.perf_counter()
    store.vectors(Counting(), TEXTS)
    assert time.perf_counter() - begin < 10
