"""Write what the code of the pages prints into README.md and docs, and the numbers of records.

``python tools/refresh_outputs.py`` runs the pages whose outputs the tests compare and rewrites
those that have changed; names of pages limit it to these. ``--check`` only reports.
``--demo`` runs ``labelspan demo`` first, and records its table in results/records/demo.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from _support import pages, records  # noqa: E402 - the path comes first


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="for example docs/tutorial.md; all by default")
    parser.add_argument("--check", action="store_true", help="report, and change nothing")
    parser.add_argument("--demo", action="store_true", help="measure the demo's table again")
    chosen = parser.parse_args()
    if chosen.demo:
        record_demo()
    names = sorted(chosen.pages or {*pages.pages(), *records.marked_pages()})
    stale = [name for name in names if refresh(ROOT / name, write=not chosen.check)]
    for name in stale:
        print(name, "is stale" if chosen.check else "was rewritten")
    return 1 if stale and chosen.check else 0


def refresh(path: Path, *, write: bool) -> bool:
    """Bring a page up to date; True where it was not."""
    before = after = path.read_text(encoding="utf-8")
    if path.relative_to(ROOT).as_posix() in pages.pages():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            after = pages.refreshed(before, pages.run(path, before))
    after = records.corrected(after)
    if after != before and write:
        path.write_text(after, encoding="utf-8")
    return after != before


def record_demo() -> None:
    """Measure the table of ``labelspan demo``."""
    import labelspan  # noqa: PLC0415
    from labelspan.evaluation.demo_corpus import run_demo  # noqa: PLC0415 - it takes a while

    found = run_demo()
    record = {
        "version": labelspan.__version__,
        "made by": "python tools/refresh_outputs.py --demo",
        "train": found.train,
        "test": found.test,
        "labels": found.labels,
    }
    for row in found.rows:
        record[row.space.replace(" ", "-")] = {
            name: value for name, value in asdict(row).items() if name != "space"
        }
    records.RECORDS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=2) + "\n"
    (records.RECORDS / "demo.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
