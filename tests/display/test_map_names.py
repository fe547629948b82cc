"""Names of the largest clusters of a real corpus."""

import ast
import csv
import gzip
import os
from collections import Counter
from itertools import chain, islice
from pathlib import Path

import pytest

from labelspan import LSI, SemanticIndex
from labelspan.display import CorpusMap

# What a reader does not take for a name.
FUNCTION_WORDS = """
a about after all an and are as at be been before between but by can during for from had has have he
her him his how if in into is it its more most no not of on only or other out over she so some than
that the their them then there they this through to up was what when where which while who whom
whose why will with without you your must
"""
DATA = os.environ.get("LABELSPAN_DATA")
pytestmark = pytest.mark.skipif(
    DATA is None, reason="LABELSPAN_DATA does not name the folder of the data"
)


def test_the_largest_clusters_of_questions_are_named_by_their_languages():
    path = Path(DATA) / "corpora" / "stackoverflow.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(islice(csv.DictReader(file, delimiter="\t"), 3000))
    labels = [ast.literal_eval(row["tags"]) for row in rows]
    found = CorpusMap.from_index(SemanticIndex().fit([row["title"] for row in rows], labels))
    first = [one for one in found.regions if one.level == 0 and one.kind == "label"]
    counts = [one.count for one in first]
    assert counts == sorted(counts, reverse=True)
    frequent = [name for name, _ in Counter(chain.from_iterable(labels)).most_common(5)]
    assert set(frequent) == {"javascript", "c#", "java", "php", "python"}
    assert set(frequent) <= {one.name for one in first[:8]}
    # Most of the items in a named place have its name, and its colour.
    for name in frequent:
        number = found.named.labels.index(name)
        own = [row for row, group in enumerate(found.groups) if group == number]
        assert len(own) > 0.3 * found.counts[name]
        assert all(name in found.labels[row] for row in own)
    # A name is not a stop word, and is unique at each zoom.
    names = [one.name.casefold() for one in found.regions if one.level == 0]
    assert len(names) == len(set(names))
    assert not {"how", "not", "and", "the", "with"} & {one.name for one in found.regions}


def test_places_of_texts_without_labels_are_named_by_two_or_three_telling_words():
    path = Path(DATA) / "corpora" / "netflix_titles.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(islice(csv.DictReader(file), 2500))
    texts = [f"{row['title']}. {row['description']}" for row in rows]
    found = CorpusMap.from_index(SemanticIndex(LSI(30)).fit(texts))
    first = [one for one in found.regions if one.level == 0]
    assert len(first) > 10
    assert {one.kind for one in first} == {"word"}
    lists = [one.name.split(" · ") for one in first]
    used = [word for own in lists for word in own]
    assert len({frozenset(own) for own in lists}) == len(lists), "no two places have the same name"
    assert sum(len(own) in (2, 3) for own in lists) > 0.9 * len(lists)
    shares = {word: sum(word in text.lower().split() for text in texts) for word in used}
    assert max(shares.values()) < len(texts) / 5
    assert not {*FUNCTION_WORDS.split()} & {*used}
