"""Bring a tagger up to date with items that were added, removed or labelled differently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .items import ItemStore
from .left_out_tags import MOST, LeftOutTags, entries_of
from .model import IndexModel
from .tagger import Tagger, update_tagger

__all__ = ["completed", "current_tagger", "saved_tagger", "tag_features"]

# Pairs of items that are compared, at most, when an index is saved.
_MOST_PAIRS = 1 << 30


def tag_features(model: IndexModel, tagger: Tagger, store: ItemStore, ids: list[str]) -> Any:
    """Compute the features of items from which their labels are predicted."""
    if not model.reads_texts:
        return store.vectors(ids)
    texts = [store.item(name).text for name in ids]
    return text_features(model, tagger, texts)


def text_features(model: IndexModel, tagger: Tagger, texts: list[str]) -> Any:
    """Compute the features of texts from which their labels are predicted."""
    if tagger.texts is not None:
        return tagger.texts.transform(texts)
    return model.features(texts, None, "tag")


def current_tagger(model: IndexModel, store: ItemStore, tagger: Tagger) -> Tagger:
    """Return the tagger for the present labels of the items; the same one if nothing changed."""
    ids, now = store.labelled()
    known = dict(zip(tagger.places.tolist(), range(tagger.places.size), strict=True))
    alive = set(ids)
    kept = np.array([row for place, row in known.items() if place in alive], dtype=np.intp)
    if tagger.sampled:
        # Of the items of the fit only some were learned; those that were added since are.
        first = store.base.shape[0]
        now = {
            label: [place for place in rows if place >= first or place in known]
            for label, rows in now.items()
        }
        now = {label: rows for label, rows in now.items() if rows}
    fresh = sorted({place for rows in now.values() for place in rows} - set(known))
    names = [*tagger.labels, *sorted(set(now) - set(tagger.labels))]
    places = [*tagger.places[kept].tolist(), *fresh]
    number = {place: row for row, place in enumerate(places)}
    rows, columns = [], []
    for column, label in enumerate(names):
        own = [number[place] for place in now.get(label, ())]
        rows += own
        columns += [column] * len(own)
    shape = (len(places), len(names))
    ones = np.ones(len(rows), dtype=np.float32)
    targets = sparse.csr_matrix((ones, (rows, columns)), shape=shape)
    before = tagger.voters.labels.tocsr()
    wide = sparse.csr_matrix(
        (before.data, before.indices, before.indptr), (before.shape[0], shape[1])
    )
    changed = abs(targets[: kept.size] - wide[kept])
    gone = np.setdiff1d(np.arange(before.shape[0]), kept)
    touched = np.unique(
        np.concatenate(
            [
                changed.tocoo().col[changed.tocoo().data > 0],
                targets[kept.size :].indices,
                wide[gone].indices,
            ]
        )
    ).astype(np.intp)
    if not touched.size and not gone.size and not fresh:
        return tagger
    features = tagger.voters.features[kept]
    if fresh:
        added = tag_features(model, tagger, store, [ids[place] for place in fresh])
        stack = sparse.vstack if sparse.issparse(features) else np.vstack
        features = stack([features, added])
        features = sparse.csr_matrix(features) if sparse.issparse(features) else features
    same = np.asarray(changed.sum(axis=1)).ravel() == 0
    sources = np.concatenate([np.where(same, kept, -1), np.full(len(fresh), -1, dtype=np.intp)])
    order = np.argsort(np.array(places, dtype=np.int64), kind="stable")
    return update_tagger(
        tagger,
        tuple(names),
        targets=targets[order],
        features=features[order],
        places=np.array(places, dtype=np.int64)[order],
        touched=touched,
        sources=sources[order],
    )


def saved_tagger(tagger: Tagger, store: ItemStore) -> Tagger:
    """Return a tagger as it is saved: places of items without gaps, all that is kept of them."""
    kept = np.array(sorted(store.labelled()[0]), dtype=np.int64)
    places = np.searchsorted(kept, tagger.places).astype(np.int64)
    return replace(tagger, places=places, left_out=completed(tagger))


def completed(tagger: Tagger) -> LeftOutTags:
    """Return what is kept of a tagger, with rows that were not known unless they are too many.

    They are not voters for themselves, but the regression has seen them.
    """
    count, labels = tagger.voters.labels.shape
    found = tagger.left_out or LeftOutTags.unknown(count, min(MOST, labels))
    missing = np.flatnonzero(~found.known)
    if not missing.size or missing.size * count > _MOST_PAIRS:
        return found
    columns, chances = np.array(found.columns), np.array(found.chances)
    own = None if found.own is None else np.array(found.own)
    targets = tagger.voters.labels
    for part, scores in tagger.blocks(tagger.voters.features[missing], missing):
        rows = missing[part]
        likely = tagger.decision.probability(scores)
        top = np.argsort(-scores, axis=1, kind="stable")[:, : columns.shape[1]]
        columns[rows], chances[rows] = top, np.take_along_axis(likely, top, axis=1)
        if own is not None:
            entries, rank = entries_of(targets, rows)
            own[entries] = likely[rank, targets.indices[entries]]
    return LeftOutTags(columns, chances, own)
