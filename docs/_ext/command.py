"""The reference of the command, written from the command itself.

``reference/command.md`` holds a comment that ``generated`` replaces by :func:`page`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from labelspan.cli import app as labelspan

MARK = "<!-- the commands -->"
BAR = r"\|"  # in a cell of a table


def page() -> str:
    """Every command with its usage, help text, arguments and options, in Markdown."""
    return "\n".join(part for path, command in commands() for part in _section(path, command))


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, in the order of ``labelspan --help``."""
    yield from _walk("labelspan", typer.main.get_command(labelspan))


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walk(f"{path} {name}", inner)


def _section(path: str, command: Any) -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    level = "##" if path.count(" ") < 2 else "###"
    yield f"{level} {path}\n"
    yield f"```text\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    yield from _words(inspect.cleandoc(command.help or ""))
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            panel = getattr(parameter, "rich_help_panel", None) or ""
            panels.setdefault(panel, []).append(_row(parameter, context))
    for panel, rows in panels.items():
        if panel:
            yield f"{panel}:\n"
        yield "| | |\n| --- | --- |"
        yield from rows
        yield ""


def _words(text: str) -> Iterator[str]:
    """Help of a command: paragraphs, and a block of its examples, which are indented there."""
    examples: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("  "):
            examples.append(paragraph.strip())
            continue
        yield from _block(examples)
        examples = []
        yield f"{paragraph}\n"
    yield from _block(examples)


def _block(examples: list[str]) -> Iterator[str]:
    if examples:
        lines = "\n".join(examples)
        yield f"```sh\n{lines}\n```\n"


def _row(parameter: Any, context: Any) -> str:
    names, said = parameter.get_help_record(context)
    if parameter.param_type_name == "argument":
        names = names.split()[0]
    # The help is written for rich, where a bracket is escaped; here a bar is.
    cells = (f"`{names.replace(' range>', '>')}`", said.replace(r"\[", "["))
    return f"| {' | '.join(' '.join(cell.split()).replace('|', BAR) for cell in cells)} |"
