"""Fit an index, block by block: texts, features, space, vectors, tags, store.

A fit in memory keeps its blocks in memory; one in a folder keeps them in ``unfinished`` of the
folder of the index, so that memory is bounded by a block and an interrupted fit goes on:

    plan.json   the corpus, its size and date, and all options: a fit with the same goes on
    index/      items.sqlite, filled block by block; the other files of the index at the end
    texts/      word numbers, postings and labels of each block
    rows/       features of each block

1. Items are read once, a block at a time: they go into the database, their words into numbers.
2. Labels are chosen, and features by their document frequencies over all blocks.
3. Features are computed for each block.
4. The space is learned from the features and labels.
5. Vectors are computed for each block, and the tagger is learned.

After a kill, steps 1 and 3 go on after the last block that is on the disk; others are repeated.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from .._files import write_whole
from .._typing import Array
from ..adapt import Adapter
from ..errors import InvalidFile, InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from ..estimators import DLE, LPP, LSI, MLSI, Embedding
from ..labels.reading import DENSE_ENTRIES
from ..operators import Operator, RowFiles, RowWriter, as_operator
from ..operators.array_backend import is_tensor, on_host
from ..tagger import Tagger
from ..tagger.learning import Fold, learn_tagger
from ..text import (
    AUTO,
    SPACE,
    TAGS,
    FeatureCounts,
    TextBlock,
    TextFeatures,
    Vocabulary,
    WordSearch,
    WordSegment,
    check_language,
    detect_language,
)
from ..text.static_vectors import PooledVectors, check_static
from ..text.vocabulary import pack_strings
from .array_file import ArrayBlocks, Rows
from .folder import ITEMS, UNFINISHED, Files, IndexFolder
from .inputs import LabelLists, read_ids, read_label_lists, read_metadata
from .model import IndexModel, ModelEncoder, Space, merged_segments, read_vectors, write_model
from .older import read_decisions
from .results import Item
from .store import ItemDatabase, LabelTable

__all__ = [
    "FitOptions",
    "Fitted",
    "ItemStream",
    "StreamedIndex",
    "fit_items",
    "fit_options",
    "fit_stream",
]

_PLAN_VERSION = 5
# Items of a block, and characters of their texts, at most: in files, and in memory.
_IN_FILES, _IN_MEMORY = (20_000, 1 << 24), (1 << 20, 1 << 28)
# Labelled items from which the tagger of a stream learns, by default.
TAG_SAMPLE = 10_000
# Parts of the items of an index of vectors on which its tagger is calibrated.
_FOLDS = 3
# Steps of a fit, and that which learns the space.
_STEPS, _LEARNING = 5, 3

# Takes the number of steps done, their total, and what is being done.
Report = Callable[[int, int, str], Any]


class ItemStream(Protocol):
    """Items that can be read more than once, for example of a corpus in files."""

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...

    @property
    def name(self) -> str: ...

    def items(self, skip: int = 0) -> Iterator[Any]: ...


@dataclass(frozen=True)
class FitOptions:
    """How an index is fitted.

    Attributes
    ----------
    estimator : estimator
        Learns the space.
    language : str
        A code, or "none".
    min_count : int
        Labels of fewer items are left out.
    empty_is_none : bool
        Whether items without labels, after that, are known to have none.
    tag_sample : int or None
        Maximum number of labelled items from which the tagger learns; None for all, 0 for no
        tagger.
    hold : function or None
        Moves features to where the space is learned, for example to a cluster.
    fields : mapping
        Fields of the corpus with text, labels and ids, by which more items are read later.
    static : path or None
        File of word vectors that are used next to the words.
    """

    estimator: Any
    language: str
    min_count: int = 1
    empty_is_none: bool = False
    tag_sample: int | None = None
    hold: Callable[[Any], Operator] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    static: str | os.PathLike[str] | None = None


def fit_options(
    estimator: Any,
    language: str,
    texts: Sequence[str],
    *,
    encoded: bool,
    labelled: bool,
    client: Any,
    device: Any,
    static: str | os.PathLike[str] | None,
    report: Report | None,
) -> FitOptions:
    """Check the options of a fit in memory; choose the estimator and the language if asked."""
    if estimator is None:
        # Vectors of a model are adapted; without labels, PCA.
        space = LSI(center=True) if not labelled else Adapter()
        estimator = space if encoded else MLSI("auto")
    if not hasattr(estimator, "fit"):
        raise InvalidParameter(
            "SemanticIndex: estimator must be an estimator of labelspan, for example MLSI(), "
            f"or None, but {estimator!r} was given."
        )
    if client is not None and device is not None:
        raise Mismatch(
            f"fit: client= learns on a cluster and device={device!r} on one device; give one of "
            "them."
        )
    if not (client is None and device is None) and not _takes_operators(estimator):
        given = "client" if device is None else "device"
        raise Mismatch(
            f"fit: {type(estimator).__name__} is learned on this machine, from all rows; omit "
            f"{given}=, or use LSI, MLSI, OPLS, CCA, LDA, HSL, PLSSVD or PLSDA."
        )
    hold: Callable[[Any], Operator] | None = None
    if client is not None:
        from ..operators.cluster import row_blocks_of  # noqa: PLC0415 - needs dask

        passes = count(1)

        def on_pass(name: str) -> None:
            if report is not None:
                said = f"pass {next(passes)} over the workers' rows ({name})"
                report(_LEARNING, _STEPS, said)

        hold = partial(row_blocks_of, client, on_pass=on_pass)
    elif device is not None:
        hold = partial(as_operator, device=device)
    language = check_language("SemanticIndex", language)
    if language == AUTO:
        language = detect_language(list(texts))
    return FitOptions(estimator, language, hold=hold, static=static and check_static(static))


@dataclass(frozen=True)
class Fitted:
    """What was fitted: model, database, vectors of all rows (None if they are in a file)."""

    model: IndexModel
    database: ItemDatabase
    vectors: Array | None
    words: WordSearch | None
    labels: LabelTable
    undercount: int
    tagged: int


@dataclass(frozen=True)
class StreamedIndex:
    """What was fitted from a stream: numbers of items, labels and dimensions, and how.

    ``tag_sample`` is the number of items from which the tagger learned, ``undercount`` the number
    of texts that may be missing in the count of a feature, and ``resumed`` how many items were
    there from an earlier run.
    """

    items: int
    labelled: int
    labels: int
    features: int
    dimensions: int
    language: str
    tag_sample: int
    undercount: int
    resumed: int


def fit_items(
    items: Sequence[Item],
    options: FitOptions,
    *,
    encoder: Callable[[list[str]], Any] | None = None,
    vectors: Any = None,
    report: Report | None = None,
) -> Fitted:
    """Fit an index in memory: of words, of vectors, or of those that an encoder gives to texts."""
    fit = _Fit(options, _Work(None), report)
    fit.read(iter(items), "fit")
    if encoder is not None:
        model = ModelEncoder(encoder)
        found = (
            model.of_texts([item.text for item in items], "fit")
            if vectors is None
            else np.asarray(read_vectors(vectors, len(items), "fit"))
        )
        model.size = int(found.shape[1])
        return fit.learn(model, found)
    if vectors is not None:
        return fit.learn(None, read_vectors(vectors, len(items), "fit"))
    return fit.learn(*fit.features())


def fit_stream(
    corpus: ItemStream,
    out: Path,
    options: FitOptions,
    *,
    sample: Sequence[str] = (),
    plan: Mapping[str, Any] | None = None,
    block_items: int = _IN_FILES[0],
    report: Report | None = None,
) -> StreamedIndex:
    """Fit an index on a stream of items, and write it to a folder.

    Memory is bounded by blocks of items and of features, by the number of different words and
    labels, and by a few numbers per item.

    Parameters
    ----------
    corpus : ItemStream
    out : Path
        A folder, new or with an index or an unfinished fit.
    options : FitOptions
        The language may be "auto": it is then detected in ``sample``.
    sample : list of str
        Some texts.
    plan : mapping or None
        What else must be the same for a fit to go on.
    block_items : int, default=20_000
        Items of a block.
    report : function or None, default=None
        Called with the number of steps done, their total, and what is being done.
    """
    estimator = options.estimator
    if not _takes_operators(estimator):
        raise Mismatch(
            f"fit: {type(estimator).__name__} cannot learn from a stream; use LSI, MLSI, OPLS, "
            "CCA, HSL or LDA, or fit in memory."
        )
    given = check_language("fit", options.language)
    language = detect_language(list(sample)) if given == AUTO else given
    wanted = {
        "version": _PLAN_VERSION,
        "corpus": dict(corpus.fingerprint),
        "estimator": [
            type(estimator).__name__,
            {name: repr(value) for name, value in estimator.get_params().items()},
        ],
        "language": language,
        "labels": [options.min_count, options.empty_is_none],
        "tags": options.tag_sample,
        "static": options.static and _file_state(options.static),
        "options": dict(plan or {}),
        "block": block_items,
    }
    folder = IndexFolder(out, write=True, new=True)
    try:
        work = _Work(out / UNFINISHED, wanted)
        chosen = FitOptions(**{**vars(options), "language": language})
        fit = _Fit(chosen, work, report, (block_items, _IN_FILES[1]))
        resumed = fit.n_items
        fit.read(corpus.items(resumed), corpus.name)
        found = fit.learn(*fit.features())
        settings = {
            "default_estimator": False,
            "language": given,
            "fields": dict(options.fields),
        }
        carry_decisions(out, found.database)
        found.database.finish()
        content = write_model(work.files, found.model, found.words, settings)
        folder.adopt(work.files, work.key, content)
    finally:
        folder.close()
    return StreamedIndex(
        len(found.labels),
        int(found.labels.known.sum()),
        len(found.labels.totals),
        found.model.space.n_features,
        found.model.space.n_dimensions,
        language,
        found.tagged,
        found.undercount,
        resumed,
    )


class _Work:
    """What a fit has done so far: in memory, or in a folder that is emptied if it is another's."""

    def __init__(self, folder: Path | None, plan: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.key = secrets.token_hex(4)
        if folder is None:
            self.database = ItemDatabase.create(self.key)
            return
        path = folder / "plan.json"
        wanted = json.loads(json.dumps(plan))
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            there = {}
        known = str(there.get("key", ""))
        # Without its items, what is left was adopted by an index whose manifest was not written.
        lost = (folder / "texts").exists() and not (folder / "index" / ITEMS).exists()
        if there.get("plan") != wanted or len(known) != 8 or lost:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            data = json.dumps({"plan": wanted, "key": self.key}).encode()

            def write(file: BinaryIO) -> None:
                file.write(data)

            write_whole(path, write)
        else:
            self.key = known
        (folder / "index").mkdir(exist_ok=True)
        self.files = Files(folder / "index")
        self.database = ItemDatabase.build(folder / "index" / ITEMS, self.key)


class _TextBlocks:
    """Words and labels of the blocks that were read, in memory or in files."""

    def __init__(self, language: str, folder: Path | None) -> None:
        self._files = None if folder is None else ArrayBlocks(folder / "texts")
        self._memory: list[tuple[WordSegment, LabelLists]] = []
        self.vocabulary = Vocabulary(language)
        if self._files is not None and len(self._files):
            parts: dict[str, list[Any]] = {"words": [], "terms": [], "term_of": []}
            for block in self._files:
                for name, own in parts.items():
                    own.append(block.array(f"new_{name}"))
            arrays = {name: np.concatenate(own) for name, own in parts.items()}
            self.vocabulary = Vocabulary.from_arrays(language, arrays)
        self._known = len(self.vocabulary), len(self.vocabulary.terms)

    def append(self, items: Sequence[Item]) -> None:
        """Split the texts of items into words, and keep their numbers."""
        texts = [item.text for item in items]
        block = self.vocabulary.number(texts)
        segment = WordSegment.build(block, [item.id for item in items], texts)
        labels: LabelLists = [item.labels for item in items]
        if self._files is None:
            self._memory.append((segment, labels))
            return
        words, terms = self._known
        every = self.vocabulary.words, self.vocabulary.terms
        self._files.append(
            {
                **segment.arrays(),
                "new_words": pack_strings(every[0][words:]),
                "new_terms": pack_strings(every[1][terms:]),
                "new_term_of": self.vocabulary.term_of[words:],
                "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
            },
            rows=len(items),
        )
        self._known = len(every[0]), len(every[1])

    @property
    def n_items(self) -> int:
        """Number of items of all blocks."""
        if self._files is None:
            return sum(len(one.block) for one, _ in self._memory)
        return sum(int(block.about["rows"]) for block in self._files)

    def segments(self) -> Iterator[WordSegment]:
        """Yield the words of each block."""
        for segment, _ in self._memory:
            yield segment
        for block in self._files or ():
            yield WordSegment.from_arrays(self.vocabulary, block.arrays())

    def labels(self) -> LabelLists:
        """Return the labels of all items."""
        found = [one for _, labels in self._memory for one in labels]
        for block in self._files or ():
            own = json.loads(bytes(block.array("labels")))
            found += [None if one is None else tuple(one) for one in own]
        return found


class _Fit:
    """The steps of a fit."""

    def __init__(
        self,
        options: FitOptions,
        work: _Work,
        report: Report | None,
        most: tuple[int, int] = _IN_MEMORY,
    ) -> None:
        self._options, self._work, self._most = options, work, most
        self._report = report or (lambda *_: None)
        self._texts = _TextBlocks(options.language, work.folder)
        self._undercount = 0

    @property
    def n_items(self) -> int:
        """Number of items that were read."""
        return self._texts.n_items

    def _blocks(self) -> Iterator[TextBlock]:
        return (segment.block for segment in self._texts.segments())

    # --- 1: items ---------------------------------------------------------------------

    def read(self, items: Iterator[Any], name: str) -> None:
        """Read items into the database, and number their words."""
        database = self._work.database
        if database.next_row > self.n_items:
            database.truncate(self.n_items)
        done = self.n_items
        for batch in _batches(items, *self._most, check=self._work.folder is not None):
            self._report(0, _STEPS, f"{done:,} items read")
            try:
                with database.change() as cursor:
                    database.insert(cursor, batch)
            except InvalidFile as error:
                if isinstance(error.__cause__, sqlite3.IntegrityError):
                    raise InvalidFile(
                        f"{name}: two items have the same id; choose another field for ids "
                        "(--ids), or --ids '' to number the items."
                    ) from error
                raise
            self._texts.append(batch)
            done += len(batch)
        if done < 2:
            raise InvalidInput(f"fit: an index needs two items or more, but {done} were given.")

    # --- 2: labels and features -------------------------------------------------------

    def _labels(self) -> LabelTable:
        """Choose the labels, and write them to the database."""
        options, lists = self._options, self._texts.labels()
        table = LabelTable.of(lists)
        if options.min_count > 1:
            kept = {one for one, count in table.totals.items() if count >= options.min_count}
            empty = () if options.empty_is_none else None
            table = LabelTable.of(
                [own and (tuple(label for label in own if label in kept) or empty) for own in lists]
            )
        with self._work.database.change() as cursor:
            self._work.database.put_labels(cursor, table)
        return table

    def features(self) -> tuple[TextFeatures, Any]:
        """Choose the features, and compute those of all items."""
        vocabulary, static = self._texts.vocabulary, None
        if self._options.static is not None:
            self._report(1, _STEPS, "reading word vectors")
            static = PooledVectors.learn(self._options.static, vocabulary, self._blocks)
        counts = FeatureCounts(vocabulary, SPACE)
        for block in self._blocks():
            self._report(1, _STEPS, f"words counted in {counts.n_texts:,} texts")
            counts.add(block)
        self._undercount = counts.undercount
        chosen = counts.choose(static)
        if not chosen.idf.size:
            raise InvalidInput("fit: the texts have no words to learn from; give texts with words.")
        if self._work.folder is None:
            return chosen, _joined([chosen.transform(block) for block in self._blocks()])
        folder = self._work.folder / "rows"
        (folder / "rows.json").unlink(missing_ok=True)
        writer, first = RowWriter(folder), 0
        for block in self._blocks():
            self._report(2, _STEPS, f"features of {first:,} items")
            if writer.n_rows <= first:
                writer.append(chosen.transform(block))
            first += len(block)
        writer.close()
        return chosen, RowFiles(folder)

    # --- 3: learning ------------------------------------------------------------------

    def learn(self, features: TextFeatures | ModelEncoder | None, rows: Any) -> Fitted:
        """Learn the space and the tags from features, and compute the vectors of all items."""
        labels = self._labels()
        self._report(_LEARNING, _STEPS, "learning the space")
        options = self._options
        estimator, space = self._learn_space(rows, labels)
        self._report(4, _STEPS, "computing vectors")
        vectors = self._vectors(space, rows)
        self._report(4, _STEPS, "learning tags")
        tagger, tagged = None, 0
        known = np.flatnonzero(labels.known) if labels.totals else np.zeros(0, dtype=np.intp)
        most = options.tag_sample
        if known.size >= (1 if most is None else 2) and most != 0:
            chosen = known
            if most is not None and known.size > most:
                rng = np.random.default_rng(0)
                chosen = np.sort(rng.choice(known, most, replace=False))
            tagger = self._tagger(
                features,
                labels,
                chosen,
                rows=rows,
                vectors=vectors,
                estimator=estimator,
                sampled=chosen.size < known.size,
            )
            tagged = int(chosen.size)
        words = None
        if features is not None:
            segments = merged_segments(self._texts.segments())
            words = WordSearch(self._texts.vocabulary, segments)
        self._report(_STEPS, _STEPS, "done")
        return Fitted(
            IndexModel(features, space, tagger),
            self._work.database,
            vectors,
            words,
            labels,
            self._undercount,
            tagged,
        )

    def _learn_space(self, rows: Any, labels: LabelTable) -> tuple[Any, Space]:
        """Return the estimator with what it chose as parameters, and the space."""
        estimator, hold = self._options.estimator, self._options.hold
        required = get_tags(estimator).target_tags.required
        if required and not labels.totals:
            raise InvalidLabels(
                f"fit: {type(estimator).__name__} needs labels, but no item has a known label; "
                "label some items, or use SemanticIndex(estimator=LSI())."
            )
        learned_from = rows if hold is None else hold(rows)
        fitted = _fitted(estimator, *_training(learned_from, labels, required))
        settled = fitted.settled() if hasattr(fitted, "settled") else estimator
        return settled, Space.of(fitted)

    def _vectors(self, space: Space, rows: Any) -> Array | None:
        """Compute the vectors of all items: in memory, or in a file of the index."""
        if self._work.folder is None:
            return space.vectors(rows)
        shape = (self.n_items, space.n_dimensions)
        parts = (space.vectors(block) for _, block in rows.blocks())
        self._work.files.write("vectors", {"vectors": Rows(shape, "<f4", parts)})
        return None

    # --- 4: tags ----------------------------------------------------------------------

    def _tagger(
        self,
        features: TextFeatures | ModelEncoder | None,
        labels: LabelTable,
        chosen: Array,
        *,
        rows: Any,
        vectors: Array | None,
        estimator: Any,
        sampled: bool,
    ) -> Tagger:
        """Learn to predict labels from some items.

        An index of texts has features for that. One of vectors does not keep these: the vectors of
        the space are used, which have seen the labels, so that the tagger is calibrated on spaces
        that were learned without some items.
        """
        targets, names = labels.matrix(chosen), tuple(labels.names)
        if isinstance(features, TextFeatures):
            blocks, first = [], 0
            for block in self._blocks():
                own = chosen[(chosen >= first) & (chosen < first + len(block))] - first
                blocks.append(block.take(own))
                first += len(block)
            joined = TextBlock.join(blocks)
            counts = FeatureCounts(self._texts.vocabulary, TAGS)
            counts.add(joined)
            texts = counts.choose(features.static)
            return learn_tagger(
                names, targets, texts.transform(joined), chosen, texts=texts, sampled=sampled
            )
        if features is not None:
            return learn_tagger(names, targets, rows[chosen], chosen)
        assert vectors is not None
        rng = np.random.RandomState(0)
        folds = min(_FOLDS, chosen.size // 2)
        parts = np.array_split(rng.permutation(chosen.size), folds) if folds > 1 else []
        required = get_tags(estimator).target_tags.required

        def outside(held: Array) -> Fold:
            others = np.setdiff1d(np.arange(len(labels)), chosen[held])
            own = LabelTable.of([labels.labels(int(row)) for row in others], labels.names)
            part = Space.of(_part(estimator, *_training(_some(rows, others), own, required)))
            inside = np.setdiff1d(chosen, chosen[held])
            seen, unseen = (part.vectors(_some(rows, own)) for own in (inside, chosen[held]))
            return held, seen, unseen

        return learn_tagger(
            names,
            targets,
            vectors[chosen],
            chosen,
            folds=(outside(np.sort(held)) for held in parts),
        )


def _file_state(path: str | os.PathLike[str]) -> list[Any]:
    """Return what tells whether a file of word vectors is still the same."""
    found = check_static(path)
    state = found.stat()
    return [str(found.resolve()), state.st_size, state.st_mtime_ns]


def carry_decisions(out: Path, database: ItemDatabase) -> None:
    """Copy the decisions of the index in a folder to a new database, if there is one."""
    records = read_decisions(out)
    if records:
        with database.change() as cursor:
            database.put_decisions(cursor, records)


def _training(rows: Any, labels: LabelTable, required: bool) -> tuple[Any, Any]:
    """Return the rows and targets from which a space is learned.

    Rows with unknown labels are learned from where the targets fit into a dense array, whose
    entries can be unknown; otherwise an estimator that needs labels learns from labelled rows.
    """
    if not labels.totals:
        return rows, None
    dense = len(labels) * len(labels.names) <= DENSE_ENTRIES and not isinstance(rows, RowFiles)
    if dense:
        targets = labels.matrix().toarray()
        targets[~labels.known] = np.nan
        return rows, targets
    if not required:
        return rows, None
    known = np.flatnonzero(labels.known)
    return (rows if known.size == len(labels) else _some(rows, known)), labels.matrix(known)


def _takes_operators(estimator: Any) -> bool:
    """Return whether an estimator learns from products with the rows, which may be elsewhere."""
    return isinstance(estimator, Embedding) and not isinstance(estimator, LPP | DLE)


def _fitted(estimator: Any, rows: Any, targets: Any) -> Any:
    space = clone(estimator)
    space = space.fit(rows) if targets is None else space.fit(rows, targets)
    for name, value in vars(space).items():
        if is_tensor(value):
            setattr(space, name, on_host(value))
    return space


def _part(estimator: Any, rows: Any, targets: Any) -> Any:
    """Fit the estimator on some rows, with as many dimensions as they allow."""
    asked = estimator.n_components
    part = clone(estimator)
    if isinstance(asked, int):
        part.set_params(n_components=min(asked, rows.shape[0] - 1, rows.shape[1]))
    try:
        return _fitted(part, rows, targets)
    except InvalidParameter:
        # A label, and with it a dimension, may be missing from these rows.
        default = type(part)().n_components
        return _fitted(part.set_params(n_components=default), rows, targets)


def _some(rows: Any, index: Array) -> Any:
    return rows.rows(index) if isinstance(rows, Operator) else rows[index]


def _joined(blocks: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    return blocks[0] if len(blocks) == 1 else sparse.csr_matrix(sparse.vstack(blocks))


def _batches(
    items: Iterable[Any], most: int, characters: int, *, check: bool
) -> Iterator[list[Item]]:
    """Yield blocks of items; ``check`` those that come from a file."""
    batch: list[Item] = []
    size = 0
    for found in items:
        item = found
        if check:
            labels = read_label_lists([found.labels], None, 1, "fit")[0]
            name = read_ids([found.id], 1, "fit")[0]
            metadata = read_metadata([found.metadata], 1, "fit")[0] if found.metadata else {}
            item = Item(name, found.text, labels, metadata)
        batch.append(item)
        size += len(item.text)
        if len(batch) >= most or size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
