"""Sphinx configuration: sphinx-build -W -n docs site."""

from importlib.metadata import version as installed_version

project = "c3sim"
author = "the c3sim authors"
release = version = installed_version("c3sim")
html_title = "c3sim"
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "_build"]
html_static_path: list[str] = []
# Pages link to each other's headings as GitHub writes them.
myst_heading_anchors = 3
# Links to files of the repository outside docs/ stay links for readers of the repository.
myst_url_schemes = ["http", "https", "mailto"]
suppress_warnings = ["myst.xref_missing"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}
pygments_style = "friendly"
nitpicky = False
