"""The data sets of the scripts: labelspan's own, with the labels as a plain array."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labelspan import datasets
from labelspan.datasets import DataSet
from labelspan.errors import LabelspanError

__all__ = ["DataSet", "load"]


def load(name: str, folder: str | None = None, **options: Any) -> DataSet:
    """Load a set from a folder; end the script with a message if it is missing."""
    try:
        data = datasets.load(name, folder, **options)
    except LabelspanError as error:
        raise SystemExit(str(error)) from None
    return replace(data, Y=data.Y.toarray()) if hasattr(data.Y, "toarray") else data
