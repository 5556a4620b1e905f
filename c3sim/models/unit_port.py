"""Rate at which the workgroups on one compute unit go over memory.

They have F bytes of loads under way: what their threads ask for, and no more than the lines of the
first-level cache that shared memory leaves. Loads wait for the latency L of memory; loads and
stores go through one port to L2, at l and w bytes per cycle. With s bytes stored for each byte that
is loaded, F bytes take

    (L^p + P^p)^(1/p)      P = F / l + s F / w      L = F0 / r

cycles, where r is the rate of a unit that reads with F0 bytes under way. Stores alone wait for the
port. Under load L is longer (models/memory.py), and so is all of it. Memory takes no more requests
than those of all units at r: kernels on all of them read as fast with few lines as with all, and
are as slow beside others.
"""

from __future__ import annotations

from c3sim.spec.hardware import ComputeUnits, Gpu


def under_way(gpu: Gpu, asked: float, claimed: float) -> float:
    """Bytes of loads under way on a unit whose workgroups ask for *asked*; *claimed*: LDS of the
    unit that is claimed, for which it sets aside the next amount that it can.
    """
    port = gpu.compute_units.port
    assert port is not None
    if claimed:
        claimed = next((amount for amount in port.set_aside if amount >= claimed), claimed)
    l1 = gpu.cache_policies.l1_capacity if gpu.cache_policies else gpu.compute_units.lds
    return min(asked, max(port.under_way, l1 - claimed))


def moved_per_cycle(units: ComputeUnits, loads: float, stored: float) -> float:
    """Bytes per cycle that a unit loads and stores with *loads* bytes under way; *stored*: bytes
    stored for each byte loaded, of a kernel that loads nothing infinite.
    """
    port = units.port
    assert port is not None
    if stored == float("inf"):
        return port.store_bandwidth
    latency = port.under_way / units.read_bandwidth
    through = loads / units.l2_bandwidth + stored * loads / port.store_bandwidth
    p = port.exponent
    least = max(latency, through)
    turn = least * ((latency / least) ** p + (through / least) ** p) ** (1.0 / p)
    return float((1.0 + stored) * loads / turn)
