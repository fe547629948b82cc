"""Kill commands that write an index, damage its files, fill the disk, and count what is lost.

Each round runs one way of writing in a process of its own: a fit, a fit of a stream, a save, `add`,
`relabel`, `remove`, decisions of a review, a label renamed in all its items, answers of a lesson,
and the copy of a corpus with these decisions. The process gets SIGKILL after a random part of the
time that it needs. The index must then verify, and be what it was before or what it would be after;
what a process was told to be done must be there; a copy is whole or not there, and the corpus is
never changed.

Then files of an index are damaged, one at a time, with the log of a killed writer among them: a bit
changed, cut, empty, a page of zeros, gone, or the content of another file. Loading must refuse the
index in a sentence, or answer as before. At last every way of writing runs where no file may grow
beyond a random size, as on a full disk, and in a folder that cannot be written to: it must end with
a sentence, and the index must be the one before or the one after.

    python -m benchmarks.kills --kills 300 --damages 300 --full 100 --jobs 16

Every job has a folder, an index and random numbers of its own, and a part of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from labelspan import SemanticIndex
from labelspan.cli import app
from labelspan.curation import Review, Teacher, audit_labels
from labelspan.errors import LabelspanError, MissingData

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
        self.changes, self.done = root / "changes.csv", root / "done"
        self.first, self.late = items(count), items(count // 3, count)
        self.corpus.write_text(as_lines(self.first))
        self.more.write_text(as_lines(self.late))
        self.relabelled = {row["id"]: ("game", "text") for row in self.first[5:15]}
        lines = [f"{name},{'|'.join(own)}" for name, own in self.relabelled.items()]
        self.changes.write_text("id,labels\n" + "\n".join(lines) + "\n")
        self.content = self.corpus.read_bytes()
        self.took: dict[str, float] = {}
        self.seen: Counter[tuple[str, str]] = Counter()
        # Tells a process of its own what it may not do.
        self.limit: Callable[[], Any] = lambda: None
        self.ways: dict[str, Callable[[], None]] = {
            "fit": self.fit,
            "stream": self.stream,
            "save": self.save,
            "add": self.add,
            "relabel": self.relabel,
            "remove": self.remove,
            "review": self.review,
            "rename": self.rename,
            "teach": self.teach,
            "write-back": self.write_back,
        }
        assert self.run(self.task("fit", self.corpus, "--out", self.out, "--dimensions", 3)) == 0

    # --- processes ----------------------------------------------------------------------

    @staticmethod
    def task(*args: Any) -> Callable[[], Any]:
        """Return a call of the command."""
        return lambda: app([str(arg) for arg in args])

    def run(self, task: Callable[[], Any], delay: float | None = None) -> int:
        """Run a task in a process of its own; return its status, -9 if it was killed."""
        number = os.fork()
        if number == 0:
            status = 1
            try:
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                self.limit()
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
        self.done.unlink(missing_ok=True)
        return self.run(task, self.rng.uniform(0, 1.1) * self.took[way]) == -signal.SIGKILL

    def told(self) -> None:
        """Note in a process that is killed that one of its calls returned."""
        with self.done.open("ab") as file:
            file.write(b".")

    def promised(self) -> int:
        """Count the calls that returned before the process was killed."""
        return self.done.stat().st_size if self.done.exists() else 0

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

    def save(self) -> None:
        """Write a new version of the whole index after a change."""
        before = dict(self.state() or {})
        undo = lambda: self.change(lambda index: index.relabel("item1", before["item1"]))  # noqa: E731
        task = lambda: self.change(lambda index: index.relabel("item1", ["text"]).save())  # noqa: E731
        self.killed("save", task, undo)
        if self.between("save", before, before | {"item1": ("text",)}):
            undo()

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
                    self.told()

        def undo() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                for entry in index.history(20):
                    if entry.action == "review" and not entry.undone:
                        index.undo(entry.number)

        self.killed("review", decide, undo)
        with SemanticIndex.load(self.out, write=True) as index:
            # Those of relabel are not of this review.
            made = [one for one in Review(index).decisions() if one.action == "review"]
        expected = {name: set(own or ()) for name, own in before.items()}
        for one in made:
            change = expected[one.item].add if one.answer == "yes" else expected[one.item].discard
            change(one.label)
        found = {name: set(own or ()) for name, own in (self.state() or {}).items()}
        assert found == expected, "review: labels without their decision, or the reverse"
        assert len(made) >= self.promised(), "review: a decision is lost"
        self.seen["review", "after" if len(made) == 8 else "before"] += 1
        undo()

    def rename(self) -> None:
        """Rename a label in all its items, as one decision."""
        before = dict(self.state() or {})
        after = {
            name: own and tuple(sorted("melody" if one == "sound" else one for one in own))
            for name, own in before.items()
        }

        def decide() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                review = Review(index)
                review.apply(review.plan_replace(["sound"], "melody"), create=True)

        def undo() -> None:
            self.change(lambda index: index.undo())

        self.killed("rename", decide, undo)
        if self.between("rename", before, after):
            undo()

    def teach(self) -> None:
        """Answer about items, and apply the answers."""
        before = dict(self.state() or {})
        label = f"lesson {sum(self.seen.values())}"
        names = sorted(before)[:10]

        def learn() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                teacher = Teacher(index, label, items=names[:1])
                for n, name in enumerate(names[1:]):
                    teacher.answer(name, "no" if n % 3 else "yes")
                    self.told()
                teacher.apply(teacher.plan())
                self.told()

        def undo() -> None:
            nonlocal label
            label += " again"
            self.change(lambda index: index.undo())

        self.killed("teach", learn, undo)
        with SemanticIndex.load(self.out) as index:
            known = [one.label for one in Teacher.lessons(index)]
            found = list(Teacher(index, label).answers()) if label in known else []
        assert found == names[: len(found)], "teach: an answer is lost"
        told = self.promised()
        assert not told or len(found) > min(told, 9), "teach: an answer is lost at the end"
        marked = [name for n, name in enumerate(names) if n % 3 == 1 or not n]
        after = {
            name: tuple(sorted([*(own or ()), label])) if name in marked else own
            for name, own in before.items()
        }
        done = self.between("teach", before, after)
        assert done or told < len(names), "teach: the change is lost"
        if done:
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
            index.undo()

    # --- damaged files, a full disk, and a folder that is read only -----------------------

    def damage(self, count: int) -> Counter[str]:
        """Damage one file at a time of an index with the log of a killed writer."""

        def change() -> None:
            with SemanticIndex.load(self.out, write=True) as index:
                # A reader who does not end keeps the log from being merged.
                other = sqlite3.connect(index.store.folder / "items.sqlite")
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM items").fetchone()
                index.add(["late chess"], [["game"]], ["late"]).relabel("item3", ["late"])
                index.remove("item4")
                Review(index).feedback("item5", ["late"])
                os.kill(os.getpid(), signal.SIGKILL)

        whole = self.out.with_name("whole")
        assert self.run(change) == -signal.SIGKILL
        self.out.rename(whole)
        names = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file()]
        kept = [name for name in names if not name.name.endswith(("-shm", "lock"))]
        contents = [(whole / name).read_bytes() for name in kept]
        expected, found = self.answers(whole), Counter[str]()
        for number in range(count):
            shutil.rmtree(self.out, ignore_errors=True)
            shutil.copytree(whole, self.out)
            name = kept[number % len(kept)]
            path, content = self.out / name, contents[number % len(kept)]
            place = self.rng.randrange(len(content))
            wrong: Any = bytearray(content)
            wrong[place] ^= 1 << self.rng.randrange(8)
            page = place // 4096 * 4096
            cleared = (
                content[:page] + bytes(min(4096, len(content) - page)) + content[page + 4096 :]
            )
            ways = (wrong, content[:place], b"", cleared, self.rng.choice(contents), None)
            made = self.rng.choices(ways, (6, 2, 1, 2, 1, 1))[0]
            if made is None:
                path.unlink()
            else:
                path.write_bytes(made)
            for write in (False, True):
                try:
                    answer = self.answers(self.out, write=write)
                except LabelspanError as error:
                    found["refused"] += not write
                    said = str(error)
                else:
                    assert answer == expected, f"{name}: silently other answers"
                    found["no harm"] += not write
                    said = "."
                assert said.endswith((".", "?")), said
        shutil.rmtree(self.out)
        whole.rename(self.out)
        self.change(lambda index: index.save())
        return found

    @staticmethod
    def answers(folder: Path, *, write: bool = False) -> Any:
        """Return what an index answers, all of its files verified."""
        with SemanticIndex.load(folder, write=write, verify=True) as index:
            found = [(item.id, item.text, item.labels) for item in index.items()]
            decisions = [one.item for one in Review(index).decisions()]
            audit = [(one.kind, one.items, one.labels) for one in audit_labels(index).findings]
            return found, decisions, index.labels, index.search("chess"), index.tag("song"), audit

    def full(self, count: int) -> Counter[tuple[str, str]]:
        """Write each way in turn where no file may become larger than a random size."""
        largest = max(path.stat().st_size for path in self.out.rglob("*") if path.is_file())

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        found = Counter[tuple[str, str]]()
        for number in range(count):
            size = self.rng.randrange(largest)
            found[self.limited(number, limit)] += 1
        return found

    def read_only(self) -> Counter[tuple[str, str]]:
        """Write each way in a folder whose files cannot be written."""
        folders = [self.out, *(path for path in self.out.rglob("*") if path.is_dir())]

        def limit() -> None:
            for path in folders:
                path.chmod(0o555)
            if os.geteuid() == 0:
                # Nothing is read only for root.
                os.setuid(65534)

        self.out.parent.chmod(0o755)
        found = Counter[tuple[str, str]]()
        for number in range(len(self.ways)):
            found[self.limited(number, limit)] += 1
        return found

    def limited(self, number: int, limit: Callable[[], Any]) -> tuple[str, str]:
        """Write in one way under a limit; return its name, and whether it was done."""
        options = ("--out", self.out, "--dimensions", 3, "--force")

        def decide(index: SemanticIndex) -> None:
            Review(index).feedback("item8", ["sound"], ["text"])

        def rename(index: SemanticIndex) -> None:
            review = Review(index)
            review.apply(review.plan_replace(["sound"], "melody"), create=True)

        def teach(index: SemanticIndex) -> None:
            teacher = Teacher(index, "lesson", items=["item8"])
            teacher.apply(teacher.plan())

        tasks = {
            "fit": self.task("fit", self.corpus, *options),
            "stream": self.task("fit", self.corpus, *options, "--stream"),
            "save": lambda: self.change(lambda index: index.save()),
            "add": self.task("add", self.more, "--index", self.out),
            "relabel": self.task("relabel", "--from", self.changes, "--index", self.out),
            "remove": self.task("remove", "item7", "--index", self.out),
            "review": lambda: self.change(decide),
            "rename": lambda: self.change(rename),
            "teach": lambda: self.change(teach),
            "write-back": self.task("review", self.out, "--apply", self.corpus, "--out", self.copy),
        }
        name = list(tasks)[number % len(tasks)]
        before, kept = self.state(), self.out.with_name("kept")
        shutil.copytree(self.out, kept)
        self.copy.unlink(missing_ok=True)
        self.limit = limit
        try:
            status = self.run(tasks[name])
        finally:
            self.limit = lambda: None
        for path in (self.out, *self.out.glob("generation-*")):
            path.chmod(0o755)
        assert status in {0, 1}, f"{name}: status {status}"
        assert status == 0 or self.state() == before, f"{name}: it failed, and changed the index"
        assert self.corpus.read_bytes() == self.content, name
        shutil.rmtree(self.out)
        kept.rename(self.out)
        return name, "done" if status == 0 else "refused"

    def rounds(self, count: int, ways: list[str] | None = None) -> Counter[tuple[str, str]]:
        """Kill each way of writing in turn."""
        names = list(ways or self.ways)
        for number in range(count):
            self.ways[names[number % len(names)]]()
        return self.seen


def job(seed: int, kills: int, damages: int, full: int) -> list[Counter[tuple[str, str]]]:
    """Run a part of the rounds in a folder of its own, the ways in an order of its own."""
    with tempfile.TemporaryDirectory() as folder:
        work = Kills(Path(folder), seed)
        ways = list(work.ways)
        start = seed * kills % len(ways)
        seen = work.rounds(kills, ways[start:] + ways[:start])
        damaged = work.damage(damages) if damages else Counter[str]()
        limited = (work.full(full), work.read_only()) if full else (Counter(), Counter())
        return [seen, Counter({("files", name): n for name, n in damaged.items()}), *limited]


def main() -> None:
    """Print how often each way of writing left the state before, and the state after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--full", type=int, default=70, help="writes to a full disk")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work")
    parser.add_argument("--quick", action="store_true", help="20 of each")
    given = parser.parse_args()
    whole = [20 if given.quick else n for n in (given.kills, given.damages, given.full)]
    parts = [
        (given.seed * given.jobs + n, *(len(range(n, number, given.jobs)) for number in whole))
        for n in range(given.jobs)
    ]
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        found = list(pool.map(job, *zip(*parts, strict=True)))
    seen, damaged, full, read_only = (sum(each, Counter()) for each in zip(*found, strict=True))
    for way in dict.fromkeys(name for name, _ in seen):
        print(f"{way:12} before {seen[way, 'before']:3}, after {seen[way, 'after']:3}, lost 0")
    print(f"{sum(seen.values())} processes killed; every index, copy and corpus was whole.")
    for name, counts in (("damaged", damaged), ("full disk", full), ("read only", read_only)):
        if counts:
            print(f"{name}: {dict(sorted(counts.items()))}; none was silent.")


if __name__ == "__main__":
    sys.exit(main())
