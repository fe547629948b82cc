"""
A map of programs: LSI and MLSI
===============================

.. image:: images/thumb/sphx_glr_plot_1_map_thumb.png
   :alt: Two maps of the same programs, coloured by tag; MLSI's groups are tighter than LSI's

MLSI, which learned from words and from the tags of other programs, places new programs with the
same tags closer together than LSI, which learned from words only.
"""

# %%
# Both methods learn from half of the training set; the map shows the test set.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from labelspan import LSI, MLSI
from labelspan.datasets import load_debtags
from labelspan.metrics import retrieval_at_k

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"]
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=COLOURS)
corpus = load_debtags()
train = corpus.take(np.flatnonzero(corpus.train)[::2])
test = corpus.take(corpus.test)
words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5)
X, X_new = words.fit_transform(train.texts), words.transform(test.texts)
print(f"{X.shape[0]} programs to learn from, {X_new.shape[0]} to place, {X.shape[1]} words")

spaces = {"LSI: words only": LSI(50).fit(X), "MLSI: words and tags": MLSI(50).fit(X, train.Y)}

# %%
# Six tags have a colour; a program with several of them gets the colour of the rarest.
SHOWN = {
    "works-with::mail": "mail",
    "works-with::audio": "audio",
    "works-with::image": "images",
    "use::gameplaying": "games",
    "interface::daemon": "daemons",
    "suite::gnome": "GNOME",
}
columns = [test.label_names.index(tag) for tag in SHOWN]
carried = test.Y[:, columns].toarray().astype(bool)
order = np.argsort(carried.sum(axis=0))

fig, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
for ax, (title, space) in zip(axes, spaces.items(), strict=True):
    Z = normalize(space.transform(X_new))
    shared = retrieval_at_k(Z, test.Y, Z, test.Y, k=10, exclude_self=True).jaccard
    places = TSNE(init="pca", perplexity=30, max_iter=600, random_state=0).fit_transform(Z)
    rest = np.ones(len(places), dtype=bool)
    for place in order:
        here = carried[:, place] & rest
        rest &= ~here
        name = list(SHOWN.values())[place]
        ax.scatter(*places[here].T, s=14, color=f"C{place}", label=name, zorder=2)
    ax.scatter(*places[rest].T, s=5, color="#D0D0D0", label="others", zorder=1)
    ax.set(title=f"{title}\n10 nearest share {shared:.0%} of their tags", xticks=[], yticks=[])
    ax.set(xlabel="t-SNE, first", ylabel="t-SNE, second")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False)
plt.show()

# %%
# The percentage is the mean Jaccard index between the tags of a program and those of its ten
# nearest neighbours: the tags in common, divided by all tags that either has. The tags of these
# programs were not used to embed them.
