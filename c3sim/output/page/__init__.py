"""The page of a sweep: one HTML file to filter, hover and click through its points.

It simulates points only through ``evaluation``, and must not load anything from elsewhere: a policy
in the page forbids it.

    page         the parts put together and written
    data         the table as the page's scripts read it
    picked       which points are simulated again, so that a click shows where their time went
    again        a point simulated again
    timeline     one run as compact data
    command      the command line that runs a point again
    palette      colours for light and dark
    parts/       HTML, CSS and scripts
"""

from __future__ import annotations

from c3sim.output.page.command import Resimulator
from c3sim.output.page.page import render, write_report, write_run

__all__ = ["Resimulator", "render", "write_report", "write_run"]
