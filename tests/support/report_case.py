"""A small sweep on the small node, with points that fail, and its page."""

from __future__ import annotations

STUDY = """\
schema: 1
name: pages
description: "Is <b>markup</b> shown as text, & are channels counted?"
node: teaching-4
scenarios:
  - {name: pair, workload: gemm-beside-all-gather}
  - name: "small </script> one"
    workload: gemm-beside-all-gather
    set: {task.gather.size: 32 MiB, gpu.hbm.bandwidth: 350 GB/s}
strategies: [base, conccl]
outputs: [wall_s, speedup, fraction_of_ideal, energy_j, "tasks.*.slowdown"]
axes:
  links.bandwidth: {from: 10 GB/s, to: 30 GB/s, steps: 3}
  task.gather.channels: [2, 4, 4000]
"""
#: 2 scenarios x 3 bandwidths x 3 numbers of channels x 2 strategies; 4000 channels are more than
#: there are compute units.
POINTS, FAILED = 36, 12
