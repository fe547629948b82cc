"""Links between items in fields, in texts and in files of links: what is found, and what is not."""

import io
import json
import random

import pytest

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.corpus.link_names import LINKS, link_text, link_values
from labelspan.errors import InvalidFile, MissingData

WORDS = ["river", "stone", "cloud", "forest", "window", "garden", "letter", "candle", "bridge"]


def reading(records, **options):
    data = "\n".join(map(json.dumps, records)).encode()
    return read_corpus(io.BytesIO(data), labels="", **options)


def records(count=30, seed=0, **fields):
    rng = random.Random(seed)
    made = []
    for n in range(count):
        text = f"{' '.join(rng.sample(WORDS, 4))}. {' '.join(rng.choices(WORDS, k=12))} {n}."
        own = {"key": f"item-{n}", "body": text}
        made.append(own | {name: value(n, rng) for name, value in fields.items()})
    return made


def test_values_that_are_ids_are_links_whatever_the_name_of_the_field():
    rows = records(
        see=lambda n, rng: [f"item-{rng.randrange(30)}" for _ in range(3)],
        mentions=lambda n, rng: f"item-{rng.randrange(30)}, item-{rng.randrange(30)}",
        colour=lambda n, rng: rng.choice(["red", "blue"]),
        place=lambda n, rng: rng.randrange(30),
    )
    told = reading(rows).reading["links"]
    assert told["marks"] == {"see": ";", "mentions": ","}
    found = CorpusReader(io.BytesIO("\n".join(map(json.dumps, rows)).encode()), labels="").report()
    assert any(role.line() == "links   sure: see, mentions" for role in found.roles)
    assert any(
        note.startswith(("1", "9", "8")) and "between 30 items" in note for note in found.notes
    )
    assert "links" not in [
        role.role
        for role in CorpusReader(
            io.BytesIO("\n".join(map(json.dumps, rows)).encode()), labels="", links=False
        )
        .report()
        .roles
    ]


@pytest.mark.parametrize("name", ["references", "parentId", "cites", "seeAlso"])
def test_a_known_name_makes_few_links_and_numbers_enough(name):
    rows = [
        {"id": n, "body": f"{' '.join(WORDS[n % 7 :])} number {n} of all of these texts"}
        for n in range(1, 25)
    ]
    assert not reading([{**row, "count": 25 - row["id"]} for row in rows]).reading["links"]
    rows[4][name] = 7
    assert reading(rows).reading["links"]["marks"] == {name: ";"}


def test_links_of_notes(tmp_path):
    notes = {
        "Chess.md": "# Chess\nA game like [[Go]], with [[Openings|openings]], ![[board.png]].",
        "Go.md": "# Go\nAn old game. [chess](Chess.md#rules) [web](https://example.org/x)",
        "sub/Openings.md": "# Openings\n[back](../Chess.md) [[Nowhere]] `[[code]]`",
        "sub/A b.md": "# Spaces\n[one](<../Chess.md>) [two](A%20b.md) [mail](mailto:a@b.org)",
    }
    for name, text in notes.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\ntags: [game]\n---\n{text}", encoding="utf-8")
    found = read_corpus(tmp_path)
    own = {item.id: [*link_values(item.metadata.get(LINKS))] for item in found.items}
    assert own == {
        "Chess.md": ["Go", "Openings"],
        "Go.md": ["Chess.md"],
        "sub/Openings.md": ["Chess.md", "Nowhere"],
        "sub/A b.md": ["Chess.md"],
    }
    lines = CorpusReader(tmp_path).report().lines()
    assert any("5 links between 4 items (links); 1 to nothing" in line for line in lines)


def test_links_of_bibliographies():
    entries = [
        f"@article{{key{n},\n title = {{{' '.join(WORDS[n % 5 :])} of {n}}},\n keywords = {{a}},\n "
        f"{('crossref', 'related')[n % 2]} = {{{('key2', 'key3,key4')[n % 2]}}}\n}}\n"
        for n in range(12)
    ]
    found = read_corpus(io.BytesIO("".join(entries).encode()))
    assert found.reading["links"]["marks"] == {"crossref": ";", "related": ","}
    references = [
        f"TY  - JOUR\nID  - key{n}\nTI  - {' '.join(WORDS[n % 5 :])} of {n}\nKW  - a\n"
        f"L3  - key2\nL3  - key{n - 1}\nER  - \n"
        for n in range(12)
    ]
    found = read_corpus(io.BytesIO("\n".join(references).encode()))
    assert found.reading["links"]["marks"] == {"related": ";"}
    assert link_values(found.metadata[5]["related"]) == {"key2": 1.0, "key4": 1.0}
    assert "date" not in found.metadata[5]


def test_hyperlinks_to_items_whose_address_is_known():
    rows = records(
        12,
        url=lambda n, rng: f"https://www.site.org/p/{n}",
    )
    rows[0]["body"] += ' see <a href="https://site.org/p/3/">this</a> and https://other.org/4'
    rows[1]["body"] += " as in https://www.site.org/p/5#top."
    found = reading(rows)
    assert found.reading["links"] == {"marks": {LINKS: ";"}, "addresses": ["url"]}
    assert [*link_values(found.metadata[0][LINKS])] == ["https://site.org/p/3/"]
    assert [*link_values(found.metadata[1][LINKS])] == ["https://www.site.org/p/5#top"]


def test_a_file_of_links(tmp_path):
    rows = records(6)
    path = tmp_path / "links.csv"
    path.write_text("id,linked_id\nitem-0,item-1\nitem-0,item-2\nitem-0,item-1\nitem-5,gone\n")
    found = reading(rows, links=path)
    assert found.metadata[0] == {LINKS: "item-1; item-2"}
    assert found.metadata[5] == {LINKS: "gone"}
    path.write_text("item-0\titem-1\t0.5\nitem-0\titem-1\t2\nitem-3\titem-4\t1\n")
    found = reading(rows, links=path)
    assert link_values(found.metadata[0][LINKS]) == {"item-1": 2.0}
    for bad in ("item-0,item-1,-1", "item-0,item-1,nan", "item-0", "a,b,c,d", "item-0,,1"):
        path.write_text(f"item-1,item-2,1\n{bad}\n")
        with pytest.raises(InvalidFile, match=r"line 2: two ids are needed"):
            reading(rows, links=path)
    with pytest.raises(MissingData):
        reading(rows, links=tmp_path / "no.csv")


@pytest.mark.parametrize("seed", range(20))
def test_links_as_text_are_read_again(seed):
    rng = random.Random(seed)
    names = [
        "".join(rng.choices('ab;,"{}[] \n\\é|', k=rng.randint(1, 6))).strip() or "x"
        for _ in range(4)
    ]
    plain = dict.fromkeys(names, 1.0)
    weights = {name: rng.choice([1.0, 0.25, 3.0]) for name in names}
    for own in (plain, weights):
        text = link_text(own)
        assert link_values(text) == own
    assert link_text({}) is None
