"""Fit an index, block by block: texts, features, space, vectors, tags, store.

A fit in Python keeps its blocks in memory; one in a folder keeps them in ``unfinished`` of the
folder of the index, so that memory is bounded by a block and an interrupted fit goes on:

    plan.json   the corpus, its size and date, and all options: a fit with the same goes on
    index/      items.sqlite, filled block by block; the other files of the index at the end
    texts/      word numbers, postings and labels of each block
    rows/       features of each block, if there are several

1. Items are read once, a block at a time: they go into the database, their words into numbers.
2. Labels are chosen, and features by their document frequencies over all blocks.
3. Features are computed for each block; those of a single block stay in memory.
4. The space is learned from the features and labels.
5. Vectors are computed for each block, and the tagger is learned.

After a kill, steps 1 and 3 go on after the last block that is on the disk; others are repeated.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from .._arrays import Rows
from .._files import write_whole
from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import (
    InvalidFile,
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    LabelspanWarning,
    Mismatch,
)
from ..estimators import DLE, LPP, LSI, MLSI, Embedding
from ..labels.reading import DENSE_ENTRIES
from ..operators import Operator, RowFiles, RowWriter, as_operator
from ..operators.array_backend import is_tensor, on_host
from ..operators.digits import dead_dimensions
from ..operators.joined import Joined, JoinedRows
from ..operators.machine import own_threads
from ..tagger import Tagger
from ..tagger.learning import Fold, leading_directions, learn_tagger
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
from ..text.vocabulary import pack_strings
from .block_lengths import choose_space_lengths, choose_tag_lengths, space_quality
from .blocks import LINK_DIRECTIONS, SPACE_LENGTH, TAG_LENGTH, Blocks, LinkBlock
from .database import VOCABULARY, ItemDatabase, read_history
from .folder import ITEMS, UNFINISHED, ArrayBlocks, Files, IndexFolder
from .history import Past
from .inputs import LabelLists, read_ids, read_label_lists, read_metadata, read_vectors
from .label_table import LabelTable
from .links import LINK_FIELDS, LinkFields, LinkGraph, read_graph
from .model import IndexModel, Space, write_model
from .model_block import ROWS_FILE, BlockSource, fit_block
from .results import Item

__all__ = ["ONE_BLOCK", "FitOptions", "Fitted", "fit_items", "fit_stream"]

_PLAN_VERSION = 6
# Block of a corpus that fits in memory: items, and characters of their texts, at most.
ONE_BLOCK = (1 << 20, 1 << 28)
# Labelled items from which the tagger of a stream learns, by default.
TAG_SAMPLE = 10_000
# Parts of the items of an index of vectors on which its tagger is calibrated.
_FOLDS = 3
# Rows from which the directions are learned that are averaged over links, and whose vectors are
# computed at a time.
_DIRECTION_ROWS, _ROWS_AT_ONCE = 20_000, 4096
# Axes of the features on which a method with a graph over the items is learned.
_AXES = 200
# Steps of a fit, and that which learns the space.
_STEPS, _LEARNING = 5, 3

# Takes the number of steps done, their total, and what is being done.
Report = Callable[[int, int, str], Any]


@dataclass(frozen=True)
class FitOptions:
    """How an index is fitted.

    Labels of fewer than ``min_count`` items are left out; ``empty_is_none`` says whether items
    without labels, after that, are known to have none. The tagger learns from at most
    ``tag_sample`` labelled items (None: all), the space on a ``device``.
    ``fields`` says how more items are read later. ``source`` has the vectors of a block of features
    next to the words, ``links`` are fields with links to other items. ``past`` returns the history
    that goes with the items.
    """

    estimator: Any
    language: str = AUTO
    min_count: int = 1
    empty_is_none: bool = False
    tag_sample: int | None = None
    device: Any = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    source: BlockSource | None = None
    links: LinkFields | None = None
    vocabulary: LabelVocabulary | None = None
    past: Callable[[], Past] | None = None

    def checked(self, texts: Callable[[], Iterable[str]]) -> FitOptions:
        """Return the options with a detected language; raise an error for incompatible ones."""
        if not hasattr(self.estimator, "fit"):
            raise InvalidParameter(
                "SemanticIndex: estimator must be an estimator of labelspan, for example MLSI(), "
                f"or None, but {self.estimator!r} was given."
            )
        if self.device is not None and not _takes_operators(self.estimator):
            raise Mismatch(
                f"fit: {type(self.estimator).__name__} is learned on the host, from all rows; "
                "omit device=, or use LSI, MLSI, OPLS, CCA, LDA or HSL."
            )
        language = check_language("SemanticIndex", self.language)
        if language == AUTO:
            language = detect_language(list(texts()))
        return replace(self, language=language)


@dataclass(frozen=True)
class Fitted:
    """What was fitted.

    ``vectors`` is None if they are in a file, ``rows`` are what the blocks next to the words store,
    if there are any and they are not in a file. ``links`` counts links, and says whether the space
    and the tagger use them. ``tag_sample`` counts the items that the tagger saw,
    ``undercount`` the texts that a feature's count may lack, ``resumed`` items of an earlier run.
    """

    model: IndexModel
    database: ItemDatabase
    vectors: Array | None
    rows: Array | None
    words: WordSearch | None
    labels: LabelTable
    language: str
    tag_sample: int
    undercount: int
    resumed: int = 0
    links: Mapping[str, Any] = field(default_factory=dict)


def fit_items(
    items: Sequence[Item],
    options: FitOptions,
    *,
    report: Report | None = None,
) -> Fitted:
    """Fit an index in memory: of words, of words and vectors next to them, or of vectors."""
    if options.estimator is None:
        options = replace(options, estimator=MLSI("auto"))
    texts = [item.text for item in items]
    fit = _Fit(options.checked(lambda: texts), report)
    fit.read(_batches(items, *ONE_BLOCK), "fit")
    source = options.source
    if source is not None and source.model is None and not fit.has_words:
        return fit.learn(None, _less_rounding(read_vectors(source.vectors, len(items), "fit")))
    return fit.learn(*fit.features())


def _less_rounding(vectors: Any) -> Any:
    """Return vectors of a model with zeros in dimensions that are nothing but rounding."""
    if sparse.issparse(vectors):
        return vectors
    dead = dead_dimensions(vectors)
    return np.where(dead, vectors.dtype.type(0), vectors) if dead.any() else vectors


def fit_stream(
    corpus: Any,
    out: Path,
    options: FitOptions,
    *,
    block: tuple[int, int] = (20_000, 1 << 24),
    report: Report | None = None,
) -> Fitted:
    """Fit an index on a stream of items, and write it to a folder.

    ``corpus`` has a ``name``, a ``fingerprint`` by which it is known again, and a method ``items``
    that yields its items, after a number to skip. Memory is bounded by a block (items, and
    characters of their texts, at most), by the number of different words and labels, and by a few
    numbers per item. A fit of several blocks that is interrupted continues where it stopped; one
    of a single block leaves its items if a person interrupts it, and otherwise nothing.
    """
    estimator = options.estimator
    if not isinstance(estimator, Embedding):
        raise Mismatch(
            f"fit: {type(estimator).__name__} cannot learn from a stream; use MLSI, LSI, OPLS, "
            "CCA, HSL, LDA, DLE or LPP, or fit in memory."
        )
    first = _batches(corpus.items(), *block)
    chosen = options.checked(lambda: [item.text for item in next(first, [])])
    plan = {
        "version": _PLAN_VERSION,
        "corpus": dict(corpus.fingerprint),
        "estimator": [
            type(estimator).__name__,
            {name: repr(value) for name, value in estimator.get_params().items()},
        ],
        "language": chosen.language,
        "labels": [options.min_count, options.empty_is_none],
        "tags": options.tag_sample,
        "model": chosen.source and chosen.source.fingerprint,
        "links": chosen.links and chosen.links.to_json(),
        "block": list(block),
    }
    work, fit = out / UNFINISHED, None
    folder = IndexFolder(out, write=True, new=True)
    try:
        _check_history(out)
        fit = _Fit(chosen, report, work, key := _continue(work, plan))
        resumed = fit.n_items
        fit.read(_batches(_checked_items(corpus.items(resumed)), *block), corpus.name)
        found = fit.learn(*fit.features())
        settings = {
            "default_estimator": False,
            "language": options.language,
            "fields": dict(options.fields),
        }
        with found.database.change() as cursor:
            # Items of an index come with its history; others are read from their file again.
            past = options.past
            found.database.carry(cursor, past() if past else read_history(out).read_again())
            if options.vocabulary is not None:
                known = options.vocabulary.to_json()
                found.database.put(cursor, VOCABULARY, known)
        found.database.finish()
        content = write_model(fit.files, found.model, found.words, settings)
        filled = fit.files.folder

        def adopt(made: Path, _: str) -> dict[str, Any]:
            filled.rename(made)
            return content

        folder.write(adopt, key)
    except BaseException as error:
        # A person who stops a fit goes on with it; an error in a single block comes again.
        stopped = isinstance(error, KeyboardInterrupt) and "once" not in corpus.fingerprint
        if fit is None or len(fit.blocks) < (1 if stopped else 2):
            shutil.rmtree(work, ignore_errors=True)
        raise
    finally:
        if fit is not None:
            fit.database.close()
        folder.close()
    return replace(found, resumed=resumed)


def _check_history(out: Path) -> None:
    """Raise an error before the fit if the history of an index cannot be preserved."""
    try:
        read_history(out)
    except InvalidFile as error:
        raise InvalidFile(
            f"{error} Its history cannot be kept: choose another folder, or remove this one."
        ) from error


def _continue(folder: Path, plan: Mapping[str, Any]) -> str:
    """Return the key of the fit in a folder, which is emptied if its plan is another."""
    path, wanted = folder / "plan.json", json.loads(json.dumps(plan))
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = {}
    # Without its items, what is left was adopted by an index whose manifest was not written.
    lost = (folder / "texts").exists() and not (folder / "index" / ITEMS).exists()
    if there.get("plan") == wanted and len(str(there.get("key"))) == 8 and not lost:
        return str(there["key"])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "index").mkdir(parents=True)
    key = secrets.token_hex(4)
    data = json.dumps({"plan": wanted, "key": key}).encode()
    write_whole(path, lambda file: file.write(data))
    return key


class _Fit:
    """The steps of a fit: words, labels and features of blocks, in memory or in a folder."""

    def __init__(
        self,
        options: FitOptions,
        report: Report | None,
        folder: Path | None = None,
        key: str = "",
    ) -> None:
        self._options, self._folder = options, folder
        self._report = report or (lambda *_: None)
        self.blocks: list[Mapping[str, Array]] | ArrayBlocks = []
        self._vocabulary = Vocabulary(options.language)
        # The words of a single block, which need not be read again.
        self._only: WordSegment | None = None
        self._undercount = 0
        if folder is None:
            self.database = ItemDatabase.build()
            return
        self.files = Files(folder / "index")
        self.blocks = ArrayBlocks(folder / "texts")
        if len(self.blocks):
            names = ("words", "terms", "term_of")
            parts = [[block[f"new_{name}"] for name in names] for block in self.blocks]
            joined = zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True)
            self._vocabulary = Vocabulary.from_arrays(options.language, dict(joined))
        # Last: the caller closes it, if nothing above has failed.
        self.database = ItemDatabase.build(folder / "index" / ITEMS, key)

    @property
    def has_words(self) -> bool:
        """Whether any text has a word."""
        return len(self._vocabulary) > 0

    @property
    def n_items(self) -> int:
        """Number of items that were read."""
        return sum(block["lengths"].size for block in self.blocks)

    def _segments(self) -> Iterator[WordSegment]:
        """Yield the words of each block."""
        if self._only is not None:
            yield self._only
            return
        for block in self.blocks:
            yield WordSegment.from_arrays(self._vocabulary, block)

    def _blocks(self) -> Iterator[TextBlock]:
        return (segment.block for segment in self._segments())

    # --- 1: items ---------------------------------------------------------------------

    def read(self, batches: Iterable[Sequence[Item]], name: str) -> None:
        """Read items into the database, and number their words."""
        database, done = self.database, self.n_items
        with database.change() as cursor:
            database.truncate(cursor, done)
        for batch in batches:
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
            self._append(batch)
            done += len(batch)
        if done < 2:
            raise InvalidInput(f"fit: an index needs two items or more, but {done} were given.")

    def _append(self, items: Sequence[Item]) -> None:
        """Split the texts of items into words, and keep their numbers."""
        vocabulary, texts = self._vocabulary, [item.text for item in items]
        words, terms = len(vocabulary), len(vocabulary.terms)
        segment = WordSegment.build(vocabulary.number(texts), [item.id for item in items], texts)
        labels = json.dumps([item.labels for item in items]).encode()
        self._only = None if len(self.blocks) else segment
        self.blocks.append(
            {
                **segment.arrays(),
                "new_words": pack_strings(vocabulary.words[words:]),
                "new_terms": pack_strings(vocabulary.terms[terms:]),
                "new_term_of": vocabulary.term_of[words:],
                "labels": np.frombuffer(labels, dtype=np.uint8),
            }
        )

    # --- 2: labels and features -------------------------------------------------------

    def _labels(self) -> LabelTable:
        """Choose the labels, and write them to the database."""
        options = self._options
        every = (own for block in self.blocks for own in json.loads(bytes(block["labels"])))
        lists: LabelLists = [None if own is None else tuple(own) for own in every]
        table = LabelTable.of(lists)
        if options.min_count > 1:
            kept = {one for one, count in table.totals.items() if count >= options.min_count}
            empty = () if options.empty_is_none else None
            table = LabelTable.of(
                [own and (tuple(label for label in own if label in kept) or empty) for own in lists]
            )
        with self.database.change() as cursor:
            self.database.put_labels(cursor, table)
        return table

    def features(self) -> tuple[TextFeatures, Any]:
        """Choose the features, and compute those of all items."""
        counts = FeatureCounts(self._vocabulary, SPACE)
        for block in self._blocks():
            self._report(1, _STEPS, f"words counted in {counts.n_texts:,} texts")
            counts.add(block)
        self._undercount = counts.undercount
        chosen = counts.choose()
        if not chosen.idf.size:
            raise InvalidInput("fit: the texts have no words to learn from; give texts with words.")
        if self._folder is None or len(self.blocks) == 1 or self._options.device is not None:
            parts = [chosen.transform(block) for block in self._blocks()]
            return chosen, parts[0] if len(parts) == 1 else sparse.csr_matrix(sparse.vstack(parts))
        folder = self._folder / "rows"
        (folder / "rows.arrays").unlink(missing_ok=True)
        writer, first = RowWriter(folder), 0
        for block in self._blocks():
            self._report(2, _STEPS, f"features of {first:,} items")
            if writer.n_rows <= first:
                writer.append(chosen.transform(block))
            first += len(block)
        writer.close()
        return chosen, RowFiles(folder)

    # --- 3: learning ------------------------------------------------------------------

    def learn(self, features: TextFeatures | None, rows: Any) -> Fitted:
        """Learn the space and the tags from features, and compute the vectors of all items."""
        labels = self._labels()
        blocks, stored = Blocks(), None
        graph = self._links()
        if features is not None:
            blocks, stored = self._block(rows, labels)
            blocks, stored = self._link_block(blocks, stored, rows, labels, graph)
        self._report(_LEARNING, _STEPS, "learning the embedding")
        if columns := self._columns(blocks, stored, graph, SPACE_LENGTH):
            rows = _Beside(rows, columns(np.arange(self.n_items)))
        estimator, space = self._learn_space(rows, labels, graph)
        self._report(4, _STEPS, "computing vectors")
        vectors = self._vectors(space, rows)
        self._report(4, _STEPS, "learning tags")
        most, tagger = self._options.tag_sample, None
        chosen = np.flatnonzero(labels.known) if labels.totals else np.zeros(0, dtype=np.intp)
        if most is not None and chosen.size > most:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, most, replace=False))
        if chosen.size:
            # Most of its products are short, and threads of BLAS would wait for the next one.
            with own_threads():
                if features is None:
                    tagger = self._space_tagger(labels, chosen, rows, vectors, estimator)
                else:
                    tagger = self._tagger(labels, chosen, blocks, stored, graph)
        words = None
        if features is not None:
            words = WordSearch(self._vocabulary, list(self._segments()))
        self._report(_STEPS, _STEPS, "done")
        model = IndexModel(features, space, tagger, blocks.used())
        return Fitted(
            model,
            self.database,
            vectors,
            self._kept(blocks, stored),
            words,
            labels,
            self._options.language,
            int(chosen.size),
            self._undercount,
            links={} if graph is None else {**graph.summary(), **model.link_use},
        )

    def _learn_space(
        self, rows: Any, labels: LabelTable, graph: LinkGraph | None
    ) -> tuple[Any, Space]:
        """Return the estimator with its chosen values as parameters, and the embedding."""
        estimator = self._options.estimator
        if _needs_labels(estimator) and not labels.totals:
            raise InvalidLabels(
                f"fit: {type(estimator).__name__} needs labels, but no item has a known label; "
                "label some items, or use SemanticIndex(estimator=LSI())."
            )
        if isinstance(rows, _Beside):
            rows = rows.operator(self._options.device)
        elif self._options.device is not None:
            rows = as_operator(rows, device=self._options.device)
        fitted = _learned(estimator, rows, labels, graph)
        settled = fitted.settled() if hasattr(fitted, "settled") else estimator
        return settled, Space.of(fitted)

    def _block(self, rows: Any, labels: LabelTable) -> tuple[Blocks, Array | None]:
        """Compute the rows of the block of a model, if there is a source of them."""
        source = self._options.source
        if source is None:
            return Blocks(), None

        def texts() -> list[str]:
            return [item.text for _, item in self.database.scan()]

        block, units = fit_block(
            source, texts, self.n_items, lambda message: self._report(2, _STEPS, message)
        )
        blocks = Blocks(block)
        choose_space_lengths(blocks, units, None, self._space_quality(rows, labels))
        return blocks, units

    def _links(self) -> LinkGraph | None:
        """Read the links between the items, if there are fields of them."""
        fields = self._options.links
        if fields is None:
            return None
        with self.database.change() as cursor:
            self.database.put(cursor, LINK_FIELDS, fields.to_json())
        return read_graph(self.database, self.n_items, fields)

    def _link_block(
        self,
        blocks: Blocks,
        units: Array | None,
        rows: Any,
        labels: LabelTable,
        graph: LinkGraph | None,
    ) -> tuple[Blocks, Array | None]:
        """Choose the directions that are averaged over links, and whether the space uses them."""
        if graph is None or not graph.n_links:
            return blocks, units
        self._report(2, _STEPS, f"{graph.n_links:,} links between {graph.n_items:,} items")
        length = blocks.lengths(SPACE_LENGTH)[0]

        def base(index: Array) -> Any:
            words = _words_of(rows, index)
            return words if units is None else JoinedRows(words, np.float32(length) * units[index])

        count = self.n_items
        some = np.arange(count)
        if count > _DIRECTION_ROWS:
            some = np.sort(np.random.default_rng(0).choice(count, _DIRECTION_ROWS, replace=False))
        sample = base(some)
        found = leading_directions(sample, most=LINK_DIRECTIONS)
        if not found.axes.shape[1]:
            return blocks, units
        links = LinkBlock(*found, sample.shape[1])
        blocks = Blocks(blocks.model, links)
        parts = list[Array]()
        for start in range(0, count, _DIRECTION_ROWS):
            index = np.arange(start, min(start + _DIRECTION_ROWS, count))
            own = links.own(base(index))
            parts.append(own if units is None else np.hstack([units[index], own]))
        stored = np.concatenate(parts)
        links.expect(lambda rows: stored[rows, -links.width :], graph)
        choose_space_lengths(blocks, stored, graph, self._space_quality(rows, labels))
        return blocks, stored

    def _space_quality(
        self, rows: Any, labels: LabelTable
    ) -> Callable[[Callable[[Array], Array]], float] | None:
        """Return what tells how good columns are for the embedding, by left-out items."""

        def learned(train: Any, table: LabelTable) -> Space:
            with warnings.catch_warnings():
                # What is said about a part of the items is not about the index.
                warnings.simplefilter("ignore", LabelspanWarning)
                return Space.of(_learned(self._options.estimator, train, table, part=True))

        return space_quality(lambda index: _words_of(rows, index), labels, learned)

    def _columns(
        self, blocks: Blocks, stored: Array | None, graph: LinkGraph | None, use: int
    ) -> Callable[[Array], Array] | None:
        """Return what computes the columns of rows; None if there are none."""
        if stored is None or not any(blocks.lengths(use)):
            return None
        return lambda rows: blocks.columns(stored.__getitem__, rows, graph, use)

    def _kept(self, blocks: Blocks, stored: Array | None) -> Array | None:
        """Keep what the blocks store of items: in memory, or in a file of the index."""
        if stored is None or not blocks.used():
            return None
        rows = stored[:, : blocks.used().stored].astype(np.float16)
        if self._folder is None:
            return rows
        self.files.write(ROWS_FILE, {"rows": rows})
        return None

    def _vectors(self, space: Space, rows: Any) -> Array | None:
        """Compute the vectors of all items: in memory, or in a file of the index."""
        if self._folder is None:
            if isinstance(rows, _Beside):
                ((_, rows),) = rows.blocks()
            return space.vectors(rows)
        blocks = rows.blocks() if isinstance(rows, RowFiles | _Beside) else [(0, rows)]
        parts = (
            space.vectors(block[start : start + _ROWS_AT_ONCE])
            for _, block in blocks
            for start in range(0, block.shape[0], _ROWS_AT_ONCE)
        )
        shape = (self.n_items, space.n_dimensions)
        self.files.write("vectors", {"vectors": Rows(shape, "<f4", parts)})
        return None

    # --- 4: tags ----------------------------------------------------------------------

    def _tagger(
        self,
        labels: LabelTable,
        chosen: Array,
        blocks: Blocks,
        stored: Array | None,
        graph: LinkGraph | None,
    ) -> Tagger:
        """Learn to predict labels from the texts of some items."""
        targets, names = labels.matrix(chosen), tuple(labels.names)
        texts_of, first = [], 0
        for block in self._blocks():
            own = chosen[(chosen >= first) & (chosen < first + len(block))] - first
            texts_of.append(block.take(own))
            first += len(block)
        joined = TextBlock.join(texts_of)
        counts = FeatureCounts(self._vocabulary, TAGS)
        counts.add(joined)
        texts = counts.choose()
        found, lengths = texts.transform(joined), None
        if stored is not None:
            choose_tag_lengths(blocks, stored, graph, found, targets, chosen)
            if columns := self._columns(blocks, stored, graph, TAG_LENGTH):
                found = JoinedRows(found, columns(chosen))
                lengths = blocks.column_lengths(TAG_LENGTH)
        sampled = chosen.size < int(labels.known.sum())
        return learn_tagger(
            names, targets, found, chosen, texts=texts, sampled=sampled, block_lengths=lengths
        )

    def _space_tagger(
        self,
        labels: LabelTable,
        chosen: Array,
        rows: Any,
        vectors: Array | None,
        estimator: Any,
    ) -> Tagger:
        """Learn to predict labels from vectors of the space, in an index of vectors.

        It does not keep what it was given, and these vectors have seen the labels, so that the
        tagger is calibrated on spaces that were learned without some items.
        """
        targets, names = labels.matrix(chosen), tuple(labels.names)
        assert vectors is not None
        rng = np.random.RandomState(0)
        folds = min(_FOLDS, chosen.size // 2)
        parts = np.array_split(rng.permutation(chosen.size), folds) if folds > 1 else []

        def outside(held: Array) -> Fold:
            others = np.setdiff1d(np.arange(len(labels)), chosen[held])
            own = LabelTable.of([labels.labels(int(row)) for row in others], labels.names)
            part = Space.of(_learned(estimator, _some(rows, others), own, part=True))
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


class _Beside:
    """Features of words, in memory or in files, with the dense block next to them."""

    def __init__(self, words: Any, block: Array) -> None:
        self._words, self._block = words, block

    def operator(self, device: Any = None) -> Operator:
        """Return the operator that the space is learned from."""
        parts = (self._words, self._block)
        return Joined([as_operator(part, device=device) for part in parts])

    def blocks(self) -> Iterator[tuple[int, JoinedRows]]:
        """Yield blocks of rows, each with the number of its first row."""
        first, words = 0, self._words
        for _, rows in words.blocks() if isinstance(words, RowFiles) else [(0, words)]:
            yield first, JoinedRows(rows, self._block[first : first + rows.shape[0]])
            first += rows.shape[0]


def _words_of(rows: Any, index: Array) -> Any:
    """Return some rows, increasing, as a sparse matrix in memory."""
    return sparse.csr_matrix(rows.take(index)) if isinstance(rows, RowFiles) else rows[index]


def _training(rows: Any, labels: LabelTable, required: bool) -> tuple[Any, Any]:
    """Return the rows and targets from which a space is learned.

    Rows with unknown labels are learned from where the targets fit into a dense array, whose
    entries can be unknown; otherwise an estimator that needs labels learns from labelled rows.
    """
    if not labels.totals:
        return rows, None
    dense = len(labels) * len(labels.names) <= DENSE_ENTRIES and not _on_disk(rows)
    if dense:
        targets = labels.matrix().toarray()
        targets[~labels.known] = np.nan
        return rows, targets
    if not required:
        return rows, None
    known = np.flatnonzero(labels.known)
    return (rows if known.size == len(labels) else _some(rows, known)), labels.matrix(known)


def _on_disk(rows: Any) -> bool:
    if isinstance(rows, Joined):
        return any(_on_disk(part) for part in rows.parts)
    return isinstance(rows, RowFiles)


def _takes_operators(estimator: Any) -> bool:
    """Return whether an estimator learns from products with the rows, which may be elsewhere."""
    return isinstance(estimator, Embedding) and not isinstance(estimator, LPP | DLE)


def _needs_labels(estimator: Any) -> bool:
    return bool(get_tags(estimator).target_tags.required)


def _learned(
    estimator: Any,
    rows: Any,
    labels: LabelTable,
    links: LinkGraph | None = None,
    *,
    part: bool = False,
) -> Any:
    """Fit an estimator on rows and their labels, a method with a graph over rows on these links.

    Of a ``part`` of the items, with as many dimensions as they allow.
    """
    fit = _part if part else _fitted
    if _takes_operators(estimator) or not isinstance(estimator, Embedding):
        return fit(estimator, *_training(rows, labels, _needs_labels(estimator)))
    X = as_operator(rows)
    axes = LSI(min(_AXES, X.shape[0] - 1, X.shape[1])).fit(X).components_
    near, targets = _training(X.matmat(axes.T), labels, _needs_labels(estimator))
    graph = None if links is None or not links.n_links else links.both
    if graph is not None and len(near) < len(labels):
        known = np.flatnonzero(labels.known)
        graph = graph[known][:, known]
    fitted = fit(estimator, near, targets, graph=graph)
    # The same map of the features, by way of the axes.
    fitted.components_ = fitted.components_ @ axes
    fitted.mean_, fitted.n_features_in_ = X.column_means(), X.shape[1]
    return fitted


def _fitted(estimator: Any, rows: Any, targets: Any, **graph: Any) -> Any:
    space = clone(estimator)
    space = space.fit(rows, **graph) if targets is None else space.fit(rows, targets, **graph)
    for name, value in vars(space).items():
        if is_tensor(value):
            setattr(space, name, on_host(value))
    return space


def _part(estimator: Any, rows: Any, targets: Any, **graph: Any) -> Any:
    """Fit the estimator on some rows, with as many dimensions as they allow."""
    asked = estimator.n_components
    part = clone(estimator)
    if isinstance(asked, int):
        part.set_params(n_components=min(asked, rows.shape[0] - 1, rows.shape[1]))
    try:
        return _fitted(part, rows, targets, **graph)
    except InvalidParameter:
        # A label, and with it a dimension, may be missing from these rows.
        default = type(part)().n_components
        return _fitted(part.set_params(n_components=default), rows, targets, **graph)


def _some(rows: Any, index: Array) -> Any:
    return rows.rows(index) if isinstance(rows, Operator) else rows[index]


def _checked_items(records: Iterable[Any]) -> Iterator[Item]:
    """Yield items of records, such as those of a file."""
    for one in records:
        owner = f"fit, item {one.id!r:.80}"
        labels = read_label_lists([one.labels], 1, owner)[0]
        metadata = read_metadata([one.metadata], 1, owner)[0] if one.metadata else {}
        yield Item(read_ids([one.id], 1, owner)[0], one.text, labels, metadata)


def _batches(items: Iterable[Item], most: int, characters: int) -> Iterator[list[Item]]:
    """Yield blocks of items."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.text)
        if len(batch) >= most or size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
