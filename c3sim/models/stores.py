"""Stores into the memory of peers: how fast a workgroup makes them, what publishing them costs, and
what unfinished ones do to others.

A workgroup stores b bytes in

    b / (w f) + b l / (d B)     w: bytes per cycle, f: clock, B: bytes of one store of all lanes,
                                l: wait for one of them, d: how many may be unfinished

and behind each tile makes a release (and stores a flag, in a GPU's memory or the host's, which a
peer that waits for it sees g s later). The release takes r s, and b / v where stores stay in the L2
of a die: it writes them back at v bytes per second, for one of its k workgroups after the other:

    tile = max(store + r + b / v, k b / v)

Stores go into the same queues of a die as all its other requests. With u = what is offered / what
the fullest link drains, they fill those queues once u is above 1, and whoever waits behind them
gets its turn in proportion: others on that die go on at

    max(1 / u, q)     q: the share that is always theirs (local_share)

and stand still for a share p of the time in which the die makes a release.

Kernels whose every lane stores to all peers in turn fill all links. In a GEMM the tile of a
workgroup goes to one peer, and each queue is served in order: what is first in it waits for its
link while other links are idle. With m queues in front of n links, and a link for each store at
random, busy_links(m, n) of the links are busy. Its own next loads stand behind a workgroup's stores
as well, so while they drain its GEMM waits (tasks/stores.py).
Source: M. Karol, M. Hluchyj, S. Morgan, Input versus output queueing on a space-division packet
switch, IEEE Trans. Communications 35 (1987): 2 - sqrt(2) = 0.586 of many links, 0.618 of 8.

Source of the above: 16 B stores of 1 to 32 workgroups beside a matrix kernel on 8x MI300X
(github.com/subha-v/Distributed-HipKittens @9ff8bee1, exp_21_saturation): the loss follows what is
offered, not what is sent. From 16 to 32 workgroups 3.5 % more bytes are sent, and the matrix kernel
slows from x1.22 to x3.3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.parts import PolicyCost, RemoteStores
from c3sim.spec.task import FlagPlace, Publication, StorePolicy, Stores


class TileTime(NamedTuple):
    """Time of one tile of a workgroup [s]."""

    issue: float  # at the maximum clock, which it follows
    wait: float  # for stores and release
    release: float  # of it, in which its die writes back
    turn: float  # at least that long: all workgroups of a die, one after the other


def remote_stores(gpu: Gpu) -> RemoteStores:
    """Remote stores of a GPU that has them (checked on input)."""
    assert gpu.remote_stores is not None
    return gpu.remote_stores


def policy_cost(stores: RemoteStores, policy: StorePolicy | None) -> PolicyCost:
    """Cost of *policy*, or of the first one. Raises KeyError (checked on input)."""
    return stores.policies[next(iter(stores.policies)) if policy is None else policy]


def tile_time(node: Node, task: Stores, tile: float, per_die: int) -> TileTime:
    """*tile*: bytes; *per_die*: workgroups that share a die."""
    gpu = node.gpu
    clock = gpu.clock.maximum
    if task.direction == "pull":
        return TileTime(tile / (gpu.compute_units.remote_bandwidth * clock), 0.0, 0.0, 0.0)
    stores = remote_stores(gpu)
    cost = policy_cost(stores, task.policy)
    wait = stores.latency * tile / (task.in_flight * stores.store_bytes) if task.in_flight else 0.0
    written = written_back(cost, tile) if task.publish else 0.0
    release = cost.release_time if task.publish else 0.0
    issue = tile / (cost.bandwidth * clock)
    return TileTime(issue, wait + release + written, written, per_die * written)


def written_back(cost: PolicyCost, amount: float) -> float:
    """Seconds in which a release writes back *amount* bytes."""
    return amount / cost.write_back if cost.write_back else 0.0


def flag_latency(gpu: Gpu, publish: Publication | None, flags: FlagPlace) -> float:
    """Seconds until a kernel that awaits another sees that one of its tiles has finished, of which
    *publish* tells by *flags*.
    """
    if publish != "flag" or gpu.remote_stores is None:
        return 0.0
    stores = remote_stores(gpu)
    return (stores.host_flag_time or 0.0) if flags == "host" else stores.flag_time


#: Steps after which the shares of busy links no longer change (below 1e-6 for 16 queues).
_STEPS = 64


@lru_cache(maxsize=256)
def busy_links(queues: int, links: int) -> float:
    """Mean share of *links* that work, where *queues* that are never empty are served in order.

    In each step every link serves one of those that are first in a queue and wait for it; what is
    behind it becomes first, for a link at random.
    """
    likely = {(queues, *(0,) * (links - 1)): 1.0}  # waiting for each link, sorted -> probability
    for _ in range(_STEPS):
        following: dict[tuple[int, ...], float] = {}
        for waiting, chance in likely.items():
            served = sum(count > 0 for count in waiting)
            left = tuple(max(0, count - 1) for count in waiting)
            for state, part in _dealt(left, served).items():
                following[state] = following.get(state, 0.0) + chance * part
        likely = following
    return sum(c * sum(count > 0 for count in waiting) for waiting, c in likely.items()) / links


@lru_cache(maxsize=4096)
def _dealt(waiting: tuple[int, ...], more: int) -> dict[tuple[int, ...], float]:
    """The chances of what waits for each link, sorted, once *more* have been dealt to them."""
    likely = {waiting: 1.0}
    for _ in range(more):
        following: dict[tuple[int, ...], float] = {}
        for state, chance in likely.items():
            for count in set(state):
                link, alike = state.index(count), state.count(count)
                dealt = tuple(sorted((*state[:link], count + 1, *state[link + 1 :])))
                following[dealt] = following.get(dealt, 0.0) + chance * alike / len(state)
        likely = following
    return likely


def kept_share(local_share: float | None, overload: float) -> float:
    """Share of its rate that a neighbour keeps; *overload*: u of the module docstring."""
    if local_share is None or overload <= 1.0:
        return 1.0
    return max(1.0 / overload, local_share)
