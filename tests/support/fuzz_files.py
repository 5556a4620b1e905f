"""Files of every kind that are right, for the generator of bad input to spoil."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import yaml
from kineto_case import MadeTrace

ROOT = Path(__file__).parent.parent.parent
LOGS = ROOT / "tests" / "importers" / "data"
STUDIES_AT = ROOT / "workloads" / "studies"
HOST = {
    **{"call": "layer_decoder", "phase": "forward", "mode": "together", "rank": 0, "count": 16},
    "us": [900.0, 910.0, 1800.0],
}
DIMS = [[512, 256], [256, 512]]
PAIR = """\
schema: 1
name: pair
node: teaching-4
tasks:
  gather: {kind: collective, op: all_gather, size: 16 MiB, stream: comm, chunks: 4}
  gemm: {kind: gemm, m: 512, n: 512, k: 512, stream: compute, after: [gather.chunk0]}
  load: {kind: stream, bytes: 1 MiB, pattern: copy, workgroups: 8}
  hold: {kind: hold, workgroups: 2, time: 5 us}
  copy: {kind: copy, bytes: 1 MiB, executor: dma, gpus: all}
streams:
  comm: {priority: 1}
host: {launch: queued}
"""
PROGRAM = """\
schema: 1
name: program
node: teaching-4
tasks:
  push:
    kind: commands
    program:
      - {op: copy, peer: 1, bytes: 1 MiB, engine: 0, queue: 0}
      - {op: atomic, on: done, value: 1}
      - {op: poll, on: done, value: 1}
      - {op: fence, on: done}
"""
STUDY = """\
schema: 1
name: small
node: teaching-4
workload: pair.yaml
strategies: [base, conccl]
outputs: [wall_s, fraction_of_ideal, area]
costs: {area: gpu.dma_engines.count * 2}
constraints: [gpu.dma_engines.count < 3]
axes:
  gpu.dma_engines.count: [1, 2]
  links.bandwidth: {from: 10 GB/s, to: 30 GB/s, steps: 2}
search:
  knobs: {gpu.dma_engines.count: [1, 2]}
  objectives: {wall_s: minimise}
  trials: 2
"""
ITERATION = """\
schema: 1
kind: iteration
name: step
source: made for the generator of bad input
node: h200-2
model: tiny.yaml
layers: 2
batch: 2
tokens: 128
optimizer: adamw
launch: eager
parallel: [{kind: fsdp, prefetch: 1}]
"""
MODEL = """\
schema: 1
name: tiny
source: made for the generator of bad input
layers: 2
hidden: 256
heads: 4
kv_heads: 2
head_dim: 64
ffn: 512
vocab: 1024
"""
#: Packaged studies: whatever is right in them takes longer than is agreed to.
STUDIES = ("t3", "fused", "channels", "cache-policies", "ficco", "bert", "c3-pair", "dma-latte")
SERVING = """\
schema: 1
name: kv
kind: kv_fetch
node: teaching-4
serving: {prompt_tokens: 64, output_tokens: 2, requests: 2, hit_rate: 0.5}
"""


def trace() -> str:
    """Two steps of a profiler's trace, with all that c3sim reads of one."""
    made = MadeTrace(0, 2)
    for step in range(2):
        begin = 1000.0 * step
        made.kernel("gemm_bf16", begin, 50.0, called=begin - 20, operator="aten::mm", dims=DIMS)
        made.gather(begin + 10, 60.0, mib=8, ranks=2)
        made.kernel("vectorized_elementwise_kernel", begin + 80, 5.0, called=begin + 60)
        made.mark(step, begin - 30, 900.0)
    return made.text()


def short_t3() -> str:
    """The T3 study with two of its rows and none of its draws: all of them take a minute."""
    study = yaml.safe_load(text_of(STUDIES_AT / "t3.yaml"))
    told = study["assumptions"]
    told["sensitivity"] = dict(list(told["sensitivity"].items())[:1])
    study["table"], told["draws"] = [study["table"][0], study["table"][4]], 0
    return yaml.safe_dump(study, sort_keys=False)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def good() -> dict[str, bytes]:
    """Files that are right, by name."""
    hardware = ROOT / "hwmodels"
    node = (
        (hardware / "nodes" / "teaching-4.yaml")
        .read_text()
        .replace("gpu: teaching", "gpu: gpu.yaml")
    )
    record = json.loads((ROOT / "validation/data/h200/power-run1.jsonl").read_text().split("\n")[0])
    texts = {
        "pair.yaml": PAIR,
        "program.yaml": PROGRAM,
        "study.yaml": STUDY,
        "kv.yaml": SERVING,
        "iteration.yaml": ITERATION,
        "tiny.yaml": MODEL,
        "trace.json": trace(),
        "host.jsonl": json.dumps({"host": [HOST, {**HOST, "rank": 1}]}) + "\n",
        **{f"{name}.yaml": text_of(STUDIES_AT / f"{name}.yaml") for name in STUDIES},
        "t3.yaml": short_t3(),
        "node.yaml": node,
        "gpu.yaml": (hardware / "teaching.yaml").read_text(),
        "model.yaml": next((ROOT / "workloads" / "models").glob("*.yaml")).read_text(),
        "bounds.yaml": (ROOT / "validation" / "bounds.yaml").read_text(),
        "plan.yaml": (ROOT / "validation" / "probe" / "plans" / "quick.yaml").read_text(),
        "records.jsonl": json.dumps(record) + "\n",
        "results.json": json.dumps({"name": "x", "rows": [{"a.b": 1, "wall_s": 2.0}] * 2}),
        "done/_sweep.json": json.dumps({"version": 1, "points": 2, "hashes": {}}),
        "done/results.parquet": "PAR1 no more",
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {"step.et": (LOGS / "chakra_fsdp_h200x2" / "step2.0.et").read_bytes()}
    return files | {path.name: path.read_bytes() for path in LOGS.iterdir() if path.is_file()}
