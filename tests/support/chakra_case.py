"""A profiler's trace as a Chakra trace, as PyTorch's converter would write it.

    python tests/support/chakra_case.py TRACE.json.gz STEP OUT.et

writes with the schema of the package mlc-chakra, which has to be installed; tests write smaller
ones with the messages that c3sim reads.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

COMP, COLLECTIVE = 4, 7
COMM_TYPES = {"allreduce": 0, "_allgather_base": 2, "_reduce_scatter_base": 7}
BYTES = {"BFloat16": 2, "Float": 4}


def packed(messages: Iterable[Any]) -> bytes:
    """Each message behind its length."""
    parts = []
    for message in messages:
        data = message.SerializeToString()
        size, length = [], len(data)
        while length > 127:
            size.append(length & 127 | 128)
            length >>= 7
        parts += [bytes([*size, length]), data]
    return b"".join(parts)


def node(schema: Any, number: int, name: str, kind: int, **fields: Any) -> Any:
    """A node with attributes *attr* and, as text, *shapes* and *types* of what goes into it."""
    attr, shapes, types = (fields.pop(key, None) for key in ("attr", "shapes", "types"))
    found = schema(id=number, name=name, type=kind, **fields)
    for key, value in (attr or {}).items():
        scalar = {bool: "bool_val", int: "int64_val", str: "string_val"}[type(value)]
        found.attr.add(name=key, **{scalar: value})
    found.inputs.shapes, found.inputs.types = shapes or "", types or ""
    return found


def converted(works: Sequence[Any], awaits: dict[int, set[int]], schema: Any) -> list[Any]:
    """Nodes of *works* (in order of launch): each operator on the host, its kernel behind it and
    behind what it waits for."""
    nodes, begin = [], min(work.start for work in works)
    for place, work in enumerate(works):
        operator, kernel = 2 * place + 1, 2 * place + 2
        args = work.operator.get("args") or {}
        shapes, types = str(args.get("Input Dims", [])), str(args.get("Input type", []))
        name = str(work.operator.get("name", "launch"))
        nodes.append(node(schema, operator, name, COMP, attr={"is_cpu_op": True}))
        attr: dict[str, Any] = {"is_cpu_op": False, "stream": int(work.stream)}
        if collective := work.args.get("Collective name"):
            size = work.args["In msg nelems"] * BYTES[work.args["dtype"]]
            attr |= {"comm_type": COMM_TYPES[collective], "comm_size": size, "pg_name": "0"}
            shapes, types = str([[work.args["In msg nelems"]]]), f"['{work.args['dtype']}']"
        nodes.append(
            node(
                schema,
                kernel,
                work.name,
                COLLECTIVE if collective else COMP,
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
    from chakra.schema.protobuf.et_def_pb2 import GlobalMetadata, Node

    from c3sim.importers.workloads.trace import choose, read_trace
    from c3sim.importers.workloads.waits import find_waits

    read = read_trace(gzip.decompress(Path(trace).read_bytes()).decode(), trace)
    works = choose(read, int(step))[0].works
    nodes = converted(works, find_waits(read, works).after, Node)
    Path(out).write_bytes(packed([GlobalMetadata(version="1.0.0"), *nodes]))


if __name__ == "__main__":
    main(*sys.argv[1:])
