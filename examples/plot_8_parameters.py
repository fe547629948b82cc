"""
Choosing alpha and beta
=======================

.. image:: images/thumb/sphx_glr_plot_8_parameters_thumb.png
   :alt: Heat maps of nDCG by alpha and beta, for training tags and hidden tags

The best weight of the labels is small for labels that were not used in training.
"""

# %%
# The sentence embeddings of programs are those of the example on adapted embeddings.
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from labelspan import MLSI
from labelspan.datasets import load_debtags
from labelspan.metrics import retrieval_at_k

stored = np.load(Path(sys.argv[0]).parent / "data" / "debtags_minilm.npz")
corpus = load_debtags().take(stored["rows"])
X = normalize(stored["codes"].astype(np.float64))
counts = np.asarray(corpus.Y[corpus.train].sum(axis=0)).ravel()
Y = corpus.Y[:, counts >= 20].toarray().astype(float)
train, test = np.flatnonzero(corpus.train), np.flatnonzero(corpus.test)
print(X.shape, Y.shape)

ALPHAS, BETAS = [0.3, 1.0, 3.0, 10.0], [0.1, 0.3, 0.5, 0.7, 0.9]

# %%
# A third of the tags is hidden from the fit. Do the neighbours of unseen programs share their tags?
# For hidden tags a beta of 0.1 to 0.3 is best, and 0.9 is the worst.
rng = np.random.default_rng(0)
hidden = np.zeros(Y.shape[1], dtype=bool)
hidden[rng.permutation(Y.shape[1])[: Y.shape[1] // 3]] = True
tables = {name: np.empty((len(ALPHAS), len(BETAS))) for name in ("tags seen", "tags hidden")}
for row, column in np.ndindex(len(ALPHAS), len(BETAS)):
    space = MLSI(64, center=True, alpha=ALPHAS[row], beta=BETAS[column])
    space.fit(X[train], Y[train][:, ~hidden])
    Z, Z_new = space.transform(X[train]), space.transform(X[test])
    for name, columns in (("tags seen", ~hidden), ("tags hidden", hidden)):
        found = retrieval_at_k(Z_new, Y[test][:, columns], Z, Y[train][:, columns], k=10)
        tables[name][row, column] = found.ndcg

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, (name, table) in zip(axes, tables.items(), strict=True):
    picture = ax.imshow(table, cmap="cividis", aspect="auto", origin="lower")
    for row, column in np.ndindex(table.shape):
        value = table[row, column]
        dark = value < (table.min() + table.max()) / 2
        ax.text(
            column,
            row,
            f"{value:.3f}",
            ha="center",
            va="center",
            color="white" if dark else "black",
        )
    ax.set_xticks(range(len(BETAS)), BETAS)
    ax.set_yticks(range(len(ALPHAS)), ALPHAS)
    ax.set(
        xlabel="beta, the weight of the labels",
        ylabel="alpha, the regularization strength",
        title=f"nDCG at 10, {name}",
    )
    fig.colorbar(picture, ax=ax)
plt.show()
