"""The page of a sweep: one HTML file, nothing loaded from elsewhere, to filter, hover and click
through its points.

    page         the parts put together and written
    data         the table as the page's script wants it
    picked       which points are simulated again, so that a click shows where their time went
    timeline     one run, small
    command      the command line that runs a point again
    again        running a point again
    palette      colours for light and dark, told apart by colour-blind readers
    parts/       the page itself: HTML, CSS, scripts

What is shown is in the file: a policy in the page forbids it to load anything.
"""

from __future__ import annotations

from c3sim.output.page.again import Resimulator
from c3sim.output.page.page import render, write_report

__all__ = ["Resimulator", "render", "write_report"]
