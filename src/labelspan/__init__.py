"""labelspan: Label-informed dimensionality reduction and search for tagged data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapt import Adapter
    from .estimators import (
        CCA,
        DLE,
        HSL,
        LDA,
        LPP,
        LSI,
        MLSI,
        OPLS,
        KernelFeatures,
        choose_solver,
    )
    from .index import SemanticIndex
    from .operators import as_operator

__version__ = "0.4.0"

__all__ = [
    "CCA",
    "DLE",
    "HSL",
    "LDA",
    "LPP",
    "LSI",
    "MLSI",
    "OPLS",
    "Adapter",
    "KernelFeatures",
    "SemanticIndex",
    "as_operator",
    "choose_solver",
]

# Where the names are that are not estimators.
_ELSEWHERE = {
    "Adapter": "adapt",
    "SemanticIndex": "index",
    "as_operator": "operators",
}

# Subpackages, imported when they are first used.
_PACKAGES = (
    "adapt",
    "checks",
    "corpus",
    "curation",
    "datasets",
    "display",
    "errors",
    "estimators",
    "evaluation",
    "export",
    "graph",
    "index",
    "labels",
    "metrics",
    "operators",
    "papers",
    "solvers",
    "tagger",
    "text",
    "web",
)


def __getattr__(name: str) -> Any:
    # Imported on first use: the command's help and its completions do not wait for scikit-learn.
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_ELSEWHERE.get(name, 'estimators')}", __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
