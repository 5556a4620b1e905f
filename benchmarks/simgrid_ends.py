"""One flow set in SimGrid, in a process of its own: prints seconds of CPU and the end of each flow, as JSON.

    python benchmarks/simgrid_ends.py KIND FLOWS HOW

HOW a program learns of ends: ``set`` (one actor waits for any of an ActivitySet), ``actors`` (one per flow), or
``after`` (it does not: all ends are read when everything is over).

What makes it plain max-min: network model ``raw`` (no factors, no TCP window, no cross traffic) and precisions far below
the numbers. A flow with a latency starts when that is over, with the weight 1 / latency.
"""

from __future__ import annotations

import json
import sys
from time import process_time

from flow_sets import flow_set
from simgrid import ActivitySet, Comm, Engine, LinkInRoute

CONFIG = (
    "network/model:raw", "network/crosstraffic:0", "network/TCP-gamma:0", "precision/timing:1e-12",
    "precision/work-amount:1e-12", "maxmin/concurrency-limit:-1", "contexts/stack-size:256",
)  # fmt: skip


def main(kind: str, flows: int, how: str) -> None:
    chosen = flow_set(kind, flows)
    engine = Engine(["simgrid", "--log=root.thres:error", *(f"--cfg={entry}" for entry in CONFIG)])
    zone = engine.netzone_root
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
    comms: list[Comm] = []
    ends = [0.0] * flows

    def start_all() -> None:
        waited = ActivitySet()
        for flow, pair in enumerate(pairs):
            comm = Comm.sendto_init(*pair)
            comm.set_payload_size(chosen.sizes[flow])
            comms.append(comm.start())
            if how == "set":
                waited.push(comm)
        while not waited.empty():
            waited.wait_any()
            told.append(engine.clock)

    def send_one(flow: int) -> None:
        Comm.sendto(*pairs[flow], chosen.sizes[flow])
        ends[flow] = engine.clock

    told: list[float] = []
    if how == "actors":
        for flow, (host, _) in enumerate(pairs):
            host.add_actor(f"actor{flow}", send_one, flow)
    else:
        pairs[0][0].add_actor("actor", start_all)
    engine.run_until(chosen.all_started)
    begin = process_time()
    engine.run()
    seconds = process_time() - begin
    if how != "actors":
        ends = [comm.finish_time for comm in comms]
    assert how != "set" or len(told) == flows
    print(json.dumps({"seconds": seconds, "ends": ends}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
