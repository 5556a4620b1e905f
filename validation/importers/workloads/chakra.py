"""A Chakra trace as the trace of one rank."""

from __future__ import annotations

from dataclasses import replace

from c3sim.specs.hardware import Node

from ..chakra.events import events_of
from ..chakra.reader import read_nodes
from ..chakra.side import Side
from .trace import Trace, trace_of


def read_chakra(data: bytes, file: str, node: Node, side: Side) -> Trace:
    """From unpacked *data*; groups that *side* does not name are of all GPUs of *node*.

    It is the only rank there is: nothing tells how its collectives waited for others. Raises
    InputError: no Chakra trace.
    """
    version, nodes = read_nodes(data, file)
    found = events_of(nodes, side, node.ranks, file)
    trace = trace_of({}, found.events, file)
    backend = next(iter(node.collective_libraries), trace.backend)
    works = {int(work.args["correlation"]): work for work in trace.works}
    return replace(
        trace,
        backend=backend,
        software=f"Chakra schema {version or 'unknown'}",
        remarks=[*trace.remarks, *found.remarks, "a Chakra trace is that of one rank"],
        timed=found.timed,
        awaits={
            id(works[number]): [works[each] for each in others]
            for number, others in found.awaits.items()
        },
    )
