"""Small graphs with labels, and dense references of what is computed on them."""

import numpy as np


def weights(rows, seed, density=0.3):
    """A random symmetric graph in one part."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((rows, rows)) * (rng.random((rows, rows)) < density), 1)
    W += np.diag(rng.random(rows - 1) + 0.1, 1)
    return W + W.T


def laplacian(W, normalized=False):
    root = np.sqrt(W.sum(axis=1)) if normalized else np.ones(len(W))
    return (np.diag(W.sum(axis=1)) - W) / np.outer(root, root)


def known(y, share, seed, unknown=-1):
    """The labels with all but a share of the rows unknown; the first rows stay."""
    rng = np.random.default_rng(seed + 300)
    labelled = rng.random(len(y)) < share
    labelled[: y.shape[1] if y.ndim == 2 else int(y.max()) + 1] = True
    out = np.array(y)
    out[~labelled] = unknown
    return out, labelled
