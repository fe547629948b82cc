"""reuters21578: newswire stories of 1987, and their topics.

21,578 texts; yu2005's selection of them has 1,652 texts x 4,294 words, 47 labels, 2.4 a text.

The selection: stories of the ModApte split (training and test together) with two topics or
more, and topics with at least 14 such stories. yu2005 says 1,600 stories, 47 topics, 85
stories a topic, 2.48 topics a story and a bound of "50", which does not fit these figures;
14 does.

The features: TF-IDF of the words that five texts or more contain, as scikit-learn has it
(lower case, words of two letters or digits and more, smoothed idf, rows of length one).
Neither stop words nor stems are spoken of in the paper, so neither is touched here. It has
6,076 words, more than any plain way to cut these texts into words gave.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from ..errors import InvalidFile, InvalidParameter
from .dataset import TEST, TRAIN, UNKNOWN, Card, DataSet
from .obtain import Home, find, fitting, missing
from .readers.jsonl import read_objects
from .readers.lines import indicator

__all__ = ["CARD", "load_reuters21578"]

CARD = Card(
    name="reuters21578",
    title="newswire stories of 1987 and their topics",
    n=1652,
    d=4294,
    k=47,
    task="labels",
    origin="Reuters and Carnegie Group; distribution 1.0 by Lewis",
    terms="free for research, under the name Reuters-21578, Distribution 1.0",
    citation="D. D. Lewis. Reuters-21578 text categorization test collection, "
    "distribution 1.0, 1997.",
    papers=("yu2005",),
    where="UCI (archive.ics.uci.edu, Reuters-21578), as JSON lines with the keys id, title, "
    "body, topics, lewissplit and has_topics",
    file="reuters21578.jsonl.gz",
    sha256="c88355f032445f79348bbbd2c42412a87365a6f4b0b8d8bbd7e3636147c71ea3",
    remarks="yu2005's selection of 21,578 texts; the paper has 1,600 texts and 6,076 words",
)
LEAST_TEXTS = 14
LEAST_DOCUMENTS = 5
SIDES = {"TRAIN": TRAIN, "TEST": TEST}


def load_reuters21578(
    data_home: Home = None,
    *,
    download: bool = True,
    selection: Literal["yu2005", "all"] = "yu2005",
) -> DataSet:
    """Load reuters21578; the first parameters are those of :func:`labelspan.datasets.load`.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True
    selection : {"yu2005", "all"}, default="yu2005"
        The paper's texts with their features, or all texts, without features.

    Returns
    -------
    DataSet
        With ``texts`` (title and body), ``ids`` and ``split`` (ModApte).

    Examples
    --------
    >>> from labelspan.datasets import load_reuters21578
    >>> load_reuters21578()  # doctest: +SKIP
    <DataSet reuters21578: 1,652 rows, 4,294 features, 47 labels>
    """
    if selection not in ("yu2005", "all"):
        raise InvalidParameter(
            f"load_reuters21578: selection must be 'yu2005' or 'all', not {selection!r}."
        )
    found = find(CARD, data_home)
    if found is None:
        raise missing(CARD, data_home)
    path, sha256 = found
    try:
        stories = [story for _, story in read_objects(path, sha256)]
        if selection == "all":
            return _data(stories, None, str(path))
        # One story has its only topic twice, and is among the 1,652 for it.
        stories = [s for s in stories if _side(s) != UNKNOWN and len(s["topics"]) >= 2]
        counts = Counter(topic for story in stories for topic in set(story["topics"]))
        names = sorted(topic for topic, count in counts.items() if count >= LEAST_TEXTS)
        stories = [story for story in stories if not set(names).isdisjoint(story["topics"])]
        data = _data(stories, names, str(path))
    except (KeyError, TypeError) as error:
        raise InvalidFile(
            f"{path} does not hold stories of Reuters ({error}); get it anew."
        ) from error
    data = _with_features(data)
    return data if sha256 else fitting(CARD, data, str(path))


def _data(stories: list[dict[str, Any]], names: list[str] | None, source: str) -> DataSet:
    Y, label_names = indicator([story["topics"] for story in stories], names)
    return DataSet(
        CARD.name,
        Y=Y,
        texts=[f"{story['title']}\n{story['body']}" for story in stories],
        ids=[str(story["id"]) for story in stories],
        label_names=label_names,
        split=np.array([_side(story) for story in stories], dtype=np.uint8),
        source=source,
    )


def _side(story: dict[str, Any]) -> int:
    """The part of the ModApte split, which takes the stories that were given topics."""
    return SIDES.get(story["lewissplit"], UNKNOWN) if story["has_topics"] == "YES" else UNKNOWN


def _with_features(data: DataSet) -> DataSet:
    words = TfidfVectorizer(min_df=LEAST_DOCUMENTS)
    X = sparse.csr_array(words.fit_transform(data.texts))
    return replace(data, X=X, feature_names=tuple(map(str, words.get_feature_names_out())))
