"""Sphinx configuration for `make docs`.

The source folder is the repository itself, so that a link means the same here and on
a code host: experiments/README.md and the pages of results stay where they are.
Neither the build nor the browser fetches anything from a network.
"""

import importlib.metadata
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["MPLBACKEND"] = "Agg"
os.environ["OMP_NUM_THREADS"] = "1"  # small networks only wait for threads

project = "structsmooth"
author = "The structsmooth developers"
project_copyright = author
release = importlib.metadata.version("structsmooth")

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "experiments/README.md",
    "experiments/results/*.md",
    "experiments/selective/PLAN.md",
    "benchmarks/results/README.md",
    "benchmarks/results/map.md",
    "benchmarks/results/outofcore.md",
    "benchmarks/results/spark.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = ["docs/_*", "docs/gallery/*.py", "docs/gallery/*.ipynb", ".*"]
templates_path = [str(HERE / "_templates")]  # autosummary looks in the source folder

extensions = [
    "linknames",  # this and the next are in docs/_ext
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]

# Only Markdown that code hosts can display too.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# A name in single backticks becomes a link if it is a public name of structsmooth.
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"  # a method is listed under its class
autodoc_typehints = "none"  # types are in the docstrings
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False  # templates/autosummary/class.rst does it
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "docs/gallery",
    "backreferences_dir": "docs/gallery/backreferences",
    "doc_module": ("structsmooth",),
    "filename_pattern": "",  # every example runs,
    "run_stale_examples": True,  # always: the library may have changed
    "ignore_pattern": "recipes",  # shown in the how-to pages; `make recipes` runs them
    "within_subsection_order": "order.GalleryOrder",
    "abort_on_example_error": False,  # with -W --keep-going: list all failures
    "capture_repr": (),  # show only printed output and figures
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "matplotlib_animations": False,
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "structsmooth"
html_static_path = ["_static"]
html_css_files = ["structsmooth.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"docs/gallery/plot_tutorial": []}
html_additional_pages = {"index": "forward.html"}  # from / to docs/index.html
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _to_the_gallery(_app: Any, _name: str, content: list[str]) -> None:
    """Point links to an example at its gallery page instead of the script."""
    content[0] = re.sub(
        r"\]\([./]*examples/(plot_\w+)\.py\)", r"](/docs/gallery/\1.rst)", content[0]
    )


def _stays_at_home(app: Any, error: Exception | None) -> None:
    """Refuse pages that would fetch something from a network."""
    fetches = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\"(?:https?:)?//[^>]*>"
    )
    for page in Path(app.outdir).rglob("*.html"):
        found = None if error else fetches.search(page.read_text("utf-8"))
        if found:
            raise ExtensionError(f"{page.name} would fetch {found.group()}")


def setup(app: Any) -> None:
    """Connect the functions above to Sphinx events."""
    app.connect("source-read", _to_the_gallery)
    app.connect("build-finished", _stays_at_home)
