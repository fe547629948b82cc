"""Take pictures of every page of the explorer, and look for what keeps people from using it.

``python tools/explorer_shots.py INDEX OUT`` serves a copy of an index, opens every page at the
width of a screen and of a phone, in light and dark, and writes a picture of each to a folder. It
reports pages that are wider than the screen, messages of the browser, and, with
``--axe axe.min.js`` (a file of axe-core), what axe finds; the exit status is then 1.

``python tools/explorer_shots.py --pictures`` fits the bundled corpus and writes the pictures of
README.md and docs/explorer.md, of the version that is installed.

It needs ``pip install 'labelspan[app,e2e]'`` and chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

SIZES = {1366: 900, 390: 844}
PICTURE = (1200, 760)
THEMES = ("light", "dark")
# Pictures of the documentation, and the page of each.
PICTURES = {"explorer-map": "map", "explorer-search": "search"}
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


def pages(index: Path, query: str) -> dict[str, str]:
    """Return the address of every page, by the name of its picture."""
    from labelspan import SemanticIndex  # noqa: PLC0415

    with SemanticIndex.load(index, verify=False) as opened:
        hits = opened.search(query, 3)
        item = hits[0]
        label = max(opened.labels, key=lambda name: opened.labels[name])
    q, name, mark = quote(query), quote(item.id), quote(label)
    text = quote(item.text[:400])
    return {
        "home": "/",
        "search": f"/search?q={q}",
        "search-filtered": f"/search?q={q}&without={mark}&balance=100",
        "search-label": f"/search?label={mark}",
        "search-nothing": "/search?q=zzzzqqq&balance=0",
        "search-empty": "/search",
        "values": "/values",
        "items": "/search",
        "items-table": "/search?show=table",
        "list-filtered": f"/search?q={q}&without={mark}&sort=title",
        "list-finding": "/search?finding=wrong",
        "why": f"/why?id={name}&q={q}",
        "item": f"/item?id={name}",
        "map": "/map",
        "map-search": f"/map?q={q}&colour={mark}",
        "labels": "/labels",
        "label": f"/label?name={mark}",
        "report": "/report",
        "axis": "/axis",
        "tag": f"/tag?text={text}",
        "tag-empty": "/tag",
        "review": "/review",
        "review-missing": "/review?kind=missing",
        "review-merge": "/review?kind=merge",
        "history": "/history",
        "changes": "/changes",
        "error": "/item?id=none-of-this-name",
    }


@contextmanager
def serving(index: Path) -> Iterator[tuple[str, str]]:
    """Serve an index for editing; give its address and the one that lets a browser in."""
    command = [sys.executable, "-c", "from labelspan.cli import app; app()", "serve", str(index)]
    command += ["--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"(http://\S+/)enter\S+", line)
        if found is None:
            raise SystemExit(line + (process.stderr.read() or ""))
        entrance, address = found[0], found[1]
        wait_for(f"{address}map.json", "drawing")
        wait_for(f"{address}review.json", "computing")
        yield address.rstrip("/"), entrance
    finally:
        process.terminate()
        process.communicate()


def wait_for(address: str, busy: str) -> None:
    """Wait until something that is computed in the background is there."""
    while True:
        with urllib.request.urlopen(address) as answer:
            if json.load(answer)["state"] != busy:
                return
        time.sleep(0.5)


def main() -> None:
    """Serve, open, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--pictures", action="store_true", help="write those of the documentation")
    parser.add_argument("--query", default="chess game")
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--only", nargs="+", help="names of some pages")
    args = parser.parse_args()
    if args.pictures:
        return make_pictures(args.query)
    if args.out is None:
        parser.error("name an index and a folder, or give --pictures")
    args.out.mkdir(parents=True, exist_ok=True)
    axe = None if args.axe is None else args.axe.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        # Decisions and places of the map would be written to it.
        copy = Path(shutil.copytree(args.index, Path(folder) / args.index.name))
        wanted = pages(copy, args.query)
        chosen = {name: wanted[name] for name in args.only or wanted}
        with serving(copy) as (address, entrance):
            complaints = look(address, entrance, chosen, args.out, axe)
    runs = len(SIZES) * len(THEMES) * len(chosen)
    print(f"{runs} pages looked at, {len(complaints)} complaints")
    raise SystemExit(bool(complaints))


def make_pictures(query: str) -> None:
    """Write the pictures of the documentation from an index of the bundled corpus."""
    width, height = PICTURE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = folder / "debtags.labelspan"
        command = [sys.executable, "-m", "labelspan", "fit", "debtags", "--out", str(index)]
        subprocess.run(command, check=True)
        found = pages(index, query)
        chosen = {page: found[page] for page in PICTURES.values()}
        with serving(index) as (address, entrance):
            look(address, entrance, chosen, folder, None, sizes={width: height}, themes=("light",))
        for picture, page in PICTURES.items():
            shutil.copy(folder / f"{page}-{width}-light.png", IMAGES / f"{picture}.png")


def look(
    address: str,
    entrance: str,
    chosen: dict[str, str],
    out: Path,
    axe: str | None,
    *,
    sizes: dict[int, int] = SIZES,
    themes: tuple[str, ...] = THEMES,
) -> list[str]:
    """Open all pages in all ways; return complaints."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    where = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    complaints: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=where, args=[*FLAGS, *sandbox])
        for width, height in sizes.items():
            for theme in themes:
                context = browser.new_context(
                    base_url=address,
                    viewport={"width": width, "height": height},
                    color_scheme=theme,
                    is_mobile=width < 500,
                    has_touch=width < 500,
                )
                context.set_default_timeout(300_000)
                page = context.new_page()
                said: list[str] = []
                page.on(
                    "console",
                    lambda one, said=said: (
                        one.type in {"error", "warning"} and said.append(one.text)
                    ),
                )
                page.on("pageerror", lambda one, said=said: said.append(str(one)))
                page.goto(entrance)
                for name, path in chosen.items():
                    said.clear()
                    page.goto(path)
                    if name.startswith("map"):
                        page.wait_for_selector("#map[data-drawn]")
                        # Points are painted a few frames later.
                        page.wait_for_timeout(2000)
                    page.screenshot(
                        path=out / f"{name}-{width}-{theme}.png", full_page=sizes is SIZES
                    )
                    at, before = f"{name} {width} {theme}", len(complaints)
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        complaints.append(f"{at}: {wide} pixels wide")
                    # That an item is not there is said as an error, as it should be.
                    complaints += [f"{at}: {one}" for one in said if "404" not in one]
                    if axe is not None:
                        complaints += [f"{at}: {one}" for one in violations(page, axe)]
                    print(*complaints[before:] or [f"{at}: fine"], sep="\n", flush=True)
                context.close()
        browser.close()
    return complaints


def violations(page: Any, axe: str) -> list[str]:
    """Return what axe finds on a page."""
    page.evaluate(axe)
    # Of WCAG 2.2; axe leaves it out unless it is asked for.
    rules = '{"rules": {"target-size": {"enabled": true}}}'
    found = page.evaluate(f"axe.run({rules})")["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


if __name__ == "__main__":
    main()
