"""Fit an index on a corpus that is larger than memory, block by block.

In the folder of the index, ``unfinished`` holds what is done so far:

    plan.json   the corpus, its size and date, and all options: a fit with the same goes on
    index/      items.sqlite, filled block by block; vectors and words at the end
    words/      words of the texts as numbers, and labels
    rows/       features, in row files, for all items
    known/      features of the labelled items, where others have none
    labels/     labels of the labelled items, in row files
    runs/       postings of the words

1. The corpus is read once: items go into the table, words and labels into blocks.
2. Words and pairs are counted, and the features chosen. If they are hashed to columns, that was
   counted with step 1, and only the columns get weights and names.
3. Features, labels and postings are written for each block.
4. The space is learned by passes over the row files; the tagger from a sample of items.
5. Vectors are computed block by block, and the postings merged.

Every block has a checksum. After a kill, steps 1 and 3 go on after the last block that is on the
disk; the others are repeated.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, InvalidLabels, Mismatch
from ..operators import RowFiles, RowWriter
from .analysis import AUTO, Analyzer, check_language, detect_language
from .array_blocks import ArrayBlocks
from .estimator_files import default_words
from .folder import UNFINISHED, IndexFolder, PreparedFiles
from .hashed_words import (
    HASHED_ARRAYS,
    ColumnNames,
    HashedFeatures,
    HashedWords,
    check_columns,
    count_columns,
)
from .inputs import label_name, read_ids, read_label_lists, read_metadata
from .items import ItemRow, ItemTable
from .learn import directions_of, text_map_of
from .model import IndexModel, space_vectors
from .results import Item
from .tag_features import TagFeatures
from .tagger import fit_tagger, label_matrix
from .word_blocks import FeatureChoice, FrequentCodes, WordBlock, pack_words, unpack_words
from .word_runs import LabelKeys, add_run, merge_runs

__all__ = ["ItemStream", "StreamedIndex", "fit_stream"]

_VERSION = 3
# Items of a block, and characters of their texts, at most.
_ITEMS, _CHARACTERS = 20_000, 1 << 24
# Labelled items from which the tagger learns, by default.
TAG_SAMPLE = 10_000
# Labels that are remembered as checked.
_MOST_CHECKED = 1 << 16
# Steps that are reported.
_STEPS = 5

# Takes the number of steps done, their total, and what is being done.
Report = Callable[[int, int, str], None]


class ItemStream(Protocol):
    """Items that can be read more than once, for example of ``CorpusReader``."""

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...

    @property
    def name(self) -> str: ...

    def items(self, skip: int = 0) -> Iterator[Any]: ...


@dataclass(frozen=True)
class StreamedIndex:
    """What was fitted: numbers of items, labels and dimensions, and how.

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


def fit_stream(
    corpus: ItemStream,
    out: Path,
    estimator: Any,
    *,
    language: str = AUTO,
    sample: Sequence[str] = (),
    min_count: int = 1,
    limit_labels: int | None = None,
    empty_is_none: bool = False,
    tag_sample: int = TAG_SAMPLE,
    hashing: int | None = None,
    options: Mapping[str, Any] | None = None,
    block_items: int = _ITEMS,
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
    estimator : LSI, MLSI, OPLS, CCA, HSL or LDA
        All but LSI learn the space from labelled items only.
    language : str, default="auto"
        As for :class:`~labelspan.SemanticIndex`; "auto" detects it in ``sample``.
    sample : list of str
        Some texts.
    min_count, limit_labels : int
        Labels of fewer items, and labels beyond the most frequent ones, are left out.
    empty_is_none : bool, default=False
        Whether items without labels, after that, are known to have none.
    tag_sample : int, default=10_000
        Maximum number of labelled items from which the tagger learns; 0 for no tagger.
    hashing : int or None, default=None
        Number of columns to which words and pairs are hashed; None counts them all, and takes
        the 30,000 most frequent ones.
    options : mapping or None
        What else must be the same for a fit to go on.
    block_items : int, default=20_000
        Items of a block.
    report : function or None, default=None
        Called with the number of steps done, their total, and what is being done.
    """
    _check_estimator(estimator)
    language = check_language("fit", language)
    if hashing is not None:
        check_columns("fit: hashing", hashing)
    plan = {
        "version": _VERSION,
        "corpus": dict(corpus.fingerprint),
        "estimator": [type(estimator).__name__, _plain(estimator.get_params())],
        "language": language,
        "labels": [min_count, limit_labels, empty_is_none],
        "tags": tag_sample,
        "hashing": hashing,
        "options": dict(options or {}),
        "block": block_items,
    }
    folder = IndexFolder(out, write=True, new=True)
    try:
        work = _Work(out / UNFINISHED, plan)
        if language == AUTO:
            language = detect_language(list(sample))
        fit = _StreamFit(
            corpus, work, Analyzer(language), block_items, empty_is_none, hashing, report
        )
        found, model = fit.run(estimator, min_count, limit_labels, tag_sample)
        settings = {
            "default_vectorizer": hashing is None,
            "default_estimator": False,
            "folds": 3,
            "random_state": 0,
            "language": plan["language"],
            "approximate_from": 300_000,
        }
        folder.adopt(fit.prepared, model, language, settings)
    finally:
        folder.close()
    return found


class _Work:
    """The folder of an unfinished fit; emptied if it belongs to another one."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder = folder
        path = folder / "plan.json"
        wanted = json.loads(json.dumps(plan))
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            there = {}
        self.key = str(there.get("key", ""))
        # Without its items, what is left was adopted by an index whose manifest was not written.
        lost = (folder / "read.json").exists() and not (folder / "index" / "items.sqlite").exists()
        if there.get("plan") != wanted or len(self.key) != 8 or lost:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self.key = secrets.token_hex(4)
            self.note("plan", {"plan": wanted, "key": self.key})
        (folder / "index").mkdir(exist_ok=True)

    def note(self, name: str, value: Any) -> None:
        """Write plain data."""
        data = json.dumps(value).encode()

        def write(file: BinaryIO) -> None:
            file.write(data)

        write_whole(self.folder / f"{name}.json", write)

    def noted(self, name: str) -> Any:
        """Return plain data that an earlier run wrote; None without."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def blocks(self, name: str) -> ArrayBlocks:
        """Open blocks of arrays."""
        return ArrayBlocks(self.folder / name)

    def rows(self, name: str) -> Path:
        """Return the folder of row files."""
        return self.folder / name

    def writer(self, name: str) -> RowWriter:
        """Write row files, or go on with them."""
        (self.rows(name) / "rows.json").unlink(missing_ok=True)
        return RowWriter(self.rows(name))


class _StreamFit:
    """The steps of a fit."""

    def __init__(  # noqa: PLR0917
        self,
        corpus: ItemStream,
        work: _Work,
        analyzer: Analyzer,
        block_items: int,
        empty_is_none: bool,
        hashing: int | None,
        report: Report | None,
    ) -> None:
        self._hashing = hashing
        self._corpus, self._work, self._analyzer = corpus, work, analyzer
        self._block_items, self._empty_is_none = block_items, empty_is_none
        self._report = report or (lambda *_: None)
        self._words = work.blocks("words")
        self.prepared = PreparedFiles(work.folder / "index", work.key)

    def run(
        self, estimator: Any, min_count: int, limit: int | None, tag_sample: int
    ) -> tuple[StreamedIndex, IndexModel]:
        """Do all steps; what was done before is not done again."""
        resumed = self._n_items
        self._read_items()
        names = self._label_names(min_count, limit)
        supervised = bool(get_tags(estimator).target_tags.required)
        choice, column_names, undercount = self._choose_features()
        known = self._known(names)
        self._check(names, known, supervised)
        keys = LabelKeys(self._analyzer, names)
        column_names += self._write_rows(choice, names, keys, supervised)
        self._report(3, _STEPS, "learning the space")
        space = self._learn(estimator, supervised)
        vectorizer = (
            default_words(self._n_items, column_names, choice.idf)
            if isinstance(choice, FeatureChoice)
            else HashedWords.with_weights(choice.weights, column_names)
        )
        self._report(4, _STEPS, "learning tags")
        rows = self._sample(known, tag_sample)
        tagger = self._tagger(names, rows, sampled=rows.size < int(known.sum()))
        directions = directions_of(space, names) if tagger is not None and supervised else None
        model = IndexModel(
            vectorizer, space, tagger, text_map_of(vectorizer, space), directions=directions
        )
        self._report(4, _STEPS, "writing vectors and words")
        self._write_vectors(space)
        merge_runs(self._work.blocks("runs"), self._open_array, keys)
        self.prepared.finish()
        found = StreamedIndex(
            self._n_items,
            int(known.sum()),
            len(names),
            len(column_names),
            int(space.n_components_),
            self._analyzer.language,
            0 if tagger is None else int(rows.size),
            undercount,
            resumed,
        )
        return found, model

    @property
    def _n_items(self) -> int:
        return sum(self._words.about(n)["rows"] for n in range(len(self._words)))

    # --- 1: items ---------------------------------------------------------------------

    def _read_items(self) -> None:
        """Read the corpus into the table of items, and into blocks of words and labels."""
        if self._work.noted("read") is not None:
            return
        table = ItemTable.build(self.prepared.items, self._work.key)
        try:
            first = self._n_items
            table.truncate(first)
            for items in self._batches(first):
                self._report(0, _STEPS, f"{first:,} items read")
                try:
                    table.write(
                        (ItemRow(first + n, item, None) for n, item in enumerate(items)), ()
                    )
                except InvalidFile as error:
                    if isinstance(error.__cause__, sqlite3.IntegrityError):
                        raise _same_id(self._corpus.name) from error
                    raise
                block = WordBlock.of(items, self._analyzer)
                hashed = {} if self._hashing is None else count_columns(block, self._hashing)
                arrays = {**block.pack(), **hashed, **_pack_labels(items)}
                self._words.append(arrays, rows=len(items))
                first += len(items)
            if first < 2:
                raise InvalidInput(f"fit: an index needs two items or more, but {first} was given.")
            table.finish()
        except BaseException:
            table.close()
            raise
        self._work.note("read", {"items": first})

    def _batches(self, skip: int) -> Iterator[list[Item]]:
        batch: list[Item] = []
        size = 0
        checked: dict[str, str] = {}
        for found in self._corpus.items(skip):
            labels = _checked_labels(found.labels, checked)
            name = read_ids([found.id], 1, "fit")[0]
            metadata = read_metadata([found.metadata], 1, "fit")[0] if found.metadata else {}
            batch.append(Item(name, found.text, labels, metadata))
            size += len(found.text)
            if len(batch) >= self._block_items or size >= _CHARACTERS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    # --- 2: labels and features -------------------------------------------------------

    def _labels_of(self, number: int) -> tuple[list[str], Array, Array, Array]:
        """Return the labels of a block: names, numbers, where each item begins, and if known."""
        get = self._words.array
        names = json.loads(bytes(get(number, "label_names")).decode() or "[]")
        arrays = [get(number, name) for name in ("label_numbers", "label_starts", "label_known")]
        return (names, *arrays)

    def _label_names(self, min_count: int, limit: int | None) -> tuple[str, ...]:
        """Choose the labels; where some are left out, also in the table of items."""
        counts: Counter[str] = Counter()
        for number in range(len(self._words)):
            names, columns, _, _ = self._labels_of(number)
            often = np.bincount(columns, minlength=len(names))
            counts.update(dict(zip(names, often.tolist(), strict=True)))
        ranked = sorted(counts, key=lambda label: (-counts[label], label))[:limit]
        kept = tuple(sorted(label for label in ranked if counts[label] >= min_count))
        if len(kept) < len(counts) and self._work.noted("relabelled") is None:
            self._relabel(set(kept))
            self._work.note("relabelled", {"labels": len(kept)})
        return kept

    def _relabel(self, kept: set[str]) -> None:
        table = ItemTable.build(self.prepared.items, self._work.key)
        try:
            first = 0
            for number in range(len(self._words)):
                rows = self._words.about(number)["rows"]
                found = table.fetch(range(first, first + rows))
                changed = [
                    ItemRow(row, replace(item, labels=self._only(item.labels, kept)), None)
                    for row, item in found.items()
                    if item.labels and not kept.issuperset(item.labels)
                ]
                table.write(changed, [record.row for record in changed])
                first += rows
        finally:
            table.finish()

    def _only(self, labels: tuple[str, ...], kept: set[str]) -> tuple[str, ...] | None:
        found = tuple(label for label in labels if label in kept)
        return found or (() if self._empty_is_none else None)

    def _choose_features(self) -> tuple[FeatureChoice | HashedFeatures, list[str], int]:
        """Count words and pairs in all blocks, and choose the features.

        Return them, the names of the columns if they are known now, and how many texts a count
        may lack.
        """
        there = self._work.blocks("choice")
        if self._hashing is not None:
            if not len(there):
                self._weigh_columns(there, self._hashing)
            names = unpack_words(there.array(0, "names"))
            return HashedFeatures(there.array(0, "weights")), names, 0
        if not len(there):
            counts = FrequentCodes()
            for number in range(len(self._words)):
                self._report(1, _STEPS, f"words counted in {counts.n_texts:,} texts")
                counts.add(self._block(number))
            found = counts.choose()
            if not found.codes.size:
                raise InvalidInput("fit: the texts have no words to learn from; give other texts.")
            arrays = {"codes": found.codes, "idf": found.idf}
            there.append(arrays, undercount=counts.undercount)
        choice = FeatureChoice(there.array(0, "codes"), there.array(0, "idf"))
        return choice, [], int(there.about(0)["undercount"])

    def _weigh_columns(self, there: ArrayBlocks, count: int) -> None:
        """Find weights and names of the columns that words are hashed to."""
        texts, names, done = np.zeros(count, dtype=np.int64), ColumnNames(count), 0
        for number in range(len(self._words)):
            self._report(1, _STEPS, f"words counted in {done:,} texts")
            texts += np.bincount(self._words.array(number, "columns"), minlength=count)
            block = self._block(number)
            names.add(block)
            done += block.n_texts
        found = HashedFeatures.learn(texts, done)
        there.append({"weights": found.weights, "names": pack_words(names.names)})

    def _block(self, number: int) -> WordBlock:
        return WordBlock.unpack(_Arrays(self._words, number))

    def _known(self, names: tuple[str, ...]) -> Array:
        """Mark the items whose labels are known."""
        column = {name: n for n, name in enumerate(names)}
        parts = [self._targets(number, column)[1] for number in range(len(self._words))]
        return np.concatenate(parts) if names else np.zeros(self._n_items, dtype=bool)

    def _targets(self, number: int, column: Mapping[str, int]) -> tuple[sparse.csr_matrix, Array]:
        """Return the labels of a block as a matrix, and which of its items have known ones."""
        names, numbers, starts, known = self._labels_of(number)
        columns = np.array([column.get(name, -1) for name in names], dtype=np.int32)
        columns = columns[numbers] if numbers.size else np.zeros(0, dtype=np.int32)
        rows = np.repeat(np.arange(known.size), np.diff(starts))
        kept = columns >= 0
        ones = np.ones(int(kept.sum()), dtype=np.float32)
        shape = (known.size, len(column))
        found = sparse.csr_matrix((ones, (rows[kept], columns[kept])), shape=shape)
        found.sort_indices()
        # An item with none of the labels that were kept has unknown ones, or is known to have none.
        emptied = (np.diff(starts) > 0) & (np.diff(found.indptr) == 0)
        return found, (known > 0) & (self._empty_is_none | ~emptied)

    def _check(self, names: tuple[str, ...], known: Array, supervised: bool) -> None:
        if not supervised:
            return
        if len(names) < 2 or int(known.sum()) < 2:
            raise InvalidLabels(
                f"fit: {len(names)} labels of {int(known.sum()):,} items are too few to learn from "
                "a stream; give another field with --labels, or use --method lsi."
            )

    # --- 3: rows, labels and postings -------------------------------------------------

    def _write_rows(
        self,
        choice: FeatureChoice | HashedFeatures,
        names: tuple[str, ...],
        keys: LabelKeys,
        supervised: bool,
    ) -> list[str]:
        """Write features, labels and postings of all blocks.

        Return the names of the columns, if they are only known now.
        """
        done = self._work.noted("rows-written")
        if done is not None:
            return list(done)
        column = {name: n for n, name in enumerate(names)}
        runs = self._work.blocks("runs")
        wanted = ["rows", *(["known", "labels"] if supervised else [])]
        # A block is in all of them, or is written again.
        writers = {name: self._work.writer(name) for name in wanted}
        found: dict[int, str] = {}
        first = labelled = 0
        for number in range(len(self._words)):
            self._report(2, _STEPS, f"features of {first:,} items")
            block = self._block(number)
            # Blocks that are there are read again for the names of the features.
            features = (
                choice.features(block, found)
                if isinstance(choice, FeatureChoice)
                else choice.of(*(self._words.array(number, name) for name in HASHED_ARRAYS))
            )
            targets, known = self._targets(number, column)
            parts = {"rows": features, "known": features[known], "labels": targets[known]}
            for name, writer in writers.items():
                before = first if name == "rows" else labelled
                if writer.n_rows <= before and parts[name].shape[0]:
                    writer.append(parts[name])
            if len(runs) <= number:
                add_run(runs, block, self._analyzer, first, keys, targets)
            first, labelled = first + block.n_texts, labelled + int(known.sum())
        for writer in writers.values():
            writer.close()
        columns = [found[n] for n in range(len(found))]
        self._work.note("rows-written", columns)
        return columns

    # --- 4: learning ------------------------------------------------------------------

    def _learn(self, estimator: Any, supervised: bool) -> Any:
        space = clone(estimator)
        if supervised:
            space.fit(RowFiles(self._work.rows("known")), RowFiles(self._work.rows("labels")))
        else:
            space.fit(RowFiles(self._work.rows("rows")))
        space.components_ = np.asfortranarray(space.components_)
        return space

    def _sample(self, known: Array, most: int) -> Array:
        rows = np.flatnonzero(known)
        if rows.size > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
        return rows

    def _tagger(self, names: tuple[str, ...], rows: Array, *, sampled: bool) -> Any:
        """Learn to predict labels from some items."""
        if not names or rows.size < 2:
            return None
        table = ItemTable.open(self.prepared.items, self._work.key, write=True)
        try:
            found = table.fetch(rows.tolist())
        finally:
            table.close()
        items = [found[row] for row in rows.tolist()]
        texts = [item.text for item in items]
        targets = label_matrix([item.labels for item in items], names)
        features = TagFeatures.learn(texts, self._analyzer.language)
        tagger = fit_tagger(names, targets, features.transform(texts), places=rows, texts=features)
        return replace(tagger, sampled=sampled)

    # --- 5: vectors and words ---------------------------------------------------------

    def _write_vectors(self, space: Any) -> None:
        shape = (self._n_items, int(space.n_components_))
        write = self.prepared.array("vectors", shape, "<f4")
        for _, block in RowFiles(self._work.rows("rows")).blocks():
            write(space_vectors(space, block))

    def _open_array(self, name: str, length: int, kind: str) -> Callable[[Array], None]:
        return self.prepared.array(name, (length,), kind)


class _Arrays(Mapping[str, Array]):
    """Arrays of a block, read when they are needed."""

    def __init__(self, blocks: ArrayBlocks, number: int) -> None:
        self._blocks, self._number = blocks, number

    def __getitem__(self, name: str) -> Array:
        return self._blocks.array(self._number, name)

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


def _checked_labels(
    labels: Sequence[str] | None, checked: dict[str, str]
) -> tuple[str, ...] | None:
    """Return the labels of an item; ``checked`` has the names of those that came before."""
    if labels is None:
        return None
    try:
        return tuple(sorted({checked[label] for label in labels}))
    except (KeyError, TypeError):
        found = read_label_lists([labels], None, 1, "fit")[0]
        if len(checked) > _MOST_CHECKED:
            checked.clear()
        checked.update((label, label_name(label)) for label in labels)
        return found


def _pack_labels(items: Sequence[Item]) -> dict[str, Array]:
    numbers: dict[str, int] = {}
    columns = [
        numbers.setdefault(label, len(numbers)) for item in items for label in item.labels or ()
    ]
    starts = np.concatenate([[0], np.cumsum([len(item.labels or ()) for item in items])])
    known = [item.labels is not None for item in items]
    return {
        "label_names": np.frombuffer(json.dumps(list(numbers)).encode(), dtype=np.uint8),
        "label_numbers": np.array(columns, dtype=np.int32),
        "label_starts": starts.astype(np.int64),
        "label_known": np.array(known, dtype=np.uint8),
    }


def _check_estimator(estimator: Any) -> None:
    name = type(estimator).__name__
    if name not in ("LSI", "MLSI", "OPLS", "CCA", "HSL", "LDA"):
        raise Mismatch(
            f"fit: {name} cannot learn from a stream; use LSI, MLSI, OPLS, CCA, HSL or LDA, or fit "
            "in memory."
        )


def _same_id(name: str) -> InvalidFile:
    return InvalidFile(
        f"{name}: two items have the same id; choose another field for ids (--ids), or --ids '' to "
        "number the items."
    )


def _plain(params: Mapping[str, Any]) -> dict[str, str]:
    return {name: repr(value) for name, value in params.items()}
