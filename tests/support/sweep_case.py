"""Shared by the tests of sweeps: a small study on the small node, and a way to write others."""

from __future__ import annotations

STUDY = """\
schema: 1
name: small
node: teaching-4
workload: gemm-beside-all-gather
strategies: [base, conccl]
outputs: [wall_s, fraction_of_ideal, "tasks.*.slowdown", area]
costs: {area: hw.sdma.engines * hw.sdma.bandwidth / 1e9}
axes:
  hw.sdma.engines: [1, 2]
  links.bandwidth: {from: 10 GB/s, to: 30 GB/s, steps: 3}
"""


def write(folder, text=STUDY, name="small.yaml"):
    """The path of a study with this *text*."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
