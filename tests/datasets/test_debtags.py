"""The bundled corpus, and the script that makes it."""

import gzip
import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labelspan.datasets import registry
from labelspan.datasets.registry import load_debtags
from labelspan.errors import InvalidFile

TOOL = Path(__file__).parent.parent.parent / "tools" / "make_debtags.py"
FULL = Path(os.environ.get("LABELSPAN_DATA", "")) / "debtags.jsonl.gz"


def lines(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_debtags", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def corpus():
    return load_debtags()


def test_the_corpus_is_complete_and_its_labels_agree(corpus):
    path = Path(registry.__file__).with_name("debtags_corpus.jsonl.gz")
    assert path.stat().st_size < 2_000_000
    assert 1_000 < len(corpus) == len(set(corpus.ids)) == len(corpus.texts) == len(corpus.metadata)
    assert all(text.strip() for text in corpus.texts)
    assert np.array_equal(corpus.test, ~corpus.train)
    assert 0.7 < corpus.train.mean() < 0.9
    assert corpus.label_names == sorted(corpus.label_names)
    for row in range(0, len(corpus), 97):
        columns = corpus.Y[[row]].nonzero()[1]
        assert sorted(corpus.label_names[j] for j in columns) == corpus.labels[row]
    assert min(len(tags) for tags in corpus.labels) >= 3
    assert corpus.Y.sum(axis=0).min() >= 25
    # Every tag can be learned and can be looked for.
    assert corpus.take(corpus.train).Y.sum(axis=0).min() >= 10
    assert corpus.take(corpus.test).Y.sum(axis=0).min() >= 1
    assert not any(name.startswith("role::") or "TODO" in name for name in corpus.label_names)


def test_parts_share_no_source_and_no_text(corpus, tool):
    sources = [
        {row["source"] for row in corpus.take(p).metadata} for p in (corpus.train, corpus.test)
    ]
    assert not sources[0] & sources[1]
    items = [
        {"summary": row["summary"], "description": text.partition("\n\n")[2]}
        for row, text in zip(corpus.metadata, corpus.texts, strict=True)
    ]
    # Weights of words differ a little from those of all programs, which the script saw.
    pairs = tool.near_pairs(items, tool.SAME_SIDE + 0.05)
    assert not [pair for pair in pairs if corpus.train[pair[0]] != corpus.train[pair[1]]]
    assert max(cosine for _, _, cosine in pairs) < tool.OTHER_SOURCE + 0.05


def test_the_card_and_the_file_agree(corpus, monkeypatch):
    card = registry.card("debtags")
    assert (len(corpus), corpus.n_labels) == (card.n, card.k)
    monkeypatch.setitem(registry._cards(), "debtags", replace(card, sha256="0" * 64))
    with pytest.raises(InvalidFile, match="damaged or another version"):
        load_debtags()


@pytest.mark.skipif(
    not FULL.is_file(), reason="set LABELSPAN_DATA to the folder that holds debtags.jsonl.gz"
)
def test_the_bundled_file_is_what_the_script_makes(tool, tmp_path):
    tool.main([str(FULL), "--out", str(tmp_path / "made.gz")])
    bundled = Path(registry.__file__).with_name("debtags_corpus.jsonl.gz")
    assert lines(tmp_path / "made.gz") == lines(bundled)
