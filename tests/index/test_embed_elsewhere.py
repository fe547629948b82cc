"""The script of docs/howto/size.md, with two workers of Dask that open the index."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelspan import SemanticIndex

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
pytest.importorskip("dask.bag", reason="dask.distributed is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "size.md"
TEXTS = [
    f"{'play chess' if n % 2 else 'edit a photo'} with {'friends' if n % 3 else 'style'} {n}"
    for n in range(60)
]


def test_the_script_of_the_page_embeds_as_the_index_does(tmp_path):
    labels = [["game"] if n % 2 else ["image"] for n in range(60)]
    with SemanticIndex().fit(TEXTS[:40], labels[:40]) as index:
        index.save(tmp_path / "notes.labelspan")
        expected = index.embed(TEXTS)
    for folder in ("items", "embedded"):
        (tmp_path / folder).mkdir()
    for part in range(4):
        with gzip.open(tmp_path / "items" / f"{part}.jsonl.gz", "wt", encoding="utf-8") as file:
            for n in range(15 * part, 15 * part + 15):
                file.write(json.dumps({"id": n, "text": TEXTS[n]}) + "\n")
    code = re.search(
        r"## Learn on a sample.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        # Otherwise it wants one port, and warns where another cluster has that.
        scheduler_kwargs={"dashboard_address": ":0"},
        silence_logs=60,
    ) as cluster:
        script = code[1].replace('"scheduler:8786"', repr(cluster.scheduler_address))
        # Paths of the page are relative, and workers run in folders of their own.
        for name in ("notes.labelspan", "items/*", "embedded/*"):
            script = script.replace(f'"{name}', f'"{tmp_path.as_posix()}/{name}')
        (tmp_path / "script.py").write_text(script, encoding="utf-8")
        subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=120)
    rows = []
    for path in sorted((tmp_path / "embedded").iterdir()):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows += map(json.loads, file)
    assert [row["id"] for row in rows] == list(range(60))
    np.testing.assert_allclose([row["vector"] for row in rows], expected, atol=1e-7)
