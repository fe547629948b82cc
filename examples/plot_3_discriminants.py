"""
LDA, CCA and OPLS compared with scikit-learn
============================================

.. image:: images/thumb/sphx_glr_plot_3_discriminants_thumb.png
   :alt: Crosses of scikit-learn in rings of labelspan, for LDA and CCA

LDA and CCA give the same results as in scikit-learn, and with up to four dimensions LDA is best to
classify digits.
"""

# %%
# LDA and CCA: the same results
# -----------------------------
# scikit-learn scales by the scatter within classes, divided by the number of rows, labelspan by the
# total scatter, so the two differ by a known factor for each direction. With this factor, the
# crosses fall into the rings.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import CCA as PeerCCA
from sklearn.datasets import load_digits, load_linnerud, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from labelspan import CCA, LDA

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"]
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=COLOURS)
X, y = load_wine(return_X_y=True)
model, peer = LDA(alpha=0.0).fit(X, y), LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
theirs = peer.transform(X - X.mean(axis=0))
ours = model.transform(X) * np.sqrt(len(y) / (1 - model.eigenvalues_))
ours *= np.sign((ours * theirs).sum(axis=0))

A, B = load_linnerud(return_X_y=True)
cca = CCA(alpha=0.0).fit(A, B)
there = PeerCCA(3, max_iter=5000, tol=1e-12).fit(A, B)
pairs = zip(*(side.T for side in there.transform(A, B)), strict=True)
correlations = [np.corrcoef(a, b)[0, 1] for a, b in pairs]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for kind in range(3):
    rows = y == kind
    rings = {"s": 44, "facecolors": "none", "edgecolors": f"C{kind}"}
    left.scatter(*theirs[rows].T, label=f"wine {kind}, scikit-learn", **rings)
    left.scatter(*ours[rows].T, s=16, marker="+", color="black", linewidths=0.8)
left.scatter([], [], s=16, marker="+", color="black", label="labelspan")
left.set(xlabel="discriminant 1", ylabel="discriminant 2", title="LDA on wine")
left.legend(fontsize=8)
places = np.arange(3)
right.bar(places - 0.2, correlations, 0.38, label="scikit-learn CCA", color="C0")
right.bar(places + 0.2, cca.correlations_, 0.38, label="labelspan CCA", color="C1")
right.set(xticks=places, xticklabels=["pair 1", "pair 2", "pair 3"], ylim=(0, 1))
right.set(ylabel="canonical correlation", title="CCA on linnerud")
right.legend()
print("largest difference, LDA:", f"{np.abs(ours - theirs).max():.1e}")
print("largest difference, CCA:", f"{np.abs(cca.correlations_ - correlations).max():.1e}")
plt.show()

# %%
# Few dimensions for digits
# -------------------------
# Half of the digits are used for training, half for testing by the five nearest neighbours.
# ``OPLS`` is orthonormalised PLS: directions that predict the classes best by least squares. PLS
# regression maximises covariance instead, and PCA ignores the classes.
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from labelspan import OPLS

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
one_hot = np.eye(10)[y_train]
sizes = np.arange(1, 10)
methods = {
    "LDA, labelspan, alpha = 100": (LDA(9, alpha=100.0), y_train),
    "OPLS, labelspan, alpha = 100": (OPLS(9, alpha=100.0), one_hot),
    "LDA, scikit-learn": (LinearDiscriminantAnalysis(n_components=9), y_train),
    "PLSRegression, scikit-learn": (PLSRegression(9, scale=False), one_hot),
    "PCA, scikit-learn": (PCA(9), None),
}
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
styles = ["-o", "-s", "--^", "--v", ":D"]
for colour, (name, (method, target)) in enumerate(methods.items()):
    method.fit(X_train, target)
    inside, outside = method.transform(X_train), method.transform(X_test)
    right_ones = [
        KNeighborsClassifier(5).fit(inside[:, :size], y_train).score(outside[:, :size], y_test)
        for size in sizes
    ]
    print(f"{name:30} {right_ones[-1]:.3f} with nine dimensions")
    ax.plot(sizes, right_ones, styles[colour], color=f"C{colour}", label=name, markersize=5)
ax.axhline(
    KNeighborsClassifier(5).fit(X_train, y_train).score(X_test, y_test),
    color="grey",
    linewidth=0.8,
    label="all 64 pixels",
)
ax.set(xlabel="dimensions", ylabel="accuracy on unseen digits")
ax.legend()
plt.show()

# %%
# With up to four dimensions LDA is best. It has at most nine, one less than there are classes; from
# seven dimensions on PCA is as good, because for nearest neighbours the shape of a digit matters,
# not only its class. LDA and OPLS span the same nine dimensions in a different order: OPLS gives
# more weight to classes with more rows, LDA does not.
print("rows per class:", np.bincount(y_train))
