"""The commands fit and add: each format, and every error."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from _support.commands import one_sentence, run
from _support.tagged import as_lines, as_table, formats, rows

from labelspan import SemanticIndex
from labelspan.errors import InvalidInput
from labelspan.index.fitting import fit_stream


def stop(*args, **options):
    raise KeyboardInterrupt


def ids_of(folder):
    with SemanticIndex.load(folder) as index:
        return index.ids


# --- fit and add --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("a.jsonl", "mlsi"),
        ("a.csv", "lsi"),
        ("b.csv", "cca"),
        ("a.json", "opls"),
        ("a.jsonl.gz", "hsl"),
        ("-", "mlsi"),
    ],
)
def test_fit_in_every_format_by_every_method(name, method, here):
    formats(here)
    options = ("--dimensions", 3, "--method", method, "--json")
    result = run("fit", name, *options, input=as_lines(rows()))
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["index"], answer["items"], answer["labels"]) == ("index.labelspan", 48, 4)
    assert (answer["dimensions"], answer["method"]) == (3, method)
    shown = json.loads(run("info", "--json").stdout)
    assert (shown["method"], shown["labels"]) == (method.upper(), 4)
    if method != "lsi":
        assert shown["parameters"]["alpha"] == "auto"
        assert f"alpha {shown['alpha']:.3g} (auto)" in run("info").stdout
    for part in ("  labels    tags    ", "item0: '", "item1: '", "most frequent: "):
        assert part in result.stderr
    assert "item2: " not in result.stderr
    with SemanticIndex.load("index.labelspan") as index:
        assert index.ids == [item["id"] for item in rows()]
        assert index.item("item3").labels == tuple(rows()[3]["tags"])


def test_addresses_are_told_apart_in_the_list_of_labels(here):
    lines = (f"text {n} words\t<http://example.org/subjects/of/things/{n % 2}>\n" for n in range(9))
    Path("items.tsv").write_text("".join(lines))
    shown = run("fit", "items.tsv", "--dry-run").stdout
    ends = ("...le.org/subjects/of/things/0 5", "...le.org/subjects/of/things/1 4")
    assert f"most frequent: {', '.join(ends)}" in shown


def test_options_of_reading(here):
    (here / "a.csv").write_bytes(as_table(rows()).replace("Item", "Stück").encode("latin-1"))
    (here / "names.tsv").write_text("game\tGames\nsound\tSounds\n")
    assert "cp1252" in one_sentence(run("fit", "a.csv"))
    asked = ("--encoding", "cp1252", "--vocabulary", "names.tsv", "--language", "en")
    result = run("fit", "a.csv", "--dimensions", 4, *asked)
    assert result.exit_code == 0, result.output
    assert "2 label(s) are not in the vocabulary: 'image'" in result.stderr
    assert "Games" in result.stderr


def test_fit_does_not_overwrite_an_index(here):
    formats(here)
    assert run("fit", "a.jsonl", "--dimensions", 3).exit_code == 0
    before = (here / "index.labelspan" / "manifest.json").read_bytes()
    said = one_sentence(run("fit", "a.csv", "--dimensions", 4))
    assert "There is an index in 'index.labelspan' already; give --force" in said
    assert (here / "index.labelspan" / "manifest.json").read_bytes() == before
    assert run("fit", "a.csv", "--dimensions", 4, "--force").exit_code == 0
    assert json.loads(run("info", "--json").stdout)["dimensions"] == 4
    (here / "other").mkdir()
    (here / "other" / "file").write_text("x")
    said = one_sentence(run("fit", "a.csv", "-o", "other", "--force"))
    assert "'other' exists and is not an index" in said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere.jsonl"], "There is no file 'nowhere.jsonl'; correct the path."),
        (["a.jsonl", "--text", "prose"], "there is no field 'prose'; there are 'id', 'title'"),
        (["a.jsonl", "--labels", ""], "needs labels, but no item has any; give their field"),
        (["same.csv"], "all labelled items have the same labels, so there is nothing to learn"),
        (["a.jsonl", "--ids", "year"], "has the id '2000'"),
        (["empty.jsonl"], "empty.jsonl holds no items."),
        (["one.jsonl"], "an index needs two items or more, but 1 were given"),
        (
            ["a.jsonl", "--beta", "0.5", "--method", "cca"],
            "--beta works only with --method mlsi, but --method cca was given",
        ),
        (["a.jsonl", "--format", "docx"], "format must be one of"),
        (["a.jsonl", "--dimensions", "0"], "must be a number of at least 1, or auto, but '0'"),
        (["a.jsonl", "--dimensions", "many"], "or auto, but 'many' was given"),
        (["a.jsonl", "--dimensions", "auto", "--method", "lsi"], "auto needs labels"),
    ],
)
def test_fit_reports_bad_arguments_and_leaves_no_files(args, message, here):
    formats(here)
    (here / "empty.jsonl").write_text("")
    (here / "one.jsonl").write_text(json.dumps(rows()[0]))
    (here / "same.csv").write_text("text,tags\na chess game,game\nedit photos,\nmore,game\n")
    before = sorted(here.iterdir())
    assert message in one_sentence(run("fit", *args))
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "args",
    [["fit"], ["fit", "a", "--beta", "2"], ["fit", "a", "--method", "pca"], ["search", "-n", "0"]],
)
def test_wrong_usage_has_its_own_exit_code(args):
    assert run(*args).exit_code == 2


def test_ctrl_c_while_items_are_read_leaves_nothing(here, monkeypatch):
    formats(here)
    monkeypatch.setattr("labelspan.index.database.ItemDatabase.insert", stop)
    before = sorted(here.rglob("*"))
    said = one_sentence(run("fit", "a.jsonl", "--dimensions", 4), code=130)
    assert said == "Stopped; nothing half-written is left."
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("moment", ["fitting.learn_tagger", "folder.IndexFolder.write"])
def test_ctrl_c_keeps_what_was_read_and_the_same_command_continues(moment, here, monkeypatch):
    formats(here)
    fit = ("fit", "a.jsonl", "--dimensions", 4)
    with monkeypatch.context() as patch:
        patch.setattr(f"labelspan.index.{moment}", stop)
        said = one_sentence(run(*fit), code=130)
    kept = "what was finished is kept in index.labelspan/unfinished"
    assert said == f"Stopped; {kept}, and the same command continues."
    # Another command begins again.
    other = run(*fit, "--out", "other", "--json")
    again = run(*fit, "--json")
    assert [json.loads(one.stdout)["resumed"] for one in (other, again)] == [0, 48]
    assert not list(here.rglob("unfinished"))
    with SemanticIndex.load("other") as first, SemanticIndex.load("index.labelspan") as second:
        assert second.ids == first.ids
        assert second.labels == first.labels
        assert second.search("chess")[0].id == first.search("chess")[0].id
    # A file that has changed since is read again.
    with monkeypatch.context() as patch:
        patch.setattr(f"labelspan.index.{moment}", stop)
        run(*fit, "--force")
    (here / "a.jsonl").write_text(as_lines(rows()[:40]))
    last = json.loads(run(*fit, "--force", "--json").stdout)
    assert (last["resumed"], last["items"]) == (0, 40)


def test_a_new_label_with_the_separator_of_the_file_is_refused_in_python_too(here):
    formats(here)
    assert run("fit", "a.csv", "--dimensions", 4).exit_code == 0
    with SemanticIndex.load("index.labelspan", write=True) as index:
        before = index.item("item1").labels
        with pytest.raises(InvalidInput, match="has ';' in it, which separates the labels"):
            index.relabel("item1", ["space; the final"])
        assert index.item("item1").labels == before


def test_added_items_are_read_as_those_of_the_fit(here):
    bands = ["Queen", "Rush", "Yes", "Heart"]
    songs = ["opera", "drums", "organ", "guitar"]
    rows = [f'r{n},song {n} with {songs[n % 4]},"{bands[n % 4]}"' for n in range(40)]
    head = "id,text,label"
    (here / "a.csv").write_text("\n".join([head, *rows]))
    assert run("fit", "a.csv", "--dimensions", 2, "--empty-is-none").exit_code == 0
    more = '{head}\nx,another song,"Crosby, Stills & Nash"\ny,no band at all,\n'
    assert run("add", "-", input=more.replace("{head}", head)).exit_code == 0
    with SemanticIndex.load("index.labelspan") as index:
        # A file of two rows says nothing about commas, nor what an empty field means.
        assert index.item("x").labels == ("Crosby, Stills & Nash",)
        assert index.item("y").labels == ()
    lists = as_lines([{"id": "z", "text": "a last one", "label": ["Rush", "Rush, live"]}])
    assert run("add", "-", "--similar-label", input=lists).exit_code == 0
    with SemanticIndex.load("index.labelspan") as index:
        assert index.item("z").labels == ("Rush", "Rush, live")


def test_lists_next_to_strings_are_read_as_lists_when_they_are_added(here):
    rows = [
        {"id": f"r{n}", "text": f"song {n} with {'drums' if n % 2 else 'opera'}", "label": label}
        for n, label in enumerate(["Queen", "Rush, Yes"] * 20)
    ]
    (here / "a.jsonl").write_text(as_lines(rows))
    assert run("fit", "a.jsonl", "--dimensions", 2).exit_code == 0
    more = [{"id": "x", "text": "a song", "label": ["Rush, live"]}, {**rows[1], "id": "y"}]
    assert run("add", "-", "--similar-label", input=as_lines(more)).exit_code == 0
    with SemanticIndex.load("index.labelspan") as index:
        assert index.item("x").labels == ("Rush, live",)
        assert set(index.item("y").labels) == {"Rush", "Yes"}


def test_add_and_replace(here, monkeypatch):
    formats(here)
    assert run("fit", "a.jsonl", "--dimensions", 5).exit_code == 0
    more = [{**item, "id": f"new{n}", "tags": ["game", "fresh"]} for n, item in enumerate(rows(3))]
    result = run("add", "-", "--json", input=as_lines(more))
    assert json.loads(result.stdout) == {
        "index": "index.labelspan",
        "added": 3,
        "replaced": 0,
        "items": 51,
        "new_labels": ["fresh"],
    }
    typo = as_lines([{**more[0], "id": "typo", "tags": ["Fresh"]}])
    said = one_sentence(run("add", "-", input=typo))
    assert "The new label 'Fresh' is spelt nearly like 'fresh' (3 items)." in said
    assert "--similar-label" in said
    assert len(ids_of("index.labelspan")) == 51
    said = one_sentence(run("add", "-", input=as_lines([*more[:2], {**more[2], "id": "newer"}])))
    assert "2 items of standard input are in index.labelspan already, for example 'new0'" in said
    assert "--replace" in said
    assert len(ids_of("index.labelspan")) == 51
    result = run("add", "-", "--replace", input=as_lines([{**more[0], "body": "other"}]))
    assert "0 items added, 1 replaced; index.labelspan now has 51." in result.stdout
    # All of them, or none.
    extra = as_lines([{**rows()[0], "id": "extra"}])
    bad = extra + '{"id": "x", "title": [3], "body": "b", "tags": []}'
    assert "'title' must be a text" in one_sentence(run("add", "-", input=bad))
    with monkeypatch.context() as patch:
        patch.setattr("labelspan.index.database.ItemDatabase.insert", stop)
        one_sentence(run("add", "-", input=extra), code=130)
    assert len(ids_of("index.labelspan")) == 51
    assert "1 item added" in run("add", "-", input=extra).stdout


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_add_reads_the_fields_of_the_fit(here, options):
    items = [{**item, "kind": "; ".join(item["tags"])} for item in rows()]
    (here / "a.jsonl").write_text(as_lines(items))
    asked = ("--labels", "kind", "--text", "body", "--dimensions", 4)
    assert run("fit", "a.jsonl", *asked, *options).exit_code == 0
    result = run(
        "add", "-", input=as_lines([{**item, "id": f"new {item['id']}"} for item in items])
    )
    assert result.exit_code == 0, result.output
    assert "  labels    kind   " in result.stderr
    assert "  text      body   " in result.stderr


def test_items_without_ids_get_the_next_numbers(here):
    nameless = [{"text": item["body"], "labels": item["tags"]} for item in rows()]
    (here / "a.jsonl").write_text(as_lines(nameless))
    assert run("fit", "a.jsonl", "--dimensions", 5).exit_code == 0
    result = run("add", "-", "--format", "lines", input="a game of chess\na song\n")
    assert result.exit_code == 0, result.output
    assert ids_of("index.labelspan") == [str(n) for n in range(50)]


@pytest.mark.parametrize(("most", "saved"), [(1000, 24), (20, 48)])
def test_many_added_items_are_joined_with_the_others(here, monkeypatch, most, saved):
    monkeypatch.setattr("labelspan.index.store._MANY_ADDED", most)
    items = rows(48)
    (here / "first.jsonl").write_text(as_lines(items[:24]))
    (here / "more.jsonl").write_text(as_lines(items[24:]))
    assert run("fit", "first.jsonl", "--dimensions", 3).exit_code == 0
    assert run("add", "more.jsonl").exit_code == 0
    with SemanticIndex.load(here / "index.labelspan") as index:
        assert (len(index), len(index.store.vectors.base)) == (48, saved)


# --- streams ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "method", "found"), [("a.jsonl.gz", "mlsi", 5), ("-", "cca", 3)])
def test_fit_a_stream(name, method, found, here, monkeypatch):
    formats(here)
    before = set(here.iterdir())
    monkeypatch.setattr("labelspan.index.fitting.TAG_SAMPLE", 30)
    options = ("--dimensions", found, "--method", method, "--json")
    result = run("fit", name, "--stream", *options, input=as_lines(rows()))
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["items"], answer["labels"], answer["dimensions"]) == (48, 4, found)
    assert answer["tag_sample"] == 30
    assert "tags are learned from 30 of 48 labelled items" in result.stderr
    assert "  labels    tags    " in result.stderr
    assert {path.name for path in set(here.iterdir()) - before} == {"index.labelspan"}
    assert "game" in run("tag", "chess board dice").stdout
    with SemanticIndex.load("index.labelspan") as index:
        assert index.ids == [item["id"] for item in rows()]


def test_ctrl_c_in_a_stream_says_what_is_kept(here, monkeypatch):
    formats(here)
    options = ("a.jsonl", "--stream", "--dimensions", 3)
    with monkeypatch.context() as patch:
        patch.setattr("labelspan.index.fitting.learn_tagger", stop)
        patch.setitem(fit_stream.__kwdefaults__, "block", (20, 1 << 24))
        result = run("fit", *options)
        assert result.exit_code == 130
        assert result.stderr.splitlines()[-1] == (
            "Stopped; what was finished is kept in index.labelspan/unfinished, and "
            "the same command continues."
        )
        patch.undo()
        patch.setitem(fit_stream.__kwdefaults__, "block", (20, 1 << 24))
        result = run("fit", *options, "--json")
    assert json.loads(result.stdout)["resumed"] == 48


def test_an_index_whose_history_cannot_be_kept_is_not_overwritten(here, monkeypatch):
    formats(here)
    assert run("fit", "a.jsonl", "--dimensions", 3).exit_code == 0
    (items,) = here.glob("index.labelspan/*/items.sqlite")
    with closing(sqlite3.connect(items)) as database:
        database.execute("DROP TABLE removed")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    # It is told before anything is read.
    monkeypatch.setattr("labelspan.index.fitting._Fit.read", None)
    told = one_sentence(run("fit", "a.jsonl", "--dimensions", 3, "--force"))
    assert "Its history cannot be kept: choose another folder" in told
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_an_index_is_fitted_again_from_its_items(here):
    formats(here)
    assert run("fit", "a.jsonl", "--dimensions", 5, "--out", "old.labelspan").exit_code == 0
    with SemanticIndex.load("old.labelspan") as index:
        items, state = index.items(), index.state
    result = run("fit", "old.labelspan", "--dimensions", 4)
    assert result.exit_code == 0, result.output
    with SemanticIndex.load("old.labelspan", verify=True) as index:
        assert index.items() == items
        assert index.n_dimensions == 4
        assert index.state != state


def test_an_index_of_an_older_format_names_the_remedy(here):
    formats(here)
    assert run("fit", "a.jsonl", "--dimensions", 5, "--out", "old.labelspan").exit_code == 0
    manifest = here / "old.labelspan" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 7', '"version": 5', 1))
    told = one_sentence(run("search", "chess", "-i", "old.labelspan"))
    assert "older format 5" in told
    assert "labelspan fit old.labelspan" in told
    manifest.write_text(manifest.read_text().replace('"version": 5', '"version": 4', 1))
    for command in (("search", "chess", "-i", "old.labelspan"), ("fit", "old.labelspan")):
        told = one_sentence(run(*command))
        assert "the older format 4, which this labelspan cannot read" in told
        assert "labelspan fit CORPUS" in told


def test_large_files_are_streamed_by_default(here, monkeypatch):
    formats(here)
    monkeypatch.setattr("labelspan.cli.fit._SMALL", 1)
    monkeypatch.setattr("labelspan.operators.machine.available_memory", lambda: 1000)
    result = run("fit", "a.jsonl", "--dimensions", 3, "--method", "lsi")
    assert result.exit_code == 0, result.output
    assert "read in blocks" in result.stderr
    result = run("fit", "a.jsonl", "--dimensions", 3, "--no-stream", "--force")
    assert result.exit_code == 0, result.output
    assert "read in blocks" not in result.stderr
    (here / "parts").mkdir()
    for number in range(2):
        lines = as_lines(rows()[24 * number : 24 * number + 24])
        (here / "parts" / f"{number}.jsonl").write_text(lines)
    result = run("fit", "parts", "--dimensions", 3, "--method", "lsi", "--force", "--json")
    assert result.exit_code == 0, result.output
    assert "read in blocks" in result.stderr
    assert json.loads(result.stdout)["items"] == 48


# --- how a corpus is read -----------------------------------------------------------------


def test_a_dry_run_shows_how_a_corpus_is_read_and_writes_nothing(here):
    formats(here)
    before = sorted(here.iterdir())
    result = run("fit", "a.csv", "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "a.csv: csv, 48 items, 48 with labels, 4 labels"
    assert "  labels    tags    game;text" in result.stdout
    report = json.loads(run("fit", "a.csv", "--dry-run", "--json").stdout)
    assert [one["role"] for one in report["fields"]] == [*["text"] * 2, "labels", "ids", "metadata"]
    assert (report["n_items"], report["why_not_writable"]) == (48, None)
    assert sorted(here.iterdir()) == before


def test_several_fields_of_labels_and_what_is_not_text(here):
    (here / "a.csv").write_text("text,hot,cold\nfire burns,1,0\nice melts,0,1\nair flows,0,0\n")
    for options in ((), ("--labels", "hot", "--labels", "cold")):
        report = json.loads(run("fit", "a.csv", "--dry-run", "--json", *options).stdout)
        assert report["label_style"] == "columns of 0 and 1, by their names"
        assert dict(map(tuple, report["labels"])) == {"hot": 1, "cold": 1}
    for name, message in (
        ("a.docm", "files ending in .docm are unknown"),
        ("b", "no known format"),
    ):
        (here / name).write_text("some words\nand more\n")
        said = one_sentence(run("fit", name))
        assert message in said
        assert "--format lines" in said
        assert "--method" not in said
