"""Indexes of a stream: those of a fit in memory, and fits that were killed."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from _support.forks import forked
from _support.streams import Corpus
from scipy import linalg
from sklearn.decomposition import TruncatedSVD

from labelspan import LSI, MLSI, OPLS, SemanticIndex
from labelspan.corpus import CorpusReader
from labelspan.errors import InvalidFile, InvalidLabels, Mismatch
from labelspan.index.fitting import ONE_BLOCK, FitOptions, fit_stream

N = 240


def items(count=N, unlabelled=True):
    """Texts of six topics, some in scripts without spaces, some empty, some without labels."""
    rng = np.random.default_rng(0)
    found = []
    for row in range(count):
        topic = row % 6
        words = [f"topic{topic}x{n}" for n in rng.integers(0, 12, 9)]
        words += [f"Word{n}" for n in rng.zipf(1.6, 12) if n < 400]
        text = " ".join(rng.permutation(words))
        if row % 50 == 7:
            text = f"\u6771\u4eac\u90fd {text} \u30c6\u30b9\u30c8 \u0130stanbul"
        if row == 11:
            text = ""
        labels = [f"t{topic}", *(["even"] if row % 2 == 0 else []), *(["one"] if row == 4 else [])]
        if unlabelled and row % 9 == 5:
            labels = None
        found.append(SimpleNamespace(text=text, labels=labels, id=f"id{row}", metadata={"n": row}))
    return found


def fitted(out, content, model=None, *, report=None, **options):
    corpus = content if isinstance(content, CorpusReader) else Corpus(content)
    model = MLSI(6, alpha=1.0, tol=1e-4) if model is None else model
    options = FitOptions(model, **{"language": "en", "tag_sample": 0, **options})
    return fit_stream(corpus, Path(out), options, block=(60, 1 << 24), report=report)


# --- the index ----------------------------------------------------------------------------


def in_memory(content, model):
    index = SemanticIndex(estimator=model, language="en")
    own = [one.labels for one in content]
    return index.fit(
        [one.text for one in content],
        own,
        [one.id for one in content],
        metadata=[one.metadata for one in content],
    )


@pytest.mark.parametrize(
    "model",
    [
        LSI(6, tol=1e-6),
        MLSI(6, alpha=1.0, tol=1e-6),
        OPLS(5, alpha=1.0, tol=1e-6, max_iter=40),
    ],
    ids=["LSI", "MLSI", "OPLS"],
)
def test_searches_are_those_of_an_index_in_memory(tmp_path, model):
    content = items(unlabelled=False)
    done = fitted(tmp_path / "index", content, model, tag_sample=N)
    whole = in_memory(content, model)
    assert (len(done.labels), len(done.labels.totals), done.model.space.n_dimensions) == (
        N,
        8,
        whole.n_dimensions,
    )
    assert not (tmp_path / "index" / "unfinished").exists()
    with SemanticIndex.load(tmp_path / "index") as index:
        assert index.ids == whole.ids
        assert index.labels == whole.labels
        assert index.item("id4") == whole.item("id4")
        mine, other = (each.store.vectors.base for each in (index, whole))
        turn = linalg.orthogonal_procrustes(mine, other)[0]
        np.testing.assert_allclose(mine @ turn, other, atol=0.02)
        for query in ("topic2x3 word1", "topic5x1", "\u6771\u4eac"):
            hits, wanted = index.search(query, k=5), whole.search(query, k=5)
            assert [hit.id for hit in hits] == [hit.id for hit in wanted]
            np.testing.assert_allclose(
                [hit.score for hit in hits], [hit.score for hit in wanted], atol=0.01
            )
        assert index.tag("topic3x1 topic3x2 topic3x5", k=1)[0].label == "t3"
        assert index.language_ == "en"
    # It is an index like any other: items are added, and it is saved again.
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        index.add(["topic1x1 topic1x3"], [["t1", "new"]], ["later"])
        assert {tag.label for tag in index.tag("topic1x1 topic1x3", k=2)} == {"t1", "new"}
        index.save()
    with SemanticIndex.load(tmp_path / "index") as index:
        assert len(index) == N + 1


def test_one_block_is_a_fit_in_memory(tmp_path):
    content, model = items(), MLSI(6, alpha=1.0, tol=1e-4)
    options = FitOptions(model, "en")
    fit_stream(Corpus(content), tmp_path / "index", options, block=ONE_BLOCK)
    whole = in_memory(content, model)
    with SemanticIndex.load(tmp_path / "index") as index:
        np.testing.assert_array_equal(index.vectors(), whole.vectors())
        assert index.search("topic2x3 word1") == whole.search("topic2x3 word1")
        assert index.tag("topic2x3 word1") == whole.tag("topic2x3 word1")


def test_rare_labels_are_left_out_and_a_sampled_tagger_learns_only_what_comes_later(tmp_path):
    done = fitted(tmp_path / "index", items(), tag_sample=80, min_count=27)
    assert done.tag_sample == 80
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        assert len(done.labels.totals) == len(index.labels) == 6
        assert set(index.item("id4").labels) <= set(index.labels)
        lost = [one.id for one in items() if one.labels and not set(one.labels) & set(index.labels)]
        assert lost
        assert all(index.item(name).labels is None for name in lost)
        before = index.tagger
        assert before.sampled
        assert before.rows.size == 80
        index.add(["topic1x1 newword", "newword again"], [["new"], ["new"]], ["a", "b"])
        after = index.tagger
        assert after.rows.size == 82
        assert set(after.labels) - set(before.labels) == {"new"}
        index.save()
    with SemanticIndex.load(tmp_path / "index") as index:
        assert index.tagger.sampled
        assert index.tagger.rows.size == 82


# --- interruptions ------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop_at(number):
    calls = 0

    def report(*_):
        nonlocal calls
        calls += 1
        if calls == number:
            raise Stopped

    return report


def sums(folder):
    content = json.loads((folder / "manifest.json").read_text())["content"]
    return {name: entry["sha256"] for name, entry in content["files"].items()}


def test_a_killed_fit_continues(tmp_path):
    """The process ends by SIGKILL after blocks that end within the second of three files."""
    folder = tmp_path / "corpus"
    index = folder / "an index"
    folder.mkdir()
    lines = [json.dumps({"id": one.id, "text": one.text, "tags": one.labels}) for one in items()]
    (tmp_path / "one.jsonl").write_text("\n".join(lines))
    for number, (start, end) in enumerate([(0, 50), (50, 170), (170, N)]):
        (folder / f"{number}.jsonl").write_text("\n".join(lines[start:end]) + "\n")
    program = (
        "import os, signal, sys; sys.path[:0] = [sys.argv[3], os.path.dirname(sys.argv[3])]\n"
        "import test_stream_fit as t\n"
        "seen = []\n"
        "def report(*_):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "t.fit_files(sys.argv[1], sys.argv[2], report=report)\n"
    )
    fit_files(tmp_path / "one.jsonl", tmp_path / "whole")
    here = os.path.dirname(__file__)
    ended = forked(program, folder, index, here)
    assert ended.returncode == -signal.SIGKILL
    assert fit_files(folder, index).resumed == 120
    assert sums(index) == sums(tmp_path / "whole")
    # With one more file it starts again.
    ended = forked(program, folder, index, here)
    assert ended.returncode == -signal.SIGKILL
    (folder / "3.jsonl").write_text(json.dumps({"id": "new", "text": "more", "tags": ["t1"]}))
    done = fit_files(folder, index)
    assert (done.resumed, len(done.labels)) == (0, N + 1)


def fit_files(source, out, **options):
    return fitted(out, CorpusReader(source, head=3000), **options)


def test_damaged_blocks_are_seen(tmp_path):
    with pytest.raises(Stopped):
        fitted(tmp_path / "index", items(), report=stop_at(7))
    path = tmp_path / "index" / "unfinished" / "texts" / "000001.arrays"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match="is damaged; remove"):
        fitted(tmp_path / "index", items())


# --- errors -------------------------------------------------------------------------------


def test_what_cannot_be_fitted(tmp_path):
    with pytest.raises(Mismatch, match="TruncatedSVD cannot learn from a stream"):
        fitted(tmp_path / "a", items(), TruncatedSVD(3))
    same = items(50)
    same[30].id = same[3].id
    with pytest.raises(InvalidFile, match="two items have the same id"):
        fitted(tmp_path / "b", same)
    for one in same:
        one.labels = None
    with pytest.raises(InvalidLabels, match="no item has a known label"):
        fitted(tmp_path / "c", [*same[:30], *same[31:]])
    wordless = [SimpleNamespace(**{**vars(one), "text": "..."}) for one in items(20)]
    with pytest.raises(Exception, match="no words to learn from"):
        fitted(tmp_path / "d", wordless)
