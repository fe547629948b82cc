# %% [markdown]
# # Which space serves my data?
#
# Hold the methods against each other on rows that none of them has seen, by what you want
# of them: neighbours with the same labels, or predicted labels.

# %%
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from labelspan import CCA, LSI, MLSI, OPLS
from labelspan.datasets import load_debtags
from labelspan.metrics import f1_scores, retrieval_at_k, threshold_by_share

corpus = load_debtags().take(range(0, 4899, 4))
train, test = corpus.take(corpus.train), corpus.take(corpus.test)
words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5)
X, X_new = words.fit_transform(train.texts), words.transform(test.texts)
common = np.asarray(train.Y.sum(axis=0)).ravel() >= 5
Y, Y_new = train.Y.toarray()[:, common], test.Y.toarray()[:, common]
X.shape, Y.shape

# %% [markdown]
# Spaces of 40 dimensions, and all words.

# %%
spaces = {"all words": (X, X_new)}
for model in (LSI(40), MLSI(40), OPLS(40, alpha=1.0), CCA(40, alpha=1.0)):
    model.fit(X, Y)
    spaces[type(model).__name__] = model.transform(X), model.transform(X_new)

# %%
found = {}
for name, (known, new) in spaces.items():
    tagger = OPLS(alpha=1.0).fit(normalize(known), Y)
    scores = tagger.label_scores(normalize(new))
    decided = scores > threshold_by_share(scores, Y.mean(axis=0))
    found[name] = retrieval_at_k(new, Y_new, known, Y).ndcg, f1_scores(Y_new, decided).macro
    print(f"{name:10} nDCG at 10 {found[name][0]:.3f}   macro F1 {found[name][1]:.3f}")

# %% [markdown]
# Spaces that know the labels find better neighbours; for tagging all words stay ahead of MLSI.

# %%
assert found["MLSI"][0] > found["LSI"][0] + 0.05
assert found["all words"][1] > found["MLSI"][1] > found["LSI"][1]

# %% [markdown]
# Which solver ran, and what would run for all rows of a large corpus?

# %%
from labelspan import choose_solver

print(choose_solver(MLSI(40), X, Y))
