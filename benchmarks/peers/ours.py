"""labelspan's estimators on a task."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, KernelFeatures
from labelspan.papers.yu2005 import PaperMLSI

from .tasks import Contender, Fitted, Task

__all__ = ["OURS", "batches"]


def _fitted(model: Any, task: Task, y: Any = None) -> Fitted:
    mapped = model.fit_transform(task.X, y)
    components = getattr(model, "components_", None)
    return Fitted(mapped, None if components is None else components.T)


def batches(task: Task) -> list[slice]:
    """Consecutive rows, as many as a stream brings at a time."""
    rows = task.X.shape[0]
    return [slice(start, start + task.batch) for start in range(0, rows, task.batch)]


def _lsi(task: Task) -> Fitted:
    return _fitted(LSI(task.count, random_state=task.seed), task)


def _pca(task: Task) -> Fitted:
    return _fitted(LSI(task.count, center=True, random_state=task.seed), task)


def _mlsi(task: Task) -> Fitted:
    # As the reference weighs them, about the origin.
    model = PaperMLSI(task.count, form="ridge", alpha=task.alpha, beta=task.beta)
    return _fitted(model, task, task.Y)


def _inverse(task: Task) -> Fitted:
    model = PaperMLSI(task.count, alpha=task.alpha, beta=task.beta)
    return _fitted(model, task, task.Y)


def _cca(task: Task) -> Fitted:
    return _fitted(CCA(task.count, alpha=task.alpha), task, task.Y)


def _opls(task: Task) -> Fitted:
    return _fitted(OPLS(task.count, alpha=task.alpha, scale=None), task, task.Y)


def _hsl(task: Task) -> Fitted:
    return _fitted(HSL(task.count, laplacian="star", alpha=task.alpha, scale=None), task, task.Y)


def _lda(task: Task) -> Fitted:
    return _fitted(LDA(task.count, alpha=task.alpha), task, task.y)


def _kernel_lsi(task: Task) -> Fitted:
    kernel = KernelFeatures("rbf", gamma=task.gamma)
    return _fitted(make_pipeline(kernel, LSI(task.count, center=True)), task)


def _kernel_mlsi(task: Task) -> Fitted:
    model = PaperMLSI(task.count, form="ridge", alpha=task.alpha, beta=task.beta, scale=None)
    return _fitted(make_pipeline(KernelFeatures("rbf", gamma=task.gamma), model), task, task.Y)


def _stream(task: Task) -> Fitted:
    model = LSI(task.count, center=True)
    for part in batches(task):
        model.partial_fit(task.X[part], solve=False)
    model.solve()
    return Fitted(model.transform(task.X), model.components_.T)


def _stream_labels(task: Task) -> Fitted:
    model = MLSI(task.count, alpha=task.alpha, beta=task.beta, center=True)
    for part in batches(task):
        model.partial_fit(task.X[part], task.Y[part], solve=False)
    model.solve()
    return Fitted(model.transform(task.X), model.components_.T)


def _own(name: str, run: Any, **options: Any) -> Contender:
    return Contender(f"labelspan {name}", run, ours=True, package="labelspan", **options)


OURS: dict[str, tuple[Contender, ...]] = {
    "lsi": (_own("LSI", _lsi),),
    "pca": (_own("LSI, centred", _pca),),
    "mlsi": (_own("MLSI", _mlsi),),
    "mlsi-printed": (_own("MLSI, inverse", _inverse),),
    "cca": (_own("CCA", _cca),),
    "opls": (_own("OPLS", _opls),),
    "hsl": (_own("HSL, star", _hsl),),
    "lda": (_own("LDA", _lda),),
    "kernel-lsi": (_own("LSI, rbf", _kernel_lsi),),
    "kernel-mlsi": (_own("MLSI, rbf", _kernel_mlsi),),
    "stream": (
        _own("LSI, partial_fit", _stream),
        _own("MLSI, partial_fit", _stream_labels, same=False, remark="heeds labels"),
    ),
}
