"""Vocabularies of labels in an index: names, narrower labels, the tree, what the audit finds."""

import numpy as np
import pytest
from _support.commands import run

from labelspan import LSI, SemanticIndex
from labelspan.corpus import Concept, LabelVocabulary
from labelspan.curation import Review, audit_labels
from labelspan.errors import InvalidFile, InvalidInput, Mismatch
from labelspan.index.label_tree import label_separator

WORDS = LabelVocabulary(
    {
        "0": Concept("places"),
        "1": Concept("sites", ("Fundort",), ("places",)),
        "2": Concept("forts", ("castles", "Burg"), ("sites",)),
        "3": Concept("graves", ("burials", "cafe\u0301"), ("sites",)),
        "4": Concept("mounds", (), ("graves", "earthworks")),
        "5": Concept("earthworks", (), ("sites",)),
        "6": Concept("ships", ("boats",)),
    }
)
TEXTS = ["hill fort", "ring fort", "stone grave", "old grave", "grave mound", "a mound", "no label"]
LABELS = [["forts"], ["forts"], ["graves"], ["graves", "sites"], ["mounds", "graves"], ["mounds"]]
LABELS.append([])


def fitted():
    return SemanticIndex().fit(TEXTS, LABELS).use_vocabulary(WORDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "index.labelspan"
    fitted().save(path)
    return path


def outline(nodes):
    return [(depth, n.label, n.count, n.total) for node in nodes for depth, n in node.walk()]


def test_totals_count_items_with_a_label_or_below_it_once(folder):
    with SemanticIndex.load(folder) as index:
        rows, items = outline(index.label_tree()), index.items()
        some = outline(index.browse(filter={"labels": ["mounds"]}).label_tree())
    # Counted item by item.
    for _, label, count, total in rows:
        below = {label, *WORDS.narrower(label)}
        assert total == sum(bool(below & set(item.labels)) for item in items)
        assert count == sum(label in item.labels for item in items)
    names = ["places", "sites", "earthworks", "mounds", "forts", "graves", "mounds"]
    assert [row[:2] for row in rows] == [*zip((0, 1, 2, 3, 2, 2, 3), names, strict=True)]
    # A list has the tree of its own items.
    assert some == [
        (0, "places", 0, 2),
        (1, "sites", 0, 2),
        (2, "earthworks", 0, 2),
        (3, "mounds", 2, 2),
        (2, "graves", 1, 2),
        (3, "mounds", 2, 2),
    ]


def test_filters_include_what_is_narrower_and_know_other_names(folder):
    with SemanticIndex.load(folder) as index:
        for wanted, found in (
            (["graves"], "234"),
            (["graves*"], "2345"),
            (["places*"], "012345"),
            (["Burials*"], "2345"),
            (["castles"], "01"),
            (["burg*"], "01"),
            (["graves*", "earthworks*"], "45"),
        ):
            chosen = index.browse(filter={"labels": wanted})
            assert {hit.id for hit in chosen.page()} == set(found)
            without = index.browse(filter={"without": wanted})
            assert len(wanted) > 1 or chosen.total + without.total == len(TEXTS)
        for name in ("ships", "boats", "nothing", "ships*"):
            with pytest.raises(InvalidInput, match="No item has the label"):
                index.browse(filter={"labels": [name]})


def test_labels_are_found_by_any_name(folder):
    with SemanticIndex.load(folder) as index:
        for text, found in (
            ("gra", [("graves", "")]),
            ("BURI", [("graves", "burials")]),
            ("caf\u00e9", [("graves", "caf\u00e9")]),
            ("boat", [("ships", "boats")]),
            ("orts", [("forts", "")]),
            ("xyz", []),
        ):
            assert [(one.label, one.by) for one in index.find_labels(text)] == found
        assert len(index.find_labels("")) == 7
        assert index.find_labels("gra")[0].count == 3


def test_items_are_found_by_other_names_of_their_labels(folder):
    with SemanticIndex.load(folder) as index:
        assert {hit.id for hit in index.search("burials", balance=0.0)} == {"2", "3", "4"}
    plain = SemanticIndex().fit(TEXTS, LABELS)
    assert plain.search("burials", balance=0.0) == []


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_the_audit_compares_labels_with_what_is_broader():
    texts = [f"word{n % 3} text {n}" for n in range(20)]
    # Eight of ten items have both, and one of ten.
    labels = [["low", "high"]] * 8 + [["low"]] * 2 + [["other", "top"]] + [["other"]] * 9
    broader = {"a": Concept("low", (), ("high",)), "b": Concept("high")}
    broader |= {"c": Concept("other", (), ("top",)), "d": Concept("top")}
    index = SemanticIndex().fit(texts, labels)
    kinds = ["broader_missing", "broader_too"]
    assert audit_labels(index, kinds=kinds).findings == ()
    (missing, both) = audit_labels(
        index.use_vocabulary(LabelVocabulary(broader)), kinds=kinds
    ).findings
    assert (missing.kind, missing.items, missing.labels) == (
        "broader_missing",
        ("8", "9"),
        ("low", "high"),
    )
    assert missing.reason == "2 of the 10 items with low lack high, which is broader."
    assert (both.kind, both.items, both.labels) == ("broader_too", ("10",), ("other", "top"))
    assert both.score == pytest.approx(0.9)
    assert both.reason == "1 of the 10 items with other also has top, which is broader."


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("mark", ["/", "::"])
def test_the_audit_compares_labels_with_the_levels_of_their_names(mark):
    texts = [f"word{n % 3} text {n}" for n in range(20)]
    high, low, lowest = "high", f"high{mark}low", f"high{mark}low{mark}lowest"
    # The nearest level that is a label counts.
    labels = [[high, low]] * 8 + [[low]] * 2 + [[high, low, lowest]] * 8 + [[lowest], ["other"]]
    found = audit_labels(SemanticIndex().fit(texts, labels), kinds=["broader_missing"]).findings
    assert [(one.items, one.labels) for one in found] == [
        (("8", "9"), (low, high)),
        (("18",), (lowest, low)),
    ]


def test_it_is_kept_saved_and_not_lost(folder, tmp_path):
    with SemanticIndex.load(folder, verify=True) as index:
        assert index.vocabulary.narrower("sites") == WORDS.narrower("sites")
        index.save(tmp_path / "copy")
        with pytest.raises(Mismatch, match="loaded for reading"):
            index.use_vocabulary(WORDS)
    with SemanticIndex.load(tmp_path / "copy", write=True) as index:
        assert index.vocabulary.concepts == WORDS.concepts
        # A label that only the vocabulary has need not be created.
        review = Review(index)
        edit = review.plan_edit("6", add="ships")
        assert edit.new_labels == ()
        review.apply(edit)
        assert index.item("6").labels == ("ships",)
    assert run("fit", tmp_path / "copy").exit_code == 0
    with SemanticIndex.load(tmp_path / "copy") as index:
        assert index.vocabulary.preferred("burg") == "forts"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"a": 1}', '{"a": ["x", 1, []]}', '{"a": ["x"]}', "[" * 100_000),
        '{"a": ["x", [], ["y"]], "b": ["y", [], ["x"]]}',
    ],
)
def test_damaged_vocabularies_are_refused(text):
    with pytest.raises(InvalidFile, match=r"vocabulary of the index is damaged|circle of broader"):
        LabelVocabulary.from_json(text)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
def test_the_commands_use_it(folder, tmp_path):
    said = run("labels", folder, "--tree").stdout
    assert "    forts  2\n" in said
    assert "  sites  6 (1 by itself)\n" in said
    thesaurus = tmp_path / "words.ttl"
    thesaurus.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://x.org/1> skos:prefLabel "graves"@en, "Gr\u00e4ber"@de ; '
        'skos:altLabel "burials"@en .\n'
        '<http://x.org/2> skos:prefLabel "forts"@en, "Burgen"@de ; '
        "skos:broader <http://x.org/1> .\n",
        encoding="utf-8",
    )
    corpus = tmp_path / "notes.jsonl"
    lines = [
        f'{{"text": "{text}", "labels": ["http://x.org/{n % 2 + 1}"]}}'
        for n, text in enumerate(TEXTS)
    ]
    corpus.write_text("\n".join(lines))
    pytest.importorskip("rdflib", reason="install labelspan[skos]")
    for language, stream, names in (
        ("en", "--stream", ["graves", "forts"]),
        ("de", "--no-stream", ["Gr\u00e4ber", "Burgen"]),
    ):
        options = ("--vocabulary", thesaurus, "--language", language, stream, "--force")
        done = run("fit", corpus, "-o", tmp_path / "i", *options)
        assert done.exit_code == 0, done.stderr
        with SemanticIndex.load(tmp_path / "i") as index:
            assert set(index.labels) == set(names)
            assert [node.label for node in index.label_tree()] == names[:1]
            assert index.find_labels("buria")[0].by == "burials"


def test_web_addresses_are_not_levels_of_labels():
    addresses = [f"http://urn.fi/URN:NBN:fi:au:ykl:{n}" for n in range(5)]
    assert label_separator(addresses) == ""
    assert label_separator(["a/b", "a/c", *addresses]) == "/"
    with SemanticIndex(LSI(2)).fit(TEXTS[:6], [[addresses[n % 3]] for n in range(6)]) as index:
        assert index.browse().group_counts() == {}
    labels = [[addresses[0]], ["a/b"], ["a/c"], ["a/b"], ["a/c"], ["a/c"]]
    with SemanticIndex(LSI(2)).fit(TEXTS[:6], labels) as index:
        assert index.browse().group_counts() == {"a": 5}


def test_a_predicted_label_brings_the_broader_ones_of_the_vocabulary(tmp_path):
    rng = np.random.default_rng(0)
    kinds = {
        "mound": ["mounds", "graves", "sites"],
        "stone": ["graves", "sites"],
        "boat": ["ships"],
    }
    names = rng.choice([*kinds], 150)
    texts = [f"{name} {' '.join(rng.choice(list('abcdefgh'), 5))}" for name in names]
    labels = [kinds[name] for name in names]
    index = SemanticIndex().fit(texts, labels)
    new = [f"{name} {' '.join(rng.choice(list('abcdefgh'), 5))}" for name in names]

    def violations(tags):
        found = {tag.label: tag for tag in tags}
        return sum(
            found[one].probability > found[up].probability or (found[one].chosen > found[up].chosen)
            for one in found
            for up in WORDS.broader(one)
            if up in found
        )

    assert sum(map(violations, index.tag(new, 4))) > 0
    index.use_vocabulary(WORDS).save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        for _ in range(2):
            assert sum(map(violations, index.tag(new, 4))) == 0
            assert sum(map(violations, index.tag(items=index.ids, k=4))) == 0
            index.add(["a mound of boats"], [["mounds", "graves", "sites", "ships"]])
        why = [index.explain_tag("sites", text) for text in new]
        tags = [next(tag for tag in one if tag.label == "sites") for one in index.tag(new, 4)]
        expected = pytest.approx([one.probability for one in tags], abs=1e-3)
        assert [one.probability for one in why] == expected
        assert {one.implied_by for one in why} <= {None, "graves", "mounds"} != {None}
        assert index.explain_tag("ships", new[0]).implied_by is None
        # Where items do not have the broader label, nothing follows.
        some = [item.id for item in index.items() if item.labels and "mounds" in item.labels]
        index.relabel(some, [["mounds", "graves"]] * len(some))
        found = index.tagger.implied
        labels = index.tagger.labels
        pairs = {(labels[a], labels[b]) for a, b in zip(found.narrower, found.broader, strict=True)}
        assert pairs & {("mounds", "graves"), ("mounds", "sites")} == {("mounds", "graves")}
