"""Make the bundled corpus ``debtags`` from Debian package lists.

    python tools/make_debtags.py Packages.xz [--translation Translation-en.xz] --out corpus.jsonl.gz

The lists are ``Packages`` files of a Debian archive (plain, .gz or .xz; the fields Package,
Source, Section, Description and Tag are read), or JSON lines with the keys package, source,
section, summary, description and tags (.jsonl or .jsonl.gz). Recent archives keep long
descriptions in a file of their own, ``Translation-en``.

What is kept, in this order:

1. Programs: packages of Debian main that carry ``role::program``, and no role or section of
   libraries, documentation, data, metapackages or transitional packages.
2. One of each set of near-duplicates: texts alike to ``SAME_SOURCE`` (cosine of TF-IDF) within
   one source package, to ``OTHER_SOURCE`` across. The package named like its source stays
   before others, then the one with more tags, then the one with the longer text.
3. Tags with at least ``LEAST_ITEMS`` items, items with at least ``LEAST_TAGS`` such tags, until
   both hold. The facet role, by which was chosen, and tags named TODO are left out.

Source packages are the unit of the split, and those with texts alike to ``SAME_SIDE`` go
together: the part is chosen by a hash of the first name, a fifth to the test part. The same
lists give the same file, byte for byte with one version of zlib.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelspan._files import write_whole

SAME_SOURCE, OTHER_SOURCE, SAME_SIDE = 0.5, 0.8, 0.4
LEAST_ITEMS, LEAST_TAGS = 25, 3
TEST_SHARE = 0.2

OTHER_ROLES = {
    "role::app-data",
    "role::data",
    "role::debug-symbols",
    "role::devel-lib",
    "role::documentation",
    "role::dummy",
    "role::metapackage",
    "role::shared-lib",
    "role::source",
}
OTHER_SECTIONS = {
    "debug",
    "doc",
    "fonts",
    "introspection",
    "libdevel",
    "libs",
    "localization",
    "metapackages",
    "oldlibs",
    "perl",
    "tasks",
}
TERMS = (
    "Descriptions are by the packages' maintainers and are part of the packages, all of them "
    "in Debian main and so free software, each under the terms in its copyright file; the tags "
    "are by the contributors to Debtags, as published in Debian's package lists."
)

Item = dict[str, Any]


# --- reading ----------------------------------------------------------------------------


def open_text(path: Path) -> Iterator[str]:
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8") as file:
        yield from file


def paragraphs(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Control-file paragraphs: fields by name, continuation lines without their space."""
    fields: dict[str, str] = {}
    name = ""
    for raw in lines:
        line = raw.rstrip("\n")
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            rest = line[1:]
            fields[name] += "\n" + ("" if rest == "." else rest)
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def read_packages(lines: Iterable[str], long: dict[str, str]) -> Iterator[Item]:
    for fields in paragraphs(lines):
        text = fields.get("Description", "")
        if "\n" not in text:
            text = long.get(fields.get("Description-md5", ""), text)
        summary, _, description = text.partition("\n")
        tags = (
            re.split(r",\s*", fields["Tag"].replace("\n", " ").strip()) if "Tag" in fields else []
        )
        yield {
            "package": fields["Package"],
            "source": fields.get("Source", fields["Package"]).split(" ")[0],
            "section": fields.get("Section", ""),
            "summary": summary,
            "description": description.strip(),
            "tags": sorted(set(tags)),
        }


def read(paths: list[Path], translations: list[Path]) -> list[Item]:
    """All packages, the first of each name; long descriptions looked up by their md5."""
    long = {
        fields["Description-md5"]: fields["Description-en"]
        for path in translations
        for fields in paragraphs(open_text(path))
        if {"Description-md5", "Description-en"} <= fields.keys()
    }
    found: dict[str, Item] = {}
    for path in paths:
        lines = open_text(path)
        if ".jsonl" in path.suffixes:
            items: Iterable[Item] = (json.loads(line) for line in lines)
        else:
            items = read_packages(lines, long)
        for item in items:
            found.setdefault(item["package"], item)
    return [found[name] for name in sorted(found)]


# --- choosing ---------------------------------------------------------------------------


def is_program(item: Item) -> bool:
    tags = set(item["tags"])
    return (
        "role::program" in tags
        and not tags & OTHER_ROLES
        and item["section"] not in OTHER_SECTIONS
        # Sections of contrib and non-free carry those names before a slash.
        and "/" not in item["section"]
        and not re.search(r"\b(transitional|dummy)\b", item["summary"], re.IGNORECASE)
        and not re.search(r"\btransitional (dummy )?package\b", item["description"])
    )


def near_pairs(items: list[Item], least: float) -> list[tuple[int, int, float]]:
    """Pairs of items whose texts have at least a cosine of TF-IDF."""
    texts = [f"{item['summary']}\n{item['description']}" for item in items]
    X = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts)
    pairs = []
    for start in range(0, len(items), 1024):
        block = (X[start : start + 1024] @ X.T).tocoo()
        rows = block.row + start
        chosen = np.flatnonzero((rows < block.col) & (block.data >= least))
        pairs += [(int(rows[i]), int(block.col[i]), float(block.data[i])) for i in chosen]
    return pairs


def without_duplicates(items: list[Item], pairs: list[tuple[int, int, float]]) -> list[Item]:
    """The items that stay: each near-duplicate goes in favour of one before it."""
    near: dict[int, list[int]] = {}
    for left, right, cosine in pairs:
        same = items[left]["source"] == items[right]["source"]
        if cosine >= (SAME_SOURCE if same else OTHER_SOURCE):
            near.setdefault(left, []).append(right)
            near.setdefault(right, []).append(left)

    def rank(number: int) -> tuple[bool, int, int, str]:
        item = items[number]
        named = item["package"] == item["source"]
        return (not named, -len(item["tags"]), -len(item["description"]), item["package"])

    kept: list[int] = []
    gone: set[int] = set()
    for number in sorted(range(len(items)), key=rank):
        if number not in gone:
            kept.append(number)
            gone.update(near.get(number, []))
    return [items[number] for number in sorted(kept)]


def trim_tags(items: list[Item]) -> list[Item]:
    """Frequent tags and items with several of them, until both hold."""
    current = [
        {
            **item,
            "tags": [t for t in item["tags"] if not t.startswith("role::") and "TODO" not in t],
        }
        for item in items
    ]
    while True:
        counts = Counter(tag for item in current for tag in item["tags"])
        trimmed = [
            {**item, "tags": [t for t in item["tags"] if counts[t] >= LEAST_ITEMS]}
            for item in current
        ]
        trimmed = [item for item in trimmed if len(item["tags"]) >= LEAST_TAGS]
        if trimmed == current:
            return current
        current = trimmed


def sides(items: list[Item], pairs: list[tuple[int, int, float]]) -> dict[str, str]:
    """The side of each source package; sources with texts alike are on one side."""
    root = {item["source"]: item["source"] for item in items}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    for left, right, cosine in pairs:
        if cosine >= SAME_SIDE:
            low, high = sorted((find(items[left]["source"]), find(items[right]["source"])))
            root[high] = low

    def draw(name: str) -> str:
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        return "test" if number < TEST_SHARE * 2**64 else "train"

    return {name: draw(find(name)) for name in root}


def make(packages: list[Item]) -> list[Item]:
    """The items of the corpus, sorted by package."""
    programs = [item for item in packages if is_program(item)]
    if not programs:
        raise SystemExit("make_debtags: the lists hold no package with the tag role::program.")
    pairs = near_pairs(programs, min(SAME_SOURCE, OTHER_SOURCE, SAME_SIDE))
    kept = without_duplicates(programs, pairs)
    side = sides(programs, pairs)
    chosen = trim_tags(kept)
    print(
        f"{len(packages)} packages, {len(programs)} programs, {len(kept)} without near-duplicates, "
        f"{len(chosen)} with {LEAST_TAGS} tags or more",
        file=sys.stderr,
    )
    keys = ("package", "source", "section", "summary", "description", "tags")
    return [{**{key: item[key] for key in keys}, "split": side[item["source"]]} for item in chosen]


# --- writing ----------------------------------------------------------------------------


def write(items: list[Item], inputs: list[Path], out: Path) -> None:
    """One line about the corpus, then one for each item; renamed into place when whole."""
    about = {
        "corpus": "debtags",
        "items": len(items),
        "tags": sorted({tag for item in items for tag in item["tags"]}),
        "made_from": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs},
        "terms": TERMS,
    }
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in (about, *items)]
    data = gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0)
    write_whole(out, lambda file: file.write(data))
    train = sum(item["split"] == "train" for item in items)
    print(
        f"{out}: {len(items)} items ({train} train), {len(about['tags'])} tags, {len(data)} bytes, "
        f"sha256 {hashlib.sha256(data).hexdigest()}",
        file=sys.stderr,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("lists", nargs="+", type=Path, help="Packages files, or JSON lines")
    parser.add_argument("--translation", action="append", default=[], type=Path)
    parser.add_argument("--out", required=True, type=Path)
    given = parser.parse_args(arguments)
    items = make(read(given.lists, given.translation))
    write(items, [*given.lists, *given.translation], given.out)


if __name__ == "__main__":
    main()
