"""What can be asked of an index: search, tags, explanations, labels and axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, overload

import numpy as np

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from .ann import CacheState, Graph
from .catalogue import Filter, as_names
from .explain import explain, label_direction, read_axes
from .folder import Stored
from .inputs import read_texts
from .progress_steps import Progress
from .results import Axis, Explanation, Hit, Tag
from .vectors import unit_rows

__all__ = ["Asking"]


class Asking(Stored):
    """The questions of :class:`SemanticIndex`."""

    search_by_: Literal["exact", "approximate"]

    @overload
    def search(
        self,
        query: str | None = ...,
        k: int = ...,
        filter: Filter | Mapping[str, Any] | None = ...,
        *,
        items: str | Sequence[str] = ...,
        labels: str | Sequence[str] = ...,
        approximate: bool | None = ...,
    ) -> list[Hit]: ...

    @overload
    def search(
        self,
        query: list[str],
        k: int = ...,
        filter: Filter | Mapping[str, Any] | None = ...,
        *,
        items: str | Sequence[str] = ...,
        labels: str | Sequence[str] = ...,
        approximate: bool | None = ...,
    ) -> list[list[Hit]]: ...

    @overload
    def search(
        self,
        query: Any,
        k: int = ...,
        filter: Filter | Mapping[str, Any] | None = ...,
        *,
        items: str | Sequence[str] = ...,
        labels: str | Sequence[str] = ...,
        approximate: bool | None = ...,
    ) -> Any: ...

    def search(
        self,
        query: Any = None,
        k: int = 10,
        filter: Filter | Mapping[str, Any] | None = None,
        *,
        items: str | Sequence[str] = (),
        labels: str | Sequence[str] = (),
        approximate: bool | None = None,
    ) -> Any:
        """The items nearest to a text, to items, to labels, or to all of these at once.

        Many queries are best given at once: they are compared with a block of items at a
        time, and get the answers that they would get alone.

        Parameters
        ----------
        query : str, list of str, array, or None, default=None
            A text, or several for as many answers. With ``vectorizer=None`` a vector, or
            rows of vectors.
        k : int, default=10
            At most so many items. Those with a score of 0 are not given.
        filter : Filter, dict or None, default=None
            Which items may be found, by labels and metadata.
        items : str or list of str, default=()
            Ids; the items themselves are not among the answers.
        labels : str or list of str, default=()
            Labels, learned or not.
        approximate : bool or None, default=None
            False compares with every item. True asks a graph of neighbours, which
            :meth:`prepare_search` builds, and this call where there is none that fits; scores
            are exact, but an item may be missed. None is True for an index of
            ``approximate_from`` items or more for which a graph is there, and False for all
            others. For more than 256 answers, or with a filter that lets fewer than one item
            in four through, every item is compared in any case; so it is for a query for which
            the graph proposes too few. ``search_by_`` says what was done.

        Returns
        -------
        list of Hit
            The best first; for several texts, a list of such lists.
        """
        _, corpus = self._fitted()
        _check_count("search", "k", k)
        graph = self._graph(approximate)
        names = as_names(items)
        parts, single = self._query(query, names, as_names(labels))
        found, proposed = corpus.search(parts, k, Filter.of(filter), names, graph)
        self.search_by_ = "approximate" if proposed else "exact"
        hits = [
            [Hit(item.id, score, item.labels, item.text, item.metadata) for score, item in ranked]
            for ranked in found
        ]
        return hits[0] if single else hits

    def prepare_search(self, *, jobs: int = 1, progress: Progress | None = None) -> Self:
        """Build the graph of neighbours for approximate search, unless one is there that fits.

        It needs usearch (``pip install 'labelspan[ann]'``) and, for a million items of 100
        dimensions, some minutes and 350 MB. For an index in a folder it is put there, as a cache:
        it may be removed, and one that is damaged, or was made of other vectors or by another
        usearch, is not used. It covers the items of the last fit or save; those added later
        are compared one by one.

        Parameters
        ----------
        jobs : int, default=1
            Threads. With one, the same vectors give the same graph.
        progress : function or None, default=None
            Told how many of all vectors are done.

        Returns
        -------
        self
        """
        _, corpus = self._fitted()
        _check_count("prepare_search", "jobs", jobs)
        corpus.cache.prepare(jobs, progress)
        return self

    @property
    def large(self) -> bool:
        """Whether there are ``approximate_from`` items or more."""
        return len(self._fitted()[1]) >= self.approximate_from

    def search_cache(self) -> CacheState:
        """What there is for approximate search: how many vectors, or why none."""
        return self._fitted()[1].cache.state()

    def _graph(self, approximate: bool | None) -> Graph | None:
        """The graph that a search uses, if it uses one."""
        if approximate not in (None, True, False):
            raise InvalidParameter(
                f"search: approximate must be True, False or None, but {approximate!r} was given."
            )
        _, corpus = self._fitted()
        if approximate:
            return corpus.cache.prepare()
        return corpus.cache.ready() if approximate is None and self.large else None

    @overload
    def tag(self, query: str | None = ..., k: int = ..., *, items: str = ...) -> list[Tag]: ...

    @overload
    def tag(self, query: None = ..., k: int = ..., *, items: list[str]) -> list[list[Tag]]: ...

    @overload
    def tag(
        self, query: list[str], k: int = ..., *, items: str | Sequence[str] = ...
    ) -> list[list[Tag]]: ...

    @overload
    def tag(self, query: Any, k: int = ..., *, items: str | Sequence[str] = ...) -> Any: ...

    def tag(self, query: Any = None, k: int = 10, *, items: str | Sequence[str] = ()) -> Any:
        """Labels for a text, for several, or for items, with probabilities.

        Parameters
        ----------
        query : str, list of str, array, or None, default=None
            As in :meth:`search`.
        k : int, default=10
            At most so many labels.
        items : str or list of str, default=()
            Ids of items that are there, in place of a query.

        Returns
        -------
        list of Tag
            The most probable first; ``tag.chosen`` says whether a label's probability reaches
            its threshold. For several texts, a list of such lists.
        """
        model, corpus = self._fitted()
        _check_count("tag", "k", k)
        tagger = model.tagger
        if tagger is None:
            raise Mismatch("tag: this index was fitted without labels, and has none to give.")
        if (query is None) == (not items):
            raise InvalidInput("tag: give either a text or items.")
        if items:
            vectors, single = corpus.vectors(as_names(items)), isinstance(items, str)
        else:
            vectors, single = self._texts(query)
        found = tagger.probabilities(vectors)
        best = np.argsort(-found, axis=1, kind="stable")[:, :k]
        likely = np.take_along_axis(found, best, axis=1)
        answers = [
            [Tag(tagger.labels[j], p, t) for j, p, t in zip(*columns, strict=True)]
            for columns in zip(
                best.tolist(), likely.tolist(), tagger.thresholds[best].tolist(), strict=True
            )
        ]
        return answers[0] if single else answers

    def explain(
        self,
        query: Any,
        id: str,
        n: int = 5,
        *,
        items: str | Sequence[str] = (),
        labels: str | Sequence[str] = (),
    ) -> Explanation:
        """Why an item is near a query: the axes they share, words, and labels.

        Parameters
        ----------
        query, items, labels
            As in :meth:`search`; one text at most.
        id : str
            The item.
        n : int, default=5
            At most so many axes and words.

        Returns
        -------
        Explanation
        """
        model, corpus = self._fitted()
        _check_count("explain", "n", n)
        vectors, single = self._query(query, as_names(items), as_names(labels))
        if not single:
            raise InvalidInput("explain: give one query, not several.")
        alone = isinstance(query, str) and not items and not labels
        features = model.features([query], None, "explain") if alone else None
        return explain(model, corpus, vectors[0], features=features, item=corpus.item(id), n=n)

    def similar_labels(self, label: str, k: int = 10) -> list[tuple[str, float]]:
        """Labels whose items lie where those of a label do, with scores from 0 to 1."""
        _, corpus = self._fitted()
        _check_count("similar_labels", "k", k)
        corpus.catalogue.labelled(label)
        names, centres = corpus.centred_labels()
        units = unit_rows(centres)
        scores = np.clip(units @ units[names.index(label)], 0.0, 1.0)
        order = [j for j in np.argsort(-scores, kind="stable") if names[j] != label]
        return [(names[j], float(scores[j])) for j in order[:k] if scores[j] > 0]

    def axes(self, n: int = 5, numbers: Sequence[int] | None = None) -> list[Axis]:
        """The dimensions of the space, by the words and labels at both ends.

        Parameters
        ----------
        n : int, default=5
            At most so many words and labels at each end.
        numbers : list of int or None, default=None
            Which axes, from 0; None gives all.
        """
        model, corpus = self._fitted()
        _check_count("axes", "n", n)
        every = range(int(model.estimator.n_components_))
        return read_axes(model, corpus, every if numbers is None else numbers, n)

    def _query(
        self, query: Any, items: tuple[str, ...], labels: tuple[str, ...]
    ) -> tuple[Array, bool]:
        """Unit queries, each the mean of what was asked for, and whether it is one."""
        _, corpus = self._fitted()
        fixed: list[Array] = []
        if items:
            fixed.append(corpus.vectors(items).mean(axis=0))
        if labels:
            fixed.append(np.mean([label_direction(corpus, name) for name in labels], axis=0))
        if query is None:
            if not fixed:
                raise InvalidInput("search: give a text, items or labels to search for.")
            return unit_rows(np.mean(unit_rows(np.array(fixed)), axis=0)[None, :]), True
        texts, single = self._texts(query)
        total = texts + sum(unit_rows(np.array(fixed))) if fixed else texts
        return unit_rows(total), single

    def _texts(self, query: Any) -> tuple[Array, bool]:
        model, _ = self._fitted()
        if model.vectorizer is None:
            rows = np.asarray(query)
            if rows.dtype.kind not in "fiub" or rows.ndim not in (1, 2):
                raise Mismatch(
                    "This index has no vectorizer: a query is a vector, or rows of vectors."
                )
            single = rows.ndim == 1
            rows = rows[None, :] if single else rows
            return model.vectors(model.features([""] * len(rows), rows, "search")), single
        single = isinstance(query, str)
        texts = read_texts([query] if single else query, "search")
        if not texts:
            raise InvalidInput("search: the list of texts is empty.")
        return model.vectors(model.features(texts, None, "search")), single


def _check_count(owner: str, name: str, value: Any) -> None:
    if not Integer(1).accepts(value):
        raise InvalidParameter(
            f"{owner}: {name} must be {Integer(1).describe()}, but {value!r} was given."
        )
