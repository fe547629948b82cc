"""Writing a fitted estimator as plain data and arrays, and making it again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, LabelspanError, Mismatch
from ..estimators import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS

__all__ = ["pack_estimator", "unpack_estimator"]

_KINDS = {kind.__name__: kind for kind in (CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS)}
# What fit learned has names with an underscore at the end; of what is private, one entry
# says that there is no kernel.
_LEARNED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_|_kernel_map")


def pack_estimator(estimator: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Class, parameters and small results as plain data; arrays by name.

    What :func:`unpack_estimator` makes of it maps rows as the estimator did. A graph over
    the rows of the fit is not kept.
    """
    kind = type(estimator).__name__
    params = estimator.get_params(deep=False)
    strange = [name for name, value in params.items() if not _is_plain(value)]
    kernel = getattr(estimator, "_kernel_map", None) is not None
    if type(estimator) is not _KINDS.get(kind) or strange or kernel:
        what = f"kernel={params.get('kernel')!r}" if kernel else ", ".join(strange) or kind
        raise Mismatch(
            f"save: the estimator {kind} with {what} cannot be written without code that would "
            "run on load; use one of labelspan's with plain parameters and kernel='linear'."
        )
    learned = {name: value for name, value in vars(estimator).items() if _LEARNED.fullmatch(name)}
    values = {name: value for name, value in learned.items() if _is_plain(value)}
    arrays = {
        name: value
        for name, value in learned.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi"
    }
    return {"class": kind, "params": params, "values": values}, arrays


def unpack_estimator(described: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """The estimator that :func:`pack_estimator` took apart."""
    kind = _KINDS.get(str(described.get("class")))
    params, values = described.get("params"), described.get("values")
    if kind is None or not isinstance(params, dict) or not isinstance(values, dict):
        raise InvalidFile("manifest.json: the estimator is of no kind that is known.")
    learned = {**values, **arrays}
    # What a class defines itself, say as a property, is no result either.
    strange = [name for name in learned if not _LEARNED.fullmatch(name) or hasattr(kind, name)]
    if strange:
        raise InvalidFile("manifest.json: the estimator has results of a strange name.")
    try:
        estimator = kind(**params)
        estimator._check_params()
    except (TypeError, LabelspanError) as error:
        raise InvalidFile(
            f"manifest.json: the parameters of the estimator are damaged ({error!s:.200})."
        ) from error
    for name, value in learned.items():
        setattr(estimator, name, value)
    return estimator


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
