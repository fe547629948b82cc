"""An index as files: what goes into a generation, and making an index of it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidFile
from .ann import GRAPH, Cache
from .corpus import Corpus
from .estimator_files import pack_estimator, unpack_estimator
from .learn import Model
from .manifest import field
from .parts import Part, read_array, read_json, write_array, write_json
from .store import ITEMS
from .tagger import Tagger
from .vectorizer import pack_vectorizer, unpack_vectorizer

__all__ = ["read_index", "write_index"]

_PREFIX = "estimator_"


def write_index(
    folder: Path, key: str, model: Model, corpus: Corpus, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fill a folder with a generation; gives the content of its manifest."""
    described, arrays = pack_estimator(model.estimator)
    vectorizer, words, weights = None, None, None
    if model.vectorizer is not None:
        vectorizer, words, weights = pack_vectorizer(model.vectorizer)
    files: dict[str, Part] = {}

    def put(name: str, array: Array | None) -> None:
        if array is not None:
            files[f"{name}.npy"] = write_array(folder / f"{name}.npy", array)

    put("vectors", corpus.write_to(folder / ITEMS, key))
    put("idf", weights)
    for name, array in arrays.items():
        put(_PREFIX + name.strip("_").lower(), array)
    if words is not None:
        files["words.json"] = write_json(folder / "words.json", words)
    if model.tagger is not None:
        put("tagger_weights", model.tagger.weights)
        put("tagger_bias", model.tagger.bias)
        put("tagger_thresholds", model.tagger.thresholds)
        files["labels.json"] = write_json(folder / "labels.json", model.tagger.labels)
    return {
        "class": "SemanticIndex",
        "settings": settings,
        "vectorizer": vectorizer,
        "estimator": {**described, "arrays": {_PREFIX + n.strip("_").lower(): n for n in arrays}},
        "files": files,
    }


def read_index(
    folder: Path, content: dict[str, Any], *, write: bool, verify: bool, mapped: bool = True
) -> tuple[Model, Corpus, dict[str, Any]]:
    """Model, corpus and settings from a generation and its manifest."""
    if field(content, "class", str) != "SemanticIndex":
        raise InvalidFile(f"manifest.json: {content['class']!r:.80} is no kind that is known.")
    files = field(content, "files", dict)

    def get(name: str) -> Array:
        part = files.get(f"{name}.npy")
        if not isinstance(part, dict):
            raise InvalidFile(f"manifest.json: there is no array {name!r}.")
        found = read_array(folder / f"{name}.npy", part, verify=verify)
        return found if mapped else np.array(found)

    def plain(name: str) -> Any:
        part = files.get(f"{name}.json")
        if not isinstance(part, dict):
            raise InvalidFile(f"manifest.json: there is no file {name!r}.")
        return read_json(folder / f"{name}.json", part)

    described = field(content, "estimator", dict)
    named = field(described, "arrays", dict)
    estimator = unpack_estimator(
        described, {str(attribute): get(name) for name, attribute in named.items()}
    )
    vectorizer = None
    if content.get("vectorizer") is not None:
        table = field(content, "vectorizer", dict)
        words = plain("words") if "words.json" in files else None
        vectorizer = unpack_vectorizer(table, words, get("idf") if "idf.npy" in files else None)
    tagger = None
    if "labels.json" in files:
        labels = plain("labels")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InvalidFile("labels.json is damaged: it holds no list of names.")
        tagger = Tagger(
            tuple(labels),
            get("tagger_weights"),
            get("tagger_bias"),
            get("tagger_thresholds"),
        )
    base = get("vectors")
    model = Model(vectorizer, estimator, tagger)
    _check_shapes(model, base)
    _check_use(model)
    key = field(content, "key", str)
    corpus = Corpus.open(folder / ITEMS, key, base, write=write, verify=verify)
    made_of = files["vectors.npy"]["sha256"]
    corpus.cache = Cache(base, folder / GRAPH, made_of, mapped=mapped)
    return model, corpus, field(content, "settings", dict)


def _check_shapes(model: Model, base: Array) -> None:
    """See that the parts fit together, before anything is computed with them."""
    components: Any = getattr(model.estimator, "components_", None)
    wrong = InvalidFile("The parts of the index do not fit together; it is damaged.")
    if base.ndim != 2 or base.dtype != np.float32 or np.ndim(components) != 2:
        raise wrong
    values = vars(model.estimator)
    m, d = components.shape
    numbers = values.get("n_components_"), values.get("n_features_in_")
    fitting = [
        base.shape[1] == m,
        all(type(number) is int for number in numbers) and numbers == (m, d),
        np.shape(values.get("mean_")) == (d,),
        np.shape(values.get("eigenvalues_")) == (m,),
    ]
    if model.vectorizer is not None:
        words = getattr(model.vectorizer, "vocabulary_", None)
        fitting.append((model.vectorizer.n_features if words is None else len(words)) == d)
    if model.tagger is not None:
        k = len(model.tagger.labels)
        fitting.append(model.tagger.weights.shape == (m, k))
        fitting.append(model.tagger.bias.shape == model.tagger.thresholds.shape == (k,))
    if not all(fitting):
        raise wrong


def _check_use(model: Model) -> None:
    """Map nothing to the space and tag it: what cannot do that is damaged."""
    try:
        if model.vectorizer is None:
            features = np.zeros((1, model.n_features), dtype=np.float32)
        else:
            features = model.features([""], None, "load")
        found = model.vectors(features)
        if model.tagger is not None:
            model.tagger.probabilities(found)
    except Exception as error:
        # What a manifest can say, and a class then trips over, is more than can be named.
        raise InvalidFile("The parts of the index do not work together; it is damaged.") from error
