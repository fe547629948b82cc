"""Errors and warnings of labelspan.

    LabelspanError
     +-- InvalidInput (ValueError)        the input cannot be used
     |    +-- InvalidParameter            a constructor parameter is outside its range
     |    +-- InvalidLabels               y cannot be read as labels or targets
     |    +-- NewLabels                   labels that do not exist yet were not allowed
     |    +-- NotFound                    an item, a label or a page does not exist
     |    +-- InvalidFile                 a file is damaged, or not in its format
     |    |    +-- Replaced               an index was replaced since it was opened
     |    +-- Mismatch                    two choices that cannot be combined
     |         +-- NotStreaming (AttributeError)   parameters that partial_fit cannot take
     +-- MissingData (FileNotFoundError)  a data set or an index was not found
     +-- NotReady                         what is computed in the background is not there yet
     +-- Locked                           another writer has the index open
     +-- TooManyFiles (OSError)           the process cannot open another file
     +-- NotEnoughMemory (MemoryError)    a fit needs more memory than is available
     +-- LostWorkers (RuntimeError)       a cluster lost data that it cannot restore
     LabelspanWarning
      +-- NotConverged (ConvergenceWarning)   an iteration stopped before its tolerance
      +-- AmbiguousLabels                     whole numbers that may be targets or classes
      +-- UncertainPenalty                    alpha was chosen from too few rows

Every message is one or two sentences: what is wrong, what was given, what to do.
"""

import sys
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "AmbiguousLabels",
    "InvalidFile",
    "InvalidInput",
    "InvalidLabels",
    "InvalidParameter",
    "LabelspanError",
    "LabelspanWarning",
    "Locked",
    "LostWorkers",
    "Mismatch",
    "MissingData",
    "NewLabels",
    "NotConverged",
    "NotEnoughMemory",
    "NotFound",
    "NotReady",
    "NotStreaming",
    "Replaced",
    "TooManyFiles",
    "UncertainPenalty",
]


class LabelspanError(Exception):
    """Base of every error raised on purpose.

    ``choices`` are values of an option that may help, for programs that ask for one.
    """

    choices: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class InvalidInput(LabelspanError, ValueError):
    """The data or the parameters cannot be used."""


class InvalidParameter(InvalidInput):
    """A parameter is outside the range that the estimator or solver accepts."""


class InvalidLabels(InvalidInput):
    """The labels cannot be read, or there is nothing to learn from them."""


class NewLabels(InvalidInput):
    """Labels that no item has, or that are spelt nearly like others, were not allowed.

    ``doubt`` says what was found, and ``allow`` is what allows it: "create" or "similar".
    """

    def __init__(self, doubt: str, allow: str) -> None:
        super().__init__(f'{doubt} Correct it, or allow it ("{allow}": true).')
        self.doubt, self.allow = doubt, allow


class NotFound(InvalidInput):
    """An item, a label, a finding or a page of a list does not exist."""


class InvalidFile(InvalidInput):
    """A file is damaged, or does not contain what its format requires."""


class Replaced(InvalidFile):
    """The index in the folder was replaced since it was opened; nothing was changed."""


class Mismatch(InvalidInput):
    """Two choices, for example a solver and a form of MLSI, that cannot be combined."""


class NotStreaming(Mismatch, AttributeError):
    """``partial_fit`` is not available for these parameters, which need all rows at once."""


class MissingData(LabelspanError, FileNotFoundError):
    """A data set is not in its folder, and could not be downloaded."""


class NotReady(LabelspanError):
    """What is computed in the background, such as the map, is not there yet."""


class Locked(LabelspanError):
    """Another writer has the index open."""


class TooManyFiles(LabelspanError, OSError):
    """The process, or the system, has too many files open."""


class NotEnoughMemory(LabelspanError, MemoryError):
    """A fit needs more memory than is available; raised before it starts."""


class LostWorkers(LabelspanError, RuntimeError):
    """Workers of a cluster died, and data that the fit needs was lost."""


class LabelspanWarning(UserWarning):
    """Base of every warning of the package."""


class AmbiguousLabels(LabelspanWarning):
    """The labels were read as classes, but look like a regression target."""


class UncertainPenalty(LabelspanWarning):
    """The chosen regularization strength is the largest or smallest one tried, or is uncertain."""


if TYPE_CHECKING:

    class NotConverged(LabelspanWarning, ConvergenceWarning):
        """An iteration stopped before it reached its tolerance."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the package, whatever lies between.

    Frames of scikit-learn and joblib, which call estimators for the user, are passed over too.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_BETWEEN = {"labelspan", "sklearn", "joblib"}


def _package(scope: dict[str, Any]) -> str:
    return str(scope.get("__name__", "")).partition(".")[0]


def __getattr__(name: str) -> Any:
    # NotConverged is also a warning of scikit-learn, whose import takes over a second: an error
    # message of the command does not wait for it.
    if name != "NotConverged":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

    about = {
        "__doc__": "An iteration stopped before it reached its tolerance.",
        "__module__": __name__,
    }
    globals()[name] = made = type(name, (LabelspanWarning, ConvergenceWarning), about)
    return made
