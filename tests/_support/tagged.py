"""A small tagged corpus, in every format."""

import csv
import gzip
import io
import json

import numpy as np

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound": ["audio", "music", "mixer", "song", "volume", "tune", "radio", "choir"],
    "image": ["photo", "picture", "pixel", "colour", "crop", "camera", "paint", "draw"],
    "text": ["letter", "editor", "page", "font", "spelling", "novel", "print", "word"],
}


def rows(count=48, seed=0):
    """Items of four topics, some of two."""
    rng = np.random.default_rng(seed)
    topics = sorted(WORDS)
    made = []
    for number in range(count):
        own = sorted({topics[number % 4], topics[int(rng.integers(4))]})
        words = " ".join(rng.choice(WORDS[topic], 5).tolist()[k] for topic in own for k in range(5))
        made.append(
            {
                "id": f"item{number}",
                "title": f"Item {number}",
                "body": words,
                "tags": own,
                "year": 2000 + number % 3,
            }
        )
    return made


def as_table(items, delimiter=",", separator=";"):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(items[0]), delimiter=delimiter)
    writer.writeheader()
    for item in items:
        writer.writerow({**item, "tags": separator.join(item["tags"])})
    return out.getvalue()


def as_lines(items):
    return "".join(json.dumps(item) + "\n" for item in items)


def formats(folder):
    """The same corpus in every format, by the name of its file."""
    items = rows()
    (folder / "a.jsonl").write_text(as_lines(items))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(as_lines(items).encode()))
    (folder / "a.json").write_text(json.dumps(items, indent=1))
    (folder / "a.csv").write_text(as_table(items))
    (folder / "b.csv").write_text(as_table(items, ";", "|"))
    (folder / "a.tsv").write_text("\ufeff" + as_table(items, "\t", ","))
    (folder / "c.csv").write_text(as_table(items, separator="', '").replace("', '", "; "))
    return ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "b.csv", "a.tsv", "c.csv"]
