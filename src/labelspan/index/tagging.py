"""Labels that the tagger of an index predicts, why, and the tagger after items have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from .inputs import as_names, label_name, several_texts
from .model import IndexModel
from .results import LabelReport, ResultTable, Tag, TagExplanation, Vote, WordShare
from .searching import text_vectors
from .store import ItemStore

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = [
    "current_tagger",
    "explain_tag",
    "label_report",
    "tag",
    "tag_features",
    "tagged_features",
    "tags_without_item",
]

# Labels of each item that are predicted without it.
_MOST = 12


def tag(  # noqa: PLR0917
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    query: Any,
    k: int,
    items: str | Sequence[str],
) -> ResultTable[Tag] | list[ResultTable[Tag]]:
    """Predict the ``k`` most probable labels of a text, of several, or of items."""
    features, single = tagged_features(model, store, tagger, query, items)
    assert tagger is not None
    best, probabilities = tagger.best(features, k)
    parts = (best.tolist(), probabilities.tolist(), tagger.thresholds[best].tolist())
    answers = [
        ResultTable(Tag(tagger.labels[j], p, t) for j, p, t in zip(*columns, strict=True))
        for columns in zip(*parts, strict=True)
    ]
    return answers[0] if single else answers


def tagged_features(
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    query: Any,
    items: str | Sequence[str],
) -> tuple[Any, bool]:
    """Compute the features of texts or items for the tagger, and tell whether it is one."""
    if tagger is None:
        raise Mismatch("tag: this index was fitted without labels, so it cannot predict any.")
    if (query is None) == (not items):
        raise InvalidInput("tag: give either a text or items.")
    if items:
        rows = store.rows(as_names(items))
        return tag_features(model, tagger, store, rows), isinstance(items, str)
    if not model.reads_texts:
        return text_vectors(model, query)
    texts, single = several_texts(query, "tag")
    return _text_features(model, tagger, texts), single


def tag_features(model: IndexModel, tagger: Tagger, store: ItemStore, rows: Array) -> Any:
    """Compute the features of the items in some rows from which their labels are predicted."""
    if not model.reads_texts:
        return store.vectors.rows(rows)
    found = store.fetch(rows.tolist())
    texts = [found[row].text if row in found else "" for row in rows.tolist()]
    return _text_features(model, tagger, texts)


def _text_features(model: IndexModel, tagger: Tagger, texts: list[str]) -> Any:
    if tagger.texts is not None:
        return tagger.texts.of_texts(texts)
    return model.features_of(texts, "tag")


def explain_tag(  # noqa: PLR0917
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    label: str,
    query: Any,
    n: int,
    items: str,
) -> TagExplanation:
    """Explain the probability of a label by words and by neighbours."""
    features, single = tagged_features(model, store, tagger, query, items)
    assert tagger is not None
    if not single:
        raise InvalidInput("explain_tag: give one text or one item, not several.")
    label = label_name(label)
    if label not in tagger.columns:
        raise InvalidInput(f"explain_tag: the tagger has not learned the label {label!r}.")
    column = tagger.columns[label]
    probability = float(tagger.decision.probability(tagger.scores(features))[0, column])
    words: dict[str, float] = {}
    if tagger.texts is not None:
        contributions = tagger.contributions(features, column)
        text = store.item(items).text if items else query
        words = tagger.texts.word_shares(text, contributions)
    ranked = sorted(words.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    near, cosines = tagger.voters.nearest(features)
    ids = {row: item.id for row, item in store.fetch(tagger.rows[near[0]].tolist()).items()}
    votes = []
    for voter, cosine in zip(near[0].tolist(), cosines[0].tolist(), strict=True):
        name = ids.get(int(tagger.rows[voter]))
        if cosine > 0 and name is not None and name != items:
            votes.append(Vote(name, cosine, bool(tagger.targets[voter, column])))
    found = [WordShare(word, share, True) for word, share in ranked if share]
    limit = float(tagger.thresholds[column])
    return TagExplanation(label, probability, limit, tuple(found[:n]), tuple(votes[:n]))


def label_report(tagger: Tagger | None) -> list[LabelReport]:
    """Report what is known about the predictions of each label."""
    if tagger is None:
        raise Mismatch("label_report: this index was fitted without labels.")
    record = tagger.record
    found = []
    for j in sorted(range(len(tagger.labels)), key=tagger.labels.__getitem__):
        support, chosen, right = (
            int(one[j]) for one in (record.support, record.chosen, record.right)
        )
        precision, recall = right / max(1, chosen), min(right / max(1, support), 1.0)
        limit = float(tagger.thresholds[j])
        found.append(LabelReport(tagger.labels[j], support, chosen, precision, recall, limit))
    return found


def current_tagger(model: IndexModel, store: ItemStore, tagger: Tagger) -> Tagger:
    """Return the tagger for the present labels of the items; the same one if nothing changed."""
    table = store.labels
    rows = np.flatnonzero(table.known & store.vectors.alive)
    if tagger.sampled:
        # Of the items of the fit only some were learned; those that were added since are.
        first = len(store.vectors.base)
        rows = rows[(rows >= first) | np.isin(rows, tagger.rows)]
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
    features = tag_features(model, tagger, store, rows[fresh]) if fresh.size else None
    changed = np.union1d(relabelled, fresh)
    return tagger.updated(
        tuple(table.names), rows[changed], targets[changed], features, gone.tolist()
    )


def tags_without_item(
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    ids: list[str],
    *,
    fresh: bool = False,
) -> list[list[Tag]]:
    """Return some labels for each of some items, predicted without the item.

    For items without labels, or for all if ``fresh``, they are computed.
    """
    if tagger is None:
        return [[] for _ in ids]
    rows = store.rows(ids)
    own = tagger.places(rows)
    width = min(_MOST, len(tagger.labels))
    columns = np.full((len(ids), width), -1, dtype=np.int64)
    chances = np.zeros((len(ids), width), dtype=np.float32)
    found = tagger.left_out
    # Labels may have come since; those of before are kept.
    most = min(width, found.columns.shape[1])
    kept = (own >= 0) & (not fresh)
    columns[kept, :most] = found.columns[own[kept], :most]
    chances[kept, :most] = found.chances[own[kept], :most]
    missing = np.flatnonzero(~kept)
    if missing.size:
        features = tag_features(model, tagger, store, rows[missing])
        columns[missing], chances[missing] = tagger.best(features, width, own[missing])
    return [
        [
            Tag(tagger.labels[column], chance, float(tagger.thresholds[column]))
            for column, chance in zip(best, likely, strict=True)
            if column >= 0
        ]
        for best, likely in zip(columns.tolist(), chances.tolist(), strict=True)
    ]
