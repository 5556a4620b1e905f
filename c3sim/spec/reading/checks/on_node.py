"""True if a workload can run on a node: peers, channels, masks and the names of libraries."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError, InputErrors
from c3sim.models.cache_policy import policy_of
from c3sim.models.collective import switch_reduces
from c3sim.models.collective_counts import ALGORITHMS, SHOTS
from c3sim.models.groups import divides, group_of, span_of
from c3sim.models.hierarchy import PHASES, cluster_algorithms
from c3sim.schedules import expanded
from c3sim.spec.hardware import Node
from c3sim.spec.operands import operand_bytes
from c3sim.spec.reading.checks.workload import owner_errors, posting_on_node_errors
from c3sim.spec.reading.documents import join
from c3sim.spec.task import AtOwners, Command, EngineTask, Kernel, Stores
from c3sim.spec.words import unknown_errors
from c3sim.spec.workload import (
    Collective,
    Commands,
    Copy,
    Gemm,
    StreamKernel,
    Task,
    Workload,
    parse_cu_mask,
)

#: Variant of a collective -> the command that its engines need.
NEEDS = {"pcpy": "copy", "bcst": "broadcast", "swap": "swap", "b2b": "copy"}
# the smallest matrix instruction is 4 wide; no library has larger tiles
_TILE_STEP, _TILE_LARGEST = 4, 1024


def check_on_node(workload: Workload, node: Node) -> None:
    """True if *workload* can run on *node*. Raises InputErrors, all that were found."""
    try:
        errors = list(_errors(expanded(workload, node), node))
    except InputError as error:  # a schedule that cannot be written out
        errors = [error]
    if errors:
        raise InputErrors(errors)


def _errors(workload: Workload, node: Node) -> Iterator[InputError]:
    for name, task in workload.tasks.items():
        yield from _task_errors(task, node, join("tasks", name))
    if workload.host.prelaunched and "poll" not in node.gpu.dma_engines.commands:
        message = f"the DMA engines of {node.name} have no command that polls; prelaunch needs one"
        yield InputError(message, "host.prelaunched")
    if workload.host.set_aside and (node.gpu.cache_policies is None or not node.gpu.shared_cache):
        message = f"{node.gpu.name} sets no lines of a cache that all compute units share aside"
        yield InputError(message, "host.set_aside")
    if workload.host.profile is not None:
        yield from unknown_errors(
            "host profile", workload.host.profile, node.host_profiles, "host.profile"
        )
    if workload.host.slowness is not None and workload.host.profile is None:
        yield InputError("is of the calls of a profile; needs host.profile", "host.slowness")
    for name, stream in workload.streams.items():
        try:
            parse_cu_mask(stream.compute_units, node.gpu.compute_unit_count)
        except InputError as error:
            yield InputError(error.message, join("streams", name, "compute_units"))


def _task_errors(task: Task, node: Node, path: str) -> Iterator[InputError]:
    yield from owner_errors(task, node, path)
    if isinstance(task, AtOwners):
        yield from at_owners_errors(task, node, path)
    yield from _size_errors(task, node, path)
    yield from _cache_errors(task, node, join(path, "cache"))
    if isinstance(task, Collective):
        yield from _collective_errors(task, node, path)
    elif isinstance(task, Gemm):
        yield from _gemm_errors(task, node, path)
    elif isinstance(task, Stores):
        yield from stores_errors(task, node, path)
    elif isinstance(task, Copy) and task.executor == "nic":
        yield from nic_copy_errors(task, node, path)
    elif isinstance(task, Copy) and "peer" in (task.source, task.destination):
        yield from peer_errors(task.peer, node, join(path, "peer"))
    elif isinstance(task, StreamKernel) and task.flops_per_byte:
        if "fp32" not in node.gpu.compute_units.flops_per_cycle:
            message = f"{node.gpu.name} gives no fp32 flops_per_cycle; needed for vector FLOP"
            yield InputError(message, join(path, "flops_per_byte"))
    elif isinstance(task, Kernel):
        yield from _kernel_errors(task, node, path)
    elif isinstance(task, Commands):
        yield from command_errors(task, node, path)
    if isinstance(task, Collective | Copy):
        yield from engine_errors(task, node, path)
    if isinstance(task, EngineTask) and task.posted is not None:
        yield from posting_on_node_errors(task, node, path)
    managed = isinstance(task, Copy) and task.parameters == "managed"
    if managed and node.gpu.kernels.parameter_fault is None:
        message = f"{node.gpu.name} gives no kernels.parameter_fault; what 'managed' costs there"
        yield InputError(message, join(path, "parameters"))


def _cache_errors(task: Task, node: Node, path: str) -> Iterator[InputError]:
    """A policy needs a GPU whose policies are known, and levels that it has."""
    if (policy := policy_of(task)) is None:
        return
    if node.gpu.cache_policies is None:
        yield InputError(f"{node.gpu.name} gives no cache_policies; what a policy does there", path)
    if policy.memory_side is not None and node.gpu.memory_side_cache is None:
        message = f"{node.gpu.name} has no memory-side cache; its last cache is l2"
        yield InputError(message, join(path, "memory_side"))


def _kernel_errors(task: Kernel, node: Node, path: str) -> Iterator[InputError]:
    works = task.read or task.written or task.flops or task.through_caches
    if task.time == 0 or (task.time is None and not works):
        yield InputError("a kernel needs a time above 0, or bytes or FLOP to work on", path)
    dtype = task.dtype if task.on == "matrix" else "fp32"
    rates = node.gpu.compute_units.flops_per_cycle
    if task.flops and dtype not in rates:
        yield from unknown_errors(
            f"data type on {node.gpu.name}", dtype, rates, join(path, "dtype")
        )
    waves = node.gpu.compute_units.waves
    if task.per_unit is not None and task.per_unit > waves:
        message = f"got {task.per_unit}; a compute unit has room for {waves} waves"
        yield InputError(message, join(path, "per_unit"))


def _size_errors(task: Task, node: Node, path: str) -> Iterator[InputError]:
    """Mistakes: the operands of one task must fit into the memory of a GPU."""
    size, capacity = operand_bytes(task), node.gpu.hbm.capacity
    if size > capacity:
        field = "size" if isinstance(task, Collective) else "bytes"
        where = path if isinstance(task, Gemm) else join(path, field)
        needs, has = f"{size / 2**30:.4g} GiB", f"{capacity / 2**30:.4g} GiB"
        yield InputError(f"needs {needs}; a GPU of {node.name} has {has} of memory", where)


def _collective_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    yield from group_errors(task, node, path)
    group = group_of(node, task)
    if group is None or (divides(node, group) and span_of(node, group).between.size > 1):
        yield from across_nodes_errors(task, node, path)
    if node.ranks < 2:
        yield InputError(f"a collective on {node.gpus} GPU; needs a node of at least 2", path)
    libraries = node.collective_libraries
    cus = node.gpu.compute_unit_count
    used = libraries.get(task.backend or next(iter(libraries)))
    most = cus * (used.channels.channels_per_unit if used else 1)
    if task.channels is not None and task.channels > most:
        message = f"got {task.channels}; must be at most the {cus} compute units"
        message += f", {most // cus} on each" if most > cus else ""
        yield InputError(message, join(path, "channels"))
    if task.variant == "multicast" and not node.links.multicast:
        message = f"'multicast': needs a switch that hands on (links.multicast), not {node.name}"
        yield InputError(message, join(path, "variant"))
    if task.backend == "dma":
        reduces = task.op in ("all_reduce", "reduce_scatter")
        yield from reduce_errors(reduces, node, join(path, "backend"))
        yield from _variant_errors(task, node, join(path, "variant"))
    elif task.backend is None or task.backend in libraries:
        yield from _library_errors(task, node, task.backend or next(iter(libraries)), path)
    else:
        allowed = (*libraries, "dma")
        yield from unknown_errors("backend", task.backend, allowed, join(path, "backend"))


def _library_errors(task: Collective, node: Node, backend: str, path: str) -> Iterator[InputError]:
    library = node.collective_libraries[backend]
    if task.by == "engines":
        carried = () if library.engines is None else library.engines.operations
        if node.nodes > 1:
            carried = tuple(op for op in carried if op in BY_ENGINES)
        what = f"collective that {backend} has engines carry on {node.name}"
        yield from unknown_errors(what, task.op, carried, join(path, "by"))
        return
    ops = tuple(op for op in library.algorithms if op in library.channels.default)
    yield from unknown_errors(f"collective of {backend}", task.op, ops, join(path, "op"))
    if node.nodes == 1 and task.algorithm != "hierarchical":
        able = switch_reduces(node, library, task)
        shots = () if node.gpu.remote_stores is not None else SHOTS
        unable = (*shots, "switch") if not able else shots
        allowed = [name for name in ALGORITHMS[task.op] if name not in unable]
        what = f"algorithm of {task.op}"
        yield from unknown_errors(what, task.algorithm, allowed, join(path, "algorithm"))
    yield from unknown_errors("protocol", task.protocol, library.protocols, join(path, "protocol"))


def _variant_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    have = node.gpu.dma_engines.commands
    needs = NEEDS.get(task.variant or "", "copy")
    if needs not in have:
        allowed = ", ".join(name for name, command in NEEDS.items() if command in have) or "none"
        message = f"the DMA engines of {node.name} have no {needs}; allowed: {allowed}"
        yield InputError(f"{task.variant!r}: {message}", path)


def _gemm_errors(task: Gemm, node: Node, path: str) -> Iterator[InputError]:
    gpu = node.gpu
    yield from unknown_errors("library", task.library, gpu.gemm_libraries, join(path, "library"))
    if task.lds is not None and task.lds > gpu.compute_units.lds:
        message = f"got {task.lds:.0f} B; a compute unit has {gpu.compute_units.lds:.0f}"
        yield InputError(message, join(path, "lds"))
    dtypes = gpu.compute_units.flops_per_cycle
    yield from unknown_errors(f"data type on {gpu.name}", task.dtype, dtypes, join(path, "dtype"))
    if task.updates and not gpu.hbm.update_cost:
        message = f"memory of {node.name} adds nothing by itself; set gpu.hbm.update_cost"
        yield InputError(message, join(path, "updates"))
    for i, side in enumerate(task.macro_tile or ()):
        if side % _TILE_STEP or side > _TILE_LARGEST:
            message = f"got {side}; must be a multiple of {_TILE_STEP}, at most {_TILE_LARGEST}"
            yield InputError(message, join(path, "macro_tile", i))


# Several nodes, and the network between them


BY_ENGINES = {"all_gather": ("hierarchical",), "all_to_all": ("hierarchical", "direct")}


def across_nodes_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """Mistakes in a *task*'s algorithms, phases and engines, on several nodes or on one."""
    phased = task.algorithm == "hierarchical"
    if node.scale_out is None:
        message = f"only between nodes; {node.name} is one node, its file has no scale_out"
        if phased:
            yield InputError(message, join(path, "algorithm"))
        if task.pipeline is not None:
            yield InputError(message, join(path, "pipeline"))
    elif task.pipeline is not None and task.algorithm not in (None, "hierarchical"):
        message = f"{task.algorithm!r} has no phases; needs algorithm hierarchical"
        yield InputError(message, join(path, "pipeline"))
    elif node.nodes > 1 and task.on_engines:
        yield from _engine_errors(task, node, path)
    elif node.nodes > 1:
        allowed, offered = cluster_algorithms(task.op), node.scale_out.algorithms
        what = f"algorithm of {task.op} on {node.nodes} nodes"
        yield from unknown_errors(what, task.algorithm, allowed, join(path, "algorithm"))
        what = f"collective between nodes of {node.name}"
        yield from unknown_errors(what, task.op, offered, join(path, "op"))
        if task.op in offered and (phased or "hierarchical" in offered[task.op]):
            yield from _phase_errors(task, node, path)


def _phase_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """Phases inside a node are collectives of the library."""
    backend = task.backend or next(iter(node.collective_libraries))
    library = node.collective_libraries.get(backend)
    for where, op in PHASES[task.op]:
        if library and where == "node" and op not in library.algorithms:
            yield InputError(f"phases inside a node need {op!r}, which the library has not", path)


def _engine_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    what = f"collective on engines of {node.nodes} nodes"
    yield from unknown_errors(what, task.op, BY_ENGINES, join(path, "op"))
    if task.op not in BY_ENGINES:
        return
    what, allowed = f"algorithm of {task.op} on engines", BY_ENGINES[task.op]
    yield from unknown_errors(what, task.algorithm, allowed, join(path, "algorithm"))
    if task.variant not in (None, "pcpy"):
        message = f"{task.variant!r} is for the GPUs of one node; on {node.nodes} nodes only 'pcpy'"
        yield InputError(message, join(path, "variant"))


def nic_copy_errors(task: Copy, node: Node, path: str) -> Iterator[InputError]:
    """A copy by NICs goes from a GPU to a peer in another node."""
    if node.nodes == 1:
        message = f"'nic' copies between nodes; {node.name} is one node"
        yield InputError(message, join(path, "executor"))
    elif (task.source, task.destination) != ("gpu", "peer"):
        ends = f"{task.source} and {task.destination}"
        yield InputError(f"a NIC writes: source gpu and destination peer, not {ends}", path)
    elif not node.gpus <= task.peer < node.ranks:
        first = f"{node.gpus} (the same GPU of the next node)"
        message = f"got {task.peer}; must be {first} to {node.ranks - 1}"
        yield InputError(message, join(path, "peer"))


def group_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """Groups lie inside a node, whose links lead from each GPU to each other one; or they have as
    many GPUs in each of several nodes.
    """
    group = group_of(node, task)
    if group is None:
        if task.group is None and task.stride != 1:
            yield InputError("stride is for groups; give group too", join(path, "stride"))
        return
    where = join(path, "group")
    if group.size < 2:
        yield InputError(f"got {group.size}; a group has at least 2 GPUs", where)
    elif not divides(node, group):
        message = f"groups of {group.size} GPUs, {group.stride} apart, do not divide"
        of = f"{node.nodes} nodes of {node.gpus} GPUs" if node.nodes > 1 else f"{node.gpus} GPUs"
        yield InputError(f"{message} the {of} of {node.name}", where)
    elif span_of(node, group).inside.size == 1:
        if task.on_engines:
            yield InputError("DMA engines do not reach other nodes in groups", where)
        elif task.algorithm not in (None, "ring", "direct"):
            message = f"{task.algorithm!r} is not between nodes; allowed: ring, direct"
            yield InputError(message, join(path, "algorithm"))
    elif node.links.topology == "ring":
        yield InputError(f"{node.name} is a ring; its collectives are of all GPUs", where)
    elif node.nodes > 1 and task.on_engines:
        yield InputError("DMA engines have no groups on several nodes", where)
    elif task.variant == "swap":
        yield InputError("swaps are among all GPUs of a node", join(path, "variant"))
    elif span_of(node, group).between.size == 1 and (
        task.algorithm == "hierarchical" or task.pipeline is not None
    ):
        message = "phases are between nodes; a group inside a node has none"
        yield InputError(message, join(path, "algorithm" if task.algorithm else "pipeline"))


# DMA engines of the node


Errors = Iterator[InputError]


def engine_errors(task: Collective | Copy, node: Node, path: str) -> Errors:
    """More engines, or queues of one, than there are."""
    engines = node.gpu.dma_engines
    queues = engines.queues_for_streams
    if task.engines is not None:
        of = f" of {queues} queues for streams" if queues > 1 else ""
        reason = f", a GPU of {node.name} has {engines.count} engines{of}"
        yield from _above(task.engines, engines.count * queues, reason, join(path, "engines"))
    if isinstance(task, Collective) and task.ways is not None:
        reason = f", the queues of an engine of {node.name}"
        yield from _above(task.ways, engines.queues, reason, join(path, "ways"))


def peer_errors(peer: int, node: Node, path: str) -> Errors:
    """A peer that the node does not have."""
    if node.gpus < 2:
        message = f"a copy to a peer on {node.gpus} GPU; needs a node of at least 2"
        yield InputError(message, path)
    else:
        yield from _above(peer, node.gpus - 1, f" on a node of {node.gpus} GPUs", path)


def reduce_errors(reduces: bool, node: Node, path: str) -> Errors:
    """A reduction where engines only move bytes."""
    if reduces and node.gpu.dma_engines.reduce_bandwidth is None:
        what_if = "a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth"
        yield InputError(f"the DMA engines of {node.name} cannot reduce; {what_if}", path)


def command_errors(task: Commands, node: Node, path: str) -> Errors:
    """Commands of a program that no engine of the node can carry out."""
    for i, command in enumerate(task.program):
        yield from _errors_of(command, node, join(path, "program", i))


def _errors_of(command: Command, node: Node, path: str) -> Errors:
    engines = node.gpu.dma_engines
    if isinstance(command.peer, int):
        yield from peer_errors(command.peer, node, join(path, "peer"))
    for i, peer in enumerate(command.peers):
        yield from peer_errors(peer, node, join(path, "peers", i))
    if command.engine is not None:
        reason = f", there are {engines.last + 1} engines"
        yield from _above(command.engine, engines.last, reason, join(path, "engine"))
    reason = f", an engine has {engines.queues} queues"
    yield from _above(command.queue, engines.queues - 1, reason, join(path, "queue"))
    most = engines.broadcast_destinations or 1
    if len(command.peers) > most:
        message = f"{len(command.peers)} destinations; must be at most {most} on {node.name}"
        yield InputError(message, join(path, "peers"))
    if command.op not in engines.commands and command.op != "reduce":
        message = f"the DMA engines of {node.name} have no command {command.op!r}"
        yield InputError(f"{message}; they have {', '.join(engines.commands)}", join(path, "op"))
    yield from reduce_errors(command.op == "reduce", node, join(path, "op"))


def _above(value: int, most: int, reason: str, path: str) -> Errors:
    if value > most:
        yield InputError(f"got {value}; must be at most {most}{reason}", path)


# Kernels that store at peers


def stores_errors(task: Stores, node: Node, path: str) -> Iterator[InputError]:
    """Peers, what the GPU's file knows, and fields of stores alone."""
    if node.gpus < 2:
        yield InputError("stores at peers on 1 GPU; needs a node of at least 2", path)
    if task.direction == "pull":
        for field in ("in_flight", "policy", "publish"):
            if getattr(task, field) is not None:
                message = "loads are no stores; needs direction push"
                yield InputError(message, join(path, field))
    elif node.gpu.remote_stores is None:
        yield _unknown_here(node, path)
    else:
        policies = node.gpu.remote_stores.policies
        where = join(path, "policy")
        yield from unknown_errors("store policy", task.policy, policies, where)


def at_owners_errors(task: AtOwners, node: Node, path: str) -> Iterator[InputError]:
    """Mistakes: a kernel that publishes, or stores at peers, needs costs and peers."""
    if task.results == "peers" and node.gpus < 2:
        message = "stores at peers on 1 GPU; needs a node of at least 2"
        yield InputError(message, join(path, "results"))
    for field, used in (("results", task.results == "peers"), ("publish", bool(task.publish))):
        if used and node.gpu.remote_stores is None:
            yield _unknown_here(node, join(path, field))
    if task.policy is not None and node.gpu.remote_stores is not None:
        where = join(path, "policy")
        yield from unknown_errors(
            "store policy", task.policy, node.gpu.remote_stores.policies, where
        )


def _unknown_here(node: Node, path: str) -> InputError:
    message = f"{node.gpu.name} gives no remote_stores; needed to store at peers or publish tiles"
    return InputError(message, path)
