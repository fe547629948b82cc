"""reuters21578: newswire stories of 1987 and their topics, in the selection of yu2005."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from .._files import read_bytes
from ..errors import InvalidFile
from .cards import card
from .dataset import TEST, TRAIN, UNKNOWN, DataSet
from .lines import indicator
from .obtain import Home, find, fitting, missing

__all__ = ["load_reuters21578"]

LEAST_TEXTS = 14
LEAST_DOCUMENTS = 5
SIDES = {"TRAIN": TRAIN, "TEST": TEST}


def load_reuters21578(data_home: Home) -> DataSet:
    """Load the stories of the ModApte split with two topics or more, as the card says."""
    own = card("reuters21578")
    found = find(own, data_home)
    if found is None:
        raise missing(own, data_home)
    path, sha256 = found
    content = read_bytes(path, sha256)
    try:
        stories = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        # One story has its only topic twice, and is counted among the 1,652 because of that.
        stories = [s for s in stories if _side(s) != UNKNOWN and len(s["topics"]) >= 2]
        counts = Counter(topic for story in stories for topic in set(story["topics"]))
        names = sorted(topic for topic, count in counts.items() if count >= LEAST_TEXTS)
        stories = [story for story in stories if not set(names).isdisjoint(story["topics"])]
        texts = [f"{story['title']}\n{story['body']}" for story in stories]
        ids = [str(story["id"]) for story in stories]
    except (KeyError, TypeError, ValueError, OSError, EOFError, zlib.error) as error:
        raise InvalidFile(
            f"{path} does not hold stories of Reuters ({error}); get it again."
        ) from error
    # Imported here because scikit-learn is slow to import.
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    words = TfidfVectorizer(min_df=LEAST_DOCUMENTS)
    Y, label_names = indicator([story["topics"] for story in stories], names)
    data = DataSet(
        "reuters21578",
        sparse.csr_array(words.fit_transform(texts)),
        Y,
        texts=texts,
        ids=ids,
        feature_names=tuple(map(str, words.get_feature_names_out())),
        label_names=label_names,
        split=np.array([_side(story) for story in stories], dtype=np.uint8),
        source=str(path),
    )
    return data if sha256 else fitting(own, data, str(path))


def _side(story: dict[str, Any]) -> int:
    """Return the part of the ModApte split, which has only stories that were given topics."""
    return SIDES.get(story["lewissplit"], UNKNOWN) if story["has_topics"] == "YES" else UNKNOWN
