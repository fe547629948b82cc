"""Data sets by name: their cards, their files, and loading them."""

from __future__ import annotations

import gzip
import json
import os
import tomllib
import zlib
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._files import cache_folder, read_bytes
from ..errors import InvalidFile, InvalidParameter, MissingData
from .dataset import TEST, TRAIN, UNKNOWN, Card, DataSet, indicator
from .npz import read_npz, write_npz

__all__ = ["card", "data_home", "find", "load", "load_debtags", "names"]

Home = str | os.PathLike[str] | None
# In the selection of yu2005: fewest texts of a topic, and fewest texts of a word.
_LEAST_TEXTS, _LEAST_DOCUMENTS = 14, 5
_SIDES = {"TRAIN": TRAIN, "TEST": TEST}


def names() -> list[str]:
    """Return the names of all data sets, sorted.

    Returns
    -------
    list of str
        What :func:`load` and :func:`card` accept.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from labelspan.datasets import names
    >>> "yeast" in names()
    True
    """
    return sorted(_cards())


def card(name: str) -> Card:
    """Return the card of a data set, without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Card
        Its size, origin, terms of use, citation and file.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from labelspan.datasets import card
    >>> yeast = card("yeast")
    >>> yeast.n, yeast.d, yeast.k
    (2417, 103, 14)
    """
    found = _cards().get(name)
    if found is None:
        raise InvalidParameter(
            f"There is no data set {name!r}; the names are {', '.join(names())}."
        )
    return found


@cache
def _cards() -> dict[str, Card]:
    text = Path(__file__).with_name("cards.toml").read_text(encoding="utf-8")
    return {name: _card(name, fields) for name, fields in tomllib.loads(text).items()}


def _card(name: str, fields: dict[str, Any]) -> Card:
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Card(**{"name": name, "d": None, "sha256": None, **fields, **lists})


def data_home(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data sets.

    Parameters
    ----------
    given : path or None, default=None
        The folder; None uses the environment variable ``LABELSPAN_DATA``, or else the
        user's cache.

    Returns
    -------
    Path
        The folder, which need not exist.

    See Also
    --------
    load : Load a data set from this folder.

    Examples
    --------
    >>> from labelspan.datasets import data_home
    >>> data_home("here").name
    'here'
    """
    named = given if given is not None else os.environ.get("LABELSPAN_DATA")
    if named:
        return Path(named).expanduser()
    return cache_folder()


def load(name: str, data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path or None, default=None
        The folder of the data sets; None uses the environment variable ``LABELSPAN_DATA``, or
        else the user's cache.
    download : bool, default=True
        Whether to use a public source, where the card names one, for a set that is not in the
        folder. What it returns is kept there, and is marked as not pinned.

    Returns
    -------
    DataSet
        Features, labels or classes, and what else the set has.

    Raises
    ------
    MissingData
        If the set is not in the folder and no public source has it.
    InvalidFile
        If the file is damaged.

    See Also
    --------
    card : Return the size, origin, terms of use and citation of a set.
    names : Return the names of all sets.

    Examples
    --------
    >>> from labelspan.datasets import load
    >>> load("wine")
    <DataSet wine: 178 rows, 13 features, 3 classes>
    """
    found = card(name)
    if name == "debtags":
        return load_debtags()
    if name == "reuters21578":
        return _reuters(found, data_home)
    data = _obtain(found, data_home, download=download)
    if found.dense:
        parts = {"X": data.X, "Y": data.Y}
        dense = {key: part.toarray() for key, part in parts.items() if sparse.issparse(part)}
        data = replace(data, **dense)
    return data


def _obtain(card: Card, home: Home, *, download: bool) -> DataSet:
    """Load a set by its card.

    Looks for the pinned file, then for an unpinned copy, then in scikit-learn, then at a public
    source, whose answer is kept as the unpinned copy.
    """
    found = find(card, home)
    if found is not None:
        path, sha256 = found
        data = read_npz(path, name=card.name, sha256=sha256)
        if card.feature_names and data.feature_names is None:
            data = replace(data, feature_names=card.feature_names)
        # A file with the pinned hash has the right size.
        return data if sha256 else _fitting(card, data, str(path))
    # Imported here because it needs scikit-learn's data sets, which are slow to import.
    from .public import BUNDLED, FETCHERS  # noqa: PLC0415

    keep = card.name not in BUNDLED
    if card.name not in FETCHERS or (keep and not download):
        raise _missing(card, home)
    data = FETCHERS[card.name](card, data_home(home))
    data = _fitting(card, replace(data, source=f"{card.public}; not pinned"), str(card.public))
    if keep:
        write_npz(data, data_home(home) / card.unpinned)
    return data


def find(card: Card, home: Home) -> tuple[Path, str | None] | None:
    """Return the file to read and the hash it must have, or None if there is no file."""
    folder = data_home(home)
    for name, sha256 in ((card.file, card.sha256), (card.unpinned, None)):
        if (folder / name).is_file():
            return folder / name, sha256
    return None


def _missing(card: Card, home: Home) -> MissingData:
    """Return an error that says where to get a set, and where to put it."""
    public = "" if card.public is None else f" (from {card.public})"
    return MissingData(
        f"{card.name}: there is no {card.file} in {str(data_home(home))!r}; put it there (or name "
        f"its folder by data_home or LABELSPAN_DATA), or make a copy {card.unpinned}: "
        f"{card.where}{public}."
    )


def _fitting(card: Card, data: DataSet, source: str) -> DataSet:
    """Return the data if its size is that of its card; raise an error otherwise."""
    size = (len(data), data.n_features, data.n_labels)
    if size != (card.n, card.d, card.k):
        raise InvalidFile(
            f"{card.name}: {source} has {size[0]} rows, {size[1]} features and {size[2]} "
            f"{card.task}, but the set has {card.n}, {card.d} and {card.k}; get another copy."
        )
    return data


def _reuters(card: Card, home: Home) -> DataSet:
    """Load the stories of the ModApte split with two topics or more, as yu2005 selects them."""
    found = find(card, home)
    if found is None:
        raise _missing(card, home)
    path, sha256 = found
    content = read_bytes(path, sha256)
    try:
        stories = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        # One story has its only topic twice, and is counted among the 1,652 because of that.
        stories = [s for s in stories if _side(s) != UNKNOWN and len(s["topics"]) >= 2]
        counts = Counter(topic for story in stories for topic in set(story["topics"]))
        names = sorted(topic for topic, count in counts.items() if count >= _LEAST_TEXTS)
        stories = [story for story in stories if not set(names).isdisjoint(story["topics"])]
        texts = [f"{story['title']}\n{story['body']}" for story in stories]
        ids = [str(story["id"]) for story in stories]
    except (KeyError, TypeError, ValueError, OSError, EOFError, zlib.error) as error:
        raise InvalidFile(
            f"{path} does not hold stories of Reuters ({error}); get it again."
        ) from error
    # Imported here because scikit-learn is slow to import.
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    words = TfidfVectorizer(min_df=_LEAST_DOCUMENTS)
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
    return data if sha256 else _fitting(card, data, str(path))


def _side(story: dict[str, Any]) -> int:
    """Return the part of the ModApte split, which has only stories that were given topics."""
    return _SIDES.get(story["lewissplit"], UNKNOWN) if story["has_topics"] == "YES" else UNKNOWN


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
