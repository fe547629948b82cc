"""``labelspan fit --stream``: an index of a corpus that is larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .corpus_argument import BUNDLED
from .failures import standard_input
from .progress import progress_bar

if TYPE_CHECKING:
    from ..corpus import CorpusReader
    from ..index.fitting import ItemStream, StreamedIndex

__all__ = ["fit_streamed", "is_too_large", "open_stream"]

# Memory that a fit takes for each byte of the corpus, about, and size below which nobody asks.
_PER_BYTE = 40
_SMALL = 1 << 26


def is_too_large(corpus: str) -> bool:
    """Return whether a file or folder is too large to be fitted in memory, by its size."""
    path = Path(corpus)
    if corpus in ("-", BUNDLED) or not (path.is_file() or path.is_dir()):
        return False
    if path.is_file() and path.stat().st_size < _SMALL // 4:
        return False
    from ..corpus.sources import unpacked_bytes  # noqa: PLC0415
    from ..operators.memory import available_memory  # noqa: PLC0415

    size, available = unpacked_bytes(path), available_memory()
    return size >= _SMALL and available is not None and _PER_BYTE * size > available


def open_stream(corpus: str, out: Path, **options: Any) -> CorpusReader:
    """Open a corpus, and print on stderr how it is read, with a sample.

    Standard input is copied to a file without a name next to the index.
    """
    from ..corpus import CorpusReader  # noqa: PLC0415
    from ..errors import Mismatch  # noqa: PLC0415

    if corpus == BUNDLED and not Path(corpus).exists():
        raise Mismatch("--stream needs a file or a folder; the bundled corpus fits in memory.")
    source = standard_input() if corpus == "-" else corpus
    near = out.parent if out.parent.is_dir() else None
    found = CorpusReader(source, folder=near, **options)
    for line in (*found.head.notes, *found.head.sample()):
        typer.echo(f"  {line}", err=True)
    return found


def fit_streamed(
    stream: ItemStream,
    out: Path,
    estimator: Any,
    *,
    sample: Sequence[str],
    plan: dict[str, Any],
    **options: Any,
) -> StreamedIndex:
    """Fit and save an index, with a progress bar; ``options`` are those of a fit."""
    from ..index.fitting import TAG_SAMPLE, FitOptions, fit_stream  # noqa: PLC0415

    typer.echo("  read in blocks; if this is interrupted, the same command continues", err=True)
    with progress_bar("learning") as report:
        chosen = FitOptions(estimator, **{"tag_sample": TAG_SAMPLE, **options})
        found = fit_stream(stream, out, chosen, sample=sample, plan=plan, report=report)
    if found.resumed:
        typer.echo(f"  {found.resumed:,} items were there from an earlier run", err=True)
    if found.tag_sample and found.tag_sample < found.labelled:
        typer.echo(
            f"  tags are learned from {found.tag_sample:,} of {found.labelled:,} labelled items",
            err=True,
        )
    if found.undercount:
        typer.echo(
            "  rare words were left out while counting: counts of features may lack "
            f"{found.undercount:,} texts",
            err=True,
        )
    return found
