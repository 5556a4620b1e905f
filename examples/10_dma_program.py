"""A command program for DMA engines, of your own: an all-gather that goes round in two halves,
against those that ship.
"""

import c3sim
from c3sim import Program

SIZE, GPUS = 256 * 1024, 8
CHUNK = SIZE / GPUS


def two_halves() -> Program:
    """Broadcasts to the peers near by and copies to the far ones; one poll releases both, as
    prelaunch does by itself.
    """
    program = Program()
    for peer in (1, 3):
        program.broadcast(CHUNK, peers=[peer, peer + 1])
    for peer in (5, 6, 7):
        program.copy(CHUNK, peer=peer)
    return program


def time_us(workload) -> float:
    return c3sim.run(workload).tasks[next(iter(workload.tasks))].time_s * 1e6


for prelaunched in (False, True):
    how = {"submission": "direct", "threads": "single", "prelaunched": prelaunched}
    print(f"256 KiB all-gather, {'prelaunched' if prelaunched else 'submitted at the release'}")
    for variant in ("pcpy", "bcst", "b2b"):
        task = {
            "kind": "collective",
            "op": "all_gather",
            "size": "256 KiB",
            "backend": "dma",
            "variant": variant,
        }
        shipped = c3sim.parse_workload(
            {"schema": 1, "name": variant, "tasks": {"gather": task}, "host": how}
        )
        print(f"  {variant:10} {time_us(shipped):6.2f} us")
    print(f"  {'two halves':10} {time_us(two_halves().workload(**how)):6.2f} us")

print("one copy, phase by phase")
timed = Program().timestamp("begin").copy("64 KiB").timestamp("end").atomic("done")
result = c3sim.run(timed.workload(gpus="first", submission="direct"))
stamps = result.tasks["program"].detail["timestamps_s"]
print(
    f"  fetched after {stamps['begin'] * 1e6:.2f} us,"
    f" copied in {(stamps['end'] - stamps['begin']) * 1e6:.2f} us"
)
print(f"  its end seen after {result.wall_s * 1e6:.2f} us")

print("a program that cannot end")
try:
    c3sim.run(Program().poll("go").copy("1 KiB").atomic("go").workload())
except c3sim.C3simError as error:
    print(f"  {error}")
