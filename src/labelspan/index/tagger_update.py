"""Bring a tagger up to date with items that were added, removed or labelled differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .left_out_tags import MOST, LeftOutTags, entries_of
from .model import IndexModel
from .store import ItemStore
from .tagger import Tagger, update_tagger

__all__ = ["completed", "current_tagger", "tag_features", "text_features"]

# Pairs of items that are compared, at most, when an index is saved.
_MOST_PAIRS = 1 << 30


def tag_features(model: IndexModel, tagger: Tagger, store: ItemStore, rows: Array) -> Any:
    """Compute the features of the items in some rows from which their labels are predicted."""
    if not model.reads_texts:
        return store.vectors.rows(rows)
    found = store.fetch(rows.tolist())
    texts = [found[row].text if row in found else "" for row in rows.tolist()]
    return text_features(model, tagger, texts)


def text_features(model: IndexModel, tagger: Tagger, texts: list[str]) -> Any:
    """Compute the features of texts from which their labels are predicted."""
    if tagger.texts is not None:
        return tagger.texts.of_texts(texts)
    return model.features_of(texts, "tag")


def current_tagger(model: IndexModel, store: ItemStore, tagger: Tagger) -> Tagger:
    """Return the tagger for the present labels of the items; the same one if nothing changed."""
    table = store.labels
    rows = np.flatnonzero(table.known & store.vectors.alive)
    if tagger.sampled:
        # Of the items of the fit only some were learned; those that were added since are.
        first = len(store.vectors.base)
        rows = rows[(rows >= first) | np.isin(rows, tagger.places)]
    sources = np.full(rows.size, -1, dtype=np.intp)
    if tagger.places.size:
        at = np.minimum(np.searchsorted(tagger.places, rows), tagger.places.size - 1)
        sources = np.where(tagger.places[at] == rows, at, -1)
    kept = np.flatnonzero(sources >= 0)
    targets = table.matrix(rows)
    before = tagger.voters.labels.tocsr()
    wide = sparse.csr_matrix(
        (before.data, before.indices, before.indptr), (before.shape[0], targets.shape[1])
    )
    difference = abs(targets[kept] - wide[sources[kept]]).tocoo()
    different = difference.data > 0
    gone = np.setdiff1d(np.arange(before.shape[0]), sources[kept])
    fresh = np.flatnonzero(sources < 0)
    touched = np.unique(
        np.concatenate([difference.col[different], targets[fresh].indices, wide[gone].indices])
    ).astype(np.intp)
    if not touched.size and not gone.size and not fresh.size:
        return tagger
    features = tagger.voters.features[sources[kept]]
    order = np.argsort(np.concatenate([kept, fresh]), kind="stable")
    if fresh.size:
        added = tag_features(model, tagger, store, rows[fresh])
        stack = sparse.vstack if sparse.issparse(features) else np.vstack
        features = stack([features, added])
        features = sparse.csr_matrix(features) if sparse.issparse(features) else features
    same = sources.copy()
    same[kept[np.unique(difference.row[different])]] = -1
    return update_tagger(
        tagger,
        tuple(table.names),
        targets=targets,
        features=features[order],
        places=rows,
        touched=touched,
        sources=same,
    )


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
