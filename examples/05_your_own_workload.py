"""A workload of your own, in YAML: two GEMMs in one stream, and a reduce-scatter that waits for the
first.
"""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import c3sim

TEXT = """\
schema: 1
name: backward
description: Two GEMMs of a backward pass; one gradient is reduced while the other is computed
tasks:
  weights: {kind: gemm, stream: compute, m: 8192, n: 8192, k: 4096, dtype: bf16}
  inputs: {kind: gemm, stream: compute, m: 4096, n: 8192, k: 8192, dtype: bf16}
  reduce: {kind: collective, stream: communication, op: reduce_scatter, size: 128 MiB,
           after: [weights]}
streams:
  communication: {priority: 1}
"""

with TemporaryDirectory() as folder, chdir(folder):
    path = Path("backward.yaml")
    path.write_text(TEXT, encoding="utf-8")
    result = c3sim.run(path)
    for name, task in result.tasks.items():
        start, end, alone = task.start_s * 1e3, task.end_s * 1e3, task.isolated_s * 1e3
        print(f"{name:8} from {start:.1f} to {end:.1f} ms (alone {alone:.1f} ms)")

    path.write_text(TEXT.replace("128 MiB", "128"), encoding="utf-8")
    try:
        c3sim.run(path)
    except c3sim.C3simError as error:
        print(f"a mistake: {error}")
