"""Which level serves the passes of a stream kernel over its arrays, by size and by policy."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.models.cache_policy import found_again, last_policy, room, share_of_policy
from c3sim.models.memory import ARRAYS
from c3sim.processes.context import Context
from c3sim.processes.kernels.warm_operands import surviving_share
from c3sim.specs.workload import StreamKernel


@dataclass(slots=True)
class Served:
    """Passes by the level that serves them; *l1_rate*: B/s of a compute unit from L1; *found*: of
    all, again in the last shared cache.
    """

    l1: float = 0.0
    l2: float = 0.0
    cache: float = 0.0
    hbm: float = 0.0
    l1_rate: float = 0.0
    found: float = 0.0


def served_passes(
    context: Context, name: str, gpu: int, task: StreamKernel, concurrent: int, per_unit: int
) -> Served:
    """Passes of *task* with *concurrent* workgroups on the GPU, *per_unit* of them on a unit; the
    room in a cache goes by what they demand.
    """
    spec, policies = context.node.gpu, context.node.gpu.cache_policies
    policy = task.cache
    memory_side = spec.memory_side_cache is not None
    set_aside = context.workload.host.set_aside
    footprint = sum(ARRAYS[task.pattern]) * task.bytes
    demanded = concurrent * spec.compute_units.read_bandwidth * spec.clock.maximum / per_unit
    last = last_policy(spec, policy)
    others = context.machine.other_insertion(name, gpu, footprint / demanded)
    held = room(spec.shared_cache, demanded, last, others, policies, set_aside)
    served = Served()
    again = task.passes - 1.0
    if policy.l1 == "allocate" and policies is not None:
        units = min(concurrent, spec.compute_unit_count)
        served.l1 = again * min(1.0, units * policies.l1_capacity / footprint)
        served.l1_rate = policies.l1_bandwidth * spec.clock.maximum
        again -= served.l1
    if memory_side or not spec.shared_cache:
        of_l2 = spec.dies.count * spec.l2.capacity * share_of_policy(policy.at("l2"), policies)
        served.l2 = again * found_again(footprint, of_l2, policy.at("l2"))
        again -= served.l2
    round_robin = last == "keep" and not set_aside  # all lines are equal again
    order = "allocate" if round_robin else last
    reach = policies.sweep_share if policies and order == "allocate" else 1.0
    found = again * found_again(footprint, reach * held, order) if spec.shared_cache else 0.0
    served.found = found
    warm = task.inputs == "warm" and footprint <= held
    kept = surviving_share(context, name) if warm else 0.0
    if memory_side:
        served.cache = kept + found
    else:
        served.l2 += kept + found
    served.hbm = 1.0 - kept + (again - found)
    return served
