"""The report: one HTML page, nothing loaded from elsewhere, that a sceptical reader gets through in
two minutes.

page: the parts put together; style: colours for light and dark, and the few lines of script; summary: totals, every
suite, known gaps; scatter: predicted against measured; spread: error distributions beside the plain predictors; worst:
the worst cases, each with a timeline and why; provenance: every parameter; svg, markup: axes and shapes, tables and text.
"""

from __future__ import annotations

from .html_page import render, write_report

__all__ = ["render", "write_report"]
