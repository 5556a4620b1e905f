"""The verdict for readers: on a terminal, as a page of Markdown, as one HTML page.

``terminal_page``, ``markdown_page``, ``html_page`` are the three, and ``check_page`` is for
services that run checks; ``words`` has what all of them say. The other modules are parts of the
HTML page, and ``kit`` has its markup and shapes.
The HTML page loads nothing from elsewhere. It must not know how a prediction is made.
"""

from __future__ import annotations

from .html_page import render, write_report

__all__ = ["render", "write_report"]
