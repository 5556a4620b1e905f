"""Records and values of what calls.py measured.

    python -m c3sim.validation.frameworks.call_records FOLDER NODE > host-calls.jsonl
    python -m c3sim.validation.frameworks.call_records FOLDER NODE --values together

The first prints a record for each call, phase and mode; the second the entries of a host profile
(mode ``together``: without a profiler, ``profiled``: under it), as text of the node file. A value
is the mean over what belongs to its class, its interval their range; of repeats the median, of
processes the quickest one. Backward is there and back less the recorded forward pass. ``slowness``
is what calls took of that time on the slower of two ranks, for which the other waits in every
collective: the mean over calls and runs, with its 5th and 95th percentile.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from c3sim.iterations.layers import Layer
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op
from c3sim.spec.iteration import TransformerInPlace
from c3sim.spec.reading.loading import load_node

from .records import record

SUITE = "h200_host_calls"
DATE = "2026-11-23"
SOURCE = "validation/frameworks/calls.py, two NVIDIA H200 of one host in a virtual machine"
#: Class of a call -> chains of its kind, less what each has beside it.
CLASSES: dict[str, tuple[tuple[str, str], ...]] = {
    "linear": (("linear", ""), ("linear_bias", "")),
    "attention": (
        *(("attention_causal", ""), ("attention_grouped", "")),
        *(("attention_dropped", ""), ("attention_of_one", "")),
    ),
    "normalisation": (("rms_norm", ""), ("layer_norm", "")),
    "elementwise": tuple((name, "") for name in ("add", "mul", "neg", "silu", "gelu")),
    "dropout": (("dropout", ""),),
    "view": (("view", ""), ("transpose", ""), ("reshape", "")),
    "copy": (("contiguous", "transpose"), ("chunk_cat", "view")),
    "embedding": (("embedding", ""),),
    "loss": (("cross_entropy", ""),),
}
PHASES = ("forward", "recorded", "backward")
TINY = {"hidden": 256, "heads": 4, "head_dim": 64, "ffn": 512, "vocab": 1024, "layers": 1}
ENCODER = {"gated": False, "causal": False, "bias": True, "dropout": True, "positions": "none"}
MODELS = {
    "decoder": TransformerInPlace.model_validate({**TINY, "kv_heads": 2}),
    "encoder": TransformerInPlace.model_validate({**TINY, "kv_heads": 4, **ENCODER}),
}
PARAMETERS = {"decoder": 9, "encoder": 16}  # of a layer
SUMS = 2  # all-reduces of a layer that GPUs share
Times = Mapping[tuple[str, str], float]  # call and phase -> us
Rows = list[dict[str, Any]]


def rows_of(folder: Path) -> Rows:
    """Lines of every run below *folder* that have times."""
    rows = []
    for file in sorted(folder.rglob("calls.rank*.jsonl")):
        of = {"run": file.parent.name}
        lines = file.read_text(encoding="utf-8").splitlines()
        rows += [of | row for row in map(json.loads, lines) if "us" in row]
    return rows


def records(rows: Rows, node: str) -> Iterator[dict[str, Any]]:
    """One for each call, phase and mode, with all ranks in it."""
    keys = dict.fromkeys((row["call"], row["phase"], row["mode"]) for row in rows)
    for call, phase, mode in keys:
        same = [
            row for row in rows if (row["call"], row["phase"], row["mode"]) == (call, phase, mode)
        ]
        task = {"kind": "kernel", "operator": "elementwise", "read": 8192, "written": 8192}
        name = f"{call}, {phase}, {mode}"
        workload = {"node": node, "name": name, "tasks": {"kernel": task}}
        times = {f"{row['run']} rank{row['rank']}": row["us"] for row in same}
        to_end = {f"{row['run']} rank{row['rank']}": row["us_to_end"] for row in same}
        about = {"call": call, "phase": phase, "mode": mode, "us": times, "us_to_end": to_end}
        ran = {"source": SOURCE, "date": DATE, "observed": {"host_call": about}}
        yield record(SUITE, workload, {}, "calibration", **ran)


def times_of(rows: Rows, mode: str) -> dict[tuple[str, str], float]:
    """Us of each call and phase, ``backward`` among them, in the quickest process."""
    processes = of_processes(rows, mode).items()
    times = {key: min(us for run in runs.values() for us in run) for key, runs in processes}
    for call, phase in list(times):
        if phase == "both" and (call, "recorded") in times:
            times[call, "backward"] = times[call, "both"] - times[call, "recorded"]
    return times


def of_processes(rows: Rows, mode: str) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Call and phase -> run -> us of each of its ranks."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["mode"] == mode:
            of_call = found.setdefault((row["call"], row["phase"]), {})
            of_call.setdefault(row.get("run", ""), []).append(median(row["us"]))
    return found


def of_hosts(rows: Rows, mode: str) -> list[float]:
    """Time of each call on the slower rank of a run, over that of the quickest process."""
    times = times_of(rows, mode)
    return [
        max(run) / times[key]
        for key, runs in of_processes(rows, mode).items()
        for run in runs.values()
    ]


def of_classes(times: Times) -> dict[tuple[str, str], list[float]]:
    """Us of each class of calls and phase, by each of its chains."""
    found: dict[tuple[str, str], list[float]] = {}
    for name, chains in CLASSES.items():
        for phase in PHASES:
            for call, beside in chains:
                if (call, phase) in times:
                    less = times[beside, phase] if beside else 0.0
                    found.setdefault((name, phase), []).append(times[call, phase] - less)
    for phase in PHASES:
        found["layer", phase] = [_between(found, times, name, phase) for name in MODELS]
    found["bucket", "backward"] = [
        (times[f"ddp_{name}", "both"] - times[f"layer_{name}", "both"]) / count
        for name, count in PARAMETERS.items()
    ]
    return found


def _between(
    found: Mapping[tuple[str, str], list[float]], times: Times, name: str, phase: str
) -> float:
    """Us of a whole tiny layer that its operators do not take."""
    operators = OperatorSet.on(load_node("h200-2").gpu, "bf16", fused=False)
    layer = Layer(operators, MODELS[name], Share(sequences=1, tokens=16, training=True))
    calls: Counter[str] = Counter()
    for step in layer.backward() if phase == "backward" else layer.forward():
        calls.update(step.host_calls if isinstance(step, Op) else {})
    del calls["layer"]
    own = sum(count * mean(found[call, phase]) for call, count in calls.items())
    return max(0.0, times[f"layer_{name}", phase] - own)


def of_wrappers(times: Times) -> dict[str, list[float]]:
    """Us of collectives' calls, and of hooks around those of sharded layers."""
    calls = [times[name, "call"] for name in ("all_reduce", "all_gather", "reduce_scatter")]
    call, gathers, reduces = mean(calls), [], []
    for name in MODELS:
        forward = times[f"fsdp_{name}", "forward"] - times[f"layer_{name}", "forward"]
        both = times[f"fsdp_{name}", "both"] - times[f"layer_{name}", "both"]
        gathers.append(forward - call)
        reduces.append(both - 2 * forward - call)
    sums = [
        (times[f"tensor_{name}", "forward"] - times[f"split_{name}", "forward"]) / SUMS - call
        for name in ("decoder", "decode")
    ]
    wrappers = {"gather_time": gathers, "reduce_time": reduces, "exchange_time": sums}
    return {"enqueue_time": calls} | wrappers


def of_optimizers(times: Times) -> dict[tuple[str, str], float]:
    """Us of a step and of each tensor: the line through the fewest and the most tensors."""
    found = {}
    for kind in ("adamw_foreach", "adamw_fused", "lamb_foreach"):
        counts = sorted(
            (int(call.rpartition("_")[2]), us)
            for (call, phase), us in times.items()
            if phase == "step" and call.startswith(kind)
        )
        (few, low), (many, high) = counts[0], counts[-1]
        slope = (high - low) / (many - few)
        found[kind, "tensor"], found[kind, "step"] = slope, max(0.0, low - few * slope)
    return found


def values(rows: Rows, mode: str) -> Iterator[str]:
    """Entries of a host profile, line by line."""
    times = times_of(rows, mode)
    classes = of_classes(times)
    hosts = of_hosts(rows, mode)
    low, *_, high = quantiles(hosts, n=20)
    source = f'"measured: suite {SUITE}, slower rank of each run"'
    interval = f"[{low:.3g}, {high:.3g}]"
    yield f"slowness: {{value: {mean(hosts):.3g}, source: {source}, interval: {interval}}}"
    yield _entry("launch_time", classes["elementwise", "forward"])
    for name, each in of_wrappers(times).items():
        yield _entry(name, each)
    yield "call_times:"
    for name in [*CLASSES, "layer", "bucket"]:
        yield f"  {name}:"
        for phase in PHASES:
            each = classes.get((name, phase)) or ([0.0] if phase != "backward" else [])
            if each:
                yield "    " + _entry(phase, each)
    yield "optimizer_times:"
    steps = of_optimizers(times)
    for kind in dict.fromkeys(kind for kind, _ in steps):
        yield f"  {kind}:"
        for what in ("step", "tensor"):
            yield "    " + _entry(what, [steps[kind, what]])


def _entry(name: str, each: list[float]) -> str:
    """A value and the range of what it is the mean of, at least a tenth to each side."""
    value = max(0.0, mean(each))  # a difference of two times may come out below
    low, high = min(*each, 0.9 * value), max(*each, 1.1 * value)
    source = f'"measured: suite {SUITE}"'
    numbers = [float(f"{number:.3g}") for number in (value, max(0.0, low), high)]
    shown, low_shown, high_shown = (f"{number:.10g} us" for number in numbers)
    interval = f"[{low_shown}, {high_shown}]"
    return f"{name}: {{value: {shown}, source: {source}, interval: {interval}}}"


def main(folder: str, node: str, *mode: str) -> None:
    rows = rows_of(Path(folder))
    for line in values(rows, mode[1]) if mode else map(json.dumps, records(rows, node)):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
