"""The verdict for readers: on a terminal, as a page of Markdown, as one HTML page.

``terminal_page``, ``markdown_page``, ``html_page`` are the three; the other modules are parts of
the HTML page, and ``kit`` has its text, tables and shapes. The HTML page loads nothing from
elsewhere. It must not know how a prediction is made.
"""

from __future__ import annotations

from .html_page import render, write_report

__all__ = ["render", "write_report"]
