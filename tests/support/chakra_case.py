"""A profiler's trace as a Chakra trace, as PyTorch's converter would write it.

    python tests/support/chakra_case.py TRACE.json.gz STEP OUT.et

writes it with the messages that c3sim reads. (``step2.0.et`` was written with those of the package
mlc-chakra.)
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c3sim.importers.chakra_schema import messages, new_node, packed

COMM_TYPES = {"allreduce": 0, "_allgather_base": 2, "_reduce_scatter_base": 7}
BYTES = {"BFloat16": 2, "Float": 4}


def converted(works: Sequence[Any], awaits: dict[int, set[int]]) -> list[Any]:
    """Nodes of *works* (in order of launch): each operator on the host, its kernel behind it and
    behind what it waits for."""
    nodes, begin = [], min(work.start for work in works)
    for place, work in enumerate(works):
        operator, kernel = 2 * place + 1, 2 * place + 2
        args = work.operator.get("args") or {}
        shapes, types = args.get("Input Dims", []), args.get("Input type", [])
        name = str(work.operator.get("name", "launch"))
        nodes.append(new_node(operator, name, "COMP_NODE", attr={"is_cpu_op": True}))
        attr: dict[str, Any] = {"is_cpu_op": False, "stream": int(work.stream)}
        if collective := work.args.get("Collective name"):
            size = work.args["In msg nelems"] * BYTES[work.args["dtype"]]
            attr |= {"comm_type": COMM_TYPES[collective], "comm_size": size, "pg_name": "0"}
            shapes, types = [[work.args["In msg nelems"]]], [work.args["dtype"]]
        nodes.append(
            new_node(
                kernel,
                work.name,
                "COMM_COLL_NODE" if collective else "COMP_NODE",
                ctrl_deps=[operator],
                data_deps=[2 * other + 2 for other in sorted(awaits.get(place, ()))],
                start_time_micros=1 + int(work.start - begin),
                duration_micros=int(work.duration),
                attr=attr,
                shapes=shapes,
                types=types,
            )
        )
    return nodes


def main(trace: str, step: str, out: str) -> None:
    from c3sim.importers.workloads.trace import choose, read_trace
    from c3sim.importers.workloads.waits import find_waits

    read = read_trace(gzip.decompress(Path(trace).read_bytes()).decode(), trace)
    works = choose(read, int(step))[0].works
    nodes = converted(works, find_waits(read, works).after)
    Path(out).write_bytes(packed([messages()[0](version="1.0.0"), *nodes]))


if __name__ == "__main__":
    main(*sys.argv[1:])
