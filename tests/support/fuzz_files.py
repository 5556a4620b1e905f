"""Files of every kind that are right, for the generator of bad input to spoil."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import yaml
from kineto_case import MadeTrace
from places import ROOT
from typer.testing import CliRunner

from c3sim.cli.app import app

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
  gemm: {kind: gemm, m: 512, n: 512, k: 512, stream: compute, after: ["gather.chunk[0]"]}
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
#: Kernels of every other kind, what they keep in caches, publish, and wait for inside.
KERNELS = """\
schema: 1
name: kernels
node: mi355x-2
buffers:
  x: {shape: [512, 512], dtype: bf16, state: warm}
tasks:
  think: {kind: host, time: 20 us}
  norm:
    kind: kernel
    operator: normalisation
    workgroups: 8
    accesses: [{bytes: 1 MiB, again: 1, far: 2 MiB, near: 1 KiB}, {bytes: 1 MiB, stores: true}]
    flops: 1e8
    after: [think]
  seen:
    kind: kernel
    workgroups: 8
    served: [{held: 1 MiB, l1: 1 MiB, l2: 1 MiB, read: 2 MiB, written: 1 MiB, source: made}]
  timed: {kind: kernel, time: 30 us, tiles: 16, awaits: [gemm], per_unit: 1, lds: 1 KiB, clocked: 1}
  gemm: {kind: gemm, m: 512, n: 512, k: 256, reads: [x], results: peers, publish: flag}
  stores: {kind: stores, bytes: 1 MiB, workgroups: 4, publish: release, tile: 64 KiB}
  post: {kind: copy, bytes: 1 MiB, peer: 1, gpus: all, posted: serial, after: ["stores.tiles[50%]"]}
host: {launch: looped, loop: {iterations: 3}, queues: 2}
"""
#: A collective that feeds a GEMM in pieces.
PIECES = """\
schema: 1
name: pieces
node: teaching-4
tasks:
  gather: {kind: collective, op: all_gather, size: 8 MiB, stream: comm, backend: dma, variant: pcpy}
  gemm: {kind: gemm, m: 2048, n: 512, k: 2048, stream: compute, after: [gather]}
schedule: {kind: pieces, shape: 1d, steps: hetero, fused: true, pieces: 2, streams: 2, along: m}
"""
#: NICs, phases, and engines with both.
ACROSS = """\
schema: 1
name: across
node: cluster.yaml
tasks:
  gather: {kind: collective, op: all_gather, size: 8 MiB, algorithm: hierarchical, pipeline: 2}
  swap: {kind: collective, op: all_to_all, size: 1 MiB, backend: dma}
  copy: {kind: copy, bytes: 1 MiB, executor: nic, peer: 5, gpus: all, repeat: 2}
"""
#: What only the GPUs of one vendor have: choices of a GEMM library, symmetric kernels, profiles.
SYMMETRIC = """\
schema: 1
name: symmetric
node: nvidia.yaml
tasks:
  gather: {kind: collective, op: all_gather, size: 8 MiB, backend: nccl_symmetric, stream: comm}
  sum: {kind: collective, op: all_reduce, size: 64 KiB, backend: nccl, stream: comm}
  gemm: {kind: gemm, m: 128, n: 4096, k: 4096, library: cublas, stream: compute}
  page: {kind: copy, bytes: 8 KiB, source: host, destination: gpu, repeat: 4}
host: {launch: eager, profile: framework_alone, slowness: 1.2}
"""
LIKE = """\
schema: 2
like: nvidia.yaml
name: two
description: Twice the links
grade: {value: invented, source: made}
links: {bandwidth: {value: 22 GB/s, source: made}}
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
MESH = """\
schema: 1
kind: iteration
name: mesh
source: made for the generator of bad input
node: h200-8
model: tiny.yaml
batch: 8
tokens: 128
optimizer: adamw
launch: eager
parallel: {pp: 2, dp_shard: 2, tp: 2, schedule: 1f1b, micro_batches: 4}
"""
#: A model with experts, as Hugging Face writes them.
CONFIG = {
    **{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_act": "silu"},
    **{"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1024},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5},
    **{"num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 4096},
    **{"tie_word_embeddings": False, "rope_theta": 1e6, "sliding_window": None},
    **{"torch_dtype": "bfloat16", "attention_dropout": 0.0, "bos_token_id": 1},
}
#: What a Chakra trace lacks.
SIDE = """\
kind: chakra
durations: alone
sizes: input
groups: {"0": 2}
nodes:
  - {name: gemm, gemm: [512, 256, 512], dtype: bf16}
  - {name: norm, time: 44 us, operator: normalisation}
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
#: Packaged studies, a row or two of each.
STUDIES = ("t3", "fused", "channels", "cache-policies", "ficco", "bert", "dma-latte")
STUDIES += ("conccl", "elsewhere", "keep-or-stream", "overlap-in-training")
SERVING = """\
schema: 1
name: kv
kind: kv_fetch
node: h200-2
serving: {prompt_tokens: 64, output_tokens: 2, requests: 2, hit_rate: 0.5}
"""


def trace() -> str:
    """Two steps of a profiler's trace, with all that c3sim reads of one."""
    made = MadeTrace(0, 2)
    for step in range(2):
        begin = 1000.0 * (step + 1)
        made.kernel("gemm_bf16", begin, 50.0, called=begin - 20, operator="aten::mm", dims=DIMS)
        made.gather(begin + 10, 60.0, mib=8, ranks=2)
        made.kernel("vectorized_elementwise_kernel", begin + 80, 5.0, called=begin + 60)
        made.mark(step, begin - 30, 900.0)
    return made.text()


def short(name: str) -> str:
    """The study of that *name* with a row or two: all of it takes up to minutes."""
    study = yaml.safe_load(text_of(STUDIES_AT / f"{name}.yaml"))
    told = study.get("assumptions", {})
    if name == "t3":
        told["sensitivity"] = dict(list(told["sensitivity"].items())[:1])
        study["table"] = [study["table"][0], study["table"][4]]
    elif name == "fused":
        study["table"] = [{**study["table"][0], "m": [16384], "k": [8]}]
    elif name == "cache-policies":
        study["applications"] = dict(list(study["applications"].items())[:2])
    elif name == "dma-latte":
        study["axes"]["task.gather.size"] = ["64 KiB", "1 MiB"]
    elif name == "elsewhere":
        study["table"] = [row for row in study["table"] if row["study"] == "dma-latte"][:1]
    elif name == "conccl":
        study["scenarios"] = study["scenarios"][:1]
        del study["band"], study["pool"]
    if "draws" in told:
        told["draws"] = 0
    return yaml.safe_dump(study, sort_keys=False)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def answers(record: dict) -> dict[str, str]:
    """What c3sim printed before: a run, and figures of *record*."""
    words = ("run", "gemm-beside-all-gather", "--node", "teaching-4", "--json")
    run = json.loads(CliRunner().invoke(app, words).stdout)
    row = {"suite": record["suite"], "id": record["id"], "metric": "power", "name": "gemm"}
    return {
        "before.json": json.dumps(run),
        "run.json": json.dumps(run, indent=2),
        "figures.json": json.dumps({"cases": [{**row, "predicted_w": 500.0}]}),
    }


def hardware() -> dict[str, str]:
    """Nodes and GPUs."""
    nodes = ROOT / "hwmodels" / "nodes"
    return {
        "node.yaml": text_of(nodes / "teaching-4.yaml").replace("gpu: teaching", "gpu: gpu.yaml"),
        "gpu.yaml": text_of(ROOT / "hwmodels" / "teaching.yaml"),
        "cluster.yaml": text_of(nodes / "teaching-cluster.yaml"),
        "nvidia.yaml": text_of(nodes / "h200-2.yaml").replace("gpu: h200", "gpu: h200.yaml"),
        "h200.yaml": text_of(ROOT / "hwmodels" / "h200.yaml"),
        "like.yaml": LIKE,
    }


@cache
def good() -> dict[str, bytes]:
    """Files that are right, by name."""
    record = json.loads((ROOT / "validation/data/h200/power-run1.jsonl").read_text().split("\n")[0])
    texts = {
        "pair.yaml": PAIR,
        "mesh.yaml": MESH,
        "config.json": json.dumps(CONFIG, indent=2),
        "configured.yaml": ITERATION.replace("tiny.yaml", "config.json"),
        "side.yaml": SIDE,
        **answers(record),
        "program.yaml": PROGRAM,
        "kernels.yaml": KERNELS,
        "pieces.yaml": PIECES,
        "across.yaml": ACROSS,
        "symmetric.yaml": SYMMETRIC,
        "study.yaml": STUDY,
        "kv.yaml": SERVING,
        "iteration.yaml": ITERATION,
        "tiny.yaml": MODEL,
        "trace.json": trace(),
        "host.jsonl": json.dumps({"host": [HOST, {**HOST, "rank": 1}]}) + "\n",
        **{f"{name}.yaml": short(name) for name in STUDIES},
        **hardware(),
        "model.yaml": next((ROOT / "workloads" / "models").glob("*.yaml")).read_text(),
        "bounds.yaml": (ROOT / "validation" / "bounds.yaml").read_text(),
        "plan.yaml": (ROOT / "validation" / "probe" / "plans" / "quick.yaml").read_text(),
        "records.jsonl": json.dumps(record) + "\n",
        "streams.jsonl": text_of(ROOT / "validation/data/h200/calibration-run1.jsonl"),
        "results.json": json.dumps(
            {"name": "x", "rows": [{"a.b": n, "wall_s": 2.0 - n} for n in (0, 1)]}
        ),
        "done/_sweep.json": json.dumps({"version": 1, "points": 2, "hashes": {}}),
        "done/results.parquet": "PAR1 no more",
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {"step.json.gz": gzip.compress(files["trace.json"])}
    files |= {"step.et": (LOGS / "chakra_fsdp_h200x2" / "step2.0.et").read_bytes()}
    return files | {path.name: path.read_bytes() for path in LOGS.iterdir() if path.is_file()}
