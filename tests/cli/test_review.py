"""``labelspan review``: keys from a pipe, exports, and decisions applied to a corpus file."""

import csv
import json

import pytest
from _support.commands import one_sentence, run
from _support.topics import corpus, planted, planted_index

from labelspan import MLSI, SemanticIndex
from labelspan.curation import MetadataEdits, Review


@pytest.fixture
def saved(tmp_path):
    """An index in which labels are wrong, and the corpus that it came from."""
    path = tmp_path / "index.labelspan"
    texts, labels, ids = planted()
    rows = zip(ids, texts, labels, strict=True)
    with (tmp_path / "notes.jsonl").open("w") as file:
        for name, text, own in rows:
            file.write(json.dumps({"id": name, "text": text, "tags": own}) + "\n")
    planted_index().save(path)
    return path


def review(saved, keys, *args):
    return run("review", saved, "--label", "sound", *args, input="\n".join(keys) + "\n")


def test_keys_decide_and_undo(saved):
    result = review(saved, "yn?suuq", "--kind", "wrong")
    assert result.exit_code == 0, result.output
    said = result.stdout
    assert "1/" in said
    assert "Remove sound?" in said
    assert "Done: Remove sound from item1." in said
    assert "nearest items: " in said
    assert "of all other labelled items " in said
    assert "Keys: y yes" in said
    assert "Undone: Skip sound of" in said
    assert "Undone: Keep sound of" in said
    assert said.splitlines()[-1].startswith("1 accepted, 0 rejected, 0 skipped")
    with SemanticIndex.load(saved) as index:
        assert "sound" not in index.item("item1").labels
    # The next session begins where this one ended, and its undo goes further back.
    again = review(saved, "u", "--kind", "wrong").stdout
    assert "Undone: Remove sound from item1." in again
    with SemanticIndex.load(saved) as index:
        assert "sound" in index.item("item1").labels


def test_decisions_are_exported_and_applied(saved, tmp_path):
    review(saved, "ys", "--kind", "wrong")
    rows = [json.loads(line) for line in run("review", saved, "--export", "-").stdout.splitlines()]
    assert [(row["answer"], row["changed"]) for row in rows] == [("no", True), ("unsure", False)]
    assert "2 decisions" in run("review", saved, "--export", tmp_path / "made.csv").stdout
    with (tmp_path / "made.csv").open() as file:
        assert [row["item"] for row in csv.DictReader(file)] == [row["item"] for row in rows]
    corpus_file, copy = tmp_path / "notes.jsonl", tmp_path / "copy.jsonl"
    before = corpus_file.read_text()
    result = run("review", saved, "--apply", corpus_file, "--out", copy)
    assert result.stdout == "1 item changed: 0 labels added, 1 removed.\n"
    assert corpus_file.read_text() == before
    old, new = before.splitlines(), copy.read_text().splitlines()
    assert [n for n in range(len(old)) if old[n] != new[n]] == [1]
    assert "sound" not in json.loads(new[1])["tags"]
    again = run("review", saved, "--apply", copy, "--out", tmp_path / "second.jsonl")
    assert "Already in the file: 1 change." in again.stderr


def test_every_change_is_in_the_corrected_copy(tmp_path):
    """Labels and values, by whichever way they changed; what is not in the copy is said."""
    texts, labels, ids = planted()
    notes, index, copy = (tmp_path / name for name in ("notes.csv", "i", "copy.csv"))
    rows = [
        f"{n},{t},{'; '.join(own)},{'Ann Smith' if k % 2 else 'Smith Ann'}"
        for k, (n, t, own) in enumerate(zip(ids, texts, labels, strict=True))
    ]
    notes.write_text("\n".join(["id,text,tags,by", *rows]) + "\n")
    fitted = run("fit", notes, "-o", index, "--labels", "tags", "--text", "text", "--ids", "id")
    assert fitted.exit_code == 0, fitted.output
    with SemanticIndex.load(index, write=True) as opened:
        edits, own = Review(opened), opened.item(ids[3]).labels
        MetadataEdits(opened).replace("by", {"Smith Ann": "Ann Smith"})
        edits.apply(edits.plan_edit(ids[0], "wrongone"), create=True)
        opened.add([texts[0]], [["sound"]], [ids[0]], replace=True, metadata=[{"by": "Bo"}])
        opened.remove(ids[2])
        opened.remove(ids[3]).add([texts[3]], [own], [ids[3]], metadata=[{"by": "Ann Smith"}])
        opened.relabel(ids[4], [])
        opened.undo()
        opened.add(["a new one"], [["game"]], ["new"])
    done = run("review", index, "--apply", notes, "--out", copy)
    assert done.exit_code == 0, done.output
    assert f"1 item was removed from the index; they stay in the file, for example {ids[2]}." in (
        done.stderr
    )
    assert f"removed and put into the index again, for example {ids[3]}." in done.stderr
    before, after = notes.read_text().splitlines(), copy.read_text().splitlines()
    assert len(before) == len(after)
    assert after[1] == f"{ids[0]},{texts[0]},sound,Bo"
    for old, new in zip(before[2:], after[2:], strict=True):
        expected = old if old.startswith(f"{ids[2]},") else old.replace("Smith Ann", "Ann Smith")
        assert new == expected


def test_a_corpus_is_written_back_as_the_fit_read_it(tmp_path):
    # Another field looks more like labels, and the separator is not one that is guessed.
    texts, labels, ids = planted()
    notes, index, copy = (tmp_path / name for name in ("notes.csv", "i", "copy.csv"))
    rows = [f"{n},{t},old,{'/'.join(own)}" for n, t, own in zip(ids, texts, labels, strict=True)]
    notes.write_text("\n".join(["id,text,tags,kinds", *rows]) + "\n")
    fitted = run("fit", notes, "-o", index, "--labels", "kinds", "--separator", "/")
    assert fitted.exit_code == 0, fitted.output
    name, others = ids[0], labels[0][1:]
    with SemanticIndex.load(index, write=True) as opened:
        opened_review = Review(opened)
        edit = opened_review.plan_edit(name, "new", labels[0][0])
        opened_review.apply(edit, create=True)
    result = run("review", index, "--apply", notes, "--out", copy)
    assert result.stdout == "1 item changed: 1 label added, 1 removed.\n", result.output
    assert copy.read_text().splitlines()[1].endswith(f",old,{'/'.join([*others, 'new'])}")


def test_wrong_calls_are_refused(saved, tmp_path):
    assert "--kind must be" in one_sentence(run("review", saved, "--kind", "odd"))
    assert "needs --out" in one_sentence(run("review", saved, "--apply", tmp_path / "notes.jsonl"))
    assert ".csv or .jsonl" in one_sentence(run("review", saved, "--export", "made.xls"))
    notes = tmp_path / "notes.jsonl"
    refused = one_sentence(run("review", saved, "--apply", notes, "--out", notes))
    assert "is not replaced" in refused
    assert "There is no index" in one_sentence(run("review", tmp_path / "none"))


@pytest.fixture
def spelt(tmp_path):
    """An index with a label that is spelt in two ways."""
    texts, labels, ids, _ = corpus(90, seed=6)
    for n, own in enumerate(labels):
        if own == ["sound"] and n % 2:
            labels[n] = ["Sounds"]
    path = tmp_path / "spelt.labelspan"
    SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids).save(path)
    return path


def counts(path):
    with SemanticIndex.load(path) as index:
        return dict(index.labels)


def test_labels_are_merged_and_renamed(spelt):
    before = counts(spelt)
    most, least = sorted(("sound", "Sounds"), key=before.get, reverse=True)
    shown = run("review", "-i", spelt, "--kind", "merge", input="y\nq\n").stdout
    assert shown.splitlines()[-1] == "1 accepted, 0 rejected, 0 skipped, 0 waiting."
    assert f"Merge {least} ({before[least]:,} items) into {most}" in " ".join(shown.split())
    merged = counts(spelt)
    assert least not in merged
    assert merged[most] == before["sound"] + before["Sounds"]
    # Undone, left as it is, and asked about again by the next review.
    run("review", "-i", spelt, "--kind", "merge", input="u\n")
    with SemanticIndex.load(spelt, write=True) as index:
        index.undo()
    assert counts(spelt) == before
    shown = run("review", "-i", spelt, "--kind", "merge", input="n\nq\n").stdout
    assert "Left as it is." in shown
    assert shown.splitlines()[-1].startswith("0 accepted, 1 rejected")
    assert counts(spelt) == before
    shown = run("review", "-i", spelt, "--kind", "merge", input="y\nu\nr\nimages\nr\naudio\nq\n")
    assert "Undone: Merge" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("1 accepted, 0 rejected")
    assert "spelt nearly like 'image'" in " ".join(shown.stdout.split())
    after = counts(spelt)
    assert after["audio"] == before["sound"] + before["Sounds"]
    assert "images" not in after


@pytest.mark.parametrize("command", ["audit", "info", "labels", "review"])
def test_an_index_is_given_in_two_ways(spelt, command):
    by_argument, by_option = (
        run(command, spelt, input="q\n"),
        run(command, "-i", spelt, input="q\n"),
    )
    assert by_argument.exit_code == by_option.exit_code == 0
    assert by_argument.stdout == by_option.stdout
    assert "Give one index" in run(command, "other", "-i", spelt).output
