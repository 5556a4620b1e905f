"""Sphinx configuration: sphinx-build -W -n docs site.

The lessons are Python files in the percent format. MyST-NB reads them as notebooks by jupytext,
runs them, and shows what they print and draw. They lie outside docs/, so a link leads there.
"""

from contextlib import suppress
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

project = "c3sim"
author = "the c3sim authors"
release = version = installed_version("c3sim")
html_title = "c3sim"
html_theme = "furo"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "_build", "conf.py", "lessons/README.md", "lessons/[!0-9]*.py"]
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
with suppress(FileExistsError):
    Path(__file__).with_name("lessons").symlink_to("../lessons", target_is_directory=True)
html_static_path: list[str] = []
# Pages link to each other's headings as GitHub writes them.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
# Links to files of the repository outside docs/ stay links for readers of the repository.
myst_url_schemes = ["http", "https", "mailto"]
suppress_warnings = ["myst.xref_missing"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}
pygments_style = "friendly"
nitpicky = False


def _lead_to_pages(app: object, page: str, source: list[str]) -> None:
    """Links to lessons are paths of the repository; on the site they lead to the pages."""
    source[0] = source[0].replace("](../lessons/", "](lessons/")


def setup(app: Any) -> None:
    app.connect("source-read", _lead_to_pages)
