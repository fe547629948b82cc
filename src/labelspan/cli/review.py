"""``labelspan review``: decide about labels to merge, and labels that look missing or wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from .shared import (
    DEFAULT,
    AsJson,
    IndexOption,
    PlainConsole,
    check_index,
    counted,
    echo,
    open_index,
    plain_errors,
    pressed_keys,
    print_json,
    reason_lines,
)

if TYPE_CHECKING:
    from ..corpus import CorpusEdit
    from ..curation import Finding, Review
    from ..curation.decisions import Verdict
    from ..index import HistoryEntry, SemanticIndex

__all__ = ["review"]

_KEYS: dict[str, Verdict] = {"y": "accept", "n": "reject", "s": "skip"}
# What y, n and the question say.
_PROPOSALS = {
    "merge": ("merge", "leave", "Merge"),
    "missing": ("add", "do not add", "Add"),
    "wrong": ("remove", "keep", "Remove"),
}
_MOST_MERGES = 1000


def review(  # noqa: PLR0917 - typer reads options from parameters
    index: IndexOption = DEFAULT,
    label: Annotated[
        str,
        typer.Option("--label", metavar="LABEL", help="Only this label."),
    ] = "",
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="Only labels to merge, missing, or wrong."),
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
    as_json: AsJson = False,
) -> None:
    """Decide about labels to merge, and labels that look missing or wrong, the clearest first.

    Keys: y accepts the proposal (merges labels, adds a missing one, removes a wrong one), n rejects
    it, s skips, u undoes the last decision, q quits; r merges or renames labels to a name that you
    type. Each decision is saved immediately, and the tagger learns from it. A rejected merge is
    proposed again by the next review. Keys can also be piped, one per line. With --json the
    findings that wait are listed, and nothing is asked.

    For example:
      labelspan review
      labelspan review notes.labelspan --label game --kind wrong
      labelspan review --export decisions.csv
      labelspan review --apply notes.jsonl --out corrected.jsonl
    """
    with plain_errors():
        from ..errors import InvalidParameter, Mismatch  # noqa: PLC0415

        if kind not in ("", *_PROPOSALS):
            raise InvalidParameter(
                f"--kind must be one of {', '.join(_PROPOSALS)}, but {kind!r} was given."
            )
        if (apply is None) != (out is None):
            raise Mismatch("--apply CORPUS needs --out COPY, and --out needs --apply.")
        check_index(index)
        if export is not None:
            _export(index, export)
        if apply is not None:
            from ..curation.corrected_file import correct_file  # noqa: PLC0415

            with open_index(index) as opened:
                corrected = correct_file(opened, apply)
            if out is not None:
                corrected.edit.write(out)
            _report(corrected.edit, corrected.notes)
        if as_json:
            from ..curation import Review  # noqa: PLC0415

            with open_index(index) as opened:
                print_json(_queue(Review(opened), label, kind, skipped=skipped))
        elif export is None and apply is None:
            _ask(index, label, kind, skipped=skipped)


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
    typer.echo(f"{counted(len(found), 'decision')} in {target}.")


def _report(edit: CorpusEdit, notes: list[str]) -> None:
    typer.echo(
        f"{counted(edit.n_items, 'item')} changed: {counted(edit.n_added, 'label')} added, "
        f"{edit.n_removed:,} removed."
    )
    if edit.n_replaced:
        typer.echo(f"{counted(edit.n_replaced, 'value')} of the metadata replaced.")
    for note in notes:
        echo(note, err=True)
    if edit.n_unchanged:
        typer.echo(f"Already in the file: {counted(edit.n_unchanged, 'change')}.", err=True)
    for names, what in (
        (edit.missing, "items are not in the file"),
        (edit.changed, "items have another text than when the index was fitted; check them"),
    ):
        if names:
            typer.echo(f"{len(names):,} {what}, for example {names[0]!r:.60}.", err=True)


def _ask(index: Path, label: str, kind: str, *, skipped: bool) -> None:
    """Ask about one finding after the other, until the queue or the keys end."""
    from ..curation import Review  # noqa: PLC0415

    with open_index(index, write=True) as opened:
        review = Review(opened)
        problem = opened.corpus_fields.get("why_not_writable")
        looking = "Looking for labels to merge, and labels that look missing or wrong ..."
        echo(f"Note: {problem}\n{looking}" if problem else looking, err=True)
        queue = _queue(review, label, kind, skipped=skipped)
        keys = pressed_keys("r")
        # What was answered, with the decision; a merge that is rejected makes none.
        done: list[tuple[Finding, Verdict, HistoryEntry | None]] = []
        while queue or done:
            if queue:
                _show(review, queue[0], len(done), len(done) + len(queue))
            else:
                typer.echo("Nothing is left: u undoes the last decision, q quits.")
            key = next(keys, "q")
            if key == "q":
                break
            if key == "u":
                finding, _, made = done.pop() if done else (None, "", None)
                said = "The last answer." if made is None else ""
                if finding is None or made is not None:
                    said = _undo(opened, None if made is None else made.number)
                if finding is not None:
                    queue.insert(0, finding)
                else:
                    queue = _queue(review, label, kind, skipped=skipped)
                echo(said)
            elif key == "r" and queue:
                made = _rename(review, queue[0], next(keys, ""))
                if made is not None:
                    done.append((queue.pop(0), "accept", made))
                    echo(f"Done: {made.said}")
            elif key in _KEYS and queue:
                finding = queue.pop(0)
                made = _decide(review, finding, _KEYS[key])
                done.append((finding, _KEYS[key], made))
                echo(f"Done: {made.said}" if made is not None else "Left as it is.")
            else:
                typer.echo("Keys: y yes, n no, s skip, r another name, u undo, q quit.")
        counts = Counter(answer for _, answer, _ in done)
        typer.echo(
            f"{counts['accept']:,} accepted, {counts['reject']:,} rejected, "
            f"{counts['skip']:,} skipped, {len(queue):,} waiting."
        )


def _undo(index: SemanticIndex, number: int | None) -> str:
    from ..errors import InvalidInput  # noqa: PLC0415

    try:
        return index.undo(number).said
    except InvalidInput as error:
        return str(error)


def _queue(review: Review, label: str, kind: str, *, skipped: bool) -> list[Finding]:
    """List what is to be decided: labels to merge, then labels of items."""
    from ..curation import audit_labels  # noqa: PLC0415

    merges: list[Finding] = []
    if kind in ("", "merge") and not skipped:
        found = audit_labels(review.index, _MOST_MERGES, kinds=["merge"]).of("merge")
        merges = [one for one in found if label in ("", *one.labels)]
    pairs: Any = [] if kind == "merge" else kind
    return merges + (
        review.waiting(label=label, kind=pairs, skipped=skipped) if pairs != [] else []
    )


def _decide(review: Review, finding: Finding, decision: Verdict) -> HistoryEntry | None:
    if finding.kind != "merge":
        return review.decide([finding], decision)
    if decision != "accept":
        return None
    into, *others = _by_count(review, finding)
    return review.apply(review.plan_replace(others, into))


def _rename(review: Review, finding: Finding, name: str) -> HistoryEntry | None:
    """Give the labels of a finding another name; a name like another label is refused."""
    from ..errors import NewLabels  # noqa: PLC0415

    if not name:
        typer.echo("Type the name after r.")
        return None
    edit = review.plan_replace(finding.labels, name)
    try:
        review.check_new_labels(edit.new_labels, edit.removed, create=True)
    except NewLabels as error:
        echo(f"{error.doubt} Give that name, or another.")
        return None
    return review.apply(edit, create=True)


def _by_count(review: Review, finding: Finding) -> list[str]:
    """Return the labels of a finding that exist, the most frequent first."""
    counts = review.index.labels
    there = [name for name in finding.labels if name in counts]
    return sorted(there, key=lambda name: (-counts[name], name))


def _show(review: Review, finding: Finding, done: int, total: int) -> None:
    accept, reject, verb = _PROPOSALS[finding.kind]
    console = PlainConsole(highlight=False)
    console.print()
    title = Text(f"{done + 1}/{total}  ", style="dim")
    if finding.kind == "merge":
        counts = review.index.labels
        into, *others = (
            f"{name} ({counted(counts[name], 'item')})" for name in _by_count(review, finding)
        )
        title.append(f"Merge {', '.join(others)} into {into}?", style="bold")
        console.print(title)
        console.print(Text(f"  {finding.reason}"))
    else:
        (name,), (label,) = finding.items, finding.labels
        item = review.index.item(name)
        unsure = "" if finding.sure else " (unsure)"
        console.print(title.append(f"{verb} {label}?{unsure}", style="bold"))
        text = " ".join(item.text.split())
        console.print(Text(f"{name}: ", style="bold").append(Text(text[:300], style="not bold")))
        others = [one for one in item.labels or () if one != label]
        console.print(Text(f"  other labels: {', '.join(others) or '-'}", style="dim"))
        console.print(Text(f"  {finding.reason}"))
        why = review.explain(finding)
        if why is not None:
            console.print(Text("\n".join(reason_lines(why))))
    keys = f"  y {accept}   n {reject}   s skip   r another name   u undo   q quit"
    console.print(Text(keys, style="dim"))
