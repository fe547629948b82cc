"""Arrays of words, segments, features and taggers that do not fit together are refused."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.errors import InvalidFile
from labelspan.operators.joined import JoinedRows
from labelspan.tagger import Tagger
from labelspan.tagger.learning import learn_tagger
from labelspan.text import TAGS, FeatureCounts, TextFeatures, Vocabulary, WordSegment

TEXTS = ["a b\na", "b 数据", "", "chess b", "数据 chess a"]


def stored():
    """Yield for each class how it is read, its arrays, and those whose numbers have limits."""
    vocabulary = Vocabulary("none")
    block = vocabulary.number(TEXTS)
    segment = WordSegment.build(block, TEXTS, TEXTS)
    yield lambda own: Vocabulary.from_arrays("none", own), vocabulary.arrays(), ("term_of",)
    inside = ("tokens", "starts", "titles", "runs", "posting_rows", "posting_terms", "name_rows")
    yield lambda own: WordSegment.from_arrays(vocabulary, own), segment.arrays(), inside
    counts = FeatureCounts(vocabulary, TAGS)
    counts.add(block)
    features = counts.choose()
    limited = ("singles", "pairs")
    yield (
        lambda own: TextFeatures.from_arrays("none", own, stems=True),
        features.arrays(),
        limited,
    )
    labels = ("x", "y", "z")
    targets = sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]))
    rows = features.transform(block)
    limited = ("features_columns", "targets_columns", "targets_starts", "columns")
    for given, own in ((rows, limited), (rows.toarray(), limited[1:])):
        tagger = learn_tagger(labels, targets, given, np.arange(5))
        yield lambda own: Tagger.from_arrays(labels, own), tagger.arrays(), own
    joined = learn_tagger(labels, targets, JoinedRows(rows, np.eye(5, 3, dtype="f4")), np.arange(5))
    yield lambda own: Tagger.from_arrays(labels, own), joined.arrays(), limited


def test_arrays_that_do_not_fit_together_are_refused():
    for read, found, limited in stored():
        arrays = {name: np.array(values) for name, values in found.items()}
        read(arrays)
        for name, values in arrays.items():
            wrong = [values.astype(np.complex64), values[..., None]]
            # One run less is another text.
            wrong += [] if name == "runs" else [values[:-1]]
            wrong += (
                [np.full_like(values, np.nan)]
                if name in ("idf", "mean", "vectors", "thresholds")
                else []
            )
            for value in (-1, 10**8) if name in limited else ():
                changed = values.copy()
                changed.reshape(-1)[min(1, values.size - 1)] = value
                wrong.append(changed)
            if values.dtype == np.uint8:
                wrong += [np.full(3, 99, np.uint8), np.array([255, 10], np.uint8)]
            for one in wrong:
                with pytest.raises(InvalidFile, match="do not match"):
                    read({**arrays, name: one})
            with pytest.raises(InvalidFile, match="do not match"):
                read({key: value for key, value in arrays.items() if key != name})
