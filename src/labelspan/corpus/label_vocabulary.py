"""Read vocabularies of labels: names, alternative names, and broader labels.

A thesaurus in SKOS (Turtle, N-Triples, RDF/XML or JSON-LD, read by rdflib, also packed), or lines
of a URI or code, a tab and a name.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any
from unicodedata import normalize

from .._install import needed
from ..errors import InvalidFile, LabelspanWarning, warn_caller
from .label_values import name_of, unique_names

__all__ = ["RDF_FORMATS", "Concept", "LabelVocabulary", "names_of_labels", "read_vocabulary"]

RDF_FORMATS = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".jsonld": "json-ld",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
}
_SKOS = "http://www.w3.org/2004/02/skos/core#"


@dataclass(frozen=True)
class Concept:
    """A label of a vocabulary.

    Attributes
    ----------
    name : str
        Preferred name in the chosen language.
    other_names : tuple of str
        Alternative names, and preferred names in other languages.
    broader : tuple of str
        Names of the concepts directly above it.

    See Also
    --------
    read_vocabulary : Reads them.

    Examples
    --------
    >>> from labelspan.corpus import Concept
    >>> Concept("graves", ("burials",), ("archaeological sites",)).broader
    ('archaeological sites',)
    """

    name: str
    other_names: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelVocabulary:
    """Concepts by the code that items are labelled with, and the tree that they form.

    Attributes
    ----------
    concepts : mapping from str to Concept
        By URI or code.

    See Also
    --------
    read_vocabulary : Reads it from a file.

    Examples
    --------
    >>> from labelspan.corpus import Concept, LabelVocabulary
    >>> words = LabelVocabulary({"a": Concept("sites"), "b": Concept("graves", (), ("sites",))})
    >>> words.narrower("sites"), words.names["b"]
    (('graves',), 'graves')
    """

    concepts: Mapping[str, Concept] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # As labels are written in an index: both spellings of an accented letter are one.
        object.__setattr__(self, "concepts", {c: _nfc(one) for c, one in self.concepts.items()})

    @property
    def names(self) -> dict[str, str]:
        """Preferred name of each code."""
        return {code: concept.name for code, concept in self.concepts.items()}

    @cached_property
    def _by_name(self) -> dict[str, Concept]:
        return {one.name: one for one in self.concepts.values()}

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for concept in self.concepts.values():
            for parent in concept.broader:
                found.setdefault(parent, []).append(concept.name)
        return found

    @cached_property
    def _preferred(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for concept in self.concepts.values():
            for name in concept.other_names:
                found.setdefault(name.casefold(), concept.name)
        found |= {code.casefold(): concept.name for code, concept in self.concepts.items()}
        # A preferred name is never taken for another one of something else.
        return found | {name.casefold(): name for name in self._by_name}

    @cached_property
    def _codes(self) -> dict[str, str]:
        return {concept.name: code for code, concept in self.concepts.items()}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def concept(self, name: str) -> Concept:
        """Return the concept with a preferred name.

        Parameters
        ----------
        name : str
            A preferred name.

        Returns
        -------
        Concept
            For an unknown name one that has only this name.
        """
        return self._by_name.get(name) or Concept(name)

    def code(self, name: str) -> str | None:
        """Return the URI or code of a concept.

        Parameters
        ----------
        name : str
            Its preferred name.

        Returns
        -------
        str or None
            None if there is no such concept.
        """
        return self._codes.get(name)

    def preferred(self, name: str) -> str | None:
        """Return the preferred name for any name of a concept, ignoring case.

        Parameters
        ----------
        name : str
            A preferred or alternative name, or the URI or code.

        Returns
        -------
        str or None
            None if there is no such concept.
        """
        return self._preferred.get(name.casefold())

    def broader(self, name: str) -> tuple[str, ...]:
        """Return the names of everything above a concept, nearest first.

        Parameters
        ----------
        name : str
            Name of a concept.

        Returns
        -------
        tuple of str
            Without the concept itself.
        """
        return _reached(name, lambda one: self.concept(one).broader)

    def narrower(self, name: str) -> tuple[str, ...]:
        """Return the names of everything below a concept, nearest first.

        Parameters
        ----------
        name : str
            Name of a concept.

        Returns
        -------
        tuple of str
            Without the concept itself.
        """
        return _reached(name, lambda one: self._below.get(one, ()))

    def to_json(self) -> str:
        """Return the concepts as JSON.

        Returns
        -------
        str
            For :meth:`from_json`.
        """
        return json.dumps({code: astuple(one) for code, one in self.concepts.items()})

    @classmethod
    def from_json(cls, text: str) -> LabelVocabulary:
        """Read the concepts that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        LabelVocabulary
            The concepts.
        """
        try:
            found = {
                str(code): Concept(str(name), tuple(map(str, others)), tuple(map(str, above)))
                for code, (name, others, above) in json.loads(text).items()
            }
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidFile("The vocabulary of the index is damaged.") from error
        _check_acyclic("The vocabulary", found.values())
        return cls(found)


def _nfc(one: Concept) -> Concept:
    names = ((one.name,), one.other_names, one.broader)
    (name,), others, broader = (tuple(normalize("NFC", part) for part in own) for own in names)
    return Concept(name, others, broader)


def _reached(start: str, following: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    last = [start]
    while last:
        last = list(dict.fromkeys(n for one in last for n in following(one) if n not in found))
        found.update(dict.fromkeys(last))
    return tuple(found)


def _check_acyclic(where: Path | str, concepts: Iterable[Concept]) -> None:
    try:
        TopologicalSorter({one.name: one.broader for one in concepts}).prepare()
    except CycleError as error:
        ring = " < ".join(error.args[1])
        raise InvalidFile(
            f"{where} has a circle of broader concepts: {ring}; remove one."
        ) from None


def read_vocabulary(
    path: str | os.PathLike[str],
    language: str | None = None,
    encoding: str | None = None,
    *,
    used: Collection[str] = (),
) -> LabelVocabulary:
    r"""Read a vocabulary of labels.

    Parameters
    ----------
    path : path
        SKOS in Turtle (``.ttl``), N-Triples (``.nt``), JSON-LD (``.jsonld``) or RDF/XML (``.rdf``,
        ``.xml``), also packed (``.gz``), which needs rdflib; any other file has a URI or code, a
        tab and a name in each line.
    language : str or None, default=None
        Language of the preferred names of a thesaurus, such as "en"; None takes the language of
        most labels in ``used``, else English, or the language in which most concepts have a name.
        So does, with a warning, a language in which no concept has a name. Other files have one
        name for each code.
    encoding : str or None, default=None
        None uses the byte order mark, else UTF-8.
    used : collection of str, default=()
        Labels of items, which keep their language.

    Returns
    -------
    LabelVocabulary
        The concepts.

    See Also
    --------
    CorpusReader : Takes such a file as ``vocabulary``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.corpus import read_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "subjects.tsv")
    ...     _ = path.write_text("<http://example.org/7>\tgraves\n")
    ...     read_vocabulary(path).names
    {'http://example.org/7': 'graves'}
    """
    # An index has vocabularies, and reads no files of a corpus.
    from .sources import open_source, text_of  # noqa: PLC0415

    source = open_source(path)
    if source.is_folder:
        raise InvalidFile(f"{path} is a folder; give a file of names for labels.")
    kind = RDF_FORMATS.get(source.members[0].suffix)
    content = text_of(source.members[0], encoding)
    if kind is not None:
        return _skos(Path(path), content, kind, language, used)
    return LabelVocabulary({code: Concept(name) for code, name in _lines(path, content).items()})


def _lines(path: Any, content: str) -> dict[str, str]:
    pairs = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        uri, tab, name = line.partition("\t")
        if not tab:
            raise InvalidFile(
                f"{path}, line {number}: a vocabulary needs a URI or code, a tab and a name, but "
                f"this is {line!r:.60}."
            )
        name = name.split("\t")[0]
        if "://" in name and "://" not in uri:
            uri, name = name, uri
        pairs.append((name_of(uri), name.strip()))
    return unique_names(pairs)


def _skos(
    path: Path, content: str, kind: str, language: str | None, used: Collection[str]
) -> LabelVocabulary:
    rdflib = needed(str(path), "rdflib", "skos")
    graph = rdflib.Graph()
    try:
        graph.parse(data=content, format=kind)
    except Exception as error:  # rdflib raises whatever its parsers raise
        reason = next((part for part in str(error).splitlines() if part.strip()), "not RDF")
        raise InvalidFile(f"{path} is not RDF in {kind}: {reason:.120}.") from error
    skos = rdflib.Namespace(_SKOS)
    # Schemes and collections have names, too, and are not labels.
    others_named = {
        one
        for kind_of in ("ConceptScheme", "Collection", "OrderedCollection")
        for one in graph.subjects(rdflib.RDF.type, skos[kind_of])
    } | set(graph.objects(None, skos.inScheme))
    preferred: dict[str, dict[str, str]] = {}
    for concept, name in graph.subject_objects(skos.prefLabel):
        if concept in others_named:
            continue
        preferred.setdefault(str(concept), {})[getattr(name, "language", None) or ""] = str(name)
    if not preferred:
        raise InvalidFile(f"{path} has no skos:prefLabel; give a SKOS thesaurus.")
    chosen = _language(path, preferred.values(), language, used)
    names = unique_names(
        (code, own.get(chosen) or own[min(own)]) for code, own in sorted(preferred.items())
    )
    others = {code: {*own.values()} - {names[code]} for code, own in preferred.items()}
    for concept, name in graph.subject_objects(skos.altLabel):
        others.get(str(concept), set()).add(str(name))
    above: dict[str, set[str]] = {code: set() for code in names}
    pairs = [*graph.subject_objects(skos.broader)]
    pairs += [(low, high) for high, low in graph.subject_objects(skos.narrower)]
    for low, high in pairs:
        if str(low) in names and str(high) in names:
            above[str(low)].add(names[str(high)])
    concepts = {
        code: Concept(name, tuple(sorted(others[code])), tuple(sorted(above[code])))
        for code, name in sorted(names.items())
    }
    _check_acyclic(path, concepts.values())
    return LabelVocabulary(concepts)


def _language(
    path: Path, named: Collection[Mapping[str, str]], language: str | None, used: Collection[str]
) -> str:
    counts = Counter(code for own in named for code in own)
    if language is not None and language in counts:
        return language
    labels = {normalize("NFC", label) for label in used}
    hits = Counter(
        code for own in named for code, name in own.items() if normalize("NFC", name) in labels
    )
    if not language and hits:
        return max(hits, key=lambda code: (hits[code], code == "en", code))
    best = "en" if "en" in counts else max(counts, key=lambda code: (counts[code], code))
    if language is not None:
        there = ", ".join(sorted(filter(None, counts))) or "none"
        shown = f"those in {best!r}" if best else "those without a language"
        warn_caller(
            f"{path} has no names in {language!r}; {shown} are used, and it has: {there}.",
            LabelspanWarning,
        )
    return best


def names_of_labels(vocabulary: LabelVocabulary) -> tuple[dict[str, str], frozenset[str]]:
    """Return the preferred name for each code and other name, and the names of several concepts.

    Preferred names are not in either: they mean their own concept, whatever else has this name.
    """
    owners: dict[str, set[str]] = {}
    for concept in vocabulary.concepts.values():
        for name in concept.other_names:
            if name not in vocabulary:
                owners.setdefault(name, set()).add(concept.name)
    names = {name: min(own) for name, own in owners.items() if len(own) == 1}
    several = owners.keys() - names.keys() - vocabulary.concepts.keys()
    codes = {normalize("NFC", code): name for code, name in vocabulary.names.items()}
    return names | codes, frozenset(several)
