"""reuters21578: newswire stories of 1987 and their topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..errors import InvalidFile, InvalidParameter
from .cards import card
from .dataset import TEST, TRAIN, UNKNOWN, DataSet
from .obtain import Home, find, fitting, missing
from .readers.jsonl import read_objects
from .readers.lines import indicator

__all__ = ["load_reuters21578"]

LEAST_TEXTS = 14
LEAST_DOCUMENTS = 5
SIDES = {"TRAIN": TRAIN, "TEST": TEST}


def load_reuters21578(
    data_home: Home = None,
    *,
    download: bool = True,
    selection: Literal["yu2005", "all"] = "yu2005",
) -> DataSet:
    """Load newswire stories of 1987 and their topics.

    yu2005's selection are the stories of the ModApte split (training and test together) with two
    topics or more, and the topics with at least 14 such stories. The features are TF-IDF weights
    of the words that occur in five texts or more, with scikit-learn's tokenizer, without stop
    words or stemming.

    Parameters
    ----------
    data_home : path or None, default=None
        The folder of the data sets; None uses the environment variable ``LABELSPAN_DATA``, or
        else the user's cache.
    download : bool, default=True
        Not used: no public source has the stories as one file.
    selection : {"yu2005", "all"}, default="yu2005"
        The paper's stories with features, or all 21,578 stories without features.

    Returns
    -------
    DataSet
        With ``texts`` (title and body), ``ids`` and ``split`` (ModApte).

    See Also
    --------
    load : Load any data set by name.

    Notes
    -----
    The paper reports 1,600 stories, 47 topics, 85 stories per topic, 2.48 topics per story and
    6,076 words. Its minimum of "50" stories per topic does not fit these figures; 14 does. No
    simple tokenizer finds that many words in these texts.

    References
    ----------
    K. Yu, S. Yu, V. Tresp. Multi-label informed latent semantic indexing. SIGIR, 258-265, 2005.

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
    own = card("reuters21578")
    found = find(own, data_home)
    if found is None:
        raise missing(own, data_home)
    path, sha256 = found
    try:
        stories = [story for _, story in read_objects(path, sha256)]
        if selection == "all":
            return _data(stories, None, str(path))
        # One story has its only topic twice, and is counted among the 1,652 because of that.
        stories = [s for s in stories if _side(s) != UNKNOWN and len(s["topics"]) >= 2]
        counts = Counter(topic for story in stories for topic in set(story["topics"]))
        names = sorted(topic for topic, count in counts.items() if count >= LEAST_TEXTS)
        stories = [story for story in stories if not set(names).isdisjoint(story["topics"])]
        data = _data(stories, names, str(path))
    except (KeyError, TypeError) as error:
        raise InvalidFile(
            f"{path} does not hold stories of Reuters ({error}); get it again."
        ) from error
    data = _with_features(data)
    return data if sha256 else fitting(own, data, str(path))


def _data(stories: list[dict[str, Any]], names: list[str] | None, source: str) -> DataSet:
    Y, label_names = indicator([story["topics"] for story in stories], names)
    return DataSet(
        "reuters21578",
        Y=Y,
        texts=[f"{story['title']}\n{story['body']}" for story in stories],
        ids=[str(story["id"]) for story in stories],
        label_names=label_names,
        split=np.array([_side(story) for story in stories], dtype=np.uint8),
        source=source,
    )


def _side(story: dict[str, Any]) -> int:
    """Return the part of the ModApte split, which has only stories that were given topics."""
    return SIDES.get(story["lewissplit"], UNKNOWN) if story["has_topics"] == "YES" else UNKNOWN


def _with_features(data: DataSet) -> DataSet:
    # Imported here because scikit-learn is slow to import.
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    words = TfidfVectorizer(min_df=LEAST_DOCUMENTS)
    X = sparse.csr_array(words.fit_transform(data.texts))
    return replace(data, X=X, feature_names=tuple(map(str, words.get_feature_names_out())))
