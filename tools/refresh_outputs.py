"""Write what the code of the pages prints into README.md and docs, and the numbers of records.

``python tools/refresh_outputs.py`` runs the pages whose outputs the tests compare and rewrites
those that have changed; names of pages limit it to these. ``--check`` only reports.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from _support import pages, records  # noqa: E402 - the path comes first


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="for example docs/tutorial.md; all by default")
    parser.add_argument("--check", action="store_true", help="report, and change nothing")
    chosen = parser.parse_args()
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


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
