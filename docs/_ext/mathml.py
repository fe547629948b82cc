"""Formulas as MathML, made when the pages are: browsers show it without a script or a network.

docutils, on which sphinx stands, converts LaTeX. What it does not know is a warning that
names the formula's place, so that no page is built with a hole in it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_log = logging.getLogger(__name__)

# A block is set as one of these anyway, by whether it has several lines.
_OUTER = re.compile(r"\\begin\{(align|equation|gather)(\*?)\}(.*)\\end\{\1\2\}", re.DOTALL)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def convert(code: str, *, block: bool) -> str:
    """The MathML of a formula."""
    text = code.strip()
    outer = _OUTER.fullmatch(text) if block else None
    found: str = tex2mathml(text if outer is None else outer[3].strip(), as_block=block)
    # A bar is most often the side of a norm, and is not set off as a relation is.
    return found.replace('<mo stretchy="false">|', '<mo stretchy="false" lspace="0" rspace="0">|')


def _converted(node: Any, *, block: bool) -> str:
    try:
        return convert(node.astext(), block=block)
    except MathError as error:
        _log.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_converted(node, block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(_converted(node, block=True))
    if node.get("number"):
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode
