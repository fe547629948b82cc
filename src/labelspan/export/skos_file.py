"""Labels of an index as a vocabulary in SKOS, which thesaurus editors and catalogues read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from .._files import write_whole
from .._install import needed
from ..corpus import LabelVocabulary
from ..corpus.label_vocabulary import RDF_FORMATS
from ..errors import InvalidParameter

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["SKOS_SUFFIXES", "export_skos"]

SKOS_SUFFIXES = tuple(RDF_FORMATS)


def export_skos(index: SemanticIndex, path: str | os.PathLike[str]) -> int:
    """Write the labels of an index, as they are now, as a vocabulary in SKOS.

    Each label that an item has is a concept, and so is everything broader in the vocabulary of the
    index. Concepts keep their URIs, names and broader concepts; a label that the vocabulary lacks,
    because it was renamed or is new, gets a URI that begins with ``urn:label:``.

    Parameters
    ----------
    index : SemanticIndex
        Fitted.
    path : path
        A file that ends in ``.ttl``, ``.nt``, ``.jsonld`` or ``.rdf``, or in one of these and
        ``.gz``. It is written under another name and renamed.

    Returns
    -------
    int
        Number of concepts.

    See Also
    --------
    export_file : Items with their labels.
    labelspan.corpus.read_vocabulary : Reads such a file.

    Examples
    --------
    >>> from labelspan.export import export_skos
    >>> export_skos(index, "subjects.ttl")  # doctest: +SKIP
    130
    """
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    kind = RDF_FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None:
        raise InvalidParameter(
            f"A vocabulary must end in {', '.join(SKOS_SUFFIXES)}, but {str(path)!r} was given."
        )
    rdflib = needed(str(path), "rdflib", "skos")
    known = index.vocabulary or LabelVocabulary()
    labels = list(index.labels)
    names = sorted({*labels, *(above for one in labels for above in known.broader(one))})
    uris = {}
    for one in names:
        code = known.code(one)
        # A code that is not a URI, and a label without a code, get one.
        found = code if code and ":" in code else f"urn:label:{quote(code or one, safe='')}"
        uris[one] = rdflib.URIRef(found)
    graph, skos = rdflib.Graph(), rdflib.SKOS
    graph.bind("skos", skos)
    for one, uri in uris.items():
        concept = known.concept(one)
        graph.add((uri, rdflib.RDF.type, skos.Concept))
        graph.add((uri, skos.prefLabel, rdflib.Literal(one)))
        for other in concept.other_names:
            graph.add((uri, skos.altLabel, rdflib.Literal(other)))
        for above in concept.broader:
            graph.add((uri, skos.broader, uris[above]))
    content = graph.serialize(format=kind, encoding="utf-8")
    content = gzip.compress(content, mtime=0) if packed else content
    write_whole(Path(path), lambda file: file.write(content))
    return len(names)
