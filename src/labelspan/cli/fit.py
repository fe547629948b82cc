"""``labelspan fit``: make an index of a corpus."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import (
    DEFAULT,
    AsJson,
    CorpusName,
    Force,
    check_corpus,
    continued,
    counted,
    echo,
    fail_as_json,
    label_language,
    note,
    open_corpus,
    plain_errors,
    print_json,
    progress_bar,
    read_vectors_file,
    reads_corpus,
)

if TYPE_CHECKING:
    from ..corpus import LabelVocabulary, TaggedTexts

__all__ = ["Method", "fit"]


# Items that are looked at before an index is fitted again.
_HEAD = 1000
# Shares of the time of a fit that its steps take, for the bar: 12,000 and 100,000 abstracts.
_SHARES = (0.12, 0.05, 0.03, 0.35, 0.45)
# Memory that a fit takes for each byte of the corpus, about, and size below which nobody asks.
_PER_BYTE = 40
_SMALL = 1 << 26


class Method(StrEnum):
    """The methods that an index can be fitted with."""

    mlsi = "mlsi"
    lsi = "lsi"
    opls = "opls"
    cca = "cca"
    hsl = "hsl"
    dle = "dle"
    lpp = "lpp"


@reads_corpus()
def fit(  # noqa: PLR0917 - typer reads options from parameters
    corpus: CorpusName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the index.")] = DEFAULT,
    force: Force = False,
    method: Annotated[
        Method,
        typer.Option(
            help="Method: lsi learns from texts only, lpp from texts and links (or, without any, "
            "nearest neighbours), dle from these and labels, the others from texts and labels."
        ),
    ] = Method.mlsi,
    dimensions: Annotated[
        str | None,
        typer.Option(
            help=(
                "Number of dimensions, or auto: 30 plus half the number of labels (default: auto "
                "for mlsi, at most 100 for lsi and lpp, all for the others)."
            ),
            metavar="N|auto",
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            help="Weight of the labels, 0 to 1 (default: chosen from the data; only for mlsi).",
            min=0,
            max=1,
        ),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            metavar="CODE",
            help="Language of the texts, for word search, and of the names in a thesaurus: a code "
            "such as en or fi, auto to detect it, or none to turn stemming off.",
        ),
    ] = "auto",
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Learn the embedding on this device, for example cuda; needs labelspan\\[gpu].",
        ),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the corpus in blocks and keep features on disk, for a corpus larger than "
            "memory; an interrupted fit continues where it stopped. The default for files that are "
            "too large.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER|URL",
            help="Use a language model as well as the words: its name in the local cache, its "
            "folder (ONNX; needs labelspan\\[model]), a file of word vectors, or a server such as "
            "http://127.0.0.1:11434/v1#nomic-embed-text.",
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download the model if it is not in the cache.")
    ] = False,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Use these vectors of the items as well as the words: .npy, .npz, .safetensors or "
            ".parquet (FILE:COLUMN), one row per item. With --model, they are its vectors.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show how the corpus would be read, and fit nothing."),
    ] = False,
    as_json: AsJson = False,
    json_steps: Annotated[bool, typer.Option("--json-steps", hidden=True)] = False,
    **reading: Any,
) -> None:
    """Fit an index on a tagged corpus, to search, tag, map and explore.

    Each item needs a text; all methods but lsi and lpp also need labels for some items.

    For example:
      labelspan fit papers.jsonl
      labelspan fit library.bib --dry-run
      labelspan fit articles.csv --text title --text body --labels topics --separator ';'
      cat notes.jsonl | labelspan fit - --out notes.labelspan
      labelspan fit letters/ --method lsi --labels ''
      labelspan fit papers.jsonl --device cuda
      labelspan fit everything.jsonl.gz --stream
      labelspan fit papers.jsonl --model all-MiniLM-L6-v2
      labelspan fit papers.jsonl --vectors papers.npy

    Give the folder of an index to fit it again from its own items, even if its format is older:
      labelspan fit notes.labelspan
    """
    if json_steps:
        fail_as_json()
    with plain_errors():
        from ..errors import Mismatch  # noqa: PLC0415

        start = time.perf_counter()
        # Before all else: what is not there cannot be read, whatever else is.
        check_corpus(corpus, reading["vocabulary"])
        if dry_run:
            _show_reading(corpus, language, reading, as_json=as_json)
            return
        older = _index_items(corpus)
        if older is not None and out == DEFAULT:
            out = Path(corpus)
        _check_out(out, force=force or (older is not None and out == Path(corpus)))
        language = _checked(language, device)
        block = _block_source(model, vectors, device, download=download)
        if older is not None and block is None:
            block = _own_source(Path(corpus))
        if stream is None:
            stream = device is None and _is_too_large(corpus)
        if stream and device is not None:
            raise Mismatch("--stream keeps the features on the disk; omit --device.")
        min_count, reading["language"] = reading.pop("min_count"), language
        if older is not None:
            source = _index_source(older, reading)
        else:
            source = _source(corpus, out, reading, min_count, stream)
            if not json_steps and Path(corpus).exists():
                # By which the explorer finds it again; what it takes itself it keeps elsewhere.
                source.fields["file"] = os.path.relpath(corpus, out)
        estimator = _estimator(source.head, method, dimensions, beta)
        from ..index.fitting import ONE_BLOCK, TAG_SAMPLE, FitOptions, fit_stream  # noqa: PLC0415

        options = FitOptions(
            estimator,
            language,
            min_count=min_count,
            empty_is_none=reading["empty_is_none"],
            # An index of all its items has a tagger of all of them.
            tag_sample=TAG_SAMPLE if stream and older is None else None,
            device=device,
            fields={"name": _collection_name(corpus), **source.fields},
            source=block,
            links=_link_fields(source, older, reading),
            vocabulary=source.vocabulary,
            past=None if older is None else older.past,
        )
        if stream:
            note("read in blocks; if this is interrupted, the same command continues")
        with (
            continued(lambda: _kept(out)),
            progress_bar("learning", as_json=json_steps, shares=_SHARES) as report,
        ):
            size = {} if stream else {"block": ONE_BLOCK}
            found = fit_stream(source, out, options, report=report, **size)
        answer = {
            "index": str(out),
            "items": len(found.labels),
            "labelled": int(found.labels.known.sum()),
            "labels": len(found.labels.totals),
            "dimensions": found.model.space.n_dimensions,
            "method": method.value,
            "model": "" if found.model.block is None else found.model.block.named,
            "language": found.language,
            "tag_sample": found.tag_sample,
            "undercount": found.undercount,
            "resumed": found.resumed,
            "seconds": round(time.perf_counter() - start, 2),
            "reading": source.reading,
            "links": found.links,
        }
        _say(answer, out, detected=language == "auto", as_json=as_json)


def _link_fields(source: _Source, older: Any, reading: dict[str, Any]) -> Any:
    """Return the fields of links: those that were found, or those of the index."""
    from ..index.links import LinkFields  # noqa: PLC0415

    if older is not None:
        return None if reading["no_links"] else older.link_fields()
    return LinkFields.of(source.fields.get("links"))


def _show_reading(corpus: str, language: str, reading: dict[str, Any], *, as_json: bool) -> None:
    """Print how a corpus is read, without a fit."""
    reader, found = open_corpus(corpus, sample=None, language=language, **reading)
    if reader is None:
        print_json({"notes": found.notes}) if as_json else typer.echo(found.notes[0])
        return
    report = reader.report(found)
    if as_json:
        print_json(report.as_dict())
    else:
        echo("\n".join(report.lines()))


def _kept(out: Path) -> str:
    """Say what an interrupted fit has left: the items that were read, and features of blocks."""
    from ..index.folder import UNFINISHED  # noqa: PLC0415

    kept = out / UNFINISHED
    return f"what was finished is kept in {kept}" if kept.exists() else ""


@dataclass(frozen=True)
class _Source:
    """What an index is fitted on: a stream of items, and how it is read."""

    name: str
    fingerprint: Mapping[str, Any]
    items: Callable[..., Iterator[Any]]
    head: TaggedTexts
    reading: dict[str, Any] | None
    fields: dict[str, Any]
    vocabulary: LabelVocabulary | None


def _index_source(older: Any, reading: dict[str, Any]) -> _Source:
    """Take the items of an index, to fit it again."""
    from ..corpus import TaggedTexts, read_vocabulary  # noqa: PLC0415

    names = older.vocabulary()
    if reading["vocabulary"] is not None:
        language = label_language(reading["language"])
        names = read_vocabulary(reading["vocabulary"], language, reading["encoding"])
    first = list(islice(older.items(), _HEAD))
    head = TaggedTexts(older.name, first)
    told = {"format": "index"}
    return _Source(
        older.name, older.fingerprint, older.items, head, told, older.corpus_fields, names
    )


def _source(
    corpus: str, out: Path, reading: dict[str, Any], min_count: int, stream: bool
) -> _Source:
    """Open a corpus as a stream, or read it into memory, which is a stream of one block."""
    # A copy of standard input lies next to the index.
    near = out.parent if out.parent.is_dir() else None
    given: dict[str, Any] = {"stream": stream, "folder": near, "min_count": min_count}
    reader, head = open_corpus(corpus, **given, **reading)
    told = head.reading
    fields = {}
    if told is not None:
        asked = ("format", "separator", "encoding", "table", "empty_is_none")
        fields = {key: told[key] for key in ("text", "labels", "ids", "separator")}
        fields |= {key: reading[key] for key in asked if reading[key] is not None}
        fields |= {"why_not_writable": None if reader is None else reader.why_not_writable()}
        fields |= {"links": told["links"]} if told["links"] else {}
        fields |= {"renamed": True} if reader is not None and reader.renamed else {}
    names = None if reader is None else reader.vocabulary
    if stream and reader is not None:
        mark = {**reader.fingerprint, "reading": {name: str(one) for name, one in reading.items()}}
        return _Source(head.name, mark, reader.items, head, told, fields, names)
    # Items that were read are kept if the fit is interrupted; standard input cannot be read again.
    mark = {"once": secrets.token_hex(8)}
    if reader is not None and corpus != "-":
        how = {name: str(one) for name, one in reading.items()}
        mark = {**reader.fingerprint, "reading": how, "min_count": min_count}

    def items(skip: int = 0) -> Iterator[Any]:
        return islice(head.items, skip, None)

    return _Source(head.name, mark, items, head, told, fields, names)


def _collection_name(corpus: str) -> str:
    """Return the name of a file or folder without its endings, for the explorer."""
    name = "" if corpus == "-" else Path(corpus).resolve().name
    return re.sub(r"(\.(gz|bz2|xz|tar|tgz|zip|[a-z]{2,8}))+$", "", name, flags=re.IGNORECASE)


def _is_too_large(corpus: str) -> bool:
    """Return whether a file or folder is too large to be fitted in memory, by its size."""
    path = Path(corpus)
    if not (path.is_dir() or (path.is_file() and path.stat().st_size >= _SMALL // 4)):
        return False
    from ..corpus.sources import unpacked_bytes  # noqa: PLC0415
    from ..operators.machine import available_memory  # noqa: PLC0415

    size, available = unpacked_bytes(path), available_memory()
    return size >= _SMALL and available is not None and _PER_BYTE * size > available


def _checked(language: str, device: str | None) -> str:
    """Check options before a corpus is read; return the language as its code."""
    from ..text import check_language  # noqa: PLC0415

    if device is not None:
        from ..operators.convert import check_device  # noqa: PLC0415

        check_device(device)
    return check_language("--language", language)


def _block_source(
    model: str | None, vectors: str | None, device: str | None, *, download: bool
) -> Any:
    """Open the model and the file of vectors before a corpus is read; None without them."""
    if model is None and vectors is None:
        return None
    from ..index.model_block import BlockSource  # noqa: PLC0415
    from ..models import open_model  # noqa: PLC0415

    opened = None if model is None else open_model(model, device=device, download=download)
    if opened is not None:
        # An address or a name that is wrong is told now.
        opened.vectors(["labelspan"])
    return BlockSource(opened, read_vectors_file(vectors))


def _own_source(folder: Path) -> Any:
    """Return the block of an index with its rows, to fit it again; None if it has none."""
    from ..errors import InvalidFile  # noqa: PLC0415
    from ..index import SemanticIndex  # noqa: PLC0415
    from ..index.model_block import BlockSource  # noqa: PLC0415

    try:
        index = SemanticIndex.load(folder)
    except InvalidFile:
        # Of an older format, which had none, or damaged: only its items are read.
        return None
    with index:
        block, rows = index.model.block, index.store.block_rows
        if block is None or rows is None:
            return None
        # Those of links, which follow, are made again.
        own = rows.rows(index.store.rows(index.ids))[:, : block.width]
        return BlockSource(None, own, block)


def _index_items(corpus: str) -> Any:
    """Return the items of an index, if the corpus is the folder of one; otherwise None."""
    if not (Path(corpus) / "manifest.json").is_file():
        return None
    from ..index.database import IndexItems  # noqa: PLC0415
    from ..index.folder import NotAnIndex  # noqa: PLC0415

    try:
        return IndexItems(Path(corpus))
    except NotAnIndex:
        # Another folder of JSON files.
        return None


def _say(answer: dict[str, Any], out: Path, *, detected: bool, as_json: bool) -> None:
    """Print what was fitted."""
    tagged, labelled = answer["tag_sample"], answer["labelled"]
    if answer["resumed"]:
        note(f"{answer['resumed']:,} items were there from an earlier run")
    if 0 < tagged < labelled:
        note(f"tags are learned from {tagged:,} of {labelled:,} labelled items")
    if answer["undercount"]:
        note(
            "rare words were left out while counting: counts of features may lack "
            f"{answer['undercount']:,} texts"
        )
    if links := answer["links"]:
        uses = [what for what in ("space", "tags") if links[f"in_{what}"]]
        if uses:
            note(f"{links['links']:,} links are used for: {', '.join(uses)}")
        elif links["links"]:
            note(
                f"{links['links']:,} links are shown, but not used: they do not help to predict "
                "left-out items"
            )
    if as_json:
        print_json(answer)
        return
    if detected:
        from ..text import language_name  # noqa: PLC0415

        note(f"words compared as in: {language_name(answer['language'])} (detected; --language)")
    model = f" and {answer['model']}" if answer["model"] else ""
    typer.echo(
        f"{counted(answer['items'], 'item')} with {counted(answer['labels'], 'label')}, in "
        f"{counted(answer['dimensions'], 'dimension')} by {answer['method'].upper()}{model}: "
        f"saved in {out} after {answer['seconds']:.0f} s."
    )
    named = "" if out == DEFAULT else f" -i {shlex.quote(str(out))}"
    typer.echo(f"Try: labelspan search{named} 'some words'", err=True)
    if answer["labels"]:
        typer.echo(
            f"     labelspan audit{named}         labels that look missing, wrong, or the same\n"
            f"     labelspan review{named}        decide about them, one by one\n"
            f"     labelspan serve{named}         the same in a browser, with search and map",
            err=True,
        )


def _check_out(out: Path, *, force: bool) -> None:
    """Raise an error for a folder that must not be overwritten, before any work is done."""
    from ..errors import InvalidInput  # noqa: PLC0415

    there = (out / "manifest.json").is_file()
    if not there and out.exists():
        from ..index.folder import foreign_files  # noqa: PLC0415

        # What a killed fit left behind does not stop the next one.
        if not out.is_dir() or foreign_files(out):
            raise InvalidInput(f"{str(out)!r} exists and is not an index; choose another --out.")
    if there and not force:
        raise InvalidInput(
            f"There is an index in {str(out)!r} already; give --force to overwrite it, or "
            "choose another --out."
        )


def _fields_of(found: TaggedTexts) -> str:
    """Return the fields that could be labels, for a message."""
    names = (found.reading or {}).get("metadata", ())
    return f" ({', '.join(names[:8])})" if names else ""


def _estimator(
    found: TaggedTexts,
    method: Method,
    dimensions: str | None,
    beta: float | None,
) -> Any:
    """Make the estimator, after checks whose messages name the options of the command."""
    from ..errors import InvalidLabels, Mismatch  # noqa: PLC0415

    if beta is not None and method is not Method.mlsi:
        raise Mismatch(
            f"--beta works only with --method mlsi, but --method {method.value} was given."
        )
    labelled = method not in (Method.lsi, Method.lpp)
    if labelled and not found.n_labelled:
        raise InvalidLabels(
            f"{found.name}: --method {method.value} needs labels, but no item has any; give their "
            f"field with --labels{_fields_of(found)}, or put texts into folders named like labels."
        )
    same = {tuple(sorted(own)) for own in found.labels if own is not None}
    if labelled and len(same) == 1 and len(found) > 1:
        raise InvalidLabels(
            f"{found.name}: all labelled items have the same labels, so there is nothing to learn; "
            "give another field with --labels, add --empty-is-none, or use --method lsi."
        )
    if dimensions == "auto" and not labelled:
        raise Mismatch(
            f"--dimensions auto needs labels; with --method {method.value} give a number."
        )
    from .. import estimators  # noqa: PLC0415

    count = _dimensions(dimensions)
    if count is None and method is Method.mlsi:
        count = "auto"
    params = {} if beta is None else {"beta": beta}
    return getattr(estimators, method.value.upper())(count, **params)


def _dimensions(given: str | None) -> int | str | None:
    from ..errors import InvalidParameter  # noqa: PLC0415

    if given is None or given == "auto":
        return given
    if not given.isdecimal() or int(given) < 1:
        raise InvalidParameter(
            f"--dimensions must be a number of at least 1, or auto, but {given!r} was given."
        )
    return int(given)
