"""The paragraphs of docs/validation.md that do not depend on figures."""

from __future__ import annotations

INTRODUCTION = """# How far can c3sim be trusted?

Written by `python tools/validation_page.py` from the packaged records; a test compares the two. `c3sim validate --report
page.html` draws the same figures, with every case, timelines and the source of every parameter.

Errors are relative. *Bias* is the median signed error. *max*, *sum*, *constant* are the median errors, on the same cases, of three plain
predictors that are given **measured** isolated times: no interference; no overlap, one after the other; one constant slowdown per
kind of task, learnt from the other held-out records of the suite. A dash: the source lacks a time that the predictor needs.

A measurement that was repeated counts once, by the mean of its repeats; *repeats* is the median and the 90th percentile of
|a - b| / mean between them.
"""
CALIBRATION = """## Calibration

Parameters whose entry says `calibrated:` come from one command, which reads only records with role `calibration`, all of isolated runs:

    c3sim calibrate mi300x-8            # prints values with 95 % intervals; --write puts them into the files

Parameters with the same `fitted:` text are fitted together: memory first, then GEMMs, collectives, DMA engines. Every suite of a group
has the same weight; residuals above 5 % count linearly. A parameter whose 95 % interval is wider than half of its allowed one keeps
its value, and the command says so. `gemm_square` is fitted to by nothing: its 2048^3 rows, 62 and 148 us, were timed in an eager
loop that is bound by launches, and its 8192^3 rows repeat `gemm_channels_alone`. Energies of fp16 and fp8 are multiples of bf16's and
follow it by hand.
"""
DMA_NOTE = """## Sources without an address

`gemm_decode` and `stream_read_working_set` are from public reports, `sdma_collective_large` from an AMD runtime document on batched
copies by a co-author of arXiv 2511.06605; their addresses were not recorded. The last says of batches without a size: 27 us at
least with one engine per destination, 13 us at least with all copies on one engine. `validation/data/published/README.md` says
where every other table comes from and how its figures were carried over.
"""
