"""Bring a tagger up to date with items that were added, removed or labelled differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..tagger import Tagger
from .model import IndexModel
from .store import ItemStore

__all__ = ["current_tagger", "tag_features", "text_features"]


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
