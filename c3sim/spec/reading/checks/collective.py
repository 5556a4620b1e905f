"""Checks of a collective: its group, its library or engines, its algorithm across nodes."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.models.collective import switch_reduces
from c3sim.models.collective_counts import ALGORITHMS, SHOTS
from c3sim.models.groups import divides, group_of, span_of
from c3sim.models.hierarchy import PHASES, cluster_algorithms
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.kind import (
    Checks,
    Errors,
    above,
    engines_errors,
    posting_errors,
    posting_on_node_errors,
    reduce_errors,
)
from c3sim.spec.words import unknown_errors
from c3sim.spec.workload import Collective

_OF_ENGINES = {
    "direction": "engines have a direction",
    "engines": "a transfer by engines is split over them",
    "variant": "engines have variants",
    "ways": "engines have queues",
}
#: Variants of one collective alone.
_ONE_OPERATION = {"bcst": "all_gather", "multicast": "all_gather", "swap": "all_to_all"}
#: Collectives that leave a rank's own part as it is.
_WITH_OWN_SHARD = ("all_gather", "all_to_all")
#: Variant of a collective -> the command that its engines need.
NEEDS = {"pcpy": "copy", "bcst": "broadcast", "swap": "swap", "b2b": "copy"}
BY_ENGINES = {"all_gather": ("hierarchical",), "all_to_all": ("hierarchical", "direct")}


class CollectiveChecks(Checks[Collective]):
    def alone(self, task: Collective) -> Errors:
        yield from posting_errors(task)
        only = _ONE_OPERATION.get(task.variant or "")
        if task.backend == "dma" and task.by == "units":
            yield InputError("'units': backend dma is by engines", "by")
        if not task.on_engines:
            for field, what in _OF_ENGINES.items():
                if getattr(task, field) is not None:
                    yield InputError(f"only {what}; needs by: engines, or backend: dma", field)
        copies = task.op in _WITH_OWN_SHARD and (task.on_engines or task.op == "all_gather")
        if task.out_of_place and not copies:
            message = "a GPU copies its own shard of an all_gather, or of an all_to_all by engines"
            yield InputError(message, "out_of_place")
        if not task.on_engines:
            return
        if only not in (None, task.op):
            of = f"{task.variant!r} of {task.op}"
            message = f"{of}; allowed: {only}, or the variants pcpy and b2b"
            yield InputError(message, "variant")
        elif task.direction == "pull" and task.variant not in (None, "pcpy"):
            message = f"variant {task.variant!r} supports direction push only"
            yield InputError(message, "direction")
        elif task.engines is not None and only is not None:
            yield InputError(f"{task.variant!r} has an engine per command", "engines")
        elif task.ways is not None and task.variant != "b2b":
            yield InputError("'ways' requires variant b2b", "ways")

    def on_node(self, task: Collective, node: Node) -> Errors:
        yield from group_errors(task, node)
        group = group_of(node, task)
        if group is None or (divides(node, group) and span_of(node, group).between.size > 1):
            yield from across_nodes_errors(task, node)
        if node.ranks < 2:
            yield InputError(f"a collective on {node.gpus} GPU; needs a node of at least 2")
        yield from _backend_errors(task, node)
        yield from _proxy_errors(task, node)
        yield from engines_errors(task.engines, node)
        if task.ways is not None:
            reason = f", the queues of an engine of {node.name}"
            yield from above(task.ways, node.gpu.dma_engines.queues, reason, "ways")
        yield from posting_on_node_errors(task, node, across=node.nodes > 1)
        by_one = node.gpus == 1 and task.algorithm == "direct"
        if task.posted is not None and node.nodes > 1 and not by_one:
            message = (
                f"a collective over {node.nodes} nodes that a kernel posts needs nodes of one"
                " GPU, and algorithm direct"
            )
            yield InputError(message, "posted")


def _proxy_errors(task: Collective, node: Node) -> Errors:
    """Channels that post themselves: between nodes whose file says what that takes."""
    if task.proxies == "host":
        return
    wide = node.scale_out
    if wide is None or wide.kernel_post_time is None:
        message = f"{node.name} gives no scale_out.kernel_post_time; what a put costs a kernel"
        yield InputError(message, "proxies")
    elif task.on_engines:
        yield InputError("engines have no channels that post; leave proxies out", "proxies")


def _backend_errors(task: Collective, node: Node) -> Errors:
    """A library or engines that the node has, with the channels and variants that it asks for."""
    libraries, cus = node.collective_libraries, node.gpu.compute_unit_count
    backend = task.backend or next(iter(libraries))
    used = libraries.get(backend)
    most = cus * (used.channels.channels_per_unit if used else 1)
    if task.channels is not None and task.channels > most:
        message = f"got {task.channels}; must be at most the {cus} compute units"
        message += f", {most // cus} on each" if most > cus else ""
        yield InputError(message, "channels")
    if task.variant == "multicast" and not node.links.multicast:
        message = f"'multicast': needs a switch that hands on (links.multicast), not {node.name}"
        yield InputError(message, "variant")
    if backend == "dma":
        reduces = task.op in ("all_reduce", "reduce_scatter")
        yield from reduce_errors(reduces, node, "backend")
        yield from _variant_errors(task, node)
    elif used is not None:
        yield from _library_errors(task, node, backend)
    else:
        allowed = (*libraries, "dma")
        yield from unknown_errors("backend", backend, allowed, "backend")


def _library_errors(task: Collective, node: Node, backend: str) -> Errors:
    library = node.collective_libraries[backend]
    if task.by == "engines":
        carried = () if library.engines is None else library.engines.operations
        if node.nodes > 1:
            carried = tuple(op for op in carried if op in BY_ENGINES)
        what = f"collective that {backend} has engines carry on {node.name}"
        yield from unknown_errors(what, task.op, carried, "by")
        return
    ops = tuple(op for op in library.algorithms if op in library.channels.default)
    yield from unknown_errors(f"collective of {backend}", task.op, ops, "op")
    if node.nodes == 1 and task.algorithm != "hierarchical":
        able = switch_reduces(node, library, task)
        shots = () if node.gpu.remote_stores is not None else SHOTS
        unable = (*shots, "switch") if not able else shots
        allowed = [name for name in ALGORITHMS[task.op] if name not in unable]
        what = f"algorithm of {task.op}"
        yield from unknown_errors(what, task.algorithm, allowed, "algorithm")
    yield from unknown_errors("protocol", task.protocol, library.protocols, "protocol")


def _variant_errors(task: Collective, node: Node) -> Errors:
    have = node.gpu.dma_engines.commands
    needs = NEEDS.get(task.variant or "", "copy")
    if needs not in have:
        allowed = ", ".join(name for name, command in NEEDS.items() if command in have) or "none"
        message = f"the DMA engines of {node.name} have no {needs}; allowed: {allowed}"
        yield InputError(f"{task.variant!r}: {message}", "variant")


def across_nodes_errors(task: Collective, node: Node) -> Errors:
    """Mistakes in a *task*'s algorithms, phases and engines, on several nodes or on one."""
    phased = task.algorithm == "hierarchical"
    if node.scale_out is None:
        message = f"only between nodes; {node.name} is one node, its file has no scale_out"
        if phased:
            yield InputError(message, "algorithm")
        if task.pipeline is not None:
            yield InputError(message, "pipeline")
    elif task.pipeline is not None and task.algorithm not in (None, "hierarchical"):
        message = f"{task.algorithm!r} has no phases; needs algorithm hierarchical"
        yield InputError(message, "pipeline")
    elif node.nodes > 1 and task.on_engines:
        yield from _engine_errors(task, node)
    elif node.nodes > 1:
        allowed, offered = cluster_algorithms(task.op), node.scale_out.algorithms
        what = f"algorithm of {task.op} on {node.nodes} nodes"
        yield from unknown_errors(what, task.algorithm, allowed, "algorithm")
        what = f"collective between nodes of {node.name}"
        yield from unknown_errors(what, task.op, offered, "op")
        if task.op in offered and (phased or "hierarchical" in offered[task.op]):
            yield from _phase_errors(task, node)


def _phase_errors(task: Collective, node: Node) -> Errors:
    """Phases inside a node are collectives of the library."""
    backend = task.backend or next(iter(node.collective_libraries))
    library = node.collective_libraries.get(backend)
    for where, op in PHASES[task.op]:
        if library and where == "node" and op not in library.algorithms:
            yield InputError(f"phases inside a node need {op!r}, which the library has not")


def _engine_errors(task: Collective, node: Node) -> Errors:
    what = f"collective on engines of {node.nodes} nodes"
    yield from unknown_errors(what, task.op, BY_ENGINES, "op")
    if task.op not in BY_ENGINES:
        return
    what, allowed = f"algorithm of {task.op} on engines", BY_ENGINES[task.op]
    yield from unknown_errors(what, task.algorithm, allowed, "algorithm")
    if task.variant not in (None, "pcpy"):
        message = f"{task.variant!r} is for the GPUs of one node; on {node.nodes} nodes only 'pcpy'"
        yield InputError(message, "variant")


def group_errors(task: Collective, node: Node) -> Errors:
    """Groups lie inside a node, whose links lead from each GPU to each other one; or they have as
    many GPUs in each of several nodes.
    """
    group = group_of(node, task)
    if group is None:
        if task.group is None and task.stride != 1:
            yield InputError("stride is for groups; give group too", "stride")
        return
    if group.size < 2:
        yield InputError(f"got {group.size}; a group has at least 2 GPUs", "group")
    elif not divides(node, group):
        message = f"groups of {group.size} GPUs, {group.stride} apart, do not divide"
        of = f"{node.nodes} nodes of {node.gpus} GPUs" if node.nodes > 1 else f"{node.gpus} GPUs"
        yield InputError(f"{message} the {of} of {node.name}", "group")
    elif span_of(node, group).inside.size == 1:
        if task.algorithm not in (None, "ring", "direct"):
            message = f"{task.algorithm!r} is not between nodes; allowed: ring, direct"
            yield InputError(message, "algorithm")
    elif node.links.topology == "ring":
        yield InputError(f"{node.name} is a ring; its collectives are of all GPUs", "group")
    elif task.variant == "swap":
        yield InputError("swaps are among all GPUs of a node", "variant")
    elif span_of(node, group).between.size == 1 and (
        task.algorithm == "hierarchical" or task.pipeline is not None
    ):
        message = "hierarchical algorithms need a group that spans nodes"
        yield InputError(message, "algorithm" if task.algorithm else "pipeline")
