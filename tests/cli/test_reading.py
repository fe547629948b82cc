"""The commands on an index: search, tag, info, map, evaluate, demo, and their errors."""

import json
import re

import numpy as np
import pytest
from _support.commands import one_sentence, run
from _support.tagged import as_lines, formats, rows

from labelspan import SemanticIndex
from labelspan.datasets import registry


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A corpus and its index, for commands that only read."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "corpus.jsonl").write_text(as_lines(rows()))
    result = run("fit", folder / "corpus.jsonl", "-o", folder / "index", "--dimensions", 6)
    assert result.exit_code == 0, result.output
    return folder / "index"


@pytest.fixture(scope="module")
def index(saved):
    with SemanticIndex.load(saved) as index:
        yield index


# --- search and tag -----------------------------------------------------------------------


def asked(*args, **options):
    return json.loads(run("search", "--json", "-i", *args, **options).stdout)


def test_search_prints_explains_and_gives_json(saved, index):
    expected = index.search("music radio", 3)
    answer = asked(saved, "music", "radio", "-n", 3)
    assert answer["query"] == "music radio"
    assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in expected]
    assert answer["hits"][0]["labels"] == list(expected[0].labels)
    assert answer["hits"][0]["metadata"]["year"] == expected[0].metadata["year"]
    shown = run("search", "-i", saved, "music", "radio", "-n", 3).stdout
    assert all(f"{hit.score:.2f}" in shown and hit.id in shown for hit in expected)
    shown = run("search", "-i", saved, "music", "-n", 2, "--explain").stdout
    assert re.search(r"words 0\.\d\d: music 0\.\d\d; space 0\.\d\d \(cosine", shown)
    assert "labels expected: " in shown
    hit = asked(saved, "music", "-n", 2, "--explain")["hits"][0]
    why = hit["why"]
    assert why["words"][0]["word"] == "music"
    matched = sum(one["share"] for one in why["matches"])
    assert matched == pytest.approx(hit["from_words"], abs=1e-4)
    assert why["axes"]
    assert {one["label"] for one in why["labels"]} == set(hit["labels"])


def test_search_by_item_label_filters_and_standard_input(saved, index):
    for option, name in (("--like", {"items": "item3"}), ("--label", {"labels": "sound"})):
        found = asked(saved, option, *name.values())["hits"]
        assert [hit["id"] for hit in found] == [hit.id for hit in index.search(**name)]
    options = ("--having", "game", "--without", "image", "--where", "year=2001")
    found = asked(saved, "music", *options)["hits"]
    assert found
    for hit in found:
        assert "game" in hit["labels"]
        assert "image" not in hit["labels"]
        assert hit["metadata"]["year"] == 2001
    lines = run("search", "-i", saved, "-", "--json", input="chess\n\npaint\n").stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    assert [answer["query"] for answer in answers] == ["chess", "paint"]
    assert answers[0]["hits"][0]["id"] == index.search("chess", 1)[0].id
    shown = run("search", "-i", saved, "-", input="chess\npaint\n").stdout
    assert shown.index("chess") < shown.index("paint")


def test_markup_and_damage(here):
    items = [{**item, "body": f"[bold]{item['body']}[/bold] [/red]"} for item in rows()]
    (here / "a.jsonl").write_text(as_lines(items))
    assert run("fit", "a.jsonl", "--dimensions", 4).exit_code == 0
    result = run("search", "chess", "-n", 2)
    assert result.exit_code == 0, result.output
    assert "[bold]" in result.stdout, "markup of texts is printed as it is"
    vectors = next(here.rglob("vectors.arrays"))
    vectors.write_bytes(vectors.read_bytes()[:-5])
    assert "is damaged" in one_sentence(run("search", "chess"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["search", "x"], "There is no index in 'index.labelspan'; make one with `labelspan fit"),
        (["search", "-i", "{saved}", "--like", "item999"], "There is no item 'item999'"),
        (["search", "-i", "{saved}", "x", "--having", "gmae"], "No item has the label 'gmae'"),
        (["search", "-i", "{saved}", "x", "--where", "year"], "--where must be KEY=VALUE"),
        (["search", "-i", "{saved}", "x", "--where", "a=1"], "No item has metadata 'a'"),
        (["tag", "-i", "{saved}"], "There is no text to tag; give one"),
        (["tag", "-i", "{saved}", "-"], "There is no text to tag"),
        (["tag", "-i", "{saved}", "x", "--corpus", "y"], "either a text or --corpus"),
        (["info", "nowhere"], "There is no index in 'nowhere'"),
        (["map", "nowhere", "-o", "m.svg"], "--out must end in .png or .html"),
    ],
)
def test_bad_arguments_are_reported(args, message, saved, here):
    result = run(*(arg.format(saved=saved) for arg in args), input="")
    assert message in one_sentence(result)
    assert result.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


def test_tag_a_text_lines_and_a_corpus(saved, index, here):
    formats(here)
    answer = json.loads(run("tag", "-i", saved, "chess", "dice", "--all", "--json").stdout)
    expected = index.tag("chess dice")
    assert [one["label"] for one in answer["labels"]] == [tag.label for tag in expected]
    assert answer["labels"][0]["chosen"] is expected[0].chosen
    shown = run("tag", "-i", saved, "chess dice")
    assert f"{expected[0].probability:.0%}" in shown.stdout
    lines = run(
        "tag", "-i", saved, "-", "--json", input="chess dice\nsong tune\n"
    ).stdout.splitlines()
    tagged = [json.loads(line) for line in lines]
    assert [one["id"] for one in tagged] == ["1", "2"]
    assert tagged[0]["labels"] == [one for one in answer["labels"] if one["chosen"]]
    result = run("tag", "-i", saved, "--corpus", "a.csv", "--json")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [
        r["id"] for r in rows()
    ]
    assert "item7" in run("tag", "-i", saved, "--corpus", "a.jsonl").stdout


def test_tag_needs_labels(here):
    formats(here)
    assert (
        run("fit", "a.jsonl", "--method", "lsi", "--labels", "", "--dimensions", 4).exit_code == 0
    )
    assert "fitted without labels" in one_sentence(run("tag", "chess"))
    assert run("info").exit_code == 0


# --- looking ------------------------------------------------------------------------------


def test_info(saved, index):
    found = json.loads(run("info", saved, "--json").stdout)
    assert (found["items"], found["labelled"], found["dimensions"]) == (48, 48, 6)
    assert found["label_counts"] == index.labels
    assert found["metadata"] == ["title", "year"]
    shown = run("info", saved).stdout
    chosen = f"alpha {found['alpha']:.3g} (auto), beta {found['beta']:.3g} (auto)"
    for part in ("48", "MLSI", chosen, "frequent labels"):
        assert part in shown


# --- map, evaluate, demo ------------------------------------------------------------------


def test_map_draws_both(saved, here):
    result = run("map", saved)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].endswith("map.html")
    assert (here / "map.png").read_bytes()[:4] == b"\x89PNG"
    assert "<title>index</title>" in (here / "map.html").read_text()
    assert sorted(path.name for path in here.iterdir()) == ["map.html", "map.png"]


def test_evaluate(here):
    formats(here)
    before = sorted(here.iterdir())
    result = run("evaluate", "a.csv", "--dimensions", 4)
    assert result.exit_code == 0, result.output
    for part in (
        "Labels seen in training",
        "Labels held out",
        "ridge scores",
        "held-out items, trained on",
        "linear SVM",
        "Items found by",
        "Recommended",
    ):
        assert part in result.stdout
    assert re.search(r"labelspan fit a\.csv --method \w+ --dimensions \d+", result.stdout)
    answer = json.loads(run("evaluate", "a.csv", "--dimensions", 4, "--json").stdout)
    assert sorted(here.iterdir()) == before
    assert {record["setting"] for record in answer["records"]} == {"seen", "held out"}
    assert answer["facts"]["labels"] == 4
    assert [r["system"] for r in answer["tagging"]] == ["most frequent", "linear SVM", "labelspan"]
    assert {r["kind"] for r in answer["search"]} == {"title", "words"}
    assert "three labels" in one_sentence(
        run("evaluate", "-", input='{"text": "x", "tags": ["a"]}\n' * 30)
    )


@pytest.mark.parametrize("tags", ["", "game music art music"])
def test_queries_are_evaluated_where_labels_are_too_few(here, tags):
    about = ("rooks and knights", "songs to sing", "photos of trees", "a drum")
    rows = [{"id": str(n), "text": f"{about[n % 4]}, part {n}"} for n in range(20)]
    if tags:
        rows = [{**row, "tags": [tags.split()[n % 4]]} for n, row in enumerate(rows)]
    (here / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (here / "q.jsonl").write_text('{"query": "knights", "relevant": ["0", "4", "8"]}')
    asked = ("evaluate", "a.jsonl", "--queries", "q.jsonl", "--dimensions", 3)
    result = run(*asked)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "Labels were not evaluated: at least three labels with 6 items each" in said
    assert "Judged queries (1 queries)" in said
    assert "Recommended" not in said
    answer = json.loads(run(*asked, "--json").stdout)
    assert [answer[part] for part in ("recommended", "records", "tagging")] == [None] * 3
    assert answer["facts"]["notes"][0].startswith("Labels were not evaluated: at least three")
    found = [one for one in answer["search"] if one["kind"] == "judged"]
    assert {one["recall@100"] for one in found if one["system"] == "BM25"} == {1.0}


def test_demo(here, monkeypatch):
    real = registry.load_debtags
    monkeypatch.setattr(registry, "load_debtags", lambda: real().take(np.arange(0, 4899, 8)))
    result = run("demo")
    assert result.exit_code == 0, result.output
    for part in ("613 Debian programs", "draw molecules", "labelspan tag -i demo.labelspan"):
        assert part in result.stdout
    assert "demo.labelspan is the index:" in result.stdout
    with SemanticIndex.load("demo.labelspan") as index:
        assert len(index) == 613
    before = (here / "demo.labelspan" / "manifest.json").read_bytes()
    again = run("demo")
    assert "demo.labelspan exists and was not changed; --force overwrites it" in again.stdout
    assert (here / "demo.labelspan" / "manifest.json").read_bytes() == before
    assert run("demo", "--force").exit_code == 0
    assert (here / "demo.labelspan" / "manifest.json").read_bytes() != before


# --- devices ------------------------------------------------------------------------------


def test_fit_on_a_device_is_the_fit_on_the_host(saved, index, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    asked = ("fit", saved.parent / "corpus.jsonl", "--dimensions", 6)
    result = run(*asked, "-o", tmp_path / "there", "--device", "cpu")
    assert result.exit_code == 0, result.output
    with SemanticIndex.load(tmp_path / "there") as there:
        both = index, there
        host, device = (index.search("music radio", 5) for index in both)
        assert [hit.id for hit in device] == [hit.id for hit in host]
        scores = [hit.score for hit in host]
        np.testing.assert_allclose([hit.score for hit in device], scores, atol=1e-4)
        host, device = (index.tag("music radio") for index in both)
    assert [tag.label for tag in device] == [tag.label for tag in host]
