"""
Kernels: labels that no line separates
======================================

.. image:: images/thumb/sphx_glr_plot_6_kernel_thumb.png
   :alt: Scores of two models in the plane, above two moons

A kernel separates labels that no straight line can separate.
"""

# %%
# Each of two moons is a label; the third label is on rows where one moon reaches into the other.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

from labelspan import MLSI, KernelFeatures
from labelspan.metrics import average_precision

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"]
NAMES = ["upper moon", "lower moon", "inside the other"]


def draw(count, seed):
    """Rows on two moons, and their three labels."""
    X, moon = make_moons(count, noise=0.12, random_state=seed)
    inside = np.where(moon == 0, (X[:, 0] > 0.4) & (X[:, 1] < 0.5), (X[:, 0] < 0.6) & (X[:, 1] > 0))
    return X, np.column_stack([moon == 0, moon == 1, inside]).astype(float)


X, Y = draw(400, 0)
X_new, Y_new = draw(400, 1)
models = {
    "linear": make_pipeline(KernelFeatures("linear"), MLSI(2, beta=0.8)).fit(X, Y),
    "rbf": make_pipeline(KernelFeatures("rbf", gamma=2.0), MLSI(6, beta=0.8, alpha=1.0)).fit(X, Y),
}
for name, model in models.items():
    scores = model[-1].label_scores(model[0].transform(X_new))
    precision = average_precision(Y_new, scores).value
    print(f"{name:7} average precision on unseen rows {precision:.3f}")

# %%
# The scores of both models in the plane, for each label; points that have the label are filled.
# With the kernel the scores follow the moons.
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.1, 1.6, 70)), axis=-1)
fig, axes = plt.subplots(2, 3, figsize=(10, 5.6), sharex=True, sharey=True, layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    scores = model[-1].label_scores(model[0].transform(grid.reshape(-1, 2)))
    scores = scores.reshape(*grid.shape[:2], 3)
    for label, ax in enumerate(row):
        shades = ax.contourf(
            *np.moveaxis(grid, -1, 0),
            scores[..., label],
            levels=np.linspace(-0.3, 1.3, 9),
            cmap="cividis",
            alpha=0.75,
            extend="both",
        )
        carries = Y_new[:, label] > 0
        ax.scatter(*X_new[~carries].T, s=9, facecolors="none", edgecolors="black", linewidths=0.5)
        ax.scatter(*X_new[carries].T, s=11, color=COLOURS[3], edgecolors="white", linewidths=0.3)
        if row is axes[0]:
            ax.set_title(NAMES[label])
    row[0].set_ylabel(f"{name} kernel\nsecond feature")
for ax in axes[1]:
    ax.set_xlabel("first feature")
fig.colorbar(shades, ax=axes, label="score of the label")
plt.show()

# %%
# The first two dimensions of the embedding, for unseen rows.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
kinds = [
    ("upper moon", (Y_new[:, 0] > 0) & (Y_new[:, 2] == 0), COLOURS[0], "o"),
    ("upper, inside the other", (Y_new[:, 0] > 0) & (Y_new[:, 2] > 0), COLOURS[4], "^"),
    ("lower moon", (Y_new[:, 1] > 0) & (Y_new[:, 2] == 0), COLOURS[3], "s"),
    ("lower, inside the other", (Y_new[:, 1] > 0) & (Y_new[:, 2] > 0), COLOURS[1], "D"),
]
for ax, (name, model) in zip(axes, models.items(), strict=True):
    Z = model.transform(X_new)
    for kind, rows, colour, marker in kinds:
        ax.scatter(*Z[rows, :2].T, s=14, color=colour, marker=marker, label=kind)
    ax.set(title=f"MLSI, {name}", xlabel="dimension 1", ylabel="dimension 2")
    ax.ticklabel_format(scilimits=(-2, 3))
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
plt.show()
