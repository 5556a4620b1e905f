"""One flow set in SimGrid, in a process of its own: prints seconds of CPU and the end of each flow,
as JSON.

    python benchmarks/simgrid_ends.py KIND FLOWS ROUNDS HOW

HOW a program learns of ends: ``set`` (one actor waits for any of an ActivitySet), ``actors`` (one
actor per flow), or ``after`` (all ends are read after the last one).

Sharing is plain max-min because the network model is ``raw`` (no factors, no TCP window, no cross
traffic) and precisions are far below the numbers. A flow with a latency starts after it, with the
weight 1 / latency.
"""

from __future__ import annotations

import json
import sys
from time import process_time

from flow_sets import FlowSet, flow_set
from simgrid import ActivitySet, Comm, Engine, Host, LinkInRoute, NetZone

CONFIG = (
    "network/model:raw",
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "precision/timing:1e-12",
    "precision/work-amount:1e-12",
    "maxmin/concurrency-limit:-1",
    "contexts/stack-size:256",
)


def hosts_of(zone: NetZone, chosen: FlowSet) -> list[tuple[Host, Host]]:
    """Two hosts for each flow, which meets the links that it uses."""
    links = []
    for index, capacity in enumerate(chosen.capacities):
        link = zone.add_link(f"link{index}", capacity)
        link.set_latency(chosen.link_latencies[index])
        links.append(LinkInRoute(link))
    pairs = []
    for flow, uses in enumerate(chosen.uses):
        pair = zone.add_host(f"from{flow}", 1e9), zone.add_host(f"to{flow}", 1e9)
        zone.add_route(*pair, [links[index] for index in uses], False)
        pairs.append(pair)
    zone.seal()
    return pairs


def seconds_of(engine: Engine, chosen: FlowSet) -> float:
    """Seconds of CPU from the moment at which all flows have started."""
    engine.run_until(chosen.all_started)
    begin = process_time()
    engine.run()
    return process_time() - begin


def main(kind: str, flows: int, rounds: int, how: str) -> None:
    chosen = flow_set(kind, flows, rounds)
    engine = Engine(["simgrid", "--log=root.thres:error", *(f"--cfg={entry}" for entry in CONFIG)])
    pairs = hosts_of(engine.netzone_root, chosen)
    ends: list[list[float]] = [[] for _ in range(flows)]
    going: dict[Comm, int] = {}

    def send(flow: int) -> Comm:
        comm = Comm.sendto_init(*pairs[flow])
        comm.set_payload_size(chosen.sizes[flow][len(ends[flow])])
        going[comm.start()] = flow
        return comm

    def wait_for_any() -> None:
        waited = ActivitySet([send(flow) for flow in range(flows)])
        while not waited.empty():
            flow = going.pop(waited.wait_any())
            ends[flow].append(engine.clock)
            if len(ends[flow]) < rounds:
                waited.push(send(flow))

    def wait_for_own(flow: int) -> None:
        for size in chosen.sizes[flow]:
            Comm.sendto(*pairs[flow], size)
            ends[flow].append(engine.clock)

    def wait_for_none() -> None:
        for flow in range(flows):
            send(flow)

    if how == "actors":
        for flow, (host, _) in enumerate(pairs):
            host.add_actor(f"actor{flow}", wait_for_own, flow)
    else:
        pairs[0][0].add_actor("actor", wait_for_any if how == "set" else wait_for_none)
    seconds = seconds_of(engine, chosen)
    if how == "after":
        for comm, flow in going.items():
            ends[flow].append(comm.finish_time)
    print(json.dumps({"seconds": seconds, "ends": ends}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
