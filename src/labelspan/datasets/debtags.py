"""debtags: programs of Debian, their descriptions and tags; it comes with the package."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import read_bytes
from .cards import card
from .dataset import TEST, TRAIN, DataSet
from .lines import indicator

__all__ = ["Debtags", "load_debtags"]


@dataclass(frozen=True, eq=False, repr=False)
class Debtags(DataSet):
    """Hold the corpus of Debian programs: a :class:`DataSet` of texts, tags and metadata.

    Attributes
    ----------
    ids : list of str
        The names of the packages.
    texts : list of str
        Name and summary, an empty line, and the description.
    labels : list of list of str
        The tags of each program, sorted.
    Y : sparse matrix of shape (n, k)
        The same as an indicator matrix of 0 and 1, in CSR format.
    label_names : list of str
        The tag of each column of Y, sorted.
    metadata : list of dict
        Entries ``source``, ``section`` and ``summary``.
    split : array of shape (n,)
        0 for training, 1 for test.

    See Also
    --------
    load_debtags : Load the corpus.

    Examples
    --------
    >>> from labelspan.datasets import load_debtags
    >>> corpus = load_debtags()
    >>> corpus.Y.shape, len(corpus.texts)
    ((4899, 204), 4899)
    """

    labels: Sequence[list[str]] = ()
    metadata: Sequence[Mapping[str, str]] = ()

    @property
    def train(self) -> NDArray[np.bool_]:
        """Mask of the training part."""
        return np.asarray(self.split == TRAIN)

    @property
    def test(self) -> NDArray[np.bool_]:
        """Mask of the test part."""
        return np.asarray(self.split == TEST)

    def _rowwise(self) -> list[tuple[str, Any]]:
        return [*super()._rowwise(), ("labels", self.labels), ("metadata", self.metadata)]


def load_debtags() -> Debtags:
    """Load the corpus of Debian programs that comes with the package.

    A tag names a facet and a value in it: ``use::editing``, ``works-with::audio``,
    ``interface::commandline``. The corpus was made from Debian's public package lists by
    ``tools/make_debtags.py``: programs of Debian main with three tags or more, and tags with 25
    programs or more; of near-duplicates one is kept. Training and test part (79 % and 21 %)
    are split by source package, and sources with similar texts are in the same part.

    Returns
    -------
    Debtags
        Texts, tags, ids, metadata and the split.

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
    <Debtags debtags: 4,899 rows, 204 labels>
    >>> corpus.ids[27], corpus.labels[27][:2]
    ('abook', ['implemented-in::c', 'interface::text-mode'])
    >>> len(corpus.take(corpus.test))
    1024
    """
    own = card("debtags")
    data = read_bytes(Path(__file__).with_name(own.file), own.sha256)
    about, *items = (json.loads(line) for line in gzip.decompress(data).splitlines())
    labels = [item["tags"] for item in items]
    return Debtags(
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
