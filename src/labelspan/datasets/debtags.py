"""debtags: programs of Debian, what they say of themselves, and the tags people gave them.

4,899 programs, 204 labels, 6.6 a program. A label, or tag, names a facet and a value in it:
``use::editing``, ``works-with::audio``, ``interface::commandline``.

- Made by ``tools/make_debtags.py``, which says how, from Debian's public package lists: packages
  of Debian main with the role of a program, three tags or more, tags with 25 programs or more.
- Near-duplicates are represented by one of them. Training and test part (79 and 21 in a hundred)
  are split by source package, and sources with texts alike lie in one part.
- Terms: the descriptions are by the packages' maintainers and are part of the packages, each
  of them free software under the terms in its copyright file; the tags are by the contributors
  to Debtags. Both are published in Debian's package lists.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MultiLabelBinarizer

from .dataset import TEST, TRAIN, Card, DataSet
from .files import read_bytes
from .obtain import Home

__all__ = ["CARD", "Debtags", "load_debtags"]

CARD = Card(
    name="debtags",
    title="programs of Debian: descriptions and facet tags",
    n=4899,
    d=None,
    k=204,
    task="labels",
    origin="the Debian project's package lists; tags by the contributors to Debtags",
    terms="each description is under the terms of its package, all of them free software",
    citation="The Debian project and the Debtags project, package lists of Debian main.",
    papers=(),
    where="labelspan itself",
    file="debtags_corpus.jsonl.gz",
    sha256="b4b5c1934231ef624279e1baeff1456b73dc2c70763a0c40ae0d5fe389a9d796",
    public="labelspan",
    remarks="made by tools/make_debtags.py, which tells what was left out",
)


@dataclass(frozen=True, eq=False, repr=False)
class Debtags(DataSet):
    """The corpus: a :class:`DataSet` of texts, with the tags and what else is known.

    Attributes
    ----------
    ids : list of str
        The packages' names.
    texts : list of str
        Name and summary, an empty line, the description.
    labels : list of list of str
        The tags of each program, sorted.
    Y : sparse matrix of shape (n, k)
        The same as an indicator of 0 and 1, in compressed rows.
    label_names : list of str
        The tag of each column of Y, sorted.
    metadata : list of dict
        The keys source, section and summary.
    split : array of shape (n,)
        0 for training, 1 for test.

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
        """A mask of the training part."""
        return np.asarray(self.split == TRAIN)

    @property
    def test(self) -> NDArray[np.bool_]:
        """A mask of the test part."""
        return np.asarray(self.split == TEST)

    def _rowwise(self) -> list[tuple[str, Any]]:
        return [*super()._rowwise(), ("labels", self.labels), ("metadata", self.metadata)]


def load_debtags(data_home: Home = None, *, download: bool = True) -> Debtags:
    """Read the corpus; the parameters are those of :func:`labelspan.datasets.load`.

    It comes with the package: no folder is looked into, and nothing is downloaded.

    Parameters
    ----------
    data_home : path or None, default=None
    download : bool, default=True
        Neither has an effect here.

    Returns
    -------
    Debtags

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
    data = read_bytes(Path(__file__).with_name(CARD.file), CARD.sha256)
    about, *items = (json.loads(line) for line in gzip.decompress(data).splitlines())
    labels = [item["tags"] for item in items]
    return Debtags(
        name="debtags",
        Y=MultiLabelBinarizer(classes=about["tags"], sparse_output=True).fit_transform(labels),
        texts=[
            f"{item['package']}: {item['summary']}\n\n{item['description']}".rstrip()
            for item in items
        ],
        ids=[item["package"] for item in items],
        label_names=about["tags"],
        split=np.array([TRAIN if item["split"] == "train" else TEST for item in items]),
        source=f"{CARD.file}, bundled",
        labels=labels,
        metadata=[{key: item[key] for key in ("source", "section", "summary")} for item in items],
    )
