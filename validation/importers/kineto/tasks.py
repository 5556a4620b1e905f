"""What a kernel of a Kineto trace computes or sends, in the words of the workload schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..names import collective_of, dtype_of
from ..traces.kernel_names import KernelClass
from .links import Links

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
    if (claims := links.claims(operator)) > 1:
        what = "the shape is that of all together"
        return _lacks(f"its operator launched {claims} GEMM kernels; {what}")
    name, inputs = _plain(operator), operator["args"]
    first = _OPERATORS[name]
    shape = gemm_shape(inputs.get("Input Dims"), first, transposed=name == "linear")
    types = inputs.get("Input type")
    dtype = dtype_of(str(types[first])) if isinstance(types, list) and len(types) > first else None
    if shape is None or dtype is None:
        what = "no input shapes and types that make a GEMM (record_shapes=True?)"
        return _lacks(f"operator {name} has {what}")
    tile = {"macro_tile": list(kind.macro_tile)} if kind.macro_tile else {}
    return {"kind": "gemm", **shape, "dtype": dtype, "library": kind.library, **tile}, None, ""


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
    data = args if "Collective name" in args else _recorded(links.operators(args))
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


def _recorded(operators: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for operator in operators:
        args = operator.get("args")
        if isinstance(args, Mapping) and "Collective name" in args:
            return args
    return {}


def _workgroups(grid: Any) -> int | None:
    """Workgroups of a collective are its channels."""
    if not isinstance(grid, list) or not all(isinstance(extent, int) for extent in grid):
        return None
    return math.prod(grid) or None
