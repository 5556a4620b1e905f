"""Whether a workload can run on a node: peers, channels, masks and the names of libraries."""

from __future__ import annotations

from c3sim.errors import InputError, InputErrors
from c3sim.input.checks.cluster import across_nodes_errors, nic_copy_errors
from c3sim.input.checks.dma import command_errors, engine_errors, peer_errors, reduce_errors
from c3sim.input.hints import unknown
from c3sim.input.yaml_nodes import join
from c3sim.models.collective_counts import ALGORITHMS
from c3sim.models.memory import ARRAYS
from c3sim.specs.hardware import Node
from c3sim.specs.references import parse_cu_mask
from c3sim.specs.workload import (
    DTYPE_BYTES,
    Collective,
    Commands,
    Copy,
    Gemm,
    StreamKernel,
    Task,
    Workload,
)

NEEDS: dict[str, str] = {
    "pcpy": "copy",
    "bcst": "broadcast",
    "swap": "swap",
    "b2b": "copy",
}  # variant -> command
_TILE_STEP, _TILE_LARGEST = (
    4,
    1024,
)  # the smallest matrix instruction is 4 wide; no library has larger tiles


def check_on_node(workload: Workload, node: Node) -> None:
    """Whether *workload* can run on *node*. Raises InputErrors, all that were found."""
    errors: list[InputError] = []
    for name, task in workload.tasks.items():
        path = join("tasks", name)
        errors += _size_errors(task, node, path)
        if isinstance(task, Collective):
            errors += _collective_errors(task, node, path)
        elif isinstance(task, Gemm):
            errors += _gemm_errors(task, node, path)
        elif isinstance(task, Copy) and task.executor == "nic":
            errors += nic_copy_errors(task, node, path)
        elif isinstance(task, Copy) and "peer" in (task.source, task.destination):
            errors += peer_errors(task.peer, node, join(path, "peer"))
        elif isinstance(task, StreamKernel) and task.flops_per_byte:
            errors += _vector_errors(node, join(path, "flops_per_byte"))
        elif isinstance(task, Commands):
            errors += command_errors(task, node, path)
        if isinstance(task, Collective | Copy):
            errors += engine_errors(task, node, path)
    if workload.host.prelaunched and "poll" not in node.gpu.dma_engines.commands:
        message = f"the DMA engines of {node.name} have no command that polls; prelaunch needs one"
        errors.append(InputError(message, "host.prelaunched"))
    for name, stream in workload.streams.items():
        try:
            parse_cu_mask(stream.compute_units, node.gpu.compute_unit_count)
        except InputError as error:
            errors.append(InputError(error.message, f"{join('streams', name)}.compute_units"))
    if errors:
        raise InputErrors(errors)


def _size_errors(task: Task, node: Node, path: str) -> list[InputError]:
    """What one task works on must fit into the memory of a GPU."""
    if isinstance(task, Gemm):
        elements = task.m * task.k + task.k * task.n + task.m * task.n
        size, field = float(elements * DTYPE_BYTES[task.dtype] * task.batch), ""
    elif isinstance(task, StreamKernel):
        size, field = sum(ARRAYS[task.pattern]) * task.bytes, "bytes"
    elif isinstance(task, Collective):
        size, field = task.size, "size"
    elif isinstance(task, Copy):
        size, field = task.bytes, "bytes"
    else:
        return []
    capacity = node.gpu.hbm.capacity
    if size <= capacity:
        return []
    message = (
        f"needs {size / 2**30:.4g} GiB; a GPU of {node.name} has {capacity / 2**30:.4g} GiB of "
        "memory"
    )
    return [InputError(message, join(path, field) if field else path)]


def _collective_errors(task: Collective, node: Node, path: str) -> list[InputError]:
    errors = across_nodes_errors(task, node, path)
    if node.ranks < 2:
        errors.append(
            InputError(f"a collective on {node.gpus} GPU; needs a node of at least 2", path)
        )
    cus = node.gpu.compute_unit_count
    if task.channels is not None and task.channels > cus:
        errors.append(
            InputError(
                f"got {task.channels}; must be at most the {cus} compute units",
                join(path, "channels"),
            )
        )
    if task.backend == "dma":
        reduces = task.op in ("all_reduce", "reduce_scatter")
        return [
            *errors,
            *reduce_errors(reduces, node, join(path, "backend")),
            *_variant_errors(task, node, join(path, "variant")),
        ]
    if task.backend is not None and task.backend not in node.collective_libraries:
        allowed = (*node.collective_libraries, "dma")
        return [
            *errors,
            InputError(unknown("backend", task.backend, allowed), join(path, "backend")),
        ]
    library = node.collective_library(task.backend)
    backend = task.backend or next(iter(node.collective_libraries))
    if task.op not in library.algorithms or task.op not in library.channels.default:
        allowed = tuple(op for op in library.algorithms if op in library.channels.default)
        errors.append(
            InputError(unknown(f"collective of {backend}", task.op, allowed), join(path, "op"))
        )
    alone = node.nodes == 1 and task.algorithm != "hierarchical"
    if alone and task.algorithm is not None and task.algorithm not in ALGORITHMS[task.op]:
        errors.append(
            InputError(
                unknown(f"algorithm of {task.op}", task.algorithm, ALGORITHMS[task.op]),
                join(path, "algorithm"),
            )
        )
    if task.protocol is not None and task.protocol not in library.protocols:
        errors.append(
            InputError(
                unknown("protocol", task.protocol, library.protocols), join(path, "protocol")
            )
        )
    return errors


def _variant_errors(task: Collective, node: Node, path: str) -> list[InputError]:
    have = node.gpu.dma_engines.commands
    needs = NEEDS.get(task.variant or "", "copy")
    if needs in have:
        return []
    allowed = ", ".join(name for name, command in NEEDS.items() if command in have)
    message = (
        f"{task.variant!r}: the DMA engines of {node.name} have no {needs}; allowed: "
        f"{allowed or 'none'}"
    )
    return [InputError(message, path)]


def _gemm_errors(task: Gemm, node: Node, path: str) -> list[InputError]:
    errors = []
    gpu = node.gpu
    if task.library is not None and task.library not in gpu.gemm_libraries:
        errors.append(
            InputError(unknown("library", task.library, gpu.gemm_libraries), join(path, "library"))
        )
    if task.dtype not in gpu.compute_units.flops_per_cycle:
        allowed = gpu.compute_units.flops_per_cycle
        errors.append(
            InputError(
                unknown(f"data type on {gpu.name}", task.dtype, allowed), join(path, "dtype")
            )
        )
    for i, side in enumerate(task.macro_tile or ()):
        if side % _TILE_STEP or side > _TILE_LARGEST:
            message = f"got {side}; must be a multiple of {_TILE_STEP}, at most {_TILE_LARGEST}"
            errors.append(InputError(message, join(join(path, "macro_tile"), i)))
    return errors


def _vector_errors(node: Node, path: str) -> list[InputError]:
    if "fp32" in node.gpu.compute_units.flops_per_cycle:
        return []
    return [
        InputError(f"{node.gpu.name} gives no fp32 flops_per_cycle; needed for vector FLOP", path)
    ]
