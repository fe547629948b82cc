"""
Few labels, many rows: graphs
=============================

.. image:: images/thumb/sphx_glr_plot_7_graph_thumb.png
   :alt: An embedding of digits by DLE, and the accuracy of six methods by the number of labels

If few of many digits are labelled, a graph of neighbours over all of them improves the embedding.
"""

# %%
# From 2 to 20 labelled digits per class; the others are classified by the nearest labelled digit in
# the embedding. The accuracy on unlabelled rows is the mean of three draws.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from labelspan import DLE, LDA, LPP
from labelspan.graph import neighbor_graph

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"]
X, truth = load_digits(return_X_y=True)
X = X[:1000] - X[:1000].mean(axis=0)
truth = truth[:1000]
graph = neighbor_graph(X, n_neighbors=10)
principal = PCA(9).fit_transform(X)
smooth = LPP(9, alpha=1.0).fit(X, graph=graph).transform(X)


def draw(count, seed):
    """Classes with all but ``count`` of each made unknown."""
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(truth == digit), count, replace=False) for digit in range(10)]
    )
    y = np.full(truth.size, -1)
    y[known] = truth[known]
    return y


def accuracy(Z, y):
    """The share of unlabelled rows that the nearest labelled one tells."""
    known = y >= 0
    nearest = KNeighborsClassifier(1).fit(Z[known], y[known])
    return nearest.score(Z[~known], truth[~known])


sizes = [2, 3, 5, 10, 20]
found = {name: [] for name in ("DLE", "DLE, no penalty", "LDA", "LPP", "PCA", "64 pixels")}
for size in sizes:
    rounds = {name: [] for name in found}
    for seed in range(3):
        y = draw(size, seed)
        known = y >= 0
        # A strength to start from: a tenth of the labelled rows' mean scatter along a pixel.
        alpha = 0.1 * np.square(X[known] - X[known].mean(axis=0)).sum() / X.shape[1]
        spaces = {
            "DLE": DLE(alpha=alpha).fit(X, y, graph=graph).transform(X),
            "DLE, no penalty": DLE(alpha=0).fit(X, y, graph=graph).transform(X),
            "LDA": LDA(alpha=alpha).fit(X, y).transform(X),
            "LPP": smooth,
            "PCA": principal,
            "64 pixels": X,
        }
        for name, Z in spaces.items():
            rounds[name].append(accuracy(Z, y))
    for name, values in rounds.items():
        found[name].append(np.mean(values))
for name, values in found.items():
    print(f"{name:16}", np.round(values, 3))

# %%
y = draw(5, 0)
known = y >= 0
alpha = 0.1 * np.square(X[known] - X[known].mean(axis=0)).sum() / X.shape[1]
Z = DLE(2, alpha=alpha).fit(X, y, graph=graph).transform(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
shown = [0, 1, 4, 6, 7]
halo = [withStroke(linewidth=3, foreground="white")]
for digit, colour in zip(shown, COLOURS, strict=False):
    rows = truth == digit
    left.scatter(*Z[rows & ~known].T, s=9, color=colour, alpha=0.45, linewidths=0)
    for place in Z[rows & known]:
        left.text(
            *place, digit, color=colour, fontsize=14, weight="bold", ha="center", path_effects=halo
        )
left.set(xlabel="DLE, dimension 1", ylabel="dimension 2")
left.set_title("Five labelled rows per class (written as digits);\nfive of ten classes shown")
styles = ["o-", "o:", "s-", "^--", "v--", "x:"]
for (name, values), style, colour in zip(
    found.items(), styles, [*COLOURS[:5], "grey"], strict=True
):
    right.plot(sizes, values, style, color=COLOURS[0] if "DLE" in name else colour, label=name)
right.set(xlabel="labelled rows per class", ylabel="accuracy on unlabelled rows", xticks=sizes)
right.set_title("Nearest labelled row, nine dimensions")
right.legend()
plt.show()

# %%
# With two to five labels per class LPP, which ignores labels, is the best embedding: the graph is
# more informative than so few labels. From ten labels on, DLE is the best embedding with nine
# dimensions, and about as good as the pixels. Without a penalty it is the worst, because the
# scatter within classes cannot be learned from a few rows. LDA, which does not use the graph, is
# worse than both.
