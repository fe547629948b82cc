"""Tagged texts from any file: one streaming reader, and labels written back.

:class:`CorpusReader` yields the items of a file, a folder, an archive or a stream in any format;
:func:`read_corpus` reads all of them into memory. :func:`edit_corpus` changes labels in a file,
and leaves everything else unchanged.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .edit import CorpusEdit, edit_corpus
    from .label_vocabulary import Concept, LabelVocabulary, read_vocabulary
    from .reader import CorpusReader, read_corpus
    from .readers import Reader, ReadFile, all_readers
    from .reading_report import FieldReport, ReadingReport, RoleReport
    from .tagged_texts import TaggedTexts

__all__ = [
    "Concept",
    "CorpusEdit",
    "CorpusReader",
    "FieldReport",
    "LabelVocabulary",
    "ReadFile",
    "Reader",
    "ReadingReport",
    "RoleReport",
    "TaggedTexts",
    "all_readers",
    "edit_corpus",
    "read_corpus",
    "read_vocabulary",
]

_MODULES = {
    "edit": ("CorpusEdit", "edit_corpus"),
    "label_vocabulary": ("Concept", "LabelVocabulary", "read_vocabulary"),
    "reader": ("CorpusReader", "read_corpus"),
    "readers": ("ReadFile", "Reader", "all_readers"),
    "tagged_texts": ("TaggedTexts",),
    "reading_report": ("FieldReport", "ReadingReport", "RoleReport"),
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
