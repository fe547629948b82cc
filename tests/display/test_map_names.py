"""Names of the largest clusters of a real corpus."""

import ast
import csv
import gzip
import os
from collections import Counter
from itertools import chain, islice
from pathlib import Path

import pytest

from labelspan import SemanticIndex
from labelspan.display import CorpusMap

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
