"""debtags: programs of Debian, their descriptions and tags; it comes with the package."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from .._files import read_bytes
from .cards import card
from .dataset import TEST, TRAIN, DataSet, indicator

__all__ = ["load_debtags"]


def load_debtags() -> DataSet:
    """Load the corpus of Debian programs that comes with the package.

    A tag names a facet and a value in it: ``use::editing``, ``works-with::audio``,
    ``interface::commandline``. The corpus was made from Debian's public package lists by
    ``tools/make_debtags.py``: programs of Debian main with three tags or more, and tags with 25
    programs or more; of near-duplicates one is kept. Training and test part (79 % and 21 %)
    are split by source package, and sources with similar texts are in the same part.

    Returns
    -------
    DataSet
        Texts, tags (``labels``, and ``Y`` as an indicator), ids, the split, and ``metadata`` with
        ``source``, ``section`` and ``summary``.

    See Also
    --------
    load : Load any data set by name.

    Notes
    -----
    The descriptions were written by the packages' maintainers and are part of the packages, all
    of them free software under the terms in their copyright files; the tags are by the
    contributors to Debtags.

    Examples
    --------
    >>> from labelspan.datasets import load_debtags
    >>> corpus = load_debtags()
    >>> corpus
    <DataSet debtags: 4,899 rows, 204 labels>
    >>> corpus.ids[27], corpus.labels[27][:2]
    ('abook', ['implemented-in::c', 'interface::text-mode'])
    >>> len(corpus.take(corpus.test))
    1024
    """
    own = card("debtags")
    data = read_bytes(Path(__file__).with_name(own.file), own.sha256)
    about, *items = (json.loads(line) for line in gzip.decompress(data).splitlines())
    labels = [item["tags"] for item in items]
    return DataSet(
        name="debtags",
        Y=indicator(labels, about["tags"])[0],
        texts=[
            f"{item['package']}: {item['summary']}\n\n{item['description']}".rstrip()
            for item in items
        ],
        ids=[item["package"] for item in items],
        label_names=about["tags"],
        split=np.array([TRAIN if item["split"] == "train" else TEST for item in items]),
        source=f"{own.file}, bundled",
        labels=labels,
        metadata=[{key: item[key] for key in ("source", "section", "summary")} for item in items],
    )
