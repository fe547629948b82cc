"""What commands share: failures, progress, and the arguments that name an index or a corpus."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Protocol

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from .. import __version__
from .._texts import json_text

if TYPE_CHECKING:
    from ..corpus import CorpusReader, TaggedTexts
    from ..index import SemanticIndex
    from ..index.results import TagExplanation

__all__ = [
    "DEFAULT",
    "AsJson",
    "CommandGroup",
    "CorpusName",
    "Force",
    "IndexOption",
    "PlainConsole",
    "check_corpus",
    "check_index",
    "continued",
    "counted",
    "echo",
    "label_language",
    "main_options",
    "note",
    "open_corpus",
    "open_index",
    "plain_errors",
    "plain_table",
    "pressed_keys",
    "print_json",
    "printable",
    "progress_bar",
    "reads_corpus",
    "reason_lines",
    "standard_input",
    "standard_lines",
    "tell_problem",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"labelspan {__version__}")
        raise typer.Exit


def main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Label-informed dimensionality reduction and search for tagged data."""


def print_json(answer: Any, *, line: bool = False) -> None:
    """Print an answer as JSON; one of several in a line."""
    typer.echo(json_text(answer, None if line else 2))


def plain_table(*columns: dict[str, Any], **options: Any) -> Table:
    """Make a table without lines and names of columns."""
    table = Table(box=None, show_header=False, pad_edge=False, **options)
    for column in columns:
        table.add_column(**column)
    return table


def reason_lines(why: TagExplanation) -> list[str]:
    """Print the words and neighbouring items that support a label, and how usual it is."""
    words = ", ".join(f"{word.word} {word.share:+.2f}" for word in why.words)
    votes = ", ".join(f"{vote.id} ({'has it' if vote.has_label else 'not'})" for vote in why.votes)
    implied = [f"  implied by: {why.implied_by}"] if why.implied_by else []
    having, linked = why.linked
    links = [f"  linked: {having:,} of {linked:,} have it"] if linked else []
    return [
        *implied,
        f"  words: {words or '-'}",
        f"  nearest items: {votes or '-'}",
        *links,
        f"  of all other labelled items {why.base_rate:.1%} have it",
    ]


def note(line: str) -> None:
    """Print a progress message on stderr."""
    echo(f"  {line}", err=True)


def counted(number: int, what: str) -> str:
    """Return a number with a noun in the singular or plural."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


# --- text from elsewhere --------------------------------------------------------------------

# Characters by which a terminal is controlled: all but the tab and the line feed.
_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")


def printable(text: str) -> str:
    r"""Return a text without characters that control a terminal.

    Examples
    --------
    >>> from labelspan.cli.shared import printable
    >>> printable("a\x1b[31mred") == "a\ufffd[31mred"
    True
    """
    return text.translate(_CONTROL)


def echo(text: str, *, err: bool = False) -> None:
    """Print a line for people, in which text of items or of files may be."""
    typer.echo(printable(text), err=err)


class PlainConsole(Console):
    """Console that prints no control characters but its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is printed."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


# --- failures -------------------------------------------------------------------------------

# What a shell gives for a command that Ctrl-C ended.
STOPPED = 130


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print errors and warnings of labelspan as plain messages, without a traceback."""
    # Imported here, so that --help does not wait for it.
    from ..errors import LabelspanError, LabelspanWarning  # noqa: PLC0415

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, LabelspanWarning):
            echo(f"Note: {message}", err=True)
        else:
            usual(message, category, *where)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except LabelspanError as error:
            _fail(str(error), error.choices)
            raise typer.Exit(1) from error


class _Failures:
    """Whether a program reads why a command ended, as a line of JSON."""

    as_json = False


def fail_as_json() -> None:
    """Tell why this command ends, if it does, as a line of JSON."""
    _Failures.as_json = True


def _fail(message: str, choices: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Say why a command ends, and to a program also which options may help."""
    if _Failures.as_json:
        typer.echo(json.dumps({"failed": message, "choices": dict(choices or {})}), err=True)
    else:
        echo(message, err=True)


def _stopped(what: str) -> typer.Exit:
    """Say that Ctrl-C ended the command, and what is left; return its exit."""
    _fail(f"Stopped; {what}.")
    return typer.Exit(STOPPED)


@contextmanager
def continued(kept: Callable[[], str]) -> Iterator[None]:
    """If Ctrl-C interrupts the block, say what is kept, unless that is nothing."""
    try:
        yield
    except KeyboardInterrupt:
        if what := kept():
            raise _stopped(f"{what}, and the same command continues") from None
        raise


def standard_input() -> BinaryIO:
    """Return standard input as bytes; raise an error if it is closed."""
    from ..errors import InvalidInput  # noqa: PLC0415

    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("Standard input is closed; give a file, or pipe data to the command.")
    return typer.get_binary_stream("stdin")


def pressed_keys(then_line: str = "") -> Iterator[str]:
    """Yield keys: those pressed in a terminal, or the first characters of lines.

    After a key of ``then_line`` a whole line is read.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        while True:
            key = typer.getchar().lower()
            yield key
            if key in then_line:
                yield str(typer.prompt("Name", default="", show_default=False)).strip()
    key = ""
    for line in standard_input():
        text = line.decode("utf-8", "replace").strip()
        key = "" if key and key in then_line else text[:1].lower()
        yield key or text


def standard_lines() -> list[str]:
    """Return the lines of standard input."""
    standard_input()
    return typer.get_text_stream("stdin").read().splitlines()


def _checked_words(command: Any, words: list[str]) -> list[str]:
    """Return the words behind a command, with an index at their beginning as ``--index``.

    An option as the value of another one is an error: a value was forgotten.
    """
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for option, value in pairwise(words):
        takes_value = option in options and not getattr(options[option], "is_flag", True)
        if option == "--":
            break
        if takes_value and value.startswith("-") and value in options:
            raise typer.BadParameter(
                f"{option} needs a value, but {value} follows; to give {value!r} as the value, "
                f"write {option}={value}."
            )
    first = words[0] if words else ""
    if not first or first.startswith("-") or "--index" not in options:
        return words
    # A command that takes nothing else has no other word.
    single = not any(one.param_type_name == "argument" for one in command.params)
    if not single and not _names_index(first):
        return words
    others = [one for one in words if one in ("-i", "--index") or one.startswith("--index=")]
    if others:
        raise typer.BadParameter(f"Give one index, but {first!r} and {others[0]} were given.")
    return ["--index", *words]


def _names_index(word: str) -> bool:
    """Return whether a word is the folder of an index, or is called like one."""
    try:
        return (bool(word) and word.rstrip("/").endswith(DEFAULT.suffix)) or (
            Path(word) / "manifest.json"
        ).is_file()
    except OSError:
        return False


def _untyped(parameters: list[Any]) -> list[Any]:
    """Return options, of which flags are shown without a type in the help."""
    for one in parameters:
        if getattr(one, "is_flag", False):
            one.display_type_rich = lambda ctx: None
    return parameters


class CommandGroup(TyperGroup):
    """All commands; Ctrl-C, a full disk and too little memory end each with one message."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, in whose help flags have no type."""
        command = super().get_command(ctx, cmd_name)
        inner = getattr(command, "commands", {}).values()
        for one in (command, *inner) if command is not None else ():
            _untyped(one.get_params(ctx))
        return command

    def get_params(self, ctx: Any) -> Any:
        """Return its own options, which have no type either."""
        return _untyped(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command and its words, in which an index may come first."""
        name, command, words = super().resolve_command(ctx, args)
        return name, command, words if command is None else _checked_words(command, words)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError) as error:
            # Python 3.11 wraps what is raised while a class is made, as during an import.
            if isinstance(error, RuntimeError) and not isinstance(
                error.__cause__, KeyboardInterrupt
            ):
                raise
        raise _stopped("nothing half-written is left")

    def main(self, *args: Any, **options: Any) -> Any:
        """Parse the command line and run the command."""
        _forget_unknown_width()
        _Failures.as_json = False
        try:
            return super().main(*args, **options)
        except OSError as error:
            _give_up_output()
            where = error.filename or "The output"
            message = f"{where} cannot be written: {error.strerror or error}."
        except MemoryError:
            message = "There is not enough memory for this; give fewer items or --dimensions."
        # Printed here, where all memory that was held is free again.
        _fail(message)
        sys.exit(1)


def _forget_unknown_width() -> None:
    """Drop COLUMNS=0 and LINES=0, which mean an unknown size; rich would print nothing."""
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if size.isdecimal() and int(size) == 0:
            del os.environ[name]


def _give_up_output() -> None:
    """If stdout is closed, keep Python from writing to it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- progress -------------------------------------------------------------------------------

# Where stderr is not a terminal, a line as often as this.
_SECONDS = 30.0
# Seconds that a job is taken to last before its first step is done.
_FIRST = 30.0


class StepReport(Protocol):
    """Takes the number of steps done, the number of all steps, and the current activity."""

    def __call__(self, done: int, total: int, now: str = "") -> None: ...


class _Pace:
    """How far a job of several steps is, by the shares of the time that they usually take.

    Within a step, the time of those before it tells how long it may last; the bar gets slower
    towards its end, and never goes back.
    """

    def __init__(self, shares: Sequence[float], start: float) -> None:
        ends = [0.0, *accumulate(shares)]
        self._ends = [one / ends[-1] for one in ends]
        self._start = self._since = start
        self._step, self._least = 0, 0.0

    def reach(self, step: int, now: float) -> None:
        """Note that a step begins, unless it has already."""
        if step > self._step:
            self._step, self._since = min(step, len(self._ends) - 1), now

    def fraction(self, now: float) -> float:
        """Return the share of the whole job that is done."""
        first, *rest = self._ends[self._step :][:2]
        if rest:
            # The first step has none before it.
            each = (self._since - self._start) / first if first else _FIRST
            lasts = max(each * (rest[0] - first), 1e-3)
            passed = 2 * (now - self._since)
            first += (rest[0] - first) * passed / (passed + lasts)
        self._least = max(self._least, first)
        return self._least

    def left(self, now: float) -> float | None:
        """Return how many seconds are left, about; None before the first step is done."""
        done = self._ends[self._step]
        if not done:
            return None
        total = max((self._since - self._start) / done, now - self._start)
        return max(total - (now - self._start), 0.0)

    def moving(self, bar: Progress, task: TaskID) -> Callable[[], Any]:
        """Return what draws the bar where it is now."""
        draw = bar.get_renderable

        def drawn() -> Any:
            now = time.monotonic()
            bar.update(task, completed=self.fraction(now), left=self.left(now))
            return draw()

        return drawn


class _TimeLeft(ProgressColumn):
    """About how long it still takes."""

    def render(self, task: Task) -> Text:
        """Return the time in minutes and seconds."""
        left = task.fields.get("left")
        return Text("" if left is None else f"about {int(left) // 60}:{int(left) % 60:02} left")


@contextmanager
def progress_bar(
    what: str, *, as_json: bool = False, shares: Sequence[float] = ()
) -> Iterator[StepReport]:
    """Show progress, for another program as lines of JSON; give a function to call at each step.

    ``shares`` of the time that steps usually take move the bar while a step lasts.
    """
    if as_json:

        def tell(done: int, total: int, now: str = "") -> None:
            typer.echo(json.dumps({"step": done, "of": total, "now": now}), err=True)

        yield tell
        return
    console = Console(stderr=True)
    columns: tuple[ProgressColumn, ...] = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    if shares:
        columns = (TextColumn(what), BarColumn(), _TimeLeft(), TextColumn("{task.fields[now]}"))
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    with bar:
        task = bar.add_task(what, total=1.0 if shares else None, now="")
        last = time.monotonic()
        pace = _Pace(shares, last) if shares else None
        if pace is not None:
            # It is drawn ten times a second.
            bar.get_renderable = pace.moving(bar, task)  # type: ignore[method-assign]

        def report(done: int, total: int, now: str = "") -> None:
            nonlocal last
            if pace is None:
                bar.update(task, completed=done, total=total, now=now)
            else:
                pace.reach(done, time.monotonic())
                bar.update(task, now=f"{done} of {total}, {now}" if now else "")
            if not console.is_terminal and time.monotonic() - last > _SECONDS:
                last = time.monotonic()
                typer.echo(f"{what}: {done} of {total}" + (f", {now}" if now else ""), err=True)

        yield report


# --- an index -------------------------------------------------------------------------------

DEFAULT = Path("index.labelspan")
# Indexes that are named where the one that was meant is missing.
_FEW = 5

IndexOption = Annotated[
    Path,
    typer.Option(
        "--index",
        "-i",
        help="Folder of the index made by `labelspan fit`; also as the first word.",
    ),
]


def check_index(path: Path) -> None:
    """Raise an error that says how to create an index if there is none."""
    from ..errors import MissingData  # noqa: PLC0415

    try:
        there = (path / "manifest.json").exists()
    except OSError:
        # Something is there that cannot be read; opening it says what.
        there = True
    if there:
        return
    others = sorted(one.parent.name for one in path.parent.glob("*/manifest.json"))
    others = [one for one in others if one.endswith(DEFAULT.suffix)]
    if others:
        more = ", ..." if len(others) > _FEW else ""
        raise MissingData(
            f"There is no index in {str(path)!r}, but there are {', '.join(others[:_FEW])}{more}; "
            f"name one first, as `labelspan COMMAND {others[0]} ...`."
        )
    raise MissingData(
        f"There is no index in {str(path)!r}; make one with `labelspan fit CORPUS --out "
        f"{path}`, or give the folder of an existing one."
    )


def open_index(path: Path, *, write: bool = False, verify: bool = False) -> SemanticIndex:
    """Open an index, which must exist; ``verify`` checks every file and item."""
    # Before the import: an error does not wait for scikit-learn.
    check_index(path)
    from ..index import SemanticIndex  # noqa: PLC0415

    return SemanticIndex.load(path, write=write, verify=verify)


def tell_problem(opened: SemanticIndex) -> None:
    """Say on stderr if the language model of an index is missing, so that only words count."""
    if opened.problem:
        note(opened.problem)


def read_vectors_file(name: str | None) -> Any:
    """Read the vectors of items from ``FILE`` or ``FILE:COLUMN``; None without a name."""
    if name is None:
        return None
    from ..datasets.vector_files import open_vectors  # noqa: PLC0415

    path, _, column = name.rpartition(":")
    named = path and not Path(name).exists()
    return open_vectors(path if named else name, name=column if named else None).read()


# --- a corpus -------------------------------------------------------------------------------

BUNDLED = "debtags"
_PANEL = "How the corpus is read (guessed, and printed, if not given)"

CorpusName = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A file (.csv .tsv .json .jsonl .xlsx .bib .ris .xml .html .mbox .sqlite ..., also "
        ".gz), a folder or archive of texts, Markdown notes or tables, - for standard input, or "
        f"{BUNDLED}, which comes with labelspan.",
        show_default=False,
    ),
]
_FIELD: Any = str | None
# Options by which a corpus is read: type, name of the value, and help.
_READING: dict[str, tuple[Any, str | None, str]] = {
    "text": (list[str] | None, "FIELD", "Field of the text; repeat for several fields."),
    "labels": (
        list[str] | None,
        "FIELD",
        "Field of the labels, a list or a string; repeat for several, also columns of 0 and 1; '' "
        "reads none.",
    ),
    "ids": (_FIELD, "FIELD", "Field of the item ids; '' numbers the items."),
    "separator": (
        _FIELD,
        None,
        "Separator between labels in a string, for example ';'. '' for one label per item.",
    ),
    "format": (
        _FIELD,
        None,
        "Format of the file, for example csv, xlsx or bibtex; lines reads one text per line.",
    ),
    "table": (
        _FIELD,
        "NAME|QUERY",
        "Sheet of a workbook, table of a database, or a query of it (select ...).",
    ),
    "empty_is_none": (
        bool,
        None,
        "Items without labels are known to have none; by default their labels are unknown.",
    ),
    "encoding": (_FIELD, None, "Encoding of the text, for example latin-1 or utf-16."),
    "vocabulary": (
        Path | None,
        "FILE",
        "Names of labels that are URIs or codes: lines with a URI, a tab and a name, or a SKOS "
        "thesaurus (.ttl, .rdf), which is read in the language of --language.",
    ),
    "links": (
        Path | None,
        "FILE",
        "Links between items: csv or tsv with two ids per line, and optionally a weight. By "
        "default links are recognised in fields and texts.",
    ),
    "no_links": (bool, None, "Read no links between items."),
    "min_count": (int, None, "Leave out labels with fewer items than this."),
}


def reads_corpus(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options by which a corpus is read, except some, as its ``**reading``."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        for name, (kind, metavar, text) in _READING.items():
            if name not in without:
                option = typer.Option(
                    f"--{name.replace('_', '-')}",
                    metavar=metavar,
                    help=text,
                    min=1 if kind is int else None,
                    rich_help_panel=_PANEL,
                )
                default = {bool: False, int: 1}.get(kind)
                shown: Any = Annotated[kind, option]
                own.append(
                    inspect.Parameter(
                        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown
                    )
                )
        command.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return command

    return extended


def check_corpus(corpus: str, *others: Path | None) -> None:
    """Raise an error for a corpus, or another file, that does not exist."""
    from .._files import check_there  # noqa: PLC0415

    if corpus not in ("-", BUNDLED):
        check_there(Path(corpus))
    for other in others:
        if other is not None:
            check_there(other)


def label_language(language: str) -> str | None:
    """Return the language of the names in a thesaurus, by the option --language."""
    return None if language in ("auto", "none") else language


def open_corpus(
    corpus: str,
    *,
    stream: bool = False,
    sample: bool | None = True,
    min_count: int = 1,
    empty_is_none: bool = False,
    vocabulary: Path | None = None,
    links: Path | None = None,
    no_links: bool = False,
    labels: str | list[str] | None = None,
    language: str = "auto",
    **options: Any,
) -> tuple[CorpusReader | None, TaggedTexts]:
    """Open a corpus, and print on stderr how it is read, without a sample if that is False.

    Nothing is printed if ``sample`` is None.

    Return its reader, None for the corpus that comes with labelspan, and its texts: all, or the
    first of a stream. ``options`` are those of :class:`labelspan.corpus.CorpusReader`.
    """
    # Before the import: an error does not wait for the numerical libraries.
    check_corpus(corpus, vocabulary, links)
    from ..corpus import CorpusReader  # noqa: PLC0415

    labels = "" if labels in ("", [""]) else labels or None
    reader = None
    if corpus == BUNDLED and not Path(corpus).exists():
        found = _bundled(labelled=labels != "")
    else:
        given = {
            "empty": "none" if empty_is_none else "unknown",
            "vocabulary": vocabulary,
            "label_language": None if vocabulary is None else label_language(language),
            "labels": labels,
            "links": False if no_links else links,
            **options,
        }

        def read(**more: Any) -> CorpusReader:
            return CorpusReader(standard_input() if corpus == "-" else corpus, **given | more)

        reader = _asked(read) if sample and corpus != "-" and _is_terminal() else read()
        found = reader.head if stream else reader.collect(min_count=min_count)
    notes = found.notes if reader is None or not sample else reader.report(found).lines()
    for line in notes if sample is not None else ():
        note(line)
    return reader, found


def _is_terminal() -> bool:
    """Return whether a person can be asked: both ends are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def _asked(read: Callable[..., CorpusReader]) -> CorpusReader:
    """Read a corpus, and ask a person for the fields that are not sure."""
    from ..errors import InvalidParameter  # noqa: PLC0415

    given: dict[str, Any] = {}
    reader: CorpusReader | None = None
    try:
        reader = read()
        unsure = {
            role: dict.fromkeys(names, "") for role, names in reader.reading["unsure"].items()
        }
    except InvalidParameter as error:
        if not error.choices:
            raise
        unsure = {role: dict(choices) for role, choices in error.choices.items()}
    for role, choices in unsure.items():
        if role not in ("text", "labels"):
            continue
        names = list(choices)[:9]
        typer.echo(f"Which field has the {role}?", err=True)
        for number, name in enumerate(names, 1):
            echo(f"  {number}  {name}  {choices[name]}".rstrip(), err=True)
        typer.echo("  0  none of them", err=True)
        chosen = -1
        while not 0 <= chosen <= len(names):
            chosen = typer.prompt("Number", type=int, default=0, err=True)
        if chosen:
            own = names[chosen - 1]
            title = () if role == "labels" or reader is None else reader.reading["text"]
            given[role] = [*title, own]
    if reader is not None and not given:
        return reader
    return read(**given)


def _bundled(*, labelled: bool) -> TaggedTexts:
    """Return the corpus that comes with labelspan."""
    from ..corpus.tagged_texts import Item, TaggedTexts  # noqa: PLC0415
    from ..datasets.registry import load_debtags  # noqa: PLC0415

    data = load_debtags()
    about = "debtags, the Debian programs that come with labelspan"
    known = data.labels or (), data.metadata or ()
    parts = zip(data.ids or (), data.texts or (), *known, strict=True)
    items = [
        Item(name, text, tuple(own) if labelled else None, dict(table))
        for name, text, own, table in parts
    ]
    return TaggedTexts(BUNDLED, items, (about,))
