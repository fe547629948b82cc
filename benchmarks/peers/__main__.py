"""labelspan compared with its peers: one command, tables and plots.

Every contender has a process of its own, forked from one that has loaded the data: its peak
memory is what it needs above the data, and a crash or a time limit ends only that process. Ours and
the peers of a case run in turn, a round of all and then the next, after a warm-up each, to
the same end: the fitted model and the training rows mapped. A contender whose warm-up takes
a sixth of the limit or more is timed only by it.

``--resume`` goes on with what lies in ``--out``: cases that are there are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..harness import RESULTS, make_parser
from ..machine import describe_machine
from .cases import all_cases, make_task, read, select
from .growth import points, run_point
from .report import join, markdown, print_report
from .run import Settings, run_case

Job = tuple[str, Callable[[], dict[str, Any]]]


def main(args: argparse.Namespace) -> None:
    """Run what is asked for, writing after every case; then report on all there is."""
    out = Path(args.out)
    settings = Settings(
        quick=args.quick,
        repeats=args.repeats,
        limit=args.limit,
        dense_limit=args.dense_limit,
        threads=args.threads,
        seed=args.seed,
    )
    done = load_pieces(out / "peers.json", settings) if args.resume else []
    known = {record["case"] for record in done}
    content = {"machine": describe_machine(), "settings": asdict(settings)}
    out.mkdir(parents=True, exist_ok=True)
    for name, work in jobs(args, settings, known):
        start = time.perf_counter()
        record = work() | {"date": datetime.now(UTC).isoformat(timespec="seconds")}
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        done = join(done, [record])
        write(out / "peers.json", json.dumps(content | {"records": done}, indent=1) + "\n")
    cases = [record for record in done if "axis" not in record]
    growth = [record for record in done if "axis" in record]
    print_report(cases, growth)
    date = datetime.now(UTC).date().isoformat()
    write(out / "peers.md", markdown(cases, growth, content["machine"], date))
    draw(cases, growth, out)
    print(f"written: peers.json, peers.md and plots in {out.name}")


def jobs(args: argparse.Namespace, settings: Settings, known: set[str]) -> Iterator[Job]:
    """What is still to be run; a data set is read once for all of its cases."""
    loaded: tuple[str, Any] = ("", None)
    for case in select(all_cases(), args.only):
        if case.name in known:
            continue
        if loaded[0] != case.data:
            data = read(case.data, args.data, quick=settings.quick, seed=settings.seed)
            loaded = (case.data, data)
        task = make_task(case, loaded[1], quick=settings.quick)
        yield (
            case.name,
            lambda case=case, task=task: run_case(case.name, case.method, task, settings),
        )
    loaded = ("", None)
    for point in points(quick=settings.quick):
        wanted = not args.only or any(fnmatch(point.name, pattern) for pattern in args.only)
        if wanted and point.name not in known:
            yield point.name, lambda point=point: run_point(point, settings)


def load_pieces(path: Path, settings: Settings) -> list[Any]:
    """The records of earlier pieces, which must have been run in the same way."""
    if not path.is_file():
        return []
    content = json.loads(path.read_text())
    then, now = content["settings"], asdict(settings)
    other = [name for name in now if then.get(name) != now[name]]
    if other:
        raise SystemExit(
            f"{path.name} was run with "
            + ", ".join(f"{name}={then.get(name)!r}" for name in other)
            + "; resume with the same, or give another --out."
        )
    return list(content["records"])


def write(path: Path, text: str) -> None:
    """Write under another name, then rename: an interrupted run leaves the last whole file."""
    partial = path.with_suffix(f"{path.suffix}.new")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def draw(cases: Sequence[Any], growth: Sequence[Any], out: Path) -> None:
    """The plots, where matplotlib is there to draw them."""
    if find_spec("matplotlib") is None:
        print("no plots: matplotlib is not installed")
        return
    from .plots import plot_growth, plot_ratios  # noqa: PLC0415 - needs matplotlib

    if cases:
        plot_ratios(cases, out / "ratios.png")
    if growth:
        plot_growth(growth, out / "growth.png")


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="DATA/METHOD",
        help="a case, or a pattern such as 'yeast/*' or 'growth-*'; may be given again",
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--dense-limit", type=float, default=2.0, help="GiB of a dense array")
    parser.add_argument("--threads", type=int, help="of BLAS and OpenMP; all by default")
    parser.add_argument("--out", default=str(RESULTS / "peers"), help="folder of the results")
    parser.add_argument("--resume", action="store_true", help="go on with what is in --out")
    main(parser.parse_args())
