"""PyTorch profiler (Kineto) traces: kernel and collective times, their overlap and slowdowns.

Sizes of collectives come from the kernel's own metadata or its ``record_param_comms``. Shapes of
GEMMs come from the input shapes of the operator that launched them (profile with
``record_shapes=True``). A warning names what the trace lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..collector import Collector
from ..numbers import as_float
from ..partial_json import read_members
from ..result import Given, ImportResult
from ..traces.intervals import Kernel
from ..traces.kernel_names import classify
from ..traces.records import Origin, add_trace
from ..traces.sizes import Sizes
from .links import Links
from .tasks import identify, matrix_operator

PROFILE = "framework"  # host profile of PyTorch
_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")


def read(text: str, given: Given) -> ImportResult:
    """Every kernel of the trace; of a trace that is cut off, those before the cut."""
    collector = Collector("PyTorch profiler trace", given)
    document, events, fault = read_members(text, "traceEvents")
    if fault is not None:
        collector.broken(fault.message, fault.line)
    links = Links(events)
    sizes = Sizes(collector)
    backend = "rccl" if is_amd(document or {}, events) else "nccl"
    kernel_events = [(index, event) for index, event in enumerate(events) if _is_kernel(event)]
    for _, event in kernel_events:
        if classify(str(event.get("name"))).kind == "gemm" and (
            operator := matrix_operator(_args(event), links)
        ):
            links.claim(operator)
    kernels = []
    for index, event in kernel_events:
        try:
            kernels.append(_kernel(event, links, sizes, backend))
        except (KeyError, TypeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            collector.broken(
                f"traceEvents[{index}] ({str(event.get('name', '?'))[:60]}): {what}; "
                "expected ts and dur"
            )
    if not kernels:
        collector.broken("no kernel in the trace; profile with activities=[CPU, CUDA]", 1)
        return collector.result()
    origin = origin_of(document or {}, backend)
    profile = PROFILE if PROFILE in given.profiles else ""
    add_trace(collector, sizes.settle(kernels), replace(origin, profile=profile))
    return collector.result()


def is_amd(document: Mapping[str, Any], events: Sequence[Any]) -> bool:
    """RCCL's kernels have the names of NCCL's: the device tells, or the runtime calls."""
    names = [
        str(p.get("name", ""))
        for p in document.get("deviceProperties") or []
        if isinstance(p, dict)
    ]
    if any(names):
        return not any("NVIDIA" in name for name in names)
    return any(isinstance(e, dict) and str(e.get("name", "")).startswith("hip") for e in events)


def _is_kernel(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and str(event.get("cat", "")).lower() in _KERNELS
        and event.get("ph", "X") == "X"
    )


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _kernel(event: Mapping[str, Any], links: Links, sizes: Sizes, backend: str) -> Kernel:
    start, duration = as_float(event["ts"]), as_float(event["dur"])
    if duration < 0:
        raise ValueError(f"ts {start:g} and dur {duration:g}")
    args, name = _args(event), str(event["name"])
    kind = classify(name) if str(event["cat"]).lower() == "kernel" else classify("")
    task, gpus, missing = identify(kind, args, links) if kind.kind != "other" else (None, None, "")
    if missing:
        sizes.missing(
            name, kind.kind, missing, **({"backend": backend} if kind.kind == "collective" else {})
        )
    if task is not None and kind.kind == "collective":
        task["backend"] = backend
    launch = links.launch(args)
    return Kernel(
        name=name,
        kind=kind.kind,
        start=start,
        duration=duration,
        device=str(args.get("device", event.get("pid", 0))),
        stream=str(args.get("stream", event.get("tid", 0))),
        task=task,
        key=sizes.key(name, task),
        gpus=gpus,
        launched=float(launch["ts"]) + float(launch.get("dur", 0)) if launch else None,
    )


def origin_of(document: Mapping[str, Any], backend: str) -> Origin:
    """What the trace says of software and machine."""
    group = document.get("distributedInfo") or {}
    properties = [p for p in document.get("deviceProperties") or [] if isinstance(p, dict)]
    versions = ["PyTorch profiler"]
    if document.get("torch_version") or document.get("pytorch_version"):
        versions = [f"PyTorch {document.get('torch_version') or document.get('pytorch_version')}"]
    if group.get("nccl_version"):
        versions.append(f"{backend.upper()} {group['nccl_version']}")
    for key, name in (("cuda_runtime_version", "CUDA"), ("hip_runtime_version", "HIP")):
        if document.get(key):
            code = int(document[key])
            versions.append(
                f"{name} {code // 1000}.{code % 1000 // 10}" if name == "CUDA" else f"{name} {code}"
            )
    facts = []
    if properties:
        facts.append(f"{len(properties)} x {properties[0].get('name', 'GPU')}")
    if "rank" in group:
        facts.append(f"rank {group['rank']} of {group.get('world_size', '?')}")
    return Origin(suite="kineto", software=", ".join(versions), facts=", ".join(facts))
