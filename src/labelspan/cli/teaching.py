"""``labelspan teach``: find all items of a label by answering about the likeliest ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from .._texts import as_dict
from .shared import (
    DEFAULT,
    IndexOption,
    PlainConsole,
    check_index,
    open_index,
    plain_errors,
    pressed_keys,
    print_json,
)

if TYPE_CHECKING:
    from ..curation import Teacher
    from ..curation.teach import Form, Question, Reply

__all__ = ["teach"]

_KEYS: dict[str, Reply] = {"y": "yes", "n": "no", "s": "skip"}
_LONGEST_TEXT = 600
_MOST_FIELDS = 5
_HELP = "y yes   n no   s skip   u undo   q quit"


def teach(  # noqa: PLR0917 - typer reads options from parameters
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label, new or existing.")],
    index: IndexOption = DEFAULT,
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--item", metavar="ID", help="An item that has the label; repeat for several."
        ),
    ] = None,
    query: Annotated[
        str,
        typer.Option(
            "--search", metavar="TEXT", help="Ask first about the results of this search."
        ),
    ] = "",
    within: Annotated[
        str, typer.Option(metavar="LABEL", help="Ask only about items with this label.")
    ] = "",
    who: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Your name, recorded with the answers.")
    ] = "",
    target: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.5,
            max=1.0,
            help="Fraction of the matching items to find before it says Enough (default 0.95).",
        ),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the answers to .csv or .ris, or - for csv on standard output.",
        ),
    ] = None,
    taken: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Import decisions from .csv or .ris, by id or title.",
        ),
    ] = None,
    apply: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="Change labels by the answers: add gives the label to the items with yes, clean "
            "also removes it from those with no, split replaces the label of --within.",
        ),
    ] = "",
    rest: Annotated[
        str,
        typer.Option(metavar="LABEL", help="With --apply split: the label of all other items."),
    ] = "",
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="With --apply: also items without an answer of at least this probability.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the progress as JSON.")] = False,
) -> None:
    """Find all items of a label by answering questions about the most likely ones.

    Keys: y belongs, n does not, s skips, u undoes the last answer, q quits. Each answer is saved
    immediately, and the items are ranked again after every five. Run the command again to continue.
    Keys can also be piped, one per line.

    For example:
      labelspan teach chess --search "chess opening"
      labelspan teach chess --item gnuchess --item xboard
      labelspan teach chess --within game --as anna
      labelspan teach chess --target 0.8
      labelspan teach chess --export answers.csv
      labelspan teach chess --import answers.ris
      labelspan teach chess --apply add
    """
    with plain_errors():
        from ..curation import Teacher  # noqa: PLC0415
        from ..errors import InvalidParameter  # noqa: PLC0415

        if apply not in ("", "add", "clean", "split"):
            raise InvalidParameter(f"--apply must be add, clean or split, but {apply!r} was given.")
        if (rest or at_least is not None) and not apply:
            raise InvalidParameter("--rest and --at-least are only used with --apply.")
        if export not in (None, "-") and Path(export).suffix.lower() not in (".csv", ".ris"):
            raise InvalidParameter(f"--export writes .csv or .ris, but {export!r} was given.")
        check_index(index)
        with open_index(index, write=True) as opened:
            teacher = Teacher(opened, label, items=items or (), query=query, within=within, who=who)
            if target is not None:
                teacher.aim(target)
            if taken is not None:
                _take(teacher, taken)
            elif export is None and not apply and not as_json:
                _ask(teacher)
            if export is not None:
                _export(teacher, export)
            if apply:
                _apply(teacher, apply, rest, at_least)  # type: ignore[arg-type]
            if as_json:
                print_json({"label": teacher.label, **as_dict(teacher.progress())}, line=True)


def _take(teacher: Teacher, file: Path) -> None:
    from ..curation.screening_files import read_decisions  # noqa: PLC0415
    from ..errors import InvalidFile  # noqa: PLC0415

    try:
        found = read_decisions(file.read_bytes().decode())
    except UnicodeDecodeError:
        raise InvalidFile(f"{file}: the text is not UTF-8.") from None
    typer.echo(f"{teacher.take(found):,} of {len(found):,} decisions imported from {file}.")


def _export(teacher: Teacher, target: str) -> None:
    from .._files import write_whole  # noqa: PLC0415

    content = teacher.to_ris() if target.lower().endswith(".ris") else teacher.to_csv()
    if target == "-":
        typer.echo(content, nl=False)
        return
    write_whole(Path(target), lambda file: file.write(content.encode()))
    typer.echo(f"{len(teacher.log()):,} answers in {target}.")


def _apply(teacher: Teacher, form: Form, rest: str, at_least: float | None) -> None:
    edit = teacher.plan(form, rest=rest, at_least=at_least)
    made = teacher.apply(edit)
    if made is None:
        typer.echo("Nothing to change.")
    else:
        typer.echo(f"Done: {edit.said} `labelspan undo {made.number}` undoes it.")


def _ask(teacher: Teacher) -> None:
    """Ask about one item after the other, until all have an answer or the input ends."""
    from ..curation.teach import BATCH  # noqa: PLC0415

    console = PlainConsole(highlight=False)
    keys = pressed_keys()
    while True:
        found = teacher.questions(1)
        if found:
            _show(console, teacher, found[0])
        else:
            typer.echo("All items have an answer: u undoes the last one, q quits.")
        key = next(keys, "q")
        if key == "q":
            break
        if key == "u":
            undone = teacher.undo()
            typer.echo(
                f"Undone: {undone.answer} for {undone.item}."
                if undone
                else "There is nothing to undo."
            )
        elif key in _KEYS and found:
            teacher.answer(found[0].item, _KEYS[key])
            # What is left is estimated again when the ranking is.
            if len(teacher.log()) % BATCH == 0:
                done = teacher.progress()
                console.print(Text(done.said, style="bold" if done.enough else ""))
        else:
            typer.echo(f"Keys: {_HELP}.")
    typer.echo(teacher.progress().said)
    if teacher.answers():
        typer.echo(f"Apply the answers: labelspan teach {teacher.label!r} --apply add", err=True)


def _show(console: PlainConsole, teacher: Teacher, question: Question) -> None:
    item = teacher.index.item(question.item)
    words, labels = teacher.explain(item.id)

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style))

    console.print()
    title = Text(f"{teacher.label}? ", style="bold")
    title.append("near miss, " if question.kind == "near" else "", style="dim")
    known = question.probability is not None
    title.append(f"{question.probability:.0%}" if known else "not known yet", style="dim")
    console.print(title)
    line(f"{item.id}: {item.title}", "bold")
    shown = Text(item.text[:_LONGEST_TEXT])
    for one in words:
        style = "green" if one.share > 0 else "red"
        shown.highlight_words([one.word], style, case_sensitive=False)
    console.print(shown)
    for name, value in list(item.metadata.items())[:_MOST_FIELDS]:
        line(f"  {name}: {value!s:.100}", "dim")
    if item.labels:
        line(f"  labels: {', '.join(item.labels)}", "dim")
    for kind, found in (("words", words), ("its labels", labels)):
        if found:
            marks = (f"{'+' if one.share > 0 else '-'}{one.word}" for one in found)
            line(f"  {kind}: {', '.join(marks)}")
    console.print(Text(f"  {_HELP}", style="dim"))
