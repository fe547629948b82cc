"""``labelspan fit`` and ``labelspan add``: from a corpus to an index, and further items."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .corpus_argument import (
    AsJson,
    CorpusName,
    EmptyIsNone,
    Format,
    IdField,
    LabelField,
    NoLabels,
    Separator,
    TextFields,
    read,
)
from .failures import one_sentence
from .index_argument import DEFAULT, IndexOption, open_index
from .progress import Told, shown

if TYPE_CHECKING:
    from ..datasets.corpora import TaggedTexts

__all__ = ["Method", "add", "fit"]


class Method(StrEnum):
    """The spaces that can be learned."""

    mlsi = "mlsi"
    lsi = "lsi"
    opls = "opls"
    cca = "cca"
    hsl = "hsl"


def fit(  # noqa: PLR0917 - typer reads options from parameters
    corpus: CorpusName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the index.")] = DEFAULT,
    force: Annotated[
        bool, typer.Option("--force", help="Write over an index that is there.")
    ] = False,
    method: Annotated[
        Method,
        typer.Option(
            help="What the space is learned by: mlsi from texts and labels, lsi from texts."
        ),
    ] = Method.mlsi,
    dimensions: Annotated[
        int | None, typer.Option(help="Dimensions of the space (default: 100).", min=1)
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Strength of the penalty; larger is smoother (default: 1).", min=0),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(help="mlsi: the labels' share, 0 to 1 (default: 0.5).", min=0, max=1),
    ] = None,
    text: TextFields = None,
    labels: LabelField = None,
    ids: IdField = None,
    separator: Separator = None,
    format: Format = None,
    no_labels: NoLabels = False,
    empty_is_none: EmptyIsNone = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Learn the space on the workers of the Dask cluster whose scheduler has this "
            "address, say tcp://host:8786; they need labelspan\\[dask].",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn an index from a tagged corpus, to search, tag, map and explore.

    The corpus needs a text for each item and, for most methods, labels for some of them.

    For example:

      labelspan fit papers.jsonl

      labelspan fit articles.csv --text title --text body --labels topics --separator ';'

      cat notes.jsonl | labelspan fit - --out notes.labelspan

      labelspan fit letters/ --method lsi --no-labels

      labelspan fit papers.jsonl --scheduler tcp://host:8786
    """
    with one_sentence(), ExitStack() as stack:
        start = time.perf_counter()
        _check_out(out, force=force)
        client = None if scheduler is None else stack.enter_context(_cluster(scheduler))
        found = read(
            corpus,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            format=format,
            no_labels=no_labels,
            empty_is_none=empty_is_none,
        )
        estimator = _estimator(found, method, dimensions, alpha, beta)
        from ..index import SemanticIndex  # noqa: PLC0415

        index = SemanticIndex(estimator=estimator)
        with shown("learning") as told:
            steps, on_pass = _told_of_passes(told)
            index.fit(
                found.texts,
                found.labels,
                found.ids,
                metadata=found.metadata,
                progress=steps,
                client=client,
                on_pass=None if client is None else on_pass,
            )
            index.save(out)
        if index.large:
            _prepare_search(out)
        answer = {
            "index": str(out),
            "items": len(index),
            "labels": len(index.labels),
            "dimensions": index.n_dimensions,
            "method": method.value,
            "seconds": round(time.perf_counter() - start, 2),
        }
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
        return
    typer.echo(
        f"{answer['items']:,} items with {_counted(answer['labels'], 'label')}, in "
        f"{_counted(answer['dimensions'], 'dimension')} by {method.value.upper()}: "
        f"saved in {out} after {answer['seconds']:.0f} s."
    )
    named = "" if out == DEFAULT else f" -i {shlex.quote(str(out))}"
    typer.echo(f"Try: labelspan search{named} 'what you look for'", err=True)


def add(  # noqa: PLR0917
    corpus: CorpusName,
    index: IndexOption = DEFAULT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Items take the place of those with the same ids.")
    ] = False,
    text: TextFields = None,
    labels: LabelField = None,
    ids: IdField = None,
    separator: Separator = None,
    format: Format = None,
    no_labels: NoLabels = False,
    empty_is_none: EmptyIsNone = False,
    as_json: AsJson = False,
) -> None:
    """Add items to an index, all of them or, if anything fails, none.

    They are placed in the space as it is; run fit again when much has changed.

    For example:

      labelspan add more.jsonl

      labelspan add corrected.csv -i notes.labelspan --replace
    """
    with one_sentence():
        found = read(
            corpus,
            text=text,
            labels=labels,
            ids=ids,
            separator=separator,
            format=format,
            no_labels=no_labels,
            empty_is_none=empty_is_none,
        )
        from ..errors import InvalidInput  # noqa: PLC0415

        with open_index(index, write=True) as opened:
            before, learned = len(opened), set(opened.labels)
            taken = (
                [] if replace or found.numbered else [name for name in found.ids if name in opened]
            )
            if taken:
                raise InvalidInput(
                    f"{index} has an item {taken[0]!r} already, and {len(taken) - 1:,} others of "
                    f"{found.name}; give --replace to put these in their place."
                )
            opened.add(
                found.texts,
                found.labels,
                # Numbers of another file mean other items.
                None if found.numbered else found.ids,
                metadata=found.metadata,
                replace=replace,
            )
            after = len(opened)
        new = [name for name in found.label_names if name not in learned]
    added, replaced = after - before, len(found) - (after - before)
    if as_json:
        answer = {"index": str(index), "added": added, "replaced": replaced, "items": after}
        typer.echo(json.dumps({**answer, "new_labels": new}, indent=2))
        return
    said = f"{_counted(added, 'item')} added" + (f", {replaced:,} replaced" if replaced else "")
    typer.echo(f"{said}; {index} now has {after:,}.")
    if new:
        typer.echo(
            f"New in the index: {_counted(len(new), 'label')}, say {new[0]!r}; they can be "
            "searched by, and are predicted after another fit.",
            err=True,
        )


def _counted(number: Any, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


@contextmanager
def _cluster(scheduler: str) -> Iterator[Any]:
    """The client of a cluster; says on stderr what was found."""
    from ..operators.cluster.cluster_client import cluster_client  # noqa: PLC0415

    with cluster_client(scheduler) as client:
        workers = client.nthreads()
        said = (
            f"{_counted(len(workers), 'worker')} with {_counted(sum(workers.values()), 'thread')}"
        )
        typer.echo(f"  space learned by {said} at {scheduler}", err=True)
        yield client


def _told_of_passes(told: Told) -> tuple[Callable[[int, int], None], Callable[[str], None]]:
    """What is told of steps, and of the passes of workers over the rows that a step takes."""
    done, total, passes = 0, 0, 0

    def steps(ended: int, of: int) -> None:
        nonlocal done, total
        # Saving is a step, too.
        done, total = ended, of + 1
        told(done, total)

    def on_pass(name: str) -> None:
        nonlocal passes
        passes += 1
        told(done, total, f"pass {passes} over the workers' rows ({name})")

    return steps, on_pass


def _prepare_search(out: Path) -> None:
    """Build what approximate search in a large index needs, where usearch is installed."""
    from ..index import SemanticIndex  # noqa: PLC0415
    from ..index.ann import installed  # noqa: PLC0415

    if installed():
        with SemanticIndex.load(out, verify=False) as saved, shown("linking neighbours") as told:
            saved.prepare_search(progress=told)


def _check_out(out: Path, *, force: bool) -> None:
    """Refuse a folder that must not be written over, before any work is done."""
    from ..errors import InvalidInput  # noqa: PLC0415
    from ..index.store import strangers  # noqa: PLC0415

    there = (out / "manifest.json").is_file()
    # What a fit left that was killed is no index, and does not bar the next one.
    if not there and out.exists() and not (out.is_dir() and not strangers(out)):
        raise InvalidInput(f"{str(out)!r} is there and is no index; choose another --out.")
    if there and not force:
        raise InvalidInput(
            f"There is an index in {str(out)!r} already; give --force to write over it, or "
            "another --out."
        )


def _estimator(
    found: TaggedTexts,
    method: Method,
    dimensions: int | None,
    alpha: float | None,
    beta: float | None,
) -> Any:
    """The estimator that was asked for."""
    from ..errors import InvalidLabels, Mismatch  # noqa: PLC0415
    from ..evaluation.spaces import make_estimator  # noqa: PLC0415
    from ..index.inputs import indicator, read_label_lists  # noqa: PLC0415

    if beta is not None and method is not Method.mlsi:
        raise Mismatch(f"--beta is for --method mlsi, and means nothing to {method.value}.")
    if alpha is not None and method is Method.lsi:
        raise Mismatch("--alpha means nothing to --method lsi.")
    if method is not Method.lsi and not found.n_labelled:
        raise InvalidLabels(
            f"{found.name}: --method {method.value} learns from labels, and no item has any; name "
            "their field with --labels, or use --method lsi."
        )
    same = {tuple(sorted(own)) for own in found.labels if own is not None}
    if method is not Method.lsi and len(same) == 1 and len(found) > 1:
        raise InvalidLabels(
            f"{found.name}: all items with labels have the same, which says nothing of them; name "
            "another field with --labels, say --empty-is-none, or use --method lsi."
        )
    given = {"alpha": alpha, "beta": beta}
    lists = read_label_lists(found.labels, None, len(found), "fit")
    return make_estimator(
        method.value.upper(),
        dimensions,
        indicator(lists, found.label_names),
        **{name: value for name, value in given.items() if value is not None},
    )
