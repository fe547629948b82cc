"""An index of items by meaning: learn, add, search, tag, explain, save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

from .._params import Integer, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..estimators import MLSI
from ..estimators._base import BaseEmbedding
from ..operators.cluster import row_blocks_of
from .catalogue import as_names
from .corpus import Corpus
from .inputs import read_ids, read_label_lists, read_metadata, read_texts
from .items import Item
from .learn import learn
from .progress_steps import Progress
from .query import Asking

__all__ = ["SemanticIndex"]


class SemanticIndex(Asking):
    """Items with texts and labels, in a small space that both inform.

    A vectoriser makes features of texts, an estimator learns a space from features and
    labels, a tagger learns labels in that space, and a store holds the items. Search is
    exact, a cosine with every item, or, in a large index that was prepared for it,
    approximate.

    Special cases: with ``estimator=LSI()`` no labels are needed, and with
    ``vectorizer=None`` no texts: then every item, and every query, brings a vector.

    Parameters
    ----------
    vectorizer : "tfidf", scikit-learn vectoriser or None, default="tfidf"
        "tfidf" counts words and pairs of words: ``1 + log(tf)``, inverse document frequency,
        rows of length 1, at most 30,000 features; from 1,000 texts on, features that are in
        one text alone or in more than half of them are left out. Characters of scripts
        without spaces are words of their own. None: ``fit``, ``add`` and ``search`` take
        vectors, say a language model's.
    estimator : labelspan estimator or None, default=None
        None is ``MLSI()``: 100 dimensions, ``beta=0.5``, ``alpha=1``.
    folds : int, default=3
        For the tagger: labelled items are scored by spaces learned without them, and on
        these scores probabilities and thresholds are chosen.
    random_state : int, default=0
        For the folds.
    approximate_from : int, default=300_000
        From so many items on, :meth:`search` uses the graph that :meth:`prepare_search` built.
        Below, comparing with every item takes a few milliseconds.

    Attributes
    ----------
    ids : list of str
    labels : dict
        How many items carry each label.
    label_names : list of str
        Names of all labels of the items, sorted.
    n_items, n_dimensions : int
        Number of items, and of dimensions of the space.
    can_tag : bool
        Whether :meth:`tag` can predict labels: the index was fitted with some.
    search_by_ : str
        "exact" or "approximate": how the last search was answered.
    space : estimator
        The estimator that was fitted.
    writable : bool
        Whether items can be added and removed.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> labels = [["game"], ["game", "net"], ["image"], ["image"]]
    >>> index = SemanticIndex().fit(texts, labels, ["a", "b", "c", "d"])
    >>> [hit.id for hit in index.search("chess")]
    ['b', 'a']
    >>> index.add(["a game of checkers"], ids=["e"]).search(items="e", k=1)[0].labels
    ('game',)
    """

    def __init__(
        self,
        *,
        vectorizer: Any = "tfidf",
        estimator: Any = None,
        folds: int = 3,
        random_state: int = 0,
        approximate_from: int = 300_000,
    ) -> None:
        super().__init__(
            vectorizer=vectorizer, estimator=estimator, folds=folds, random_state=random_state
        )
        self.approximate_from = approximate_from

    # --- learning ---------------------------------------------------------------------

    def fit(
        self,
        texts: Any,
        labels: Any = None,
        ids: Any = None,
        *,
        metadata: Any = None,
        vectors: Any = None,
        label_names: Any = None,
        progress: Progress | None = None,
        client: Any = None,
        on_pass: Callable[[str], Any] | None = None,
    ) -> Self:
        """Learn everything from items, and hold them.

        Parameters
        ----------
        texts : list of str
            Empty texts are allowed. With ``vectorizer=None`` they are only shown.
        labels : list of lists of str, indicator, or None, default=None
            None for an item whose labels are not known, an empty list for one without any;
            or 0 and 1 in an array or sparse matrix, with ``label_names`` (a row of -1 is
            unknown).
        ids : list of str or None, default=None
            Names, all different; None numbers the items from "0".
        metadata : list of dict or None, default=None
            For each item strings, numbers, booleans or None by key.
        vectors : array or sparse matrix of shape (n, d) or None, default=None
            With ``vectorizer=None``.
        label_names : list of str or None, default=None
            The columns of an indicator.
        progress : function or None, default=None
            Told how many of all steps are done.
        client : distributed.Client or None, default=None
            A Dask cluster on whose workers the spaces are learned, those of the tagger
            included: the features are sent there once, in blocks of rows. All else is done
            here. For the linear estimators.
        on_pass : function or None, default=None
            With ``client``: called with a name after every pass of the workers over the rows.

        Returns
        -------
        self
        """
        if not self.writable:
            raise self._read_only("fit")
        self._check_params()
        estimator = MLSI() if self.estimator is None else self.estimator
        self._check_cluster(estimator, client, on_pass)
        given = read_texts(texts, "fit")
        if len(given) < 2:
            raise InvalidInput(f"fit: an index needs two items or more, but {len(given)} came.")
        lists = read_label_lists(labels, label_names, len(given), "fit")
        names = read_ids(map(str, range(len(given))) if ids is None else ids, len(given), "fit")
        tables = read_metadata(metadata, len(given), "fit")
        model, found = learn(
            self.vectorizer,
            estimator,
            given,
            vectors,
            lists,
            folds=self.folds,
            random_state=self.random_state,
            progress=progress,
            hold=None if client is None else partial(row_blocks_of, client, on_pass=on_pass),
        )
        items = [Item(*parts) for parts in zip(names, given, lists, tables, strict=True)]
        corpus = Corpus.of(items, found)
        if self._corpus is not None:
            self._corpus.close()
        self._model, self._corpus, self._generation = model, corpus, ""
        return self

    def _check_params(self) -> None:
        known = {"folds": Integer(2), "random_state": Integer(0), "approximate_from": Integer(0)}
        check_params("SemanticIndex", {name: getattr(self, name) for name in known}, known)
        fine = self.vectorizer is None or self.vectorizer == "tfidf"
        if not fine and not hasattr(self.vectorizer, "fit_transform"):
            raise InvalidParameter(
                "SemanticIndex: vectorizer must be 'tfidf', a scikit-learn vectoriser or None, "
                f"but {self.vectorizer!r} was given."
            )
        if self.estimator is not None and not isinstance(self.estimator, BaseEmbedding):
            raise InvalidParameter(
                "SemanticIndex: estimator must be an estimator of labelspan, say MLSI(50), or "
                f"None, but {self.estimator!r} was given."
            )

    def _check_cluster(self, estimator: Any, client: Any, on_pass: Any) -> None:
        if client is None and on_pass is not None:
            raise Mismatch(
                "fit: on_pass is told of passes on a cluster; give client= beside it, or progress= "
                "to follow a fit on this machine."
            )
        kind = type(estimator).__name__
        if client is not None and not estimator._takes_operators:
            raise Mismatch(
                f"fit: {kind} needs all rows on one machine; leave client= out, or use LSI, MLSI, "
                "OPLS, CCA, LDA or HSL."
            )

    # --- items ------------------------------------------------------------------------

    def add(
        self,
        texts: Any,
        labels: Any = None,
        ids: Any = None,
        *,
        metadata: Any = None,
        vectors: Any = None,
        label_names: Any = None,
        replace: bool = False,
    ) -> Self:
        """Fold in new items; the space stays what it is.

        The parameters are those of :meth:`fit`. Labels that were not learned can be filtered
        and searched by. In an index that was loaded for writing, the items are on disk when
        this returns: all of them or, after a failure, none.

        Parameters
        ----------
        texts, labels, ids, metadata, vectors, label_names
            As in :meth:`fit`.
        replace : bool, default=False
            Whether items take the place of those with the same ids.

        Returns
        -------
        self
        """
        model, corpus = self._changing("add")
        given = read_texts(texts, "add")
        lists = read_label_lists(labels, label_names, len(given), "add")
        names = corpus.fresh_ids(len(given)) if ids is None else read_ids(ids, len(given), "add")
        tables = read_metadata(metadata, len(given), "add")
        if given:
            found = model.vectors(model.features(given, vectors, "add"))
            items = [Item(*parts) for parts in zip(names, given, lists, tables, strict=True)]
            corpus.add(items, found, replace=replace)
        return self

    def remove(self, ids: str | Sequence[str]) -> Self:
        """Remove items by id; all of them must be there."""
        _, corpus = self._changing("remove")
        corpus.remove(as_names(ids))
        return self

    def item(self, id: str) -> Item:
        """An item by its id: id, text, labels and metadata."""
        return self._fitted()[1].item(id)

    def items(self, ids: Sequence[str] | None = None) -> list[Item]:
        """Items by their ids, in that order; None gives all."""
        corpus = self._fitted()[1]
        return corpus.items(self.ids if ids is None else as_names(ids))

    def vectors(self, ids: Sequence[str] | None = None) -> Array:
        """The unit vectors of items, a row an id; None gives those of all."""
        corpus = self._fitted()[1]
        return corpus.vectors(self.ids if ids is None else as_names(ids))

    def __len__(self) -> int:
        return 0 if self._corpus is None else len(self._corpus)

    def __contains__(self, id: object) -> bool:
        return self._corpus is not None and id in self._corpus.catalogue.rows

    def __repr__(self) -> str:
        if self._model is None:
            return "<SemanticIndex, not fitted>"
        m, k = self._model.estimator.n_components_, len(self.labels)
        return f"<SemanticIndex: {len(self):,} items, {k:,} labels, {m} dimensions>"

    @property
    def ids(self) -> list[str]:
        """The names of all items, in the order they came."""
        return list(self._fitted()[1].catalogue.rows)

    @property
    def n_items(self) -> int:
        """Number of items; the same as ``len(index)``."""
        return len(self)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of the space."""
        return int(self._fitted()[0].estimator.n_components_)

    @property
    def can_tag(self) -> bool:
        """Whether the index was fitted with labels, so that :meth:`tag` can predict them."""
        return self._fitted()[0].tagger is not None

    @property
    def label_names(self) -> list[str]:
        """Names of all labels of the items, sorted."""
        return list(self.labels)

    @property
    def space(self) -> Any:
        """The estimator that was fitted."""
        return self._fitted()[0].estimator

    @property
    def labels(self) -> dict[str, int]:
        """How many items carry each label, by name."""
        return self._fitted()[1].catalogue.label_counts()
