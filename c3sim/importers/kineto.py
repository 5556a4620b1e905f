"""PyTorch profiler (Kineto) traces: kernel and collective times, their overlap and slowdowns.

Sizes of collectives come from the kernel's own metadata or its ``record_param_comms``. Shapes of
GEMMs come from the input shapes of the operator that launched them (profile with
``record_shapes=True``). A warning names what the trace lacks.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from c3sim.importers.collector import Collector
from c3sim.importers.partial_json import read_members
from c3sim.importers.result import Format, Given, ImportResult, json_with
from c3sim.importers.trace_events import as_time, category_of, sound_events
from c3sim.importers.trace_records import Origin, add_trace
from c3sim.importers.traces import Kernel, KernelClass, Sizes, classify
from c3sim.importers.values import collective_of, dtype_of

PROFILE = "framework"  # host profile of PyTorch
_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")


def read(text: str, given: Given) -> ImportResult:
    """Every kernel of the trace; of a trace that is cut off, those before the cut."""
    collector = Collector("PyTorch profiler trace", given)
    document, events, fault = read_members(text, "traceEvents")
    if fault is not None:
        collector.broken(fault.message, fault.line)
    sound, remarks = sound_events(events)
    links = Links(sound)
    sizes = Sizes(collector)
    backend = "rccl" if is_amd(document or {}, events) else "nccl"
    kernel_events = [(index, event) for index, event in enumerate(events) if _is_kernel(event)]
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
    for remark in remarks:
        collector.warn(remark)
    origin = origin_of(document or {}, backend)
    profile = PROFILE if PROFILE in given.profiles else ""
    add_trace(collector, sizes.settle(kernels), replace(origin, profile=profile))
    return collector.result()


def is_amd(document: Mapping[str, Any], events: Sequence[Any]) -> bool:
    """RCCL's kernels have the names of NCCL's: the device tells, or the runtime calls."""
    names = [
        str(p.get("name", "")) for p in _listed(document, "deviceProperties") if isinstance(p, dict)
    ]
    if any(names):
        return not any("NVIDIA" in name for name in names)
    return any(isinstance(e, dict) and str(e.get("name", "")).startswith("hip") for e in events)


def _is_kernel(event: Any) -> bool:
    return (
        isinstance(event, dict) and category_of(event) in _KERNELS and event.get("ph", "X") == "X"
    )


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _kernel(event: Mapping[str, Any], links: Links, sizes: Sizes, backend: str) -> Kernel:
    start, duration = as_time(event["ts"]), as_time(event["dur"])
    args, name = _args(event), str(event["name"])
    kind = links.kind(event)
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


def group_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ranks of the job, as the trace tells them; empty where it does not."""
    group = document.get("distributedInfo")
    return group if isinstance(group, dict) else {}


def _listed(document: Mapping[str, Any], key: str) -> list[Any]:
    """The list *key*; empty where there is none."""
    found = document.get(key)
    return found if isinstance(found, list) else []


def origin_of(document: Mapping[str, Any], backend: str) -> Origin:
    """Software and machine, as the trace tells them."""
    group = group_of(document)
    properties = [p for p in _listed(document, "deviceProperties") if isinstance(p, dict)]
    versions = ["PyTorch profiler"]
    if document.get("torch_version") or document.get("pytorch_version"):
        versions = [f"PyTorch {document.get('torch_version') or document.get('pytorch_version')}"]
    if group.get("nccl_version"):
        versions.append(f"{backend.upper()} {group['nccl_version']}")
    for key, name in (("cuda_runtime_version", "CUDA"), ("hip_runtime_version", "HIP")):
        if isinstance(code := document.get(key), int) and code:
            versions.append(
                f"{name} {code // 1000}.{code % 1000 // 10}" if name == "CUDA" else f"{name} {code}"
            )
    facts = []
    if properties:
        facts.append(f"{len(properties)} x {properties[0].get('name', 'GPU')}")
    if "rank" in group:
        facts.append(f"rank {group['rank']} of {group.get('world_size', '?')}")
    return Origin(suite="kineto", software=", ".join(versions), facts=", ".join(facts))


# From a kernel in a Kineto trace back to the launch and the operators that caused it.


Event = Mapping[str, Any]
Identified = tuple[object, ...]  # of an operator
MOST_NESTED = 200  # operators in each other; those of frameworks nest some tens deep
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime")


class Links:
    """Launches by correlation id; operators by external id, or by the thread of the launch."""

    def __init__(self, events: Iterable[Any]):
        self._launches: dict[int, Event] = {}
        self._operators: dict[int, Event] = {}
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._gemms: Counter[Identified] = Counter()
        by_thread: dict[tuple[str, str], list[Event]] = {}
        kernels = []
        for event in events:
            if not isinstance(event, dict):
                continue
            category, args = category_of(event), event.get("args")
            if category == "kernel":
                kernels.append(event)
            if category in _RUNTIME and (correlation := _number(args, "correlation")):
                self._launches.setdefault(correlation, event)
            elif category in ("cpu_op", "operator"):
                if external := _number(args, "External id"):
                    self._operators[external] = event
                by_thread.setdefault(_thread_of(event), []).append(event)
        self._threads = {thread: _Thread(operators) for thread, operators in by_thread.items()}
        self._only = self._count(kernels)

    def _count(self, kernels: Iterable[Event]) -> set[Identified]:
        """Count the GEMM kernels of each matrix product; the products with one kernel alone."""
        every: Counter[Identified] = Counter()
        for event in kernels:
            if (operator := matrix_operator(_args(event), self)) is not None:
                every[_identity(operator)] += 1
                self._gemms[_identity(operator)] += classify(str(event.get("name"))).kind == "gemm"
        return {operator for operator, count in every.items() if count == 1}

    def kind(self, event: Event) -> KernelClass:
        """Class of a kernel, copy or fill: by what was recorded of it, else by its name. The one
        kernel of a matrix product is its GEMM; one of a collective library is a collective.
        """
        if category_of(event) != "kernel":
            return classify("")
        name, args = str(event.get("name", "")), _args(event)
        found = classify(name)
        recorded = "Collective name" in args or "ccl" in name.lower()
        if recorded and (data := _recorded(args, self)):
            op = collective_of(str(data["Collective name"]))
            library = found.library if found.kind == "collective" else "nccl"
            return KernelClass("collective", library, op or found.op)
        operator = matrix_operator(args, self) if found.kind == "other" else None
        if operator is not None and _identity(operator) in self._only:
            return KernelClass("gemm")
        return found

    def launch(self, args: Mapping[str, Any]) -> Event | None:
        """The runtime call that launched the kernel with *args*."""
        correlation = _number(args, "correlation")
        return self._launches.get(correlation) if correlation else None

    def operators(self, args: Mapping[str, Any]) -> Iterator[Event]:
        """Operators that the kernel belongs to, the innermost first."""
        launch = self.launch(args)
        external = _number(args, "External id") or _number(
            launch.get("args") if launch else None, "External id"
        )
        inner = self._operators.get(external or 0)
        start = inner or launch
        thread = self._threads.get(_thread_of(start)) if start is not None else None
        if inner:
            yield inner
        if thread and start is not None:
            yield from (op for op in thread.around(_time(start, "ts")) if op is not inner)

    def gemms(self, operator: Event) -> int:
        """The number of GEMM kernels that belong to *operator*, by their names."""
        return self._gemms[_identity(operator)]


class _Thread:
    """The operators of one thread, which are nested in each other."""

    def __init__(self, events: Iterable[Event]):
        self._events = sorted(events, key=lambda event: (_time(event, "ts"), -_time(event, "dur")))
        self._starts = [_time(event, "ts") for event in self._events]
        self._parents: list[int] = []
        stack: list[int] = []
        for index, start in enumerate(self._starts):
            while stack and self._end(stack[-1]) < start:
                stack.pop()
            self._parents.append(stack[-1] if stack else -1)
            stack.append(index)

    def _end(self, index: int) -> float:
        return self._starts[index] + _time(self._events[index], "dur")

    def around(self, time: float) -> Iterator[Event]:
        """Operators that run at *time*, the innermost first, as many as nest in any program."""
        index = bisect_right(self._starts, time) - 1
        for _ in range(MOST_NESTED):
            if index < 0:
                return
            if self._end(index) >= time:
                yield self._events[index]
            index = self._parents[index]


def _number(args: Any, key: str) -> int | None:
    value = args.get(key) if isinstance(args, Mapping) else None
    return value if isinstance(value, int) and value > 0 else None


def _identity(operator: Event) -> Identified:
    """Identity of an operator in a trace: thread, external id, name, start, duration."""
    external = _number(operator.get("args"), "External id")
    times = _time(operator, "ts"), _time(operator, "dur")
    return *_thread_of(operator), external, operator.get("name"), *times


def _thread_of(event: Event) -> tuple[str, str]:
    return str(event.get("pid")), str(event.get("tid"))


def _time(event: Event, key: str) -> float:
    try:
        return float(event.get(key, 0))
    except (TypeError, ValueError):
        return 0.0


# The work of a kernel of a Kineto trace, in the words of the workload schema.


_ELEMENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
#: Matrix products -> index of the first matrix among their inputs.
_OPERATORS = {
    **dict.fromkeys(("mm", "matmul", "linear", "bmm", "_scaled_mm"), 0),
    **dict.fromkeys(("addmm", "baddbmm", "addmm_", "_addmm_activation"), 1),
}
Identity = tuple[dict[str, Any] | None, int | None, str]


def identify(kind: KernelClass, args: Mapping[str, Any], links: Links) -> Identity:
    """The task, the GPUs that take part in it, and, where there is no task, what is missing."""
    return _gemm(kind, args, links) if kind.kind == "gemm" else _collective(kind, args, links)


def matrix_operator(args: Mapping[str, Any], links: Links) -> Mapping[str, Any] | None:
    """The innermost matrix product that launched the kernel with *args*."""
    for operator in links.operators(args):
        if _plain(operator) in _OPERATORS and isinstance(operator.get("args"), Mapping):
            return operator
    return None


def _plain(operator: Mapping[str, Any]) -> str:
    return str(operator.get("name", "")).removeprefix("aten::")


def _lacks(what: str, gpus: int | None = None) -> Identity:
    return None, gpus, what


def _gemm(kind: KernelClass, args: Mapping[str, Any], links: Links) -> Identity:
    operator = matrix_operator(args, links)
    if operator is None:
        return _lacks("no matrix product operator is linked to it, so its shape is not known")
    if (gemms := links.gemms(operator)) > 1:
        what = "the shape is that of all together"
        return _lacks(f"its operator launched {gemms} GEMM kernels; {what}")
    name, inputs = _plain(operator), operator["args"]
    first = _OPERATORS[name]
    shape = gemm_shape(inputs.get("Input Dims"), first, transposed=name == "linear")
    types = inputs.get("Input type")
    dtype = dtype_of(str(types[first])) if isinstance(types, list) and len(types) > first else None
    if shape is None or dtype is None:
        what = "no input shapes and types that make a GEMM (record_shapes=True?)"
        return _lacks(f"operator {name} has {what}")
    tile = {"macro_tile": list(kind.macro_tile)} if kind.macro_tile else {}
    library = {"library": kind.library} if kind.library else {}
    return {"kind": "gemm", **shape, "dtype": dtype, **library, **tile}, None, ""


def gemm_shape(dims: Any, first: int, *, transposed: bool) -> dict[str, int] | None:
    """M, N, K, batch of two inputs from index *first* on; *transposed*: the second is N x K."""
    if not isinstance(dims, list) or len(dims) < first + 2:
        return None
    a, b = dims[first], dims[first + 1]
    if not all(_is_shape(shape) for shape in (a, b)):
        return None
    if len(b) == 1:
        b = [1, b[0]] if transposed else [b[0], 1]
    if transposed:
        b = [*b[:-2], b[-1], b[-2]]
    if len(a) == 1:
        a = [1, a[0]]
    if a[-1] != b[-2]:
        return None
    batch = math.prod(b[:-2])
    if batch > 1 and math.prod(a[:-2]) != batch:
        return None
    rows = math.prod(a[:-1]) // batch
    shape = {"m": rows, "n": b[-1], "k": a[-1]}
    return {**shape, "batch": batch} if batch > 1 else shape


def _is_shape(shape: Any) -> bool:
    return (
        isinstance(shape, list)
        and bool(shape)
        and all(isinstance(extent, int) and extent > 0 for extent in shape)
    )


def _collective(kind: KernelClass, args: Mapping[str, Any], links: Links) -> Identity:
    data = _recorded(args, links)
    named = str(data.get("Collective name", ""))
    op = collective_of(named) if named else kind.op
    group = data.get("Group size")
    gpus = group if isinstance(group, int) and group > 0 else None
    if named and op is None:
        return _lacks(f"{named!r} is no collective of the workload schema", gpus)
    if op is None:
        return _lacks("neither its name nor metadata tell which collective it is", gpus)
    counts = [data.get(key) for key in ("In msg nelems", "Out msg nelems")]
    elements = max((count for count in counts if isinstance(count, int)), default=0)
    dtype = dtype_of(str(data.get("dtype", "")))
    if not elements:
        what = "no metadata with its size (In msg nelems, Out msg nelems) is linked to it"
        return _lacks(what, gpus)
    if dtype is None:
        given = data.get("dtype", "not given")
        return _lacks(f"data type {given!r} is not in the workload schema", gpus)
    task: dict[str, Any] = {
        "kind": "collective",
        "op": op,
        "size": elements * _ELEMENT_BYTES[dtype],
        "dtype": dtype,
    }
    channels = _workgroups(args.get("grid"))
    return {**task, **({"channels": channels} if channels else {})}, gpus, ""


def _recorded(args: Mapping[str, Any], links: Links) -> Mapping[str, Any]:
    """Record of the collective of a kernel with *args*: its own, else of its innermost operator."""
    told = (args, *(_args(operator) for operator in links.operators(args)))
    return next((each for each in told if "Collective name" in each), {})


def _workgroups(grid: Any) -> int | None:
    """Workgroups of a collective are its channels."""
    if not isinstance(grid, list) or not all(isinstance(extent, int) for extent in grid):
        return None
    return math.prod(grid) or None


FORMATS = (Format("kineto", 20, json_with("traceEvents"), read),)
