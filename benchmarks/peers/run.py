"""One case: every contender warmed up, then timed in turn, then evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..machine import load
from .judge import judge
from .ours import OURS
from .peers import PEERS
from .processes import Player, Score, in_child
from .tasks import Contender, Task, is_sparse

__all__ = ["Settings", "contenders", "play", "run_case"]

# A contender that takes a longer share of the limit is timed only by its first run.
_SLOW = 1 / 6


@dataclass(frozen=True)
class Settings:
    """What one run, in one piece or several, has in common."""

    quick: bool = False
    repeats: int = 3
    limit: float = 60.0
    dense_limit: float = 2.0
    threads: int | None = None
    seed: int = 0

    @property
    def dense_bytes(self) -> int:
        """The largest dense array that a peer is tried with."""
        return int(self.dense_limit * 2**30)


def contenders(method: str, task: Task) -> list[Contender]:
    """Those that are meant for such data, ours first."""
    both = (*OURS[method], *PEERS.get(method, ()))
    return [one for one in both if is_sparse(task.X) or not one.sparse_only]


def play(
    entries: Sequence[Contender], task: Task, settings: Settings
) -> tuple[list[Score], dict[str, Any]]:
    """Scores without quality, and what the contenders found."""
    players = []
    try:
        for entry in entries:
            player = Player(entry, task, dense_limit=settings.dense_bytes, threads=settings.threads)
            players.append(player)
            seconds = player.warm_up(settings.limit)
            if player.alive and seconds > _SLOW * settings.limit:
                player.score.runs.append(seconds)
                player.end()
        for _ in range(settings.repeats):
            for player in players:
                # Twice the limit: a run that was below it once is not lost to a busy moment.
                player.run(2 * settings.limit)
    finally:
        for player in players:
            player.end()
    found = {one.score.name: one.fitted for one in players if one.fitted is not None}
    return [player.score for player in players], found


def run_case(name: str, method: str, task: Task, settings: Settings) -> dict[str, Any]:
    """The record of one case, ready to be written."""
    before = load()
    scores, found = play(contenders(method, task), task, settings)
    try:
        quality = in_child(lambda: judge(method, task, found))
    except RuntimeError as error:
        quality = {}
        print(f"{name}: not evaluated: {error}")
    for score in scores:
        score.quality = quality.get(score.name, {})
    return record(name, task, scores) | {"load": before}


def record(name: str, task: Task, scores: Sequence[Score]) -> dict[str, Any]:
    """Sizes and scores as plain values."""
    return {
        "case": name,
        "n": task.X.shape[0],
        "d": task.X.shape[1],
        "k": task.Y.shape[1],
        "K": task.count,
        "alpha": task.alpha,
        "nnz": int(task.X.nnz) if is_sparse(task.X) else None,
        "dtype": str(task.X.dtype),
        "scores": [asdict(score) for score in scores],
    }
