"""Questions to the tagger of an index: labels of texts and items, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInput, Mismatch
from ..tagger import Tagger
from .inputs import as_names, label_name, read_texts
from .model import IndexModel
from .results import LabelReport, Tag, TagExplanation, Vote, WordShare
from .searching import text_vectors
from .store import ItemStore
from .tagger_update import tag_features, text_features

__all__ = ["explain_tag", "label_report", "tag", "tagged_features"]


def tag(
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    *,
    query: Any,
    k: int,
    items: str | Sequence[str],
) -> list[Tag] | list[list[Tag]]:
    """Predict the ``k`` most probable labels of a text, of several, or of items."""
    features, single = tagged_features(model, store, tagger, query, items)
    assert tagger is not None
    best, probabilities = tagger.best(features, k)
    answers = [
        [Tag(tagger.labels[j], p, t) for j, p, t in zip(*columns, strict=True)]
        for columns in zip(
            best.tolist(), probabilities.tolist(), tagger.thresholds[best].tolist(), strict=True
        )
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
        return tag_features(model, tagger, store, store.rows(as_names(items))), isinstance(
            items, str
        )
    if not model.reads_texts:
        return text_vectors(model, query)
    single = isinstance(query, str)
    texts = read_texts([query] if single else query, "tag")
    if not texts:
        raise InvalidInput("tag: the list of texts is empty.")
    return text_features(model, tagger, texts), single


def explain_tag(
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    *,
    label: str,
    query: Any,
    items: str,
    n: int,
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
    chosen, right, support = (
        values.astype(float)
        for values in (tagger.record.chosen, tagger.record.right, tagger.record.support)
    )
    precision = np.divide(right, chosen, out=np.zeros_like(right), where=chosen > 0)
    recall = np.divide(right, support, out=np.zeros_like(right), where=support > 0)
    return [
        LabelReport(
            tagger.labels[j],
            int(support[j]),
            int(chosen[j]),
            float(precision[j]),
            float(min(recall[j], 1.0)),
            float(tagger.thresholds[j]),
        )
        for j in np.argsort(np.array(tagger.labels, dtype=object), kind="stable")
    ]
