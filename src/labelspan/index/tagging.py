"""Labels that the tagger of an index predicts, why, and the tagger after items have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from .blocks import TAG_LENGTH
from .inputs import as_names, label_name, several_texts
from .model import IndexModel
from .results import LabelReport, ResultTable, Tag, TagExplanation, Vote, WordShare
from .searching import text_vectors
from .store import ItemStore

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = ["ItemTagger", "many_changed"]

# Share of the labelled items that may change before settings are learned again: with as many items
# added as there were, the sum of the probabilities was 1.1 to 2.8 times the number of labels.
_FEW_CHANGES = 0.03
# Fewest items added to an index of vectors from which its tagger is learned again.
_FEWEST_UNSEEN = 200


def many_changed(model: IndexModel, store: ItemStore, since: int) -> bool:
    """Return whether settings are to be learned, if they were after some number of changes."""
    rows = np.flatnonzero(store.labels.known)
    if rows.size < 2 or store.touched - since <= _FEW_CHANGES * rows.size:
        return False
    return model.reads_texts or int(np.count_nonzero(rows >= store.fitted)) >= _FEWEST_UNSEEN


class ItemTagger:
    """Tagger of an index, with the model and the items that give it features."""

    def __init__(self, model: IndexModel, store: ItemStore, tagger: Tagger | None) -> None:
        if tagger is None:
            raise Mismatch("This index was fitted without labels, so it cannot predict any.")
        self._model, self._store, self._tagger = model, store, tagger

    def features(self, query: Any, items: str | Sequence[str]) -> tuple[Any, Array | None, bool]:
        """Compute the features of texts or items for the tagger, and whether it is a single one.

        With them are the numbers of items among the labelled ones, -1 for others.
        """
        if (query is None) == (not items):
            raise InvalidInput("tag: give either a text or items.")
        if items:
            rows = self._store.rows(as_names(items))
            own = self._tagger.places(rows)
            known = bool((own >= 0).all())
            found = self._tagger.features[own] if known else self.of_rows(rows)
            return found, own, isinstance(items, str)
        if not self._model.reads_texts:
            vectors, single = text_vectors(self._model, query)
            return vectors, None, single
        texts, single = several_texts(query, "tag")
        assert self._tagger.texts is not None
        stored = self._model.of_queries(texts)[1] if self._model.blocks else None
        words = self._tagger.texts.of_texts(texts)
        return self._model.blocks.of_new(words, stored, TAG_LENGTH), None, single

    def of_rows(self, rows: Array) -> Any:
        """Compute the features of the items in some rows from which their labels are predicted."""
        if not self._model.reads_texts:
            return self._store.vectors.rows(rows)
        found = self._store.fetch(rows.tolist())
        texts = [found[row].text if row in found else "" for row in rows.tolist()]
        assert self._tagger.texts is not None
        words = self._tagger.texts.of_texts(texts)
        return self._model.blocks.joined(words, self._store.columns(rows, TAG_LENGTH))

    def _tags(self, best: Array, chances: Array) -> list[ResultTable[Tag]]:
        """Return tags of columns, without those that are -1, and their probabilities."""
        labels, limits = self._tagger.labels, self._tagger.thresholds.tolist()
        return [
            ResultTable(
                Tag(labels[column], chance, limits[column])
                for column, chance in zip(*pair, strict=True)
                if column >= 0
            )
            for pair in zip(best.tolist(), chances.tolist(), strict=True)
        ]

    def tag(self, query: Any, k: int, items: str | Sequence[str], *, chosen: bool = False) -> Any:
        """Predict the ``k`` most probable labels of a text, of several, or of items without them.

        ``chosen`` leaves out those below their thresholds.
        """
        features, own, single = self.features(query, items)
        rejected = self._rejected(as_names(items)) if items else []
        more = max((len(one) for one in rejected), default=0)
        best, chances = self._tagger.best(features, k + more, own)
        low = self._tagger.thresholds[best] if chosen else 0.0
        # A label that no item has any more cannot be predicted.
        best[(chances < low) | (self._tagger.support[best] == 0)] = -1
        for row, labels in zip(best, rejected, strict=False):
            row[np.isin(row, labels)] = -1
        answers = [ResultTable(one[:k]) for one in self._tags(best, chances)]
        return answers[0] if single else answers

    def _rejected(self, items: Sequence[str]) -> list[list[int]]:
        """Return the labels that somebody has said items do not have, by number."""
        found: dict[str, list[int]] = {item: [] for item in items}
        for (item, label), answer in self._store.history.verdicts().items():
            if answer == "no" and item in found:
                found[item].append(label)
        return [found[item] for item in items]

    def probabilities(self, query: Any, items: Sequence[str]) -> dict[str, Tag]:
        """Return all labels with their mean probability for texts or items."""
        tagger = self._tagger
        features, own, _ = self.features(query, items)
        means = tagger.probabilities(features, own).mean(axis=0).tolist()
        parts = zip(tagger.labels, means, tagger.thresholds.tolist(), strict=True)
        return {label: Tag(label, *rest) for label, *rest in parts}

    def explain(self, label: str, query: Any, n: int, items: str) -> TagExplanation:
        """Explain the probability of a label by words and by neighbours; of an item, without it."""
        features, own, single = self.features(query, items)
        tagger, label = self._tagger, label_name(label)
        if not single:
            raise InvalidInput("explain_tag: give one text or one item, not several.")
        if label not in tagger.columns:
            raise InvalidInput(f"explain_tag: the tagger has not learned the label {label!r}.")
        column = tagger.columns[label]
        own = np.array([-1]) if own is None else own
        scores = tagger.scores(features, own)[0]
        probability = float(tagger.decision.probability(scores[column]))
        implied_by = None
        narrower = tagger.implied.source(column, scores)
        if narrower >= 0 and tagger.own_scores(features, own)[0, column] < scores[column]:
            implied_by = tagger.labels[narrower]
        words: dict[str, float] = {}
        if tagger.texts is not None:
            contributions = tagger.contributions(features, column, int(own[0]))
            text = self._store.item(items).text if items else query
            words = tagger.texts.word_shares(text, contributions)
        near, cosines = tagger.voters.nearest(features, own)
        there = self._store.fetch(tagger.rows[near[0]].tolist())
        votes = []
        for voter, cosine in zip(near[0].tolist(), cosines[0].tolist(), strict=True):
            item = there.get(int(tagger.rows[voter]))
            if cosine > 0 and item is not None:
                votes.append(Vote(item.id, cosine, bool(tagger.targets[voter, column])))
        limit = float(tagger.thresholds[column])
        others = tagger.rows.size - int(own[0] >= 0)
        has = own[0] >= 0 and bool(tagger.targets[own[0], column])
        return TagExplanation(
            label,
            probability,
            limit,
            WordShare.largest(words, n),
            tuple(votes[:n]),
            (int(tagger.support[column]) - has) / max(1, others),
            implied_by,
            self._linked(label, items),
        )

    def _linked(self, label: str, item: str) -> tuple[int, int]:
        """Count the items that an item is linked with: with the label, and with known labels."""
        store = self._store
        if not item or store.graph is None:
            return 0, 0
        near = store.graph.near(store.row(item))
        return int(np.isin(near, store.labels.rows(label)).sum()), int(
            store.labels.known[near].sum()
        )

    def report(self, check: Callable[[], Any] | None = None) -> list[LabelReport]:
        """Report how well each label is predicted; ``check`` may raise to stop that."""
        tagger = self._tagger
        tagger.leave_out(check)
        record = tagger.record
        found = []
        for j in sorted(range(len(tagger.labels)), key=tagger.labels.__getitem__):
            counts = record.support[j], record.chosen[j], record.right[j]
            support, chosen, right = map(int, counts)
            precision, recall = right / max(1, chosen), min(right / max(1, support), 1.0)
            limit = float(tagger.thresholds[j])
            found.append(LabelReport(tagger.labels[j], support, chosen, precision, recall, limit))
        return found

    def current(self) -> Tagger:
        """Return the tagger for the current labels of the items; the same if nothing changed.

        Its settings stay those that were learned last: see :meth:`learned`.
        """
        store, tagger = self._store, self._tagger
        table = store.labels
        rows = np.flatnonzero(table.known & store.vectors.alive)
        if tagger.sampled:
            # Of the items of the fit only some were learned; those that were added since are.
            rows = rows[(rows >= store.fitted) | np.isin(rows, tagger.rows)]
        moved = self._moved(rows)
        if moved.size:
            # They are forgotten, and learned again.
            nothing = sparse.csr_matrix((0, len(table.names)), dtype=np.float32)
            names = tuple(table.names)
            tagger = tagger.updated(names, moved[:0], nothing, None, moved.tolist())
        targets = table.matrix(rows)
        at = tagger.places(rows)
        known = np.flatnonzero(at >= 0)
        before = tagger.targets
        wide = sparse.csr_matrix(
            (before.data, before.indices, before.indptr), (before.shape[0], targets.shape[1])
        )
        difference = abs(targets[known] - wide[at[known]]).tocoo()
        relabelled = known[np.unique(difference.row[difference.data > 0])]
        fresh = np.flatnonzero(at < 0)
        gone = np.setdiff1d(tagger.rows, rows)
        if not relabelled.size and not fresh.size and not gone.size:
            return tagger
        features = self.of_rows(rows[fresh]) if fresh.size else None
        changed = np.union1d(relabelled, fresh)
        made = tagger.updated(
            tuple(table.names), rows[changed], targets[changed], features, gone.tolist()
        )
        if made.items is not tagger.items and self._model.tagger is not None:
            # What was computed of the items before is of no use any more.
            self._model.tagger.forget()
        return made

    def _moved(self, rows: Array) -> Array:
        """Return the labelled items whose neighbours have changed since they were learned."""
        tagger, vectors = self._tagger, self._store.vectors
        if tagger.block_lengths is None or self._model.blocks.links is None:
            return np.zeros(0, dtype=np.intp)
        some = rows[(rows >= len(vectors.base)) | np.isin(rows, vectors.moved)]
        some = some[tagger.places(some) >= 0]
        before = tagger.features[tagger.places(some)].block
        differs = (before != self._store.columns(some, TAG_LENGTH)).any(axis=1)
        return np.asarray(some[differs])

    @property
    def touched(self) -> int:
        """How many labelled items were changed until now."""
        return self._store.touched

    def learned(self) -> Tagger:
        """Learn the settings of the tagger from these items."""
        found, unseen = self._tagger, None
        if not self._model.reads_texts:
            # The vectors of the items of the fit have seen their labels; those of later ones not.
            unseen = np.flatnonzero(found.rows >= self._store.fitted)
        # It takes as long as at the fit, and is rarely needed.
        from ..tagger.learning import learn_tagger  # noqa: PLC0415

        parts = found.labels, found.targets, found.features, found.rows
        made = learn_tagger(
            *parts,
            unseen=unseen,
            texts=found.texts,
            sampled=found.sampled,
            block_lengths=found.block_lengths,
        )
        return replace(made, learned=self.touched).with_items(made.items)
