"""The index of a collection: fit, search, tag, explain, add, save."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from .._typing import Array
from ..corpus import LabelVocabulary
from ..corpus.label_writing import check_labels
from ..corpus.link_names import LINK_MARK, LINKS, link_text
from ..errors import (
    InvalidFile,
    InvalidInput,
    LabelspanError,
    LabelspanWarning,
    Mismatch,
    warn_caller,
)
from ..text import parse_query
from .browsing import ItemList, browse
from .database import read_history
from .explain import explain, read_axes
from .folder import Files, IndexFolder
from .history import By, CellChange, HistoryEntry, Past, Undone, as_value
from .inputs import (
    as_names,
    check_count,
    read_frame,
    read_ids,
    read_label_lists,
    read_links,
    read_metadata,
    read_texts,
)
from .label_tree import FoundLabel, LabelNode, find_labels, label_tree
from .links import ItemLinks, LinkFields
from .metadata_fields import FieldKind
from .model import IndexModel, read_model, write_model, write_tagger
from .model_block import as_source
from .results import (
    Axis,
    Explanation,
    Item,
    LabelReport,
    ResultTable,
    TagExplanation,
)
from .searching import Filter, Query, check_balance, mask_rows, rank
from .store import ItemStore
from .tagging import ItemTagger, many_changed

if TYPE_CHECKING:
    from ..models import TextModel
    from ..tagger import Tagger

__all__ = ["SemanticIndex"]

P = ParamSpec("P")
T = TypeVar("T")

# Words of a query for which near spellings are looked for: each takes some milliseconds.
_MOST_CORRECTED = 3


def _reads(
    method: Callable[Concatenate[SemanticIndex, P], T],
) -> Callable[Concatenate[SemanticIndex, P], T]:
    """Let a method that reads items by id read again if another thread replaces one meanwhile."""

    @wraps(method)
    def read(self: SemanticIndex, /, *args: P.args, **options: P.kwargs) -> T:
        while True:
            content = self._content
            try:
                return method(self, *args, **options)
            except InvalidInput:
                if self._content is content:
                    raise

    return read


class SemanticIndex:
    r"""Semantic index of items with texts and labels, in an embedding learned from both.

    An estimator learns an embedding from features of the texts and from labels, a tagger learns to
    predict labels, and a store holds the items. A text query is compared with items by words and by
    embedding; items and labels as queries only by embedding. Search compares with every item.

    Features are TF-IDF of words and pairs of words after Unicode normalisation and case folding:
    ``1 + log(tf)``, rows of length 1, at most 30,000 features; with 1,000 texts or more, features
    in only one text or in more than half of them are dropped. In scripts without spaces each
    character counts as a word. Vectors of a language model can be used next to the words: see
    ``model``, and ``vectors`` and ``encoder`` of :meth:`fit`.

    Parameters
    ----------
    estimator : labelspan estimator or None, default=None
        None means ``MLSI("auto")``: 30 dimensions plus half the number of labels, at most 500;
        ``alpha`` and ``beta`` chosen from the data. With ``LSI()`` no labels are needed.
    language : str, default="auto"
        Language of the texts, for word search: "auto" detects it, "none" neither stems words nor
        ignores frequent ones; otherwise a code, for example "en" or "fi".
    model : str, path or None, default=None
        A language model whose vectors are used next to the words, for the embedding and tags: a
        name in the local cache of the hub, the folder of a transformer (ONNX, or for
        sentence-transformers) or of model2vec, a file of word vectors, or a server and its model,
        ``http://127.0.0.1:11434/v1#nomic-embed-text``. It is opened when it is needed first.
        Nothing is downloaded.

    Attributes
    ----------
    corpus_fields : dict
        Fields of the corpus with ``text``, ``labels`` and ``ids``, by which ``labelspan add`` reads
        more items; empty for an index that was fitted in Python.

    write_lock : threading.RLock
        Held while the index is changed. A thread that changes what it has read holds it for both.

    See Also
    --------
    MLSI, LSI, OPLS, CCA : Estimators that learn the embedding.

    Notes
    -----
    The score of an item :math:`z` for a query :math:`q` in the embedding is the cosine
    :math:`q^\top z / (\lVert q \rVert \lVert z \rVert)` of their vectors. A query of a text,
    items and labels is the mean of their unit vectors. For a text, the words count as well:

    .. math::
        (1 - b) \frac{\mathrm{BM25}(q, z)}{\sigma_\mathrm{BM25}}
        + b \frac{\cos(q, z)}{\sigma_{\cos}}

    with the balance :math:`b` and the standard deviations over all items, divided by the largest
    value that a text could have. In BM25, a word of the title (the first of several lines) counts
    twice, and a word in the name of one of the item's labels half.

    Labels are normalised (Unicode NFC); ids are stored as given. Both have at most 4,000
    characters.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> labels = [["game"], ["game", "net"], ["image"], ["image"]]
    >>> index = SemanticIndex().fit(texts, labels, ["a", "b", "c", "d"])
    >>> [hit.id for hit in index.search("chess")]
    ['a', 'b']
    >>> index.add(["a game of checkers"], ids=["e"]).search(items="e", k=1)[0].labels
    ('game',)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        language: str = "auto",
        model: str | os.PathLike[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.text_model = model
        self.language = language
        # Whether the estimator of a loaded index was the default.
        self._default = True
        # A model given to load, by which texts are encoded instead of the one that is remembered.
        self._given: TextModel | None = None
        # What was learned and the items, which a change replaces together: a thread that has read
        # both can go on with them.
        self._content: tuple[IndexModel, ItemStore] | None = None
        self._folder: IndexFolder | None = None
        # From what the settings of the tagger are to be learned next.
        self._due: ItemTagger | None = None
        self._device: Any = None
        self._mapped = True
        self.corpus_fields: dict[str, Any] = {}
        # What a server does after a change, instead of learning while the caller waits.
        self.after_change: Callable[[], Any] | None = None
        # The first of the locks that a thread takes; those of the tagger and the store follow.
        self.write_lock = threading.RLock()

    def __reduce__(self) -> Any:
        """Refuse a pickle, which could not hold the files and locks of an index."""
        raise Mismatch(
            "An index is not pickled or copied: write it with index.save(folder), and read it "
            "with SemanticIndex.load(folder)."
        )

    # --- learning ---------------------------------------------------------------------

    def fit(
        self,
        texts: Any,
        labels: Any = None,
        ids: Any = None,
        *,
        metadata: Any = None,
        vectors: Any = None,
        encoder: Callable[[list[str]], Any] | None = None,
        links: Any = None,
        progress: Callable[[int, int, str], Any] | None = None,
        device: Any = None,
    ) -> Self:
        """Fit the index on items.

        Parameters
        ----------
        texts : list of str
            Empty texts are allowed. In an index of vectors they are only shown.
        labels : list of lists of str, or None, default=None
            None for an item with unknown labels, an empty list for one without labels.
        ids : list of str or None, default=None
            Unique strings of at most 4,000 characters; None numbers the items from "0".
        metadata : list of dict or None, default=None
            For each item a dict of strings, numbers, booleans or None.
        vectors : array or sparse matrix of shape (n, d) or None, default=None
            Vectors of the items, which are used next to the words of their texts; :meth:`add` takes
            vectors as well. Texts as queries are then compared by their words, unless there is a
            ``model`` or an ``encoder`` that these vectors come from; vectors can be queries too. If
            no text has a word, the vectors are all that there is.
        encoder : function or None, default=None
            A language model: takes a list of texts and returns one vector for each, for example the
            ``encode`` of a sentence-transformers model. Its vectors are used next to the words. The
            function is not saved: pass it to :meth:`load` again. Unlike those of a ``model``, its
            vectors are not stored for the next fit.
        links : sparse matrix, list of lists of str, or None, default=None
            Links between items, in either direction: a matrix of their weights, with a row and a
            column per item, or for each item the ids of others, or a dict with weights. The
            features of an item then include the means of those of linked items, one and two steps
            away, if left-out items show that this helps: see :attr:`link_use`. Links of an item to
            itself are ignored, those to unknown ids wait for them.
        progress : function or None, default=None
            Called with the number of steps done, their total, and what is being done.
        device : str, torch device or None, default=None
            Where the embedding is learned and the model runs, for example "cuda"; needs torch.
            Everything else is done on the host, and the index is the same up to rounding. Only for
            the linear estimators.

        Returns
        -------
        self
            The fitted index.
        """
        # Searches do without all that is needed to learn.
        from .fitting import FitOptions, fit_items  # noqa: PLC0415

        if not self.writable:
            raise self._read_only("fit")
        items = self._items("fit", texts, labels, ids, metadata, links)
        estimator = self.estimator
        if estimator is None and not self._default:
            estimator = self.space
        source = as_source(self.text_model, encoder, vectors, device)
        fields = None if links is None else LinkFields({LINKS: LINK_MARK})
        options = FitOptions(estimator, self.language, device=device, source=source, links=fields)
        found = fit_items(items, options, report=progress)
        assert found.vectors is not None
        store = ItemStore(
            found.database, found.vectors, found.words, block_rows=found.rows, model=found.model
        )
        with self.write_lock:
            self._given = None if source is None else source.model
            self._content, self._due = (found.model, store), None
        return self

    def _items(  # noqa: PLR0917 - the parts of items
        self, owner: str, texts: Any, labels: Any, ids: Any, metadata: Any, links: Any = None
    ) -> list[Item]:
        """Check and join the parts of items; links are a field of the metadata."""
        given = read_texts(texts, owner)
        lists = read_label_lists(labels, len(given), owner)
        if ids is None:
            number = len(given)
            ids = self.store.fresh_ids(number) if owner == "add" else map(str, range(number))
        names = read_ids(ids, len(given), owner)
        tables = read_metadata(metadata, len(given), owner)
        if links is not None:
            for table, own in zip(tables, read_links(links, names, owner), strict=True):
                table[LINKS] = link_text(own)
                if table[LINKS] is None:
                    del table[LINKS]
        return [Item(*parts) for parts in zip(names, given, lists, tables, strict=True)]

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        text: str | Sequence[str],
        labels: str | None = None,
        id: str | None = None,
        separator: str | None = None,
        **settings: Any,
    ) -> Self:
        """Fit an index on a data frame of pandas or polars; other columns are metadata.

        Parameters
        ----------
        frame : DataFrame
            One row per item.
        text : str or list of str
            Column of the text, or several columns, the first of which is the title.
        labels : str or None, default=None
            Column of the labels: lists or strings. A missing value means that they are unknown.
        id : str or None, default=None
            Column of the ids; None numbers the items.
        separator : str or None, default=None
            Separator of the labels in a string; None takes each string as one label.
        **settings
            Parameters of the index.

        Returns
        -------
        SemanticIndex
            The fitted index.

        Examples
        --------
        >>> import pandas as pd
        >>> from labelspan import SemanticIndex
        >>> frame = pd.DataFrame(
        ...     {"title": ["chess game", "chess online", "edit photos", "crop photos"],
        ...      "tags": ["game", "game|net", "image", "image"], "year": [2001, 2010, 2003, 2005]}
        ... )
        >>> index = SemanticIndex.from_frame(frame, text="title", labels="tags", separator="|")
        >>> index.item("1").labels, index.item("1").metadata
        (('game', 'net'), {'year': 2010})
        """
        found = read_frame(frame, text=text, labels=labels, id=id, separator=separator)
        return cls(**settings).fit(**found)

    # --- items ------------------------------------------------------------------------

    def add(
        self,
        texts: Any,
        labels: Any = None,
        ids: Any = None,
        *,
        metadata: Any = None,
        vectors: Any = None,
        links: Any = None,
        replace: bool = False,
        who: str = "",
    ) -> Self:
        """Add items without refitting the embedding.

        The tagger learns their labels, including new ones, before it is used next. In an index that
        was loaded for writing, the items are on disk when this returns: all of them or, after a
        failure, none.

        Parameters
        ----------
        texts, labels, ids, metadata, vectors : list, array or None
            As in :meth:`fit`; without ids, unused numbers become the ids.
        links : list of lists of str or None, default=None
            As in :meth:`fit`, to items of the index and to new ones.
        replace : bool, default=False
            Whether the items may replace those with the same ids.
        who : str, default=""
            Who adds them, for :meth:`history`.

        Returns
        -------
        self
            The index with the items.
        """

        def added(store: ItemStore) -> ItemStore:
            items = self._items("add", texts, labels, ids, metadata, links)
            if not items:
                return store
            found = self.model.items([item.text for item in items], vectors, "add")
            made = store if links is None else store.with_link_field(LINKS, LINK_MARK)
            return made.add(items, *found, replace=replace, by=By(who, "add"))

        return self.change("add", added)

    def remove(self, ids: str | Sequence[str], *, who: str = "") -> Self:
        """Remove items by id; all ids must exist.

        Parameters
        ----------
        ids : str or list of str
            Ids of the items.
        who : str, default=""
            Who removes them, for :meth:`history`.

        Returns
        -------
        self
            The index without the items.
        """
        by = By(who, "remove")
        return self.change("remove", lambda store: store.remove(as_names(ids), by))

    def relabel(self, ids: str | Sequence[str], labels: Any, *, who: str = "") -> Self:
        """Change the labels of items without refitting the embedding.

        The tagger learns the labels that changed before it is used next: it is that of the current
        items, with the same features and settings. In an index that was loaded for writing, the
        labels are on disk when this returns.

        Parameters
        ----------
        ids : str or list of str
            All must exist.
        labels : list of str, or list of lists of str
            For one id its labels; for several a list for each, or None if they are unknown.
        who : str, default=""
            Who changes them, for :meth:`history`.

        Returns
        -------
        self
            The index with the new labels.
        """
        names = as_names(ids)
        given = [labels] if isinstance(ids, str) else labels
        lists = read_label_lists(given, len(names), "relabel")
        if len(set(names)) < len(names):
            raise InvalidInput("relabel: an id occurs twice; give each once.")
        if not names:
            return self
        wanted = dict(zip(names, lists, strict=True))
        by = By(who, "relabel")

        def relabelled(store: ItemStore) -> ItemStore:
            # The file of the index may not be able to hold a new label.
            given = {label for own in lists for label in own or ()}
            check_labels(sorted(given - store.labels.totals.keys()), self.corpus_fields)
            return store.relabel(wanted, by)

        return self.change("relabel", relabelled)

    def relink(self, ids: str | Sequence[str], links: Any, *, who: str = "") -> Self:
        """Change the links of items to others: those in the field "links" of their metadata.

        The vectors of the items around them follow, and the tagger before it is used next.

        Parameters
        ----------
        ids : str or list of str
            All must exist.
        links : list of str, dict, or list of these
            For one id the ids that it links to, or a dict with the weight of each; for several a
            list of such lists.
        who : str, default=""
            Who changes them, for :meth:`history`.

        Returns
        -------
        self
            The index with the new links.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "play chess online", "edit photos", "crop pictures"]
        >>> labels = [["game"], ["game"], ["image"], ["image"]]
        >>> index = SemanticIndex().fit(texts, labels, links=[["1"], [], ["3"], []])
        >>> index.links("3").by
        ('2',)
        >>> index.relink("3", ["2", "0"]).links("3")
        ItemLinks(to=('0', '2'), by=('2',), nothing=())
        """
        names = as_names(ids)
        lists = read_links([links] if isinstance(ids, str) else links, names, "relink")
        cells = {
            (name, f"metadata {LINKS}"): None if text is None else as_value(text)
            for name, text in zip(names, map(link_text, lists), strict=True)
        }

        def changed(store: ItemStore) -> ItemStore:
            store.rows(names)
            return store.with_link_field(LINKS, LINK_MARK).apply(cells, By(who, "metadata"))

        return self.change("relink", changed)

    @_reads
    def links(self, id: str) -> ItemLinks:
        """Return the links of an item, to others and from others.

        Parameters
        ----------
        id : str
            Id of the item.

        Returns
        -------
        ItemLinks
            With ids ``to`` and ``by``, and the names that are of ``nothing``.
        """
        store = self.store
        row, graph = store.row(id), store.graph
        if graph is None:
            return ItemLinks((), (), ())
        names = store.ids_of((*graph.to(row), *graph.by(row)))
        to, by = (
            tuple(sorted(names[one] for one in own.tolist() if one in names))
            for own in (graph.to(row), graph.by(row))
        )
        return ItemLinks(to, by, tuple(graph.nothing.get(row, ())))

    @property
    def link_use(self) -> dict[str, Any]:
        """How links are used: their numbers, and whether they help the embedding and the tags.

        ``links`` between ``items`` of the index, those to ``nothing``, and whether they are
        ``in_space`` and ``in_tags``; empty without links.
        """
        model, store = self._fitted()
        return {} if store.graph is None else {**store.graph.summary(), **model.link_use}

    def change(self, what: str, make: Callable[[ItemStore], ItemStore]) -> Self:
        """Replace the items by what a function makes of them, while no other thread does.

        Parameters
        ----------
        what : str
            What is changed, for the message if the index was loaded for reading.
        make : function
            Takes :attr:`store` and returns that after one of its changes.

        Returns
        -------
        self
            The index with the change.
        """
        if self.after_change is None:
            # What a process has not learned that was killed.
            self.learn()
        with self.write_lock:
            model, store = self._fitted()
            if not self.writable:
                raise self._read_only(what)
            self._plan_learning()
            self._replace(model, make(store))
            self._plan_learning()
        if self.after_change is not None:
            self.after_change()
            return self
        try:
            self.learn()
        except (LabelspanError, OSError, MemoryError) as error:
            # The change is on disk; what is due is learned before the next one.
            warn_caller(
                f"{what}: the change was saved, but the tagger could not be learned again "
                f"({str(error) or 'not enough memory'}); this is repeated before the next change.",
                LabelspanWarning,
            )
        return self

    def learn(self) -> bool:
        """Learn the settings of the tagger again, if many items have changed since the last time.

        They are learned from the items as they were after the change by which 3% of the items had
        changed: what is predicted depends only on the items and their changes, not on when somebody
        reads. Every change does this, unless there is :attr:`after_change`. It takes as long as at
        the fit; meanwhile other threads use the settings as they were.

        Returns
        -------
        bool
            Whether they were learned.
        """
        while True:
            with self.write_lock:
                self._plan_learning()
                due, model = self._due, self.model
            if due is None:
                return False
            learned = due.learned()
            with self.write_lock:
                if self._due is not due or self.model is not model:
                    # More has changed meanwhile, or it was saved.
                    continue
                if self._folder is not None:
                    self._folder.replace_tagger(partial(write_tagger, tagger=learned))
                self._replace(model.with_tagger(learned), self.store.copy())
                self._due = None
            return True

    def _replace(self, model: IndexModel, store: ItemStore) -> None:
        """Take what was learned and items instead of those that are there."""
        _, old = self._fitted()
        self._content = model, store
        old.forget(store)

    def _plan_learning(self) -> None:
        """Note the items from which settings are to be learned, if many have changed by now."""
        model, store = self._fitted()
        if not self.writable or model.tagger is None:
            return
        since = model.tagger.learned if self._due is None else self._due.touched
        if many_changed(model, store, since):
            self._due = self._tagging()

    # --- history ----------------------------------------------------------------------

    def history(
        self, n: int = 20, *, before: int | None = None, item: str = "", label: str = ""
    ) -> list[HistoryEntry]:
        """List what was changed, the newest first: items, labels, metadata, answers and undos.

        Parameters
        ----------
        n : int, default=20
            Maximum number of changes.
        before : int or None, default=None
            Only changes with a smaller number: that of the last one listed, for the next page.
        item : str, default=""
            Only changes of this item.
        label : str, default=""
            Only changes of this label.

        Returns
        -------
        list of HistoryEntry
            Each with its number, time, author, and a sentence.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "play chess online", "edit photos", "crop pictures"]
        >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
        >>> _ = index.relabel("3", ["image", "photo"], who="anna").remove("1")
        >>> [(one.number, one.who, one.said) for one in index.history()]
        [(2, '', 'Remove 1 item.'), (1, 'anna', 'Add photo to 1 item.')]
        >>> index.undo(1).said
        'Undone: Add photo to 1 item.'
        >>> index.undo(2).restored, index.item("1").labels
        (1, ('game',))
        """
        check_count("history", "n", n)
        return self.store.history.entries(n, before, item, label)

    def changes(self, number: int) -> list[CellChange]:
        """List the values before and after one change of the history.

        Parameters
        ----------
        number : int
            Number of the change.

        Returns
        -------
        list of CellChange
            For each value that changed: ``item``, ``field``, ``before`` and ``after``.
        """
        return self.store.history.changes(number)

    def undo(self, number: int | None = None, *, who: str = "") -> Undone:
        """Undo a change: put back what it replaced, where that is still as the change made it.

        Changes can be undone in any order. An undo is a change as well, and can be undone.

        Parameters
        ----------
        number : int or None, default=None
            Its number; None for the last change that was not undone.
        who : str, default=""
            Who undoes it, for :meth:`history`.

        Returns
        -------
        Undone
            With the number of items that are as before, and of those that were changed since.

        Raises
        ------
        InvalidInput
            If nothing can be put back.
        """
        done: list[Undone] = []

        def undo(store: ItemStore) -> ItemStore:
            made: ItemStore
            embed = partial(self.model.items, vectors=None, owner="undo")
            made, found = store.history.undo(number, who, embed)
            done.append(found)
            return made

        self.change("undo", undo)
        return done[0]

    @_reads
    def item(self, id: str) -> Item:
        """Return an item by its id.

        Parameters
        ----------
        id : str
            Id of the item.

        Returns
        -------
        Item
            Its id, text, labels and metadata.
        """
        return self.store.item(id)

    @_reads
    def items(self, ids: Sequence[str] | None = None) -> list[Item]:
        """Return items by their ids, in the given order.

        Parameters
        ----------
        ids : list of str or None, default=None
            None returns all items.

        Returns
        -------
        list of Item
            One for each id.
        """
        store = self.store
        if ids is None:
            return [item for _, item in store.scan()]
        return store.items(store.rows(as_names(ids)))

    @_reads
    def vectors(self, ids: Sequence[str] | None = None) -> Array:
        """Return the unit vectors of items, one row per id.

        Parameters
        ----------
        ids : list of str or None, default=None
            None returns the vectors of all items.

        Returns
        -------
        array of shape (n_ids, n_dimensions)
            A row for each id.
        """
        store = self.store
        if ids is None:
            return store.vectors.rows(np.flatnonzero(store.vectors.alive))
        return store.vectors.rows(store.rows(as_names(ids)))

    def embed(self, texts: str | Sequence[str]) -> Array:
        """Return the unit vectors of texts, as used by a search.

        Parameters
        ----------
        texts : str or list of str
            One text or several; the query syntax of :meth:`search` does not apply.

        Returns
        -------
        array of shape (n_dimensions,) or (n_texts, n_dimensions)
            Zeros for a text without known words.
        """
        given = read_texts([texts] if isinstance(texts, str) else texts, "embed")
        if not self.model.reads_texts:
            raise Mismatch("embed: this index takes vectors; it has no words.")
        found = self.model.space.vectors(self.model.query_features(given))
        return found[0] if isinstance(texts, str) else found

    def __len__(self) -> int:
        return 0 if self._content is None else len(self._content[1])

    def __contains__(self, id: object) -> bool:
        return self._content is not None and self._content[1].find(id) is not None

    def __repr__(self) -> str:
        if self._content is None:
            return "<SemanticIndex, not fitted>"
        k, m = len(self.labels), self.n_dimensions
        return f"<SemanticIndex: {len(self):,} items, {k:,} labels, {m} dimensions>"

    @property
    def ids(self) -> list[str]:
        """Ids of all items, in the order in which they were added."""
        return self.store.ids()

    @property
    def labels(self) -> dict[str, int]:
        """Number of items with each label, sorted by name."""
        return dict(self.store.labels.totals)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of the embedding."""
        return self.model.space.n_dimensions

    @property
    def vocabulary(self) -> LabelVocabulary | None:
        """Names of the labels and broader labels, if :meth:`use_vocabulary` was called."""
        return self.store.vocabulary

    def use_vocabulary(self, vocabulary: LabelVocabulary) -> Self:
        """Attach a vocabulary of the labels to the index, for example a thesaurus.

        Labels are then also found by their alternative names, filters can include narrower labels,
        and the audit compares labels with broader ones.

        Parameters
        ----------
        vocabulary : LabelVocabulary
            From :func:`labelspan.corpus.read_vocabulary`; its names are those of the labels.

        Returns
        -------
        self
            The index with the vocabulary.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> from labelspan.corpus import Concept, LabelVocabulary
        >>> texts = ["a hill fort", "a stone grave", "a grave mound", "ring fort"]
        >>> index = SemanticIndex().fit(texts, [["forts"], ["graves"], ["graves"], ["forts"]])
        >>> concepts = {"1": Concept("sites"), "2": Concept("forts", (), ("sites",))}
        >>> concepts["3"] = Concept("graves", ("burials",), ("sites",))
        >>> index = index.use_vocabulary(LabelVocabulary(concepts))
        >>> index.find_labels("bur")
        [FoundLabel(label='graves', count=2, by='burials')]
        >>> index.browse(filter={"labels": ["sites*"]}).total
        4
        >>> [(depth, node.label, node.total) for depth, node in index.label_tree()[0].walk()]
        [(0, 'sites', 4), (1, 'forts', 2), (1, 'graves', 2)]
        """
        by = By(action="vocabulary")
        return self.change("use_vocabulary", lambda store: store.use_vocabulary(vocabulary, by))

    def label_tree(self) -> list[LabelNode]:
        """Return the top labels of the vocabulary, with the labels below them.

        Returns
        -------
        list of LabelNode
            Each with ``label``, ``count`` of its items, ``total`` with those of narrower labels,
            and ``narrower``; without a vocabulary all labels of items are top labels.
        """
        return label_tree(self.store.labels, self.vocabulary or LabelVocabulary())

    def find_labels(self, text: str, n: int = 10) -> list[FoundLabel]:
        """Find labels by a part of their name, or of another name in the vocabulary.

        Parameters
        ----------
        text : str
            Beginning or part of the name.
        n : int, default=10
            Maximum number of labels.

        Returns
        -------
        list of FoundLabel
            ``label``, ``count`` of its items, and the other name ``by`` which it was found; names
            that begin with the text come first.
        """
        check_count("find_labels", "n", n)
        return find_labels(self.store.labels, self.vocabulary, text, n)

    @property
    def can_tag(self) -> bool:
        """Whether the index was fitted with labels, so that :meth:`tag` can predict them."""
        return self.model.can_tag

    @property
    def language_(self) -> str | None:
        """Language in which words are compared; None if the index takes vectors."""
        words = self.store.words
        return None if words is None else words.vocabulary.language

    @property
    def model_name(self) -> str:
        """Name of the language model next to the words; empty without one."""
        block = self.model.block
        return "" if block is None else block.name

    @property
    def problem(self) -> str:
        """Why only words are compared, if the language model of the fit is missing; else empty."""
        block = self.model.block
        return "" if block is None else block.problem

    @property
    def space(self) -> Any:
        """The fitted estimator."""
        return self.model.space.estimator

    @property
    def path(self) -> Path | None:
        """The folder from which the index was loaded; None in memory."""
        return None if self._folder is None else self._folder.path

    @property
    def writable(self) -> bool:
        """Whether items can be added and removed: in memory, or as the writer of a folder."""
        return self._folder is None or self._folder.writable

    @property
    def model(self) -> IndexModel:
        """What was learned: features, space and tagger."""
        return self._fitted()[0]

    @property
    def store(self) -> ItemStore:
        """The items: database, vectors, labels and words, by rows."""
        return self._fitted()[1]

    @property
    def state(self) -> str:
        """Name of the current state of an index in a folder, the same for all its readers."""
        store = self.store
        return f"{'' if store.folder is None else store.folder.name}, revision {store.revision}"

    # --- queries ----------------------------------------------------------------------

    @_reads
    def search(
        self,
        query: Any = None,
        k: int = 10,
        filter: Filter | Mapping[str, Any] | None = None,
        *,
        items: str | Sequence[str] = (),
        labels: str | Sequence[str] = (),
        balance: float | None = None,
    ) -> Any:
        """Find items by a text, by items, by labels, or by a combination of these.

        A text is compared by its words and its embedding; items and labels only by embedding. An
        item whose id or title equals the text comes first. In a text, ``"two words"`` is a phrase,
        ``-word`` excludes items with a word, and ``begin*`` matches all words with that prefix; a
        text of more than 16 words is treated as plain text.

        Several queries passed at once are faster than one by one, with the same results.

        Parameters
        ----------
        query : str, list of str, array, or None, default=None
            A text, or several texts for several results. In an index of vectors, a vector or an
            array with one vector per row.
        k : int, default=10
            Maximum number of items. Items with a score of 0 are not returned.
        filter : Filter, dict or None, default=None
            Condition on labels and metadata of the items.
        items : str or list of str, default=()
            Ids of example items, which are not among the results.
        labels : str or list of str, default=()
            Labels, learned or not.
        balance : float or None, default=None
            Weight of the embedding in a text search: 0 uses only words, 1 only the embedding. None
            is 0.4, or 0.5 with a language model.

        Returns
        -------
        list of Hit
            Best first, shown as a table in a notebook; a list of such lists for several queries.
        """
        model, store = self._fitted()
        check_count("search", "k", k)
        balance = check_balance("search", balance, model)
        asked = Query(model, store, query, items, labels)
        mask = mask_rows(store, Filter.of(filter), asked.items)
        found, single = rank(asked, k=k, mask=mask, balance=balance)
        shown = store.fetch(np.unique(np.concatenate([one.rows for one in found])).tolist())
        tables = [ResultTable(one.hits(shown)) for one in found]
        return tables[0] if single else tables

    def browse(
        self,
        query: Any = "",
        filter: Filter | Mapping[str, Any] | None = None,
        *,
        balance: float | None = None,
        sort: str = "",
        within: Any = None,
    ) -> ItemList:
        """List all items that match a text and a filter, with pages of them and counts over them.

        An item matches a text if it has a third of its words or more, weighted by their rarity, or
        with ``balance=1`` a cosine similarity of at least 0.25. If sorted by score, at most 200 of
        them are followed by at most 50 others that are close in meaning.

        Parameters
        ----------
        query : str or array, default=""
            As in :meth:`search`; an empty text matches all items.
        filter : Filter, dict or None, default=None
            Condition on labels and metadata of the items.
        balance : float or None, default=None
            As in :meth:`search`.
        sort : str, default=""
            "score", "title", "id", "labels" (number of labels) or "meta.KEY"; a minus before it
            reverses the order, and items without the value come last. Empty for the order by
            score; without a text, the most typical items of the filter's labels come first, or
            items are in the order of the index.
        within : array of bool or None, default=None
            Restrict to the items that it marks, in the order of :attr:`ids`.

        Returns
        -------
        ItemList
            With ``total``, ``page``, ``blocks``, ``positions``, ``label_counts``,
            ``group_counts`` and ``facets``.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
        >>> labels = [["game"], ["game", "net"], ["image"], ["image"]]
        >>> index = SemanticIndex().fit(texts, labels)
        >>> found = index.browse("chess")
        >>> found.total, [hit.id for hit in found.page()], found.label_counts()
        (2, ['0', '1'], {'game': 2, 'net': 1})
        """
        model, store = self._fitted()
        balance = check_balance("browse", balance, model)
        return browse(model, store, query, filter, balance, sort, within)

    def fields(self) -> dict[str, FieldKind]:
        """Return the keys of the metadata with their kinds.

        Returns
        -------
        dict
            For each key "category", "number", "date", or "text" if its values hardly repeat.
        """
        return {name: field.kind for name, field in self.store.fields().items()}

    def unknown_words(self, query: str) -> dict[str, list[str]]:
        """Find the words of a query that no item has, and similarly spelled words.

        Parameters
        ----------
        query : str
            A text, as in :meth:`search`.

        Returns
        -------
        dict
            For each such word at most three alternatives, the most likely first; only the first
            three words are corrected.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> texts = ["Jurassic Park", "Jurassic World", "The Lost City", "City of Angels"]
        >>> index = SemanticIndex().fit(texts, [["a"], ["a"], ["b"], ["b"]])
        >>> index.unknown_words("jurasic city")
        {'jurasic': ['jurassic']}
        """
        words = self.store.words
        unknown = () if words is None else words.score(parse_query(query)).unknown
        return {
            word: words.near(word) if words and n < _MOST_CORRECTED else []
            for n, word in enumerate(unknown)
        }

    @_reads
    def tag(
        self,
        query: Any = None,
        k: int = 10,
        *,
        items: str | Sequence[str] = (),
        chosen: bool = False,
    ) -> Any:
        """Predict labels for one text, for several, or for items.

        Parameters
        ----------
        query : str, list of str, array, or None, default=None
            As in :meth:`search`.
        k : int, default=10
            Maximum number of labels.
        items : str or list of str, default=()
            Ids of items, instead of a query: their labels are predicted by the model without them.
        chosen : bool, default=False
            Whether to leave out labels whose probability is below their threshold.

        Returns
        -------
        list of Tag
            Most probable first; ``tag.chosen`` says whether the probability of a label reaches its
            threshold. About as many labels are chosen as items have on average. For several texts
            or items, a list of such lists.
        """
        check_count("tag", "k", k)
        return self._tagging().tag(query, k, items, chosen=chosen)

    @_reads
    def explain_tag(
        self, label: str, query: Any = None, n: int = 5, *, items: str = ""
    ) -> TagExplanation:
        """Explain the probability of a label by words of the text and nearby labelled items.

        Parameters
        ----------
        label : str
            A label that the tagger has learned.
        query : str or None, default=None
            A text; in an index of vectors a vector.
        n : int, default=5
            Maximum number of words, and of items.
        items : str, default=""
            Id of an item, instead of a query.

        Returns
        -------
        TagExplanation
            A tag with ``words`` of the text and their shares of the score, positive or negative,
            and ``votes``: the nearest labelled items (``id``, ``similarity``, ``has_label``).
        """
        check_count("explain_tag", "n", n)
        return self._tagging().explain(label, query, n, items)

    def label_report(self) -> list[LabelReport]:
        """Report for each label how well it is predicted on held-out items.

        Returns
        -------
        list of LabelReport
            In the order of the labels: ``support`` items have the label, for ``chosen`` held-out
            items it was predicted, with ``precision`` and ``recall``; with a ``threshold`` of 1 it
            never is. Each item is predicted by the model without it.
        """
        return self._tagging().report()

    @property
    def tagger(self) -> Tagger | None:
        """The tagger, updated with all changes; None without labels."""
        return self._tagger(*self._fitted())

    def _tagger(self, model: IndexModel, store: ItemStore) -> Tagger | None:
        """Return the tagger for the labels of a store."""
        if model.tagger is None:
            return None
        tagger = model.tagger.with_names(store.labels.names)
        tagger = tagger.with_vocabulary(store.vocabulary)
        return store.once("tagger", ItemTagger(model, store, tagger).current)

    def _tagging(self) -> ItemTagger:
        model, store = self._fitted()
        return ItemTagger(model, store, self._tagger(model, store))

    @_reads
    def explain(
        self,
        query: Any,
        id: str,
        n: int = 5,
        *,
        items: str | Sequence[str] = (),
        labels: str | Sequence[str] = (),
        balance: float | None = None,
    ) -> Explanation:
        """Explain why an item was found: words in its text, shared axes, words and labels.

        Parameters
        ----------
        query : str, array or None
            As in :meth:`search`; at most one text.
        id : str
            Id of the item.
        n : int, default=5
            Maximum number of axes, and of words.
        items, labels : str or list of str, default=()
            As in :meth:`search`.
        balance : float or None, default=None
            As in :meth:`search`.

        Returns
        -------
        Explanation
            ``score``, of which ``from_words`` and ``from_space`` are parts unless ``exact`` says
            that the id or the title is the query; ``matches``, words of the query that the text
            contains, and their shares of the score; ``cosine`` with the shares of ``axes`` and of
            ``words`` in it; ``labels`` of the item, with their probabilities for the query.

        Examples
        --------
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
        >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
        >>> index.explain("chess", index.search("chess", 1)[0].id).words[0].word
        'chess'
        """
        model, store = self._fitted()
        check_count("explain", "n", n)
        asked = Query(model, store, query, items, labels)
        balance = check_balance("explain", balance, model)
        tagger = self._tagger(model, store)
        return explain(asked, tagger, store.item(id), n=n, balance=balance)

    def axes(self, n: int = 5, numbers: Sequence[int] | None = None) -> list[Axis]:
        """Describe the dimensions of the embedding by the words and labels at both ends.

        Parameters
        ----------
        n : int, default=5
            Maximum number of words, and of labels, at each end.
        numbers : list of int or None, default=None
            Axes, counted from 0; None returns all.

        Returns
        -------
        list of Axis
            For each requested dimension, in the given order, its ``number``, ``eigenvalue``, and
            ``words`` and ``labels`` at both ends (``high`` and ``low``), with their weights.
        """
        model, store = self._fitted()
        check_count("axes", "n", n)
        return read_axes(model, store, range(self.n_dimensions) if numbers is None else numbers, n)

    # --- the folder -------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str] | None = None) -> Self:
        """Write the index to a folder, replacing an index in it.

        If the process is killed or the disk is full, either the old index or the new one remains.
        Readers of the old index can continue to read it.

        Parameters
        ----------
        path : path or None, default=None
            A folder: new, empty, or with an index in it. None writes to the folder from which the
            index was loaded for writing.

        Returns
        -------
        self
            The index.

        Examples
        --------
        >>> import tempfile
        >>> from labelspan import SemanticIndex
        >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
        >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = index.save(folder)
        ...     with SemanticIndex.load(folder, write=True) as writer:
        ...         _ = writer.add(["a game of dice"], ids=["new"])
        ...     with SemanticIndex.load(folder) as reader:
        ...         reader.item("new").text
        'a game of dice'
        """
        with self.write_lock:
            model, store = self._fitted()
            own = self._folder
            if path is None and own is None:
                raise InvalidInput("save: this index has no folder yet; give one.")
            if own is not None and path is not None and Path(path).resolve() != own.path.resolve():
                own = None
            if own is not None and not own.writable:
                raise self._read_only("save")
            tagger = self.tagger
            if tagger is not None:
                model = model.with_tagger(tagger)
            settings = {
                "default_estimator": self.estimator is None and self._default,
                "language": self.language,
                "fields": self.corpus_fields,
            }
            folder = own or IndexFolder(Path(path or ""), write=True, new=True)

            def fill(made: Path, key: str) -> dict[str, Any]:
                made.mkdir()
                files = Files(made)
                # The history goes on when an index is replaced.
                past = Past([], []) if own is not None else read_history(folder.path)
                store.write(files, key, past.read_again())
                return write_model(files, model, store.words, settings)

            try:
                folder.write(fill)
            finally:
                if own is None:
                    folder.close()
            if own is not None:
                self._read(verify=False)
        return self

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        write: bool = False,
        verify: bool = False,
        mapped: bool = True,
        model: Any = None,
        encoder: Callable[[list[str]], Any] | None = None,
        device: Any = None,
    ) -> Self:
        """Open a saved index. No code from its files is run.

        Parameters
        ----------
        path : path
            The folder.
        write : bool, default=False
            Whether items will be added or removed: each change is then on disk when its call
            returns. There is one writer at a time; others can read meanwhile.
        verify : bool, default=False
            Whether to verify the checksum of every file and item. Otherwise, files of up to
            16 MiB are checked completely, items when they are read, and larger files only for their
            sizes, shapes and the numbers that refer to other data.
        mapped : bool, default=True
            Whether arrays are memory-mapped. Otherwise they are read into memory, and a file that
            is truncated later does no harm; a process that reads a mapped file beyond its end is
            killed by the system.
        model : str, path or None, default=None
            The language model of the fit, if it is elsewhere now; None finds it by its name. It
            must give the same vectors. Without it, queries are compared by their words, and
            :attr:`problem` says why.
        encoder : function or None, default=None
            That of an index that was fitted with ``encoder=``, which is not found by a name.
        device : str or None, default=None
            Where the model runs, for example "cuda".

        Returns
        -------
        SemanticIndex
            Close a writer when done, or use it in a ``with`` statement.

        Raises
        ------
        MissingData
            If there is no index.
        InvalidFile
            If it is damaged, not an index, or in another format.
        Locked
            If another writer has it open.
        TooManyFiles
            If the process has too many open files.
        """
        index = cls()
        if model is not None or encoder is not None:
            given = as_source(model, encoder, None, device)
            index._given = None if given is None else given.model
        index._device = device
        index._mapped = mapped
        index._folder = IndexFolder(Path(path), write=write)
        try:
            index._read(verify=verify)
        except BaseException:
            index.close()
            raise
        return index

    def _read(self, *, verify: bool) -> None:
        """Replace the content of the index by that of the folder."""
        folder = self._folder
        assert folder is not None

        def read(files: Files, content: dict[str, Any]) -> Any:
            model, words, settings = read_model(files, content)
            check = folder.check_current
            write = folder.writable
            store = ItemStore.read(files, content, words, model, write=write, check=check)
            try:
                directions = model.space.directions
                if directions is not None and len(directions.means) > len(store.labels.names):
                    raise InvalidFile("The space has more labels than the items; it is damaged.")
                if model.space.n_dimensions != store.vectors.width:
                    raise InvalidFile("The parts of the index do not fit together; it is damaged.")
            except BaseException:
                store.close()
                raise
            return model, store, settings

        model, store, settings = folder.read(read, verify=verify, mapped=self._mapped)
        try:
            if model.block is not None:
                model.block.use(self._given, self._device)
            elif self._given is not None:
                raise Mismatch("load: this index was fitted without a model; omit it.")
        except BaseException:
            store.close()
            raise
        self._content = model, store
        self.estimator, self._default = None, bool(settings.get("default_estimator"))
        self.language = settings["language"]
        self.corpus_fields = settings["fields"]

    def refresh(self) -> bool:
        """Read the index again if a writer has changed it.

        Returns
        -------
        bool
            Whether it had changed.
        """
        with self.write_lock:
            if not self.stale():
                return False
            self._read(verify=False)
        return True

    def stale(self) -> bool:
        """Return whether a writer has changed the folder since it was read.

        Returns
        -------
        bool
            True if there is a newer version, which :meth:`load` would read.
        """
        _, store = self._fitted()
        if self._folder is None or self._folder.writable:
            return False
        return self._folder.replaced() or store.changed()

    def close(self) -> None:
        """Close the folder, so that others may write to it."""
        with self.write_lock:
            if self._content is not None:
                self._content[1].close()
            if self._folder is not None:
                self._folder.close()
            self._content = self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # --- internal ---------------------------------------------------------------------

    def _fitted(self) -> tuple[IndexModel, ItemStore]:
        content = self._content
        if content is None:
            from sklearn.exceptions import NotFittedError  # noqa: PLC0415 - only where it is raised

            raise NotFittedError("This SemanticIndex is empty; call fit, or SemanticIndex.load.")
        return content

    def _read_only(self, what: str) -> Mismatch:
        assert self._folder is not None
        return Mismatch(
            f"{what}: the index in {str(self._folder.path)!r} was loaded for reading; load it with "
            "write=True."
        )
