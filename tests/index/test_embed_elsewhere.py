"""Embedding on other processes: two workers of Dask that open the index by themselves."""

import json

import numpy as np
import pytest

from labelspan import SemanticIndex

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
bag = pytest.importorskip("dask.bag", reason="dask.distributed is not installed")

TEXTS = [
    f"{'play chess' if n % 2 else 'edit a photo'} with {'friends' if n % 3 else 'style'} {n}"
    for n in range(60)
]


def embed(folder, rows):
    """What a user writes: a batch of items gets its vectors."""
    rows = [json.loads(row) for row in rows]
    with SemanticIndex.load(folder) as index:
        vectors = index.embed([row["text"] for row in rows])
    return [{**row, "vector": vector.tolist()} for row, vector in zip(rows, vectors, strict=True)]


def test_two_workers_embed_as_the_index_does(tmp_path):
    labels = [["game"] if n % 2 else ["image"] for n in range(60)]
    with SemanticIndex().fit(TEXTS[:40], labels[:40]) as index:
        index.save(tmp_path / "notes.labelspan")
        expected = index.embed(TEXTS)
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(TEXTS)]
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            # Otherwise it wants one port, and warns where another cluster has that.
            scheduler_kwargs={"dashboard_address": ":0"},
            silence_logs=60,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        parts = bag.from_sequence(lines, npartitions=4).map_partitions(
            lambda rows, at=str(tmp_path / "notes.labelspan"): embed(at, list(rows))
        )
        rows = client.compute(parts, sync=True)
    assert [row["id"] for row in rows] == list(range(60))
    np.testing.assert_allclose([row["vector"] for row in rows], expected, atol=1e-7)
