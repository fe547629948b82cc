"""Many clients at once against ``labelspan serve``: errors, and how long answers take.

An index is learned from the corpus that comes with the package; further items, each made of
two of its texts, bring it to ``--items``. The server runs as a process of its own, on a free
port of the loopback interface, and is ended afterwards. Each client holds one connection and
reads its answer in full; anything but status 200 is an error. It asks again after a second,
as a person would at the soonest, and in a second table at once: then fifty requests are under
way at any moment, and times say how many the machine can answer. Requests are chosen at random,
nearly all of them different; ``--repeated 0.5`` takes half of them from a list of 100. Clients are
divided among ``--client-processes``: one of these cannot ask much more than 1,000 times per second.
Targets, over all requests: no error, 95 in a hundred under 150 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np

from labelspan import SemanticIndex
from labelspan.datasets import DataSet, load_debtags

from .harness import Report, Row, make_parser

# How often each kind of request is chosen.
MIX = {"search": 50, "search.json": 20, "item": 12, "tag": 8, "label": 6, "why": 4}
PATIENCE = 600.0
_POPULAR = 100


def make_index(folder: Path, items: int, seed: int) -> None:
    """Learn from the corpus, and add mixtures of its texts."""
    corpus = load_corpus()
    index = SemanticIndex().fit(
        corpus.texts, corpus.labels, corpus.ids, metadata=list(corpus.metadata)
    )
    rng = np.random.default_rng(seed)
    extra = max(0, items - len(index))
    pairs = rng.integers(len(corpus.texts), size=(extra, 2))
    halves = [text.split() for text in corpus.texts]
    index.add(
        [
            " ".join(halves[a][: len(halves[a]) // 2] + halves[b][len(halves[b]) // 2 :])
            for a, b in pairs
        ],
        [sorted({*corpus.labels[a], *corpus.labels[b][:2]}) for a, b in pairs],
        [f"mixture-{number}" for number in range(extra)],
    )
    index.save(folder)


class Server:
    """The command, serving a folder; ``address`` is where."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", "from labelspan.cli import app; app()"]
        self._process = subprocess.Popen(
            [*command, "serve", str(folder), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is None:
            self.close()
            raise RuntimeError(f"the server did not start: {line}")
        self.address = found.group()

    def cpu_seconds(self) -> float:
        """CPU time of its process so far; NaN where /proc does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass
class Tally:
    """What came of the requests of one kind."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    size: int = 0


class Client:
    """One connection that asks, reads and asks again."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, target: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and content of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = f"{'GET' if body is None else 'POST'} {target} HTTP/1.1\r\nHost: {self._host}\r\n"
        if body is not None:
            head += "Content-Type: application/x-www-form-urlencoded\r\n"
            head += f"Content-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + (body or b""))
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = re.search(r"\r\ncontent-length: (\d+)", answer)
        content = await reader.readexactly(int(length.group(1))) if length else b""
        if "\r\nconnection: close" in answer:
            self.close()
        return int(answer[9:12]), content

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def request(kind: str, rng: np.random.Generator) -> tuple[str, bytes | None]:
    """A request of a kind, about items and labels of the corpus."""
    corpus = load_corpus()
    row = int(rng.integers(len(corpus.texts)))
    words = corpus.texts[row].split()
    start = int(rng.integers(max(1, len(words) - 3)))
    text = " ".join(words[start : start + 3])
    match kind:
        case "search" | "search.json":
            return f"/{kind}?{urlencode({'q': text})}", None
        case "item":
            return f"/item?{urlencode({'id': corpus.ids[row]})}", None
        case "label":
            return f"/label?{urlencode({'name': corpus.labels[row][0]})}", None
        case "why":
            return f"/why?{urlencode({'q': text, 'id': corpus.ids[row]})}", None
    return "/tag", urlencode({"text": corpus.texts[row]}).encode()


@cache
def load_corpus() -> DataSet:
    """The corpus, read once."""
    return load_debtags()


@cache
def popular(count: int) -> list[tuple[str, str, bytes | None]]:
    """Requests that are asked again and again, with their kinds."""
    rng = np.random.default_rng(count)
    kinds = rng.choice(list(MIX), count, p=np.array(list(MIX.values())) / sum(MIX.values()))
    return [(str(kind), *request(str(kind), rng)) for kind in kinds]


async def visit(crowd: Crowd, seed: int, end: float, tallies: dict[str, Tally]) -> None:
    """One client, until the end."""
    rng = np.random.default_rng(seed)
    kinds, weights = list(MIX), np.array(list(MIX.values())) / sum(MIX.values())
    client = Client(crowd.address)
    # People do not come in step; those who never pause need no such care.
    await asyncio.sleep(crowd.think * float(rng.random()))
    while time.perf_counter() < end:
        kind = str(rng.choice(kinds, p=weights))
        target, body = request(kind, rng)
        if rng.random() < crowd.repeated:
            kind, target, body = popular(_POPULAR)[int(rng.integers(_POPULAR))]
        tally = tallies[kind]
        start = time.perf_counter()
        try:
            status, content = await client.ask(target, body)
        except (OSError, asyncio.IncompleteReadError) as error:
            tally.errors.append(repr(error))
            client.close()
            continue
        tally.seconds.append(time.perf_counter() - start)
        tally.size += len(content)
        if status != 200:
            tally.errors.append(f"{status} {target[:80]}")
        await asyncio.sleep(crowd.think)
    client.close()


async def wait_for_map(address: str) -> None:
    """Drawing the map takes a core, and is not what is measured."""
    client = Client(address)
    for _ in range(int(PATIENCE * 2)):
        _, content = await client.ask("/map.json")
        if json.loads(content)["state"] != "drawing":
            break
        client.close()
        await asyncio.sleep(0.5)
    client.close()


@dataclass(frozen=True)
class Crowd:
    """Clients of one process."""

    address: str
    seeds: tuple[int, ...]
    think: float
    seconds: float
    repeated: float

    def come(self) -> dict[str, Tally]:
        """Ask until the time is over; gives what came."""
        load_corpus()
        tallies = {kind: Tally() for kind in MIX}

        async def all_of_them() -> None:
            end = time.perf_counter() + self.seconds
            await asyncio.gather(*(visit(self, seed, end, tallies) for seed in self.seeds))

        asyncio.run(all_of_them())
        return tallies


def load(
    address: str, think: float, seconds: float, args: argparse.Namespace, first: int = 0
) -> tuple[dict[str, Tally], float]:
    """All clients at once; gives what came, and the seconds it took."""
    seeds = [args.seed + first + number for number in range(args.clients)]
    count = min(args.client_processes, args.clients)
    crowds = [
        Crowd(address, tuple(seeds[own::count]), think, seconds, args.repeated)
        for own in range(count)
    ]
    start = time.perf_counter()
    if count == 1:
        return crowds[0].come(), time.perf_counter() - start
    with ProcessPoolExecutor(count) as pool:
        parts = list(pool.map(Crowd.come, crowds))
    return {kind: joined([part[kind] for part in parts]) for kind in MIX}, seconds


def joined(tallies: Iterable[Tally]) -> Tally:
    """Several tallies as one."""
    total = Tally()
    for one in tallies:
        total.seconds += one.seconds
        total.errors += one.errors
        total.size += one.size
    return total


def row(name: str, tally: Tally, seconds: float) -> Row:
    """A line of the table."""
    times = 1000 * np.array(tally.seconds or [np.nan])
    notes = {
        "requests": len(tally.seconds),
        "errors": len(tally.errors),
        "a second": round(len(tally.seconds) / seconds, 1),
        "median ms": round(float(np.median(times)), 1),
        "p95 ms": round(float(np.quantile(times, 0.95)), 1),
        "p99 ms": round(float(np.quantile(times, 0.99)), 1),
        "longest ms": round(float(times.max()), 1),
        "kB": round(tally.size / max(1, len(tally.seconds)) / 1000, 1),
    }
    return Row(name, notes=notes)


def main(args: argparse.Namespace) -> None:
    """Serve, ask, and say whether the targets were met."""
    report = Report("serve_load", args)
    load_corpus()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(args.index or Path(folder) / "index")
        if not path.exists():
            print("learning the index ...", file=sys.stderr)
            make_index(path, args.items, args.seed)
        with Server(path) as server:
            asyncio.run(wait_for_map(server.address))
            if args.warm_up:
                load(server.address, 0.0, args.warm_up, args, first=1000)
            for think in args.think:
                before = server.cpu_seconds()
                duration = 10 if args.quick else args.seconds
                tallies, seconds = load(server.address, think, duration, args)
                spent = server.cpu_seconds() - before
                title = f"{args.clients} clients, {think:g} s between"
                if args.repeated:
                    title += f", {args.repeated:.0%} of the requests repeated"
                tell(report, tallies, seconds, title, spent)
    report.write()


def tell(
    report: Report, tallies: dict[str, Tally], seconds: float, title: str, spent: float
) -> None:
    """A table, and whether the targets were met; ``spent`` is the CPU time of the server."""
    everything = joined(tallies.values())
    rows = [row(kind, tally, seconds) for kind, tally in tallies.items()]
    total = row("all", everything, seconds)
    total.notes["CPU ms each"] = round(1000 * spent / max(1, len(everything.seconds)), 2)
    report.add(title, [*rows, total])
    for error in everything.errors[:5]:
        print(error)
    good = not everything.errors and total.notes["p95 ms"] < 150
    print("no error, p95 under 150 ms:", "met" if good else "not met")


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--clients", type=int, default=50, help="connections at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (10 with --quick)")
    parser.add_argument(
        "--think", type=float, nargs="+", default=[1.0, 0.0], help="seconds between two requests"
    )
    parser.add_argument("--items", type=int, default=30_000, help="items in the index")
    parser.add_argument("--index", help="serve this index; it is made if it is not there")
    parser.add_argument(
        "--warm-up", type=float, default=0.0, help="seconds of requests that are not counted"
    )
    parser.add_argument(
        "--repeated", type=float, default=0.0, help="share of requests that others make as well"
    )
    parser.add_argument(
        "--client-processes", type=int, default=1, help="processes that the clients are divided by"
    )
    main(parser.parse_args())
