"""``labelspan add``, ``relabel`` and ``remove``: change the items of an index."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import (
    DEFAULT,
    AsJson,
    CorpusName,
    IndexOption,
    check_corpus,
    check_index,
    counted,
    echo,
    open_corpus,
    open_index,
    plain_errors,
    print_json,
    read_vectors_file,
    reads_corpus,
    standard_lines,
)

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["add", "relabel", "remove"]

SimilarOption = Annotated[
    bool,
    typer.Option(
        "--similar-label",
        help="Allow new labels that differ from another only in case, accents, a plural s or one "
        "letter.",
    ),
]


@reads_corpus("min_count")
def add(  # noqa: PLR0917 - typer reads options from parameters
    corpus: CorpusName,
    index: IndexOption = DEFAULT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace items that have the same ids.")
    ] = False,
    similar: SimilarOption = False,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Vectors of the new items, as in fit, for an index that was fitted with vectors.",
        ),
    ] = None,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Add items to an index: all of them or, if anything fails, none.

    Fields, separators and the meaning of an empty field of labels are those of the fit, if the
    corpus has these fields. The embedding is not learned again; run fit again after many changes.
    A new label that is spelt nearly like an existing one needs --similar-label.

    For example:
      labelspan add more.jsonl
      labelspan add corrected.csv -i notes.labelspan --replace
      labelspan add more.jsonl --vectors more.npy
    """
    with plain_errors():
        check_index(index)
        check_corpus(corpus, reading["vocabulary"])
        rows = read_vectors_file(vectors)
        from ..corpus.link_names import LINKS, link_values  # noqa: PLC0415
        from ..errors import InvalidInput  # noqa: PLC0415

        with open_index(index, write=True) as opened:
            known: dict[str, Any] = {"language": opened.language, "like": opened.corpus_fields}
            reading["empty_is_none"] |= bool(opened.corpus_fields.get("empty_is_none"))
            _, found = open_corpus(corpus, **reading, **known)
            before, learned = len(opened), set(opened.labels)
            taken = (
                [] if replace or found.numbered else [name for name in found.ids if name in opened]
            )
            if taken:
                verb = "is" if len(taken) == 1 else "are"
                raise InvalidInput(
                    f"{counted(len(taken), 'item')} of {found.name} {verb} in {index} already, "
                    f"for example {taken[0]!r}; give --replace to replace them."
                )
            _check_new(opened, found.labels, create=True, similar=similar, typed=False)
            told = (found.reading or {}).get("links") or {}
            links = None
            if LINKS in told.get("marks", {}):
                links = [link_values(one.get(LINKS)) for one in found.metadata]
            opened.add(
                found.texts,
                found.labels,
                # Numbers of another file mean other items.
                None if found.numbered else found.ids,
                metadata=found.metadata,
                vectors=rows,
                links=links,
                replace=replace,
            )
            if opened.store.many_added:
                _join(opened)
            after = len(opened)
            linked = [opened.links(name) for name in opened.ids[-len(found) :] if told]
            new = [name for name in opened.labels if name not in learned]
    added, replaced = after - before, len(found) - (after - before)
    if as_json:
        answer = {"index": str(index), "added": added, "replaced": replaced, "items": after}
        print_json({**answer, "new_labels": new})
        return
    line = f"{counted(added, 'item')} added" + (f", {replaced:,} replaced" if replaced else "")
    typer.echo(f"{line}; {index} now has {after:,}.")
    if linked:
        to, nothing = (sum(len(getattr(one, name)) for one in linked) for name in ("to", "nothing"))
        more = f"; {nothing:,} to nothing" if nothing else ""
        typer.echo(f"They have {counted(to, 'link')} to items of the index{more}.")
    if new:
        typer.echo(
            f"New in the index: {counted(len(new), 'label')}, for example {new[0]!r}; search and "
            "tag can use them.",
            err=True,
        )


def _join(opened: Any) -> None:
    """Merge many added items with the others; if there is no room, they stay separate."""
    try:
        opened.save()
    except (MemoryError, OSError) as error:
        typer.echo(
            "The items were added, but not merged with the others, which would make searches "
            f"faster: {str(error) or 'not enough memory'}.",
            err=True,
        )


def relabel(  # noqa: PLR0917 - typer reads options from parameters
    item: Annotated[str | None, typer.Argument(metavar="ID", help="Id of the item.")] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL", help="Its new labels, which replace the present ones."),
    ] = None,
    index: IndexOption = DEFAULT,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="The labels of the item are not known.")
    ] = False,
    none: Annotated[bool, typer.Option("--none", help="The item has no labels.")] = False,
    changes: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Change the labels of all items of a CSV file: an id and its labels, separated by "
            "|, in each line; - reads standard input.",
        ),
    ] = None,
    new_label: Annotated[
        bool, typer.Option("--new-label", help="Allow labels that no item has yet.")
    ] = False,
    similar: SimilarOption = False,
    as_json: AsJson = False,
) -> None:
    """Change the labels of items; the tagger learns from the change.

    A label that no item has yet is only created with --new-label: it may be a typo. One that is
    spelt nearly like another needs --similar-label as well.

    For example:
      labelspan relabel gimp works-with::image use::editing
      labelspan relabel gimp --unknown -i notes.labelspan
      labelspan relabel --from changes.csv
    """
    with plain_errors():
        from ..errors import Mismatch  # noqa: PLC0415
        from ..index.inputs import read_label_lists  # noqa: PLC0415

        if bool(names) + unknown + none > 1:
            raise Mismatch("Give either labels, --unknown or --none, not two of them.")
        if (item is None) == (changes is None):
            raise Mismatch("Give either the id of an item and its labels, or --from FILE.")
        if changes is not None:
            wanted = _read_changes(changes)
        else:
            assert item is not None
            if not (names or unknown or none):
                raise Mismatch(f"Give the new labels of {item}, or --none to remove all of them.")
            wanted = {item: None if unknown else list(names or [])}
        with open_index(index, write=True) as opened:
            _check_new(opened, wanted.values(), create=new_label, similar=similar, typed=True)
            before = {one.id: one.labels for one in opened.items(list(wanted))}
            lists = read_label_lists(list(wanted.values()), len(wanted), "relabel")
            opened.relabel(list(wanted), lists)
            after = {one.id: one.labels for one in opened.items(list(wanted))}
    if as_json:
        answers = [{"id": one, "before": before[one], "labels": after[one]} for one in after]
        print_json(answers if changes is not None else answers[0])
    elif changes is not None:
        different = sum(before[one] != own for one, own in after.items())
        typer.echo(f"{len(after):,} items; the labels of {different:,} have changed.")
    else:
        assert item is not None
        own = after[item]
        echo(f"Labels of {item}: {'unknown' if own is None else ', '.join(own) or 'none'}.")


def _read_changes(source: str) -> dict[str, list[str] | None]:
    """Read ids and labels from a CSV file, whose first line may be a header."""
    from ..errors import InvalidFile, MissingData  # noqa: PLC0415

    try:
        if source == "-":
            lines = list(standard_lines())
        else:
            lines = Path(source).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise MissingData(f"There is no file {source!r}; correct --from.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{source} cannot be read: {error}.") from error
    found: dict[str, list[str] | None] = {}
    for number, row in enumerate(csv.reader(lines), start=1):
        if not any(cell.strip() for cell in row):
            continue
        if number == 1 and [cell.strip().lower() for cell in row] == ["id", "labels"]:
            continue
        name, *rest = (cell.strip() for cell in row)
        if not rest or not name:
            raise InvalidFile(
                f"{source}, line {number}: give an id and its labels, for example gimp,a|b."
            )
        if name in found:
            raise InvalidFile(f"{source}, line {number}: the id {name!r} occurs twice.")
        found[name] = [one.strip() for cell in rest for one in cell.split("|") if one.strip()]
    if not found:
        raise InvalidFile(f"{source} has no changes; give an id and its labels in each line.")
    return found


def _check_new(
    opened: SemanticIndex, lists: Iterable[Any], *, create: bool, similar: bool, typed: bool
) -> None:
    """Raise an error for labels that no item has, or that are spelt nearly like others."""
    from ..curation.label_edits import LabelEdits  # noqa: PLC0415
    from ..errors import InvalidInput, NewLabels  # noqa: PLC0415

    names = [name for own in lists for name in own or ()]
    try:
        LabelEdits(opened).check_new_labels(names, create=create, similar=similar, typed=typed)
    except NewLabels as error:
        option = {"create": "--new-label", "similar": "--similar-label"}[error.allow]
        raise InvalidInput(f"{error.doubt} Correct it, or give {option} to create it.") from None


def remove(
    items: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the items.")],
    index: IndexOption = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Remove items from an index: all of them or, if an id does not exist, none.

    For example:
      labelspan remove gimp inkscape
    """
    with plain_errors(), open_index(index, write=True) as opened:
        before = len(opened)
        opened.remove(items)
        after = len(opened)
    removed = before - after
    if as_json:
        answer = {"index": str(index), "removed": removed, "items": after}
        print_json(answer)
    else:
        typer.echo(f"{counted(removed, 'item')} removed; {index} now has {after:,}.")
