"""
Learning from a stream
======================

.. image:: images/thumb/sphx_glr_plot_5_stream_thumb.png
   :alt: Quality of neighbours by the number of rows seen, for MLSI and IncrementalPCA

``partial_fit`` stores means and sums of products, so after each batch the embedding is the one
that ``fit`` finds on all rows so far.
"""

# %%
# Noisy vectors, similar to those of a sentence encoder, with 30 labels, in batches of 50. The
# neighbours of unseen rows are evaluated at several sizes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import IncrementalPCA

from labelspan import MLSI
from labelspan.metrics import principal_angles, retrieval_at_k

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"]
rng = np.random.default_rng(0)
Y = (rng.random((7_400, 30)) < 0.08).astype(np.uint8)
# Labels span 15 directions; rows also vary along four others, and there is noise.
X = Y @ rng.standard_normal((30, 15)) @ rng.standard_normal((15, 128)) / 45
X += rng.standard_normal((7_400, 4)) @ rng.standard_normal((4, 128)) / 6
X += 0.25 * rng.standard_normal(X.shape)
X_new, Y_new, X, Y = X[:1000], Y[:1000], X[1000:], Y[1000:]
DIMENSIONS, BATCH = 20, 50
ASKED = {50, 100, 200, 400, 800, 1600, 3200, 6400}


def judge(space):
    """Similarity by labels of unseen rows and their ten nearest."""
    Z, Z_new = space.transform(X[:2000]), space.transform(X_new)
    return retrieval_at_k(Z_new, Y_new, Z, Y[:2000], k=10).jaccard


informed = MLSI(DIMENSIONS, center=True, alpha=1.0)
blind = IncrementalPCA(DIMENSIONS)
scores = {"MLSI": [], "IncrementalPCA": []}
for start in range(0, len(X), BATCH):
    rows = slice(start, start + BATCH)
    informed.partial_fit(X[rows], Y[rows])
    blind.partial_fit(X[rows])
    if start + BATCH in ASKED:
        scores["MLSI"].append((start + BATCH, judge(informed)))
        scores["IncrementalPCA"].append((start + BATCH, judge(blind)))

whole = MLSI(DIMENSIONS, center=True, alpha=1.0).fit(X, Y)
angle = principal_angles(informed.components_.T, whole.components_.T)[0]
print(
    f"angle between the embeddings of the stream and of all rows: {np.degrees(angle):.1e} degrees"
)

# %%
# Two machines with half of the rows each can merge their models.
one, two = MLSI(DIMENSIONS, center=True, alpha=1.0), MLSI(DIMENSIONS, center=True, alpha=1.0)
one.partial_fit(X[::2], Y[::2])
two.partial_fit(X[1::2], Y[1::2])
one.merge(two)
joined = principal_angles(one.components_.T, whole.components_.T)[0]
print(f"two halves, joined: {np.degrees(joined):.1e} degrees")

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, points), style, colour in zip(scores.items(), ("o-", "s--"), COLOURS, strict=False):
    ax.plot(*zip(*points, strict=True), style, color=colour, label=name, markersize=5)
plain = retrieval_at_k(X_new, Y_new, X[:2000], Y[:2000], k=10).jaccard
ax.axhline(plain, color="grey", linewidth=1, label="all 128 dimensions")
ax.set(xlabel="rows seen", ylabel="Jaccard index of labels, 10 nearest")
ax.set(title=f"{DIMENSIONS} dimensions, in batches of {BATCH}", ylim=(0, None), xscale="log")
ax.set_xticks(sorted(ASKED), sorted(ASKED))
ax.minorticks_off()
ax.legend()
plt.show()
