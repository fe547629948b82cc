"""Draw a map of a corpus as one HTML file that can be zoomed and searched; needs Bokeh."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..errors import InvalidInput, MissingData
from .corpus_map import CorpusMap
from .style import COLOURS, GREY

__all__ = ["corpus_html"]

# A choice of the menu that is not a label.
_REGIONS = "the largest regions"
_MOST_LABELS = 500
_LABELS_SHOWN = 8

_RECOLOUR = """
const colour = source.data.colour, alpha = source.data.alpha, n = colour.length;
const wanted = find.value_input.trim().toLowerCase();
const own = select.value in members ? new Set(members[select.value]) : null;
let found = 0;
for (let i = 0; i < n; i++) {
    const text = (source.data.id[i] + " " + source.data.title[i]).toLowerCase();
    const hit = (own === null || own.has(i)) && (wanted === "" || text.includes(wanted));
    const plain = own === null && wanted === "";
    colour[i] = plain || (hit && own === null) ? source.data.start[i] : hit ? strong : grey;
    alpha[i] = plain ? usual : hit ? 0.95 : 0.12;
    found += hit;
}
note.text = found.toLocaleString("en") + " of " + n.toLocaleString("en") + " items";
source.change.emit();
"""


def corpus_html(corpus_map: CorpusMap, title: str) -> str:
    """Return a page with the map that needs no other file, and no network.

    Points can be zoomed and panned, coloured by any label, and searched by their ids and
    titles; the mouse over a point shows what it is.

    Parameters
    ----------
    corpus_map : CorpusMap
        The items with their places.
    title : str
        The heading of the page.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display import CorpusMap, corpus_html
    >>> points = np.array([[0.0, 0.0], [0.1, 0.0]])
    >>> found = CorpusMap(points, ["a", "b"], ["A game", "A tool"], [["play"], []], [])
    >>> corpus_html(found, "Two items").startswith("<!")  # doctest: +SKIP
    True
    """
    try:
        from bokeh.embed import file_html  # noqa: PLC0415 - an optional dependency
        from bokeh.resources import INLINE  # noqa: PLC0415
    except ImportError:
        raise MissingData(
            "An HTML map needs bokeh, which is not installed; pip install 'labelspan[app]'."
        ) from None
    if not len(corpus_map.points):
        raise InvalidInput("corpus_html: there are no items to draw.")
    return str(file_html(_document(corpus_map, title), INLINE, title))


def _document(found: CorpusMap, title: str) -> Any:
    from bokeh.layouts import column, row  # noqa: PLC0415
    from bokeh.models import (  # noqa: PLC0415
        ColumnDataSource,
        CustomJS,
        Div,
        Select,
        TextInput,
    )

    count = len(found.points)
    usual = float(np.clip(1.3 - 0.2 * np.log10(count), 0.35, 0.9))
    start = found.point_colours()
    source = ColumnDataSource(
        {
            "x": found.points[:, 0],
            "y": found.points[:, 1],
            "colour": list(start),
            "start": start,
            "alpha": np.full(count, usual, dtype=np.float32),
            "id": list(found.ids),
            "title": list(found.titles),
            "labels": [_labels(own) for own in found.labels],
        }
    )
    counts = dict(list(found.counts.items())[:_MOST_LABELS])
    members: dict[str, list[int]] = {label: [] for label in counts}
    for number, own in enumerate(found.labels):
        for label in own:
            if label in members:
                members[label].append(number)
    select = Select(
        title="Colour by",
        value=_REGIONS,
        options=[_REGIONS, *((label, f"{label} ({n:,})") for label, n in counts.items())],
        width=300,
        name="colour by",
    )
    find = TextInput(title="Find in ids and titles", width=260, name="find")
    # Without mathematics: for a dollar sign Bokeh would load a renderer from the network.
    note = Div(text=f"{count:,} items", align="end", disable_math=True)
    note.styles = {"padding-bottom": "6px"}
    arguments = {
        "source": source,
        "members": members,
        "select": select,
        "find": find,
        "note": note,
        "strong": COLOURS[3],
        "grey": GREY,
        "usual": usual,
    }
    recolour = CustomJS(args=arguments, code=_RECOLOUR)
    select.js_on_change("value", recolour)
    find.js_on_change("value_input", recolour)
    heading = Div(text=escape(title), align="end", disable_math=True)
    heading.styles = {"font": "bold 18px system-ui, sans-serif", "padding": "0 12px 6px 4px"}
    panel = row(heading, select, find, note, sizing_mode="stretch_width")
    return column(panel, _plot(found, source), sizing_mode="stretch_both")


def _plot(found: CorpusMap, source: Any) -> Any:
    from bokeh.models import HoverTool  # noqa: PLC0415
    from bokeh.plotting import figure  # noqa: PLC0415

    plot = figure(
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll="wheel_zoom",
        output_backend="webgl",
        match_aspect=True,
        sizing_mode="stretch_both",
        toolbar_location="right",
    )
    points = plot.scatter(
        "x",
        "y",
        source=source,
        size=float(np.clip(400 / np.sqrt(len(found.points)), 3.5, 12)),
        color="colour",
        alpha="alpha",
        line_color=None,
    )
    rows = [("item", "@id"), ("", "@title"), ("labels", "@labels")]
    plot.add_tools(HoverTool(renderers=[points], tooltips=rows))
    colours = found.colours()
    shown = [region for region in found.regions if region.level == 0]
    plot.text(
        [region.x for region in shown],
        [region.y for region in shown],
        text=[region.name for region in shown],
        text_color=[colours.get(region.name, "#333333") for region in shown],
        text_align="center",
        text_baseline="middle",
        text_font={"value": "system-ui, sans-serif"},
        text_font_size="12px",
        text_font_style="bold",
        background_fill_color="white",
        background_fill_alpha=0.7,
        padding=1,
        border_radius=3,
    )
    plot.axis.visible = False
    plot.grid.visible = False
    plot.outline_line_color = None
    return plot


def _labels(own: Any) -> str:
    shown = ", ".join(own[:_LABELS_SHOWN])
    return f"{shown}, and {len(own) - _LABELS_SHOWN} more" if len(own) > _LABELS_SHOWN else shown
