"""Where the accesses of a kernel are served, by how far apart two uses of a line are.

Past a level goes what that level does not find again: all or nothing by what is touched between two
uses, since the order of use evicts a line before it comes again.
"""

from __future__ import annotations

from typing import NamedTuple

from c3sim.models.cache_policy import OF_STORES, found_again, share_of_policy
from c3sim.specs.cache_policy import CachePolicy, Policy
from c3sim.specs.hardware import Gpu
from c3sim.specs.task import Access, Kernel


class Moved(NamedTuple):
    """Bytes of a kernel by place."""

    l1: float = 0.0  # found in L1,
    l2: float = 0.0  # in L2
    past_l2: float = 0.0
    read: float = 0.0  # of DRAM
    written: float = 0.0
    inserted: float = 0.0  # of these, what the last shared cache takes
    evicted: float = 0.0  # written, from lines of a cache
    filling: float = 0.0  # loads past L1 that take a line of it

    def plus(self, other: Moved) -> Moved:
        return Moved(*(mine + its for mine, its in zip(self, other, strict=True)))


def moved_by(gpu: Gpu, task: Kernel, running: float, held: float) -> Moved:
    """What the accesses of *task* move with *running* workgroups on the GPU, of which the task
    holds *held* bytes of the last shared cache.
    """
    moved = Moved()
    for access in task.accesses:
        moved = moved.plus(_moved(gpu, task.cache, access, running, held))
    return moved


def _moved(gpu: Gpu, policy: CachePolicy, access: Access, running: float, held: float) -> Moved:
    again = access.bytes * access.again
    policies = gpu.cache_policies
    far = access.far if access.near is None else access.near * running
    per_unit = max(1.0, running / gpu.compute_unit_count)
    in_l1 = policy.l1 == "allocate" and not access.stores and policies is not None
    fits = access.near is not None and policies and access.near * per_unit <= policies.l1_capacity
    l1 = again if in_l1 and fits else 0.0
    memory_side = gpu.memory_side_cache is not None
    l2_policy = _policy(policy, access, policy.at("l2"))
    of_l2 = gpu.dies.count * gpu.l2.capacity * share_of_policy(l2_policy, policies)
    room = of_l2 if memory_side or not gpu.shared_cache else held
    l2 = (again - l1) * found_again(far, room, l2_policy)
    past = again - l1 - l2
    last = _policy(policy, access, policy.at("memory_side")) if memory_side else l2_policy
    kept = past * found_again(far, held, last) if memory_side else 0.0
    from_dram = access.bytes + past - kept
    useful = l1 + l2 + kept > 0
    takes = last != "bypass" and (useful or not (policies and policies.predicts))
    return Moved(
        l1=l1,
        l2=l2,
        past_l2=access.bytes + past,
        read=0.0 if access.stores else from_dram,
        written=from_dram if access.stores else 0.0,
        inserted=from_dram if takes else 0.0,
        evicted=from_dram if access.stores and takes else 0.0,
        filling=access.bytes + again - l1
        if in_l1 and (useful or not (policies and policies.predicts))
        else 0.0,
    )


def _policy(policy: CachePolicy, access: Access, loads: Policy) -> Policy:
    return OF_STORES[policy.stores] if access.stores else loads
