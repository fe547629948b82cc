"""``labelspan review``: decide about labels that look wrong or missing, one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from .shared import (
    DEFAULT,
    IndexArgument,
    check_index,
    open_index,
    plain_errors,
    pressed_keys,
    reason_lines,
)

if TYPE_CHECKING:
    from ..corpus import CorpusEdit
    from ..curation import Finding, Review
    from ..curation.decisions import Verdict

__all__ = ["review"]

_KEYS: dict[str, Verdict] = {"y": "accept", "n": "reject", "s": "skip"}


def review(  # noqa: PLR0917 - typer reads options from parameters
    index: IndexArgument = DEFAULT,
    label: Annotated[
        str,
        typer.Option("--label", metavar="LABEL", help="Only this label."),
    ] = "",
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Only labels that look wrong, or missing.")
    ] = "",
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Ask again about findings that were skipped.")
    ] = False,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the decisions to .csv or .jsonl, or - for JSON lines on standard output.",
        ),
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="CORPUS",
            help="Apply the decisions to this corpus, read as by the fit, and write --out.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="COPY", help="With --apply: write a changed copy of the corpus with this name."
        ),
    ] = None,
) -> None:
    """Decide about labels that look wrong or missing, one by one, the clearest first.

    Keys: y accepts the proposal (removes a wrong label, adds a missing one), n rejects it, s skips,
    u undoes the last decision, q quits. Each decision is saved immediately, and the tagger learns
    from it. Keys can also be piped, one per line.

    For example:
      labelspan review
      labelspan review notes.labelspan --label game --kind wrong
      labelspan review --export decisions.csv
      labelspan review --apply notes.jsonl --out corrected.jsonl
    """
    with plain_errors():
        from ..errors import InvalidParameter, Mismatch  # noqa: PLC0415

        if kind not in ("", "wrong", "missing"):
            raise InvalidParameter(f"--kind must be wrong or missing, but {kind!r} was given.")
        if (apply is None) != (out is None):
            raise Mismatch("--apply CORPUS needs --out COPY, and --out needs --apply.")
        check_index(index)
        if export is not None:
            _export(index, export)
        if apply is not None:
            from ..corpus import edit_corpus  # noqa: PLC0415
            from ..curation import Review  # noqa: PLC0415

            with open_index(index) as opened:
                changes = Review(opened).changes()
                texts = {name: opened.item(name).text for name in changes if name in opened}
                edit = edit_corpus(apply, changes, texts=texts, like=opened.corpus_fields)
            if out is not None:
                edit.write(out)
            _report(edit)
        if export is None and apply is None:
            _ask(index, label, kind, skipped=skipped)  # type: ignore[arg-type]


def _export(index: Path, target: str) -> None:
    from .._files import write_whole  # noqa: PLC0415
    from ..curation import Review  # noqa: PLC0415
    from ..curation.decisions import as_lines, as_table  # noqa: PLC0415
    from ..errors import InvalidParameter  # noqa: PLC0415

    with open_index(index) as opened:
        found = Review(opened).decisions()
    if target == "-":
        typer.echo(as_lines(found), nl=False)
        return
    suffix = Path(target).suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise InvalidParameter(f"--export writes .csv or .jsonl, but {target!r} was given.")
    content = (as_table if suffix == ".csv" else as_lines)(found).encode()
    write_whole(Path(target), lambda file: file.write(content))
    typer.echo(f"{len(found):,} decisions in {target}.")


def _report(edit: CorpusEdit) -> None:
    typer.echo(
        f"{edit.n_items:,} items changed: {edit.n_added:,} labels added, {edit.n_removed:,} "
        "removed."
    )
    if edit.n_unchanged:
        typer.echo(f"{edit.n_unchanged:,} changes were in the file already.", err=True)
    for names, what in (
        (edit.missing, "items are not in the file"),
        (edit.changed, "items have another text than when the index was fitted; check them"),
    ):
        if names:
            typer.echo(f"{len(names):,} {what}, for example {names[0]!r:.60}.", err=True)


def _ask(index: Path, label: str, kind: Literal["", "wrong", "missing"], *, skipped: bool) -> None:
    """Ask about one finding after the other, until the queue or the keys end."""
    from ..curation import Review  # noqa: PLC0415

    with open_index(index, write=True) as opened:
        review = Review(opened)
        typer.echo("Looking for labels that look wrong or missing ...", err=True)
        queue = review.waiting(label=label, kind=kind, skipped=skipped)
        keys = pressed_keys()
        made = 0
        while queue or made:
            if queue:
                _show(review, queue[0], made, made + len(queue))
            else:
                typer.echo("Nothing is left: u undoes the last decision, q quits.")
            key = next(keys, "q")
            if key == "q":
                break
            if key == "u":
                undone = review.undo()
                queue = review.waiting(label=label, kind=kind, skipped=skipped)
                made = max(0, made - 1)
                typer.echo(f"Undone: {undone.said}" if undone else "There is nothing to undo.")
            elif key in _KEYS and queue:
                decision = review.decide([queue.pop(0)], _KEYS[key])
                made += 1
                assert decision is not None
                typer.echo(f"Done: {decision.said}")
            else:
                typer.echo("Keys: y yes, n no, s skip, u undo, q quit.")
        done = review.progress(label=label, kind=kind)
        typer.echo(
            f"{done['accepted']:,} accepted, {done['rejected']:,} rejected, "
            f"{done['skipped']:,} skipped, {done['waiting']:,} waiting."
        )


def _show(review: Review, finding: Finding, done: int, total: int) -> None:
    (name,), (label,) = finding.items, finding.labels
    item = review.index.item(name)
    wrong = finding.kind == "wrong"
    console = Console(highlight=False)
    console.print()
    title = Text(f"{done + 1}/{total}  ", style="dim")
    title.append(f"Remove {label}?" if wrong else f"Add {label}?", style="bold")
    console.print(title)
    text = " ".join(item.text.split())
    console.print(Text(f"{name}: ", style="bold").append(Text(text[:300], style="not bold")))
    others = [one for one in item.labels or () if one != label]
    console.print(Text(f"  other labels: {', '.join(others) or '-'}", style="dim"))
    console.print(Text(f"  {finding.reason}"))
    why = review.explain(finding)
    if why is not None:
        console.print(Text("\n".join(reason_lines(why))))
    accept = "remove" if wrong else "add"
    reject = "keep" if wrong else "do not add"
    console.print(Text(f"  y {accept}   n {reject}   s skip   u undo   q quit", style="dim"))
