"""The parts of an index as files of a generation, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from ..tagger import Tagger
from ..text import TextFeatures, Vocabulary, WordSearch, WordSegment, check_language
from .database import ItemDatabase
from .files import FileReader, FileWriter, file_size
from .folder import ITEMS, field
from .model import IndexModel, ModelEncoder
from .space import Space
from .store import ItemStore

__all__ = ["read_parts", "write_model", "write_parts"]

_FEATURES = ("words", "singles", "pairs", "parts", "idf")
_VOCABULARY = ("words", "terms", "term_of")
_SEGMENT = (
    "tokens",
    "starts",
    "titles",
    "runs",
    "lengths",
    "posting_terms",
    "posting_starts",
    "posting_rows",
    "posting_weights",
    "name_keys",
    "name_rows",
)
_MOST_SEGMENTS = 10_000
# Up to this size all items are checked whenever an index is opened.
_SMALL_DATABASE = 1 << 22


def write_parts(  # noqa: PLR0917
    files: FileWriter,
    key: str,
    model: IndexModel,
    store: ItemStore,
    settings: dict[str, Any],
    decisions: Sequence[tuple[Any, ...]] = (),
) -> dict[str, Any]:
    """Write all parts of an index to an empty folder; return the content of its manifest.

    ``decisions`` are added to those of the store.
    """
    files.array("vectors", store.write_to(files.folder / ITEMS, key, decisions))
    return write_model(files, model, store.words, settings)


def write_model(
    files: FileWriter, model: IndexModel, words: WordSearch | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write what was learned; return the content of the manifest."""
    features: dict[str, Any] | None = None
    if isinstance(model.features, ModelEncoder):
        features = {"kind": "encoder", "size": model.features.size}
    elif model.features is not None:
        features = {"kind": "words", "stems": model.features.stems}
        for name, array in model.features.arrays().items():
            files.array(f"features_{name}", array)
    text = None
    if words is not None:
        text = {"language": words.vocabulary.language, "segments": len(words.segments)}
        for name, array in words.vocabulary.arrays().items():
            files.array(f"vocabulary_{name}", array)
        for number, segment in enumerate(words.segments):
            for name, array in segment.arrays().items():
                files.array(f"segment{number}_{name}", array)
    tagger = None
    if model.tagger is not None:
        arrays = model.tagger.arrays()
        for name, array in arrays.items():
            files.array(f"tagger_{name}", array)
        files.json("labels", list(model.tagger.labels))
        tagger = {"arrays": sorted(arrays)}
    return {
        "class": "SemanticIndex",
        "settings": settings,
        "features": features,
        "text": text,
        "estimator": model.space.write(files),
        "tagger": tagger,
    }


def read_parts(
    files: FileReader, content: dict[str, Any], *, write: bool, check: Callable[[], None]
) -> tuple[IndexModel, ItemStore, dict[str, Any]]:
    """Read the parts of an index as its manifest describes them.

    ``check`` is called before each change of the items.
    """
    if field(content, "class", str) != "SemanticIndex":
        raise InvalidFile(f"manifest.json: the class {content['class']!r:.80} is unknown.")
    settings: dict[str, Any] = field(content, "settings", dict)
    field(settings, "approximate_from", int)
    field(settings, "language", str)
    field(settings, "fields", dict)
    files.check_sizes()
    space = Space.read(files, field(content, "estimator", dict))
    words = _read_words(files, content)
    features = _read_features(files, content, space, words)
    vectors = files.array("vectors")
    if vectors.ndim != 2 or vectors.shape[1] != space.n_dimensions:
        raise InvalidFile("The parts of the index do not fit together; it is damaged.")
    tagger = None
    if content.get("tagger") is not None:
        described = field(content, "tagger", dict)

        def tagger() -> Any:
            names = field(described, "arrays", list)
            labels = files.json("labels")
            for listed in (names, labels):
                if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
                    raise InvalidFile("manifest.json: the parts of the tagger are damaged.")
            arrays = {name: files.array(f"tagger_{name}") for name in names}
            return Tagger.from_arrays(labels, arrays)

    database = ItemDatabase.open(
        files.folder / ITEMS, field(content, "key", str), write=write, check=check
    )
    try:
        store = ItemStore(database, vectors, words)
        if file_size(files.folder / ITEMS) <= _SMALL_DATABASE:
            store.verify()
        directions = space.directions
        if directions is not None and len(directions.means) > len(store.labels.names):
            raise InvalidFile("The space has more labels than the items; the index is damaged.")
    except BaseException:
        database.close()
        raise
    return IndexModel(features, space, tagger), store, settings


def _read_features(
    files: FileReader, content: Mapping[str, Any], space: Space, words: WordSearch | None
) -> TextFeatures | ModelEncoder | None:
    described = content.get("features")
    if described is None:
        return None
    described = field(content, "features", dict)
    if described.get("kind") == "encoder":
        if described.get("size") != space.n_features:
            raise InvalidFile("manifest.json: the size of the encoder's vectors is damaged.")
        return ModelEncoder(None, space.n_features)
    if described.get("kind") != "words" or words is None:
        raise InvalidFile("manifest.json: the kind of the features is unknown.")
    arrays = {name: files.array(f"features_{name}") for name in _FEATURES}
    found = TextFeatures.from_arrays(
        words.vocabulary.language, arrays, stems=described.get("stems") is True
    )
    if found.size != space.n_features:
        raise InvalidFile("The features do not fit the space; the index is damaged.")
    return found


def _read_words(files: FileReader, content: Mapping[str, Any]) -> WordSearch | None:
    """Read the words of all texts; None if the index takes vectors."""
    if content.get("text") is None:
        return None
    text = field(content, "text", dict)
    language, count = field(text, "language", str), field(text, "segments", int)
    if not 0 <= count <= _MOST_SEGMENTS:
        raise InvalidFile("manifest.json: the number of segments of the words is damaged.")
    try:
        language = check_language("load", language)
        arrays = {name: files.array(f"vocabulary_{name}") for name in _VOCABULARY}
        vocabulary = Vocabulary.from_arrays(language, arrays)
    except InvalidParameter as error:
        raise InvalidFile(f"manifest.json: the language {language!r:.40} is unknown.") from error
    segments = [
        WordSegment.from_arrays(
            vocabulary, {name: files.array(f"segment{number}_{name}") for name in _SEGMENT}
        )
        for number in range(count)
    ]
    return WordSearch(vocabulary, segments)
