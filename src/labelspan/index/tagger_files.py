"""Write a tagger as plain data and arrays, and read it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidFile, InvalidParameter
from ..text import TextFeatures, check_language
from .left_out_tags import LeftOutTags
from .tagger import Tagger
from .tagging import Decision, LabelRecord
from .voters import Voters

__all__ = ["pack_tagger", "unpack_tagger"]

_DAMAGED = "The parts of the tagger do not fit together; the index is damaged."


def pack_tagger(tagger: Tagger) -> tuple[dict[str, Any], dict[str, Array], dict[str, Any]]:
    """Describe a tagger by numbers, arrays by name, and lists by name."""
    arrays = {
        "tagger_intercept": tagger.intercept,
        "tagger_thresholds": tagger.thresholds,
        "tagger_levels": np.stack([tagger.decision.knots, tagger.decision.levels]),
        "tagger_record": np.stack(
            [tagger.record.chosen, tagger.record.right, tagger.record.support]
        ).astype(np.int64),
        "tagger_places": tagger.places,
        **_pack_matrix("tagger_weights", tagger.weights.T.tocsr()),
        **_pack_matrix("tagger_targets", tagger.voters.labels),
        **_pack_matrix("tagger_rows", tagger.voters.features),
    }
    if tagger.left_out is not None:
        arrays |= {
            "tagger_left_out": tagger.left_out.columns,
            "tagger_left_out_chances": tagger.left_out.chances,
        }
        if tagger.left_out.own is not None:
            arrays["tagger_left_out_own"] = tagger.left_out.own
    lists: dict[str, Any] = {"labels": list(tagger.labels)}
    described: dict[str, Any] = {
        "alpha": tagger.alpha,
        "weight": tagger.decision.weight,
        "threshold": tagger.decision.threshold,
        "features": tagger.n_features,
        "language": None,
        "left_out": tagger.left_out is not None,
        "left_out_own": tagger.left_out is not None and tagger.left_out.own is not None,
        "sampled": tagger.sampled,
    }
    if tagger.texts is not None:
        described["language"] = tagger.texts.language
        arrays |= {f"tagger_text_{name}": one for name, one in tagger.texts.arrays().items()}
    return described, arrays, lists


def unpack_tagger(
    described: Mapping[str, Any], array: Callable[[str], Array], plain: Callable[[str], Any]
) -> Tagger:
    """Make the tagger that :func:`pack_tagger` described; ``array`` and ``plain`` read files."""
    labels = _names(plain("labels"), "labels")
    numbers = [described.get(name) for name in ("alpha", "weight", "threshold")]
    if not all(isinstance(number, float) and np.isfinite(number) for number in numbers):
        raise InvalidFile("manifest.json: the numbers of the tagger are damaged.")
    alpha, weight, threshold = (float(number or 0.0) for number in numbers)
    width, k = described.get("features"), len(labels)
    places = array("tagger_places")
    n = places.size
    if type(width) is not int or alpha <= 0 or places.ndim != 1:
        raise InvalidFile(_DAMAGED)
    if not 0 < width < np.iinfo(np.int32).max:
        raise InvalidFile(_DAMAGED)
    levels, record = array("tagger_levels"), array("tagger_record")
    parts = [array("tagger_intercept"), array("tagger_thresholds")]
    shapes = [part.shape == (k,) for part in parts]
    if not all(shapes) or record.shape != (3, k) or levels.ndim != 2 or levels.shape[0] != 2:
        raise InvalidFile(_DAMAGED)
    rising = levels.shape[1] > 0 and np.isfinite(levels).all() and (np.diff(levels) >= 0).all()
    if not rising or places.dtype != np.int64 or (np.diff(places) <= 0).any():
        raise InvalidFile(_DAMAGED)
    weights = _unpack_matrix("tagger_weights", (k, width), array)
    texts = None
    if described.get("language") is not None:
        texts = _unpack_texts(str(described["language"]), array)
        if texts.size != width:
            raise InvalidFile(_DAMAGED)
    targets = _unpack_matrix("tagger_targets", (n, k), array)
    left_out = None
    # Indexes of earlier versions have none.
    if described.get("left_out") is True:
        left_out = LeftOutTags(
            array("tagger_left_out"),
            array("tagger_left_out_chances"),
            array("tagger_left_out_own") if described.get("left_out_own") is True else None,
        )
        if not left_out.is_sound((n, k), targets.nnz):
            raise InvalidFile(_DAMAGED)
    return Tagger(
        tuple(labels),
        texts,
        alpha,
        weights.T,
        parts[0],
        parts[1],
        Decision(weight, levels[0], levels[1], threshold),
        LabelRecord(*record),
        Voters(_unpack_matrix("tagger_rows", (n, width), array), targets),
        places,
        left_out,
        described.get("sampled") is True,
    )


def _unpack_texts(language: str, array: Callable[[str], Array]) -> TextFeatures:
    names = ("words", "singles", "pairs", "parts", "idf")
    arrays = {name: array(f"tagger_text_{name}") for name in names}
    try:
        return TextFeatures.from_arrays(check_language("load", language), arrays, stems=True)
    except InvalidParameter as error:
        raise InvalidFile(f"manifest.json: the language {language!r:.40} is unknown.") from error


def _names(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidFile(f"{name}.json is damaged: it is not a list of names.")
    if len(set(value)) < len(value):
        raise InvalidFile(f"{name}.json is damaged: a name occurs twice.")
    return value


def _pack_matrix(name: str, matrix: Any) -> dict[str, Array]:
    if not sparse.issparse(matrix):
        return {f"{name}_data": np.asarray(matrix, dtype=np.float32)}
    rows = matrix.tocsr()
    rows.sort_indices()
    return {
        f"{name}_data": rows.data.astype(np.float32),
        f"{name}_columns": rows.indices.astype(np.int32),
        f"{name}_starts": rows.indptr.astype(np.int64),
    }


def _unpack_matrix(name: str, shape: tuple[int, int], array: Callable[[str], Array]) -> Any:
    """Read a matrix; one with places outside would make products read foreign memory."""
    data = array(f"{name}_data")
    if data.ndim == 2:
        if data.shape != shape:
            raise InvalidFile(_DAMAGED)
        return data
    columns, starts = array(f"{name}_columns"), array(f"{name}_starts")
    fine = (
        columns.dtype == np.int32
        and starts.dtype == np.int64
        and columns.shape == data.shape
        and starts.shape == (shape[0] + 1,)
        and starts[0] == 0
        and starts[-1] == data.size
        and (np.diff(starts) >= 0).all()
        and (not data.size or (columns.min() >= 0 and columns.max() < shape[1]))
    )
    if not fine:
        raise InvalidFile(_DAMAGED)
    small = starts.astype(np.int32) if data.size < np.iinfo(np.int32).max else starts
    return sparse.csr_matrix((data, columns, small), shape=shape)
