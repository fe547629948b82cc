"""Write fitted estimators as plain data and arrays, and read them again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array
from ..adapt import Adapter
from ..errors import InvalidFile, LabelspanError, Mismatch
from ..estimators import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, PLSDA, PLSSVD

__all__ = ["pack_estimator", "unpack_estimator"]

_ESTIMATORS = {
    kind.__name__: kind
    for kind in (CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, PLSDA, PLSSVD, Adapter)
}
# Fitted attributes end with an underscore.
_LEARNED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")


def pack_estimator(estimator: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Describe an estimator by class, parameters and plain attributes, and its arrays by name.

    :func:`unpack_estimator` makes an estimator of it that transforms rows in the same way. A
    graph over the rows of the fit, and the report of an adapter, are not kept.
    """
    kind = type(estimator).__name__
    params = estimator.get_params(deep=False)
    unusual = [name for name, value in params.items() if not _is_plain(value)]
    if type(estimator) is not _ESTIMATORS.get(kind) or unusual:
        what = ", ".join(unusual) or kind
        raise Mismatch(
            f"save: the estimator {kind} with {what} cannot be written without code that would "
            "run on load; use one of labelspan's with plain parameters."
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
    """Make the estimator that :func:`pack_estimator` described."""
    kind = _ESTIMATORS.get(str(described.get("class")))
    params, values = described.get("params"), described.get("values")
    if kind is None or not isinstance(params, dict) or not isinstance(values, dict):
        raise InvalidFile("manifest.json: the class of the estimator is unknown.")
    learned = {**values, **arrays}
    # Attributes that the class defines itself, for example properties, are not results of a fit.
    unusual = [name for name in learned if not _LEARNED.fullmatch(name) or hasattr(kind, name)]
    if unusual:
        raise InvalidFile("manifest.json: the estimator has attributes with unexpected names.")
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
