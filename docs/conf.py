"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs OUT``.

Nothing is fetched, neither by the build nor by the pages: formulas become MathML here
(``_ext/mathml.py``), and the theme brings its own files. The gallery and the pages of single
names are made in ``gallery`` and ``reference/api/generated``; delete these after a name is gone.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import labelspan  # noqa: E402 - the path comes first

project = "labelspan"
author = "the labelspan developers"
copyright = author
version = release = labelspan.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated",
    "mathml",
]
root_doc = "index"
exclude_patterns = [
    "_build",
    "_ext",
    "_static",
    "_templates",
    "gallery/*.ipynb",
    "gallery/*.py",
]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold a class

# --- pages -------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # options are two hyphens, not a dash
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # not what code prints
html_math_renderer = "mathml"

# --- reference -----------------------------------------------------------------------------

autosummary_generate = True
# Two names that differ only by case would be one file on some systems.
autosummary_filename_map = {"labelspan.datasets.card": "labelspan.datasets.card-function"}
toc_object_entries_show_parents = "hide"  # longer names are cut off
autodoc_typehints = "none"  # numpydoc's sections say more
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False

# --- gallery -------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": os.environ.get("GALLERY", r"\.py$"),  # which examples are run
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (800, 448),  # each page begins with it
    "write_computation_times": False,  # its page would ask other hosts for scripts
    "backreferences_dir": "gallery/used",
    "doc_module": ("labelspan",),
    "inspect_global_variables": False,
}

# --- the look ------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"labelspan {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
# Pages without pages below them have nothing to list at their side.
html_sidebars = {
    name: [] for name in ("index", "choosing", "explorer", "evidence", "gallery/index")
}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "labelspan", "alt_text": "labelspan, home"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
