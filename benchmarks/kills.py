"""Kill the commands that write an index at random moments, and count what is lost.

Each round runs one way of writing in a process of its own: a fit, a fit of a stream, `add`,
`relabel`, `remove`, decisions of a review, and the copy of a corpus with these decisions. The
process gets SIGKILL after a random part of the time that it needs. The index must then verify, and
be what it was before or what it would be after; a copy is whole or not there, and the corpus is
never changed.

    python -m benchmarks.kills --kills 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labelspan import SemanticIndex
from labelspan.cli import app
from labelspan.curation import Review
from labelspan.errors import MissingData

TOPICS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound": ["audio", "music", "mixer", "song", "volume", "tune", "radio", "choir"],
    "image": ["photo", "picture", "pixel", "colour", "crop", "camera", "paint", "draw"],
    "text": ["letter", "editor", "page", "font", "spelling", "novel", "print", "word"],
}
# All items of an index with their labels; None if there is no index.
State = dict[str, tuple[str, ...] | None] | None


def items(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Make texts of four topics; every ninth has a label that is wrong."""
    rng, names, made = random.Random(first), sorted(TOPICS), []
    for number in range(first, first + count):
        topic = names[number % 4]
        words = " ".join(rng.choices(TOPICS[topic], k=12))
        wrong = [names[(number + 1) % 4]] if number % 9 == 0 else []
        made.append({"id": f"item{number}", "text": words, "tags": [topic, *wrong]})
    return made


def as_lines(rows: list[dict[str, Any]]) -> str:
    """Write rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def other(index: SemanticIndex) -> None:
    """Make labels other than those of the corpus."""
    index.relabel("item0", ["sound"])


class Kills:
    """An index in a folder, and the ways of writing it.

    Parameters
    ----------
    root : Path
        An empty folder.
    seed : int
    count : int, default=60
        Items of the corpus.
    """

    def __init__(self, root: Path, seed: int = 0, count: int = 60) -> None:
        self.rng = random.Random(seed)
        self.out, self.copy = root / "index", root / "copy.jsonl"
        self.corpus, self.more = root / "corpus.jsonl", root / "more.jsonl"
        self.changes = root / "changes.csv"
        self.first, self.late = items(count), items(count // 3, count)
        self.corpus.write_text(as_lines(self.first))
        self.more.write_text(as_lines(self.late))
        self.relabelled = {row["id"]: ("game", "text") for row in self.first[5:15]}
        lines = [f"{name},{'|'.join(own)}" for name, own in self.relabelled.items()]
        self.changes.write_text("id,labels\n" + "\n".join(lines) + "\n")
        self.content = self.corpus.read_bytes()
        self.took: dict[str, float] = {}
        self.seen: Counter[tuple[str, str]] = Counter()
        self.ways: dict[str, Callable[[], None]] = {
            "fit": self.fit,
            "stream": self.stream,
            "add": self.add,
            "relabel": self.relabel,
            "remove": self.remove,
            "review": self.review,
            "write-back": self.write_back,
        }
        assert self.run(self.task("fit", self.corpus, "--out", self.out, "--dimensions", 3)) == 0

    # --- processes ----------------------------------------------------------------------

    @staticmethod
    def task(*args: Any) -> Callable[[], Any]:
        """Return a call of the command."""
        return lambda: app([str(arg) for arg in args])

    @staticmethod
    def run(task: Callable[[], Any], delay: float | None = None) -> int:
        """Run a task in a process of its own; return its status, -9 if it was killed."""
        number = os.fork()
        if number == 0:
            status = 1
            try:
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                task()
                status = 0
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                os._exit(status)
        if delay is not None:
            time.sleep(delay)
            os.kill(number, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

    def killed(self, way: str, task: Callable[[], Any], undo: Callable[[], Any]) -> bool:
        """Run a task and kill it at a random moment; tell whether it was killed before its end.

        The first time it is not killed, and undone, to see how long it takes.
        """
        if way not in self.took:
            start = time.perf_counter()
            assert self.run(task) == 0, way
            self.took[way] = time.perf_counter() - start
            undo()
        return self.run(task, self.rng.uniform(0, 1.1) * self.took[way]) == -signal.SIGKILL

    # --- states -------------------------------------------------------------------------

    def state(self) -> State:
        """Read and verify the index."""
        try:
            with SemanticIndex.load(self.out, verify=True) as index:
                assert {hit.id for hit in index.search("chess", 99)} <= set(index.ids)
                return {item.id: item.labels for item in index.items()}
        except MissingData:
            return None

    def between(self, way: str, before: State, after: State) -> bool:
        """Check that the index is one of two; tell whether it is the second."""
        found = self.state()
        assert found in (before, after), f"{way}: neither the index before nor the one after"
        self.seen[way, "after" if found == after else "before"] += 1
        return found == after

    def change(self, work: Callable[[SemanticIndex], Any]) -> None:
        """Change the index in this process."""
        with SemanticIndex.load(self.out, write=True) as index:
            work(index)

    # --- ways of writing ----------------------------------------------------------------

    def fit(self) -> None:
        """Fit again over the index."""
        fresh = {row["id"]: tuple(sorted(row["tags"])) for row in self.first}
        self.change(other)
        before = self.state()
        dimensions = self.rng.choice((2, 3))
        task = self.task(
            "fit", self.corpus, "--out", self.out, "--dimensions", dimensions, "--force"
        )
        self.killed("fit", task, lambda: self.change(other))
        self.between("fit", before, fresh)

    def stream(self) -> None:
        """Fit in blocks over the index, and go on where the last fit stopped."""
        fresh = {row["id"]: tuple(sorted(row["tags"])) for row in self.first}
        self.change(other)
        before = self.state()
        options = ("--out", self.out, "--dimensions", 3, "--force", "--stream")
        self.killed("stream", self.task("fit", self.corpus, *options), lambda: self.change(other))
        self.between("stream", before, fresh)

    def add(self) -> None:
        """Add the items of a file."""
        before = dict(self.state() or {})
        new = {row["id"]: tuple(sorted(row["tags"])) for row in self.late}
        undo = lambda: self.change(lambda index: index.remove(list(new)))  # noqa: E731
        self.killed("add", self.task("add", self.more, "--index", self.out), undo)
        if self.between("add", before, before | new):
            undo()

    def relabel(self) -> None:
        """Change the labels of ten items."""
        before = dict(self.state() or {})
        names = list(self.relabelled)
        old = [before[name] for name in names]
        undo = lambda: self.change(lambda index: index.relabel(names, old))  # noqa: E731
        task = self.task("relabel", "--from", self.changes, "--index", self.out)
        self.killed("relabel", task, undo)
        if self.between("relabel", before, before | self.relabelled):
            undo()

    def remove(self) -> None:
        """Remove items."""
        before = dict(self.state() or {})
        rows = self.first[:5]
        names = [row["id"] for row in rows]
        texts, labels = [row["text"] for row in rows], [before[name] for name in names]

        def undo() -> None:
            self.change(lambda index: index.add(texts, labels, names))

        self.killed("remove", self.task("remove", *names, "--index", self.out), undo)
        left = {name: own for name, own in before.items() if name not in names}
        if self.between("remove", before, left):
            undo()

    def review(self) -> None:
        """Accept what looks wrong, one decision after the other; a decision has its labels."""
        before = dict(self.state() or {})

        def decide() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                review = Review(index)
                for one in review.waiting()[:8]:
                    review.decide([one], "accept")

        def undo() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                review = Review(index)
                for group in review.history(20):
                    if group.action == "review" and not group.undone:
                        review.undo(group.number)

        self.killed("review", decide, undo)
        with SemanticIndex.load(self.out, write=True) as index:
            # Those of relabel are not of this review.
            made = [one for one in Review(index).decisions() if one.action == "review"]
        expected = {name: set(own or ()) for name, own in before.items()}
        for one in made:
            change = expected[one.item].add if one.wanted else expected[one.item].discard
            change(one.label)
        found = {name: set(own or ()) for name, own in (self.state() or {}).items()}
        assert found == expected, "review: labels without their decision, or the reverse"
        self.seen["review", "after" if len(made) == 8 else "before"] += 1
        undo()

    def write_back(self) -> None:
        """Write a copy of the corpus with the decisions."""
        self.change(lambda index: [Review(index).decide(Review(index).waiting()[:3], "accept")])
        self.copy.unlink(missing_ok=True)
        task = self.task("review", self.out, "--apply", self.corpus, "--out", self.copy)
        whole = b""

        def undo() -> None:
            nonlocal whole
            whole = self.copy.read_bytes()
            self.copy.unlink()

        self.took.pop("write-back", None)
        self.killed("write-back", task, undo)
        assert self.corpus.read_bytes() == self.content, "write-back: the corpus has changed"
        there = self.copy.exists()
        assert not there or self.copy.read_bytes() == whole != self.content
        self.seen["write-back", "after" if there else "before"] += 1
        with SemanticIndex.load(self.out, write=True) as index:
            Review(index).undo()

    def rounds(self, count: int, ways: list[str] | None = None) -> Counter[tuple[str, str]]:
        """Kill each way of writing in turn."""
        names = list(ways or self.ways)
        for number in range(count):
            self.ways[names[number % len(names)]]()
        return self.seen


def main() -> None:
    """Print how often each way of writing left the state before, and the state after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="14 kills")
    given = parser.parse_args()
    kills = 14 if given.quick else given.kills
    with tempfile.TemporaryDirectory() as folder:
        seen = Kills(Path(folder), given.seed).rounds(kills)
    for way in dict.fromkeys(name for name, _ in seen):
        print(f"{way:12} before {seen[way, 'before']:3}, after {seen[way, 'after']:3}, lost 0")
    print(f"{sum(seen.values())} processes killed; every index, copy and corpus was whole.")


if __name__ == "__main__":
    sys.exit(main())
