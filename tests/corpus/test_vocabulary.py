"""Vocabularies of labels: lines, SKOS in Turtle and RDF/XML, and what is broader."""

import gzip
import json
import os
import tarfile
from pathlib import Path

import pytest

from labelspan import SemanticIndex
from labelspan.corpus import CorpusReader, edit_corpus, read_vocabulary
from labelspan.curation import Review
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, LabelspanWarning
from labelspan.export import export_file, export_skos

SITES = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://example.org/> .
e:1 a skos:Concept ; skos:prefLabel "sites"@en, "kohteet"@fi ; skos:narrower e:2 .
e:2 a skos:Concept ; skos:prefLabel "graves"@en, "haudat"@fi ; skos:altLabel "burials"@en .
e:3 a skos:Concept ; skos:prefLabel "barrows"@en ; skos:broader e:2 .
"""


@pytest.fixture
def turtle(tmp_path):
    pytest.importorskip("rdflib", reason="install labelspan[skos]")
    path = tmp_path / "sites.ttl"
    path.write_text(SITES, encoding="utf-8")
    return path


def test_names_the_tree_and_languages(turtle, tmp_path):
    import rdflib

    found = read_vocabulary(turtle)
    assert list(found.names.values()) == ["sites", "graves", "barrows"]
    graves = found.concepts["http://example.org/2"]
    assert (graves.other_names, graves.broader) == (("burials", "haudat"), ("sites",))
    assert found.broader("barrows") == ("graves", "sites")
    assert found.narrower("sites") == ("graves", "barrows")
    assert found.narrower("barrows") == ()
    rdflib.Graph().parse(turtle).serialize(tmp_path / "sites.rdf", format="xml")
    assert read_vocabulary(tmp_path / "sites.rdf") == found
    for name, kind in (("s.nt", "nt"), ("s.jsonld", "json-ld")):
        rdflib.Graph().parse(turtle).serialize(tmp_path / name, format=kind, encoding="utf-8")
        assert read_vocabulary(tmp_path / name) == found
    (tmp_path / "s.ttl.gz").write_bytes(gzip.compress(turtle.read_bytes()))
    assert read_vocabulary(tmp_path / "s.ttl.gz") == found
    # A scheme and a collection have names, and are not labels.
    named = """e:s a skos:ConceptScheme ; skos:prefLabel "the scheme"@en .
    e:c a skos:Collection ; skos:prefLabel "a collection"@en . e:1 skos:inScheme e:t .
    e:t skos:prefLabel "another scheme"@en ."""
    turtle.write_text(SITES + named, encoding="utf-8")
    assert read_vocabulary(turtle) == found
    # A concept without a name in the language keeps another.
    finnish = read_vocabulary(turtle, "fi")
    assert sorted(finnish.names.values()) == ["barrows", "haudat", "kohteet"]
    with pytest.warns(LabelspanWarning, match="no names in 'sv'; those in 'en' .* has: en, fi"):
        assert read_vocabulary(turtle, "sv") == found


def test_labels_keep_their_language(turtle, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,tags\none,haudat\ntwo,kohteet\nthree,graves\n", encoding="utf-8")
    found = CorpusReader(path, vocabulary=turtle).collect()
    assert found.labels == [["haudat"], ["kohteet"], ["haudat"]]
    found = CorpusReader(path, vocabulary=turtle, label_language="en").collect()
    assert found.labels == [["graves"], ["sites"], ["graves"]]


@pytest.mark.parametrize(
    ("language", "shown"),
    [("fi", ["haudat", "kohteet", "kahvilat"]), (None, ["graves", "sites", "cafés"])],
)
def test_labels_are_known_by_any_name(turtle, tmp_path, language, shown):
    # A name in another language that is a preferred name means the concept that is named so.
    same = """e:2 skos:prefLabel "barrows"@sv . e:1 skos:altLabel "spots"@en, "ställen"@sv .
    e:3 skos:altLabel "spots"@en . e:4 skos:prefLabel "cafe\u0301s"@en, "kahvilat"@fi ."""
    turtle.write_text(SITES + same, encoding="utf-8")
    named = ["burials", "graves", "haudat", "http://example.org/2"]
    labels = [*([one] for one in named), ["kohteet", "ställen"], ["barrows"], ["spots"], ["forts"]]
    labels.append(["cafe\u0301s"])
    rows = [{"id": str(n), "text": f"text {n}", "tags": own} for n, own in enumerate(labels)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    reader = CorpusReader(path, vocabulary=turtle, label_language=language)
    graves, sites, cafes = ([one] for one in shown)
    found = reader.collect()
    assert found.labels == [*[graves] * 4, sites, ["barrows"], ["spots"], ["forts"], cafes]
    notes = "; ".join(found.notes)
    said = f"4 label(s) get their preferred name in the vocabulary: 'burials' is '{shown[0]}'"
    assert f"{said} (--language chooses)" in notes
    assert "1 label(s) are names of several concepts of the vocabulary and are not" in notes
    assert "1 label(s) are not in the vocabulary: 'forts'" in notes
    # The file has other names: a label that is removed in the index would not be found in it.
    assert "are codes, or other names" in (reader.why_not_writable() or "")
    # Also when the file is read without the vocabulary.
    with pytest.raises(InvalidInput, match="other names than in the index"):
        edit_corpus(path, {"0": {graves[0]: False}}, like={"renamed": True})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SITES + "e:1 skos:broader e:3 .", "circle of broader concepts: .* < .*; remove one"),
        (SITES + "e:1 skos:broader e:1 .", "circle of broader concepts: sites < sites"),
        ("@prefix e: <http://example.org/> . e:1 e:2 e:3 .", "no skos:prefLabel"),
        ("this is not turtle", "is not RDF in turtle"),
    ],
)
def test_what_is_not_a_vocabulary(turtle, content, message):
    turtle.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidFile, match=message):
        read_vocabulary(turtle)


def test_lines(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("<http://example.org/1>\tsites\nQ7\tgraves\textra\n", encoding="utf-8")
    names = {"http://example.org/1": "sites", "Q7": "graves"}
    # There is one name for each code, whatever language is asked for.
    assert read_vocabulary(path).names == read_vocabulary(path, "fi").names == names
    path.write_text("no tab here", encoding="utf-8")
    with pytest.raises(InvalidFile, match="line 1: a vocabulary needs"):
        read_vocabulary(path)


@pytest.mark.parametrize("ending", [".ttl", ".nt.gz", ".jsonld", ".rdf"])
def test_labels_as_they_are_now_are_written_as_skos(turtle, tmp_path, ending):
    texts = ["a stone grave", "a round barrow", "a grave mound", "a long barrow", "a hill fort"]
    labels = [["graves"], ["barrows"], ["graves"], ["barrows"], ["forts"]]
    with SemanticIndex().fit(texts, labels) as index:
        index.use_vocabulary(read_vocabulary(turtle))
        Review(index).apply(Review(index).plan_replace(["forts"], "hill forts"), create=True)
        target = tmp_path / f"labels{ending}"
        assert export_skos(index, target) == 4
        found = read_vocabulary(target)
        assert found.names["urn:label:hill%20forts"] == "hill forts"
        assert found.code("graves") == "http://example.org/2"
        assert found.broader("barrows") == ("graves", "sites")
        assert found.preferred("burials") == "graves"
        # Labels can be asked for by their URIs, too.
        assert index.browse(filter={"labels": ["http://example.org/2"]}).total == 2
        export_file(index, tmp_path / "items.jsonl")
        first = json.loads((tmp_path / "items.jsonl").read_text().splitlines()[0])
        assert first["label_uris"] == ["http://example.org/2"]
    with pytest.raises(InvalidParameter, match=r"must end in \.ttl"):
        export_skos(index, tmp_path / "labels.txt")


@pytest.mark.skipif("LABELSPAN_DATA" not in os.environ, reason="needs LABELSPAN_DATA")
def test_a_real_thesaurus(tmp_path):
    pytest.importorskip("rdflib", reason="install labelspan[skos]")
    packed = Path(os.environ["LABELSPAN_DATA"]) / "corpora" / "archaeology.tar.gz"
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "archaeology"
    found = read_vocabulary(folder / "yso-archaeology.ttl")
    assert len(found.concepts) == 130
    assert found == read_vocabulary(folder / "yso-archaeology.rdf")
    assert "Viking Age" in found.narrower("prehistory")
    finnish = read_vocabulary(folder / "yso-archaeology.ttl", "fi").names
    same = read_vocabulary(folder / "subjects.tsv").names
    assert {code: finnish[code] for code in same} == same
