"""Tagged texts from any file: one streaming reader, and labels written back.

:class:`CorpusReader` opens a file, a folder, an archive or a stream in any format, and yields
:class:`Record` s with ``id``, ``title``, ``text``, ``labels`` and ``metadata``:

- ``CorpusReader(source, **options)`` guesses what is not given from the first items, about 8 MiB;
  ``reading`` says what was guessed and why, ``head`` contains these items, and ``head.notes``
  describes the guesses in sentences.
- ``items(skip=n)`` yields all items after the first n, as often as it is called. Only the first
  items and one at a time are in memory.
- ``fingerprint`` identifies the content of the source, as values for JSON.
- ``collect()`` reads everything into memory (:class:`TaggedTexts`), which is what
  :func:`read_corpus` does.

:func:`edit_corpus` changes labels in a file, and leaves everything else unchanged.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .edit import CorpusEdit, edit_corpus
    from .label_vocabulary import Concept, LabelVocabulary, read_vocabulary
    from .reader import CorpusReader, read_corpus
    from .texts import CorpusReading, Record, TaggedTexts

__all__ = [
    "Concept",
    "CorpusEdit",
    "CorpusReader",
    "CorpusReading",
    "LabelVocabulary",
    "Record",
    "TaggedTexts",
    "edit_corpus",
    "read_corpus",
    "read_vocabulary",
]

_MODULES = {
    "edit": ("CorpusEdit", "edit_corpus"),
    "label_vocabulary": ("Concept", "LabelVocabulary", "read_vocabulary"),
    "reader": ("CorpusReader", "read_corpus"),
    "texts": ("CorpusReading", "Record", "TaggedTexts"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use: an index needs vocabularies of labels, and no reader of files.
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
