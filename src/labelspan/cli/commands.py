"""The commands of ``labelspan``, in the order in which a newcomer needs them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import typer

from .adapt import adapt
from .changes import add, relabel, remove
from .data import data
from .demo import demo
from .evaluate import evaluate
from .export import corpus_map, export
from .fit import fit
from .inspect import audit, info, labels
from .reproduce import reproduce
from .review import review
from .search import search
from .serve import mcp, serve
from .shared import CommandGroup, main_options
from .tag import tag
from .teaching import teach
from .undoing import history, undo

__all__ = ["app"]

app = typer.Typer(
    name="labelspan",
    cls=CommandGroup,
    help="Label-informed dimensionality reduction and search for tagged data.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, fit, search, tag, add, relabel, remove, history, undo, labels, audit, review, teach),
    *(evaluate, adapt, corpus_map, serve, mcp, export, info),
)


def _help(command: Callable[..., None]) -> str:
    """Return the text of a command, with each example, which is indented, as a paragraph."""
    return re.sub(r"\n+(  \S)", r"\n\n\1", inspect.getdoc(command) or "")


for _command in _COMMANDS:
    name = "map" if _command is corpus_map else None
    app.command(name, help=_help(_command))(_command)
app.add_typer(data, name="data")
app.command()(reproduce)
app.callback()(main_options)
