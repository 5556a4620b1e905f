"""The host's side of DMA: a thread that writes packets, rings doorbells, and sees the ends.

The host submits one command after another; in a batch, or when the program writes the rings itself, it pays for every
packet and rings once per queue, behind its last packet. Prelaunched commands lie in their rings behind a poll: at the release they
cost no host time and no fetch, only the poll's latency. A program that polls its signals sees one after another, one per
queue. A thread that finds a ring full waits until the engine has taken enough of it, and does nothing else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from c3sim.models.dma import POLL_STAGGERS
from c3sim.processes.context import Context, HostThread
from c3sim.processes.dma.engines import Engines, Key, Ring, Step

Call = Callable[[], None]


def countdown(count: int, then: Call) -> Call:
    """A function that calls *then()* when it is called for the *count*-th time."""
    left = [count]

    def one() -> None:
        left[0] -= 1
        if not left[0]:
            then()

    return one


def _constant(time: float, _packets: int) -> float:
    return time


class DmaHost:
    """Submits commands for all GPUs."""

    def __init__(self, context: Context):
        self.context = context
        self.engines = Engines(context)

    def submit(self, task: str, gpu: int, steps: list[Step], done: Call) -> None:
        """The host thread of *gpu* submits *steps* in order; *done()* when it has seen the end of
        every queue.
        """
        context, how = self.context, self.context.workload.host
        host, costs = context.host(gpu, task), context.node.host
        direct = how.submission == "direct"
        if not steps:
            context.after(0.0, done)
            return
        rings: dict[Key, list[Step]] = {}
        for step in steps:
            rings.setdefault(self._key(task, step), []).append(step)
        seen = countdown(len(rings), done)

        def signalled() -> None:
            if direct:
                host.do(costs.signal_time, seen)
            else:
                seen()

        ends = {key: countdown(len(ring), signalled) for key, ring in rings.items()}
        if not how.prelaunched and how.submission == "one_by_one":
            for step in steps:
                key = self._key(task, step)
                time = costs.copy_time + self._call_time(host, step.pull)
                if step is rings[key][0]:  # those behind it find the queue at work
                    time += self._inlined(key, step)
                host.when_free(
                    partial(self._write, host, key, [step], ends[key], partial(_constant, time))
                )
            return
        if not how.prelaunched and not direct:
            parts = sum(step.in_order for step in steps)  # beside the last
            time = costs.batch_time + parts * costs.copy_time
            time += self._call_time(host, any(step.pull for step in steps))
            host.open_batch(
                task, time + sum(self._inlined(self._key(task, step), step) for step in steps)
            )
        each = costs.packet_time if direct else costs.batch_copy_time
        for key, ring in rings.items():
            if how.prelaunched:
                waiting = self._behind_a_poll(ring)
                host.when_free(partial(self._write, host, key, waiting, ends[key], None))
                continue
            host.when_free(
                partial(
                    self._write,
                    host,
                    key,
                    ring,
                    ends[key],
                    lambda n: n * each + costs.doorbell_time,
                )
            )

    # -- private -----------------------------------------------------------------------------------
    # -------------

    def _call_time(self, host: HostThread, pulls: bool) -> float:
        """What a call of the runtime costs *host* more: that it reads from a peer, and that it is
        the first one.
        """
        costs = self.context.node.host
        first, host.has_copied = not host.has_copied, True
        return costs.pull_time * pulls + costs.first_copy_time * first

    def _inlined(self, key: Key, step: Step) -> float:
        """What it takes a call of the runtime to write the bytes of *step* into the queue, where
        that is idle.
        """
        return step.inlined if step.inlined and self.engines.ring(key).idle else 0.0

    def _behind_a_poll(self, steps: list[Step]) -> list[Step]:
        """*steps* of one queue that see the release instead of being fetched.

        One GPU after the other does, the first at once. What asks another engine for something
        waits for that one's look, wherever its own is.
        """
        engines, gpus = self.context.node.gpu.dma_engines, self.context.node.gpus
        look = 0.0
        if engines.poll_interval and not steps[0].request:
            look = engines.poll_interval * POLL_STAGGERS[engines.poll_stagger](steps[0].gpu, gpus)
        waiting = [replace(step, fetch=engines.poll_latency + look) for step in steps]
        return [replace(waiting[0], polled=True), *waiting[1:]]

    def _key(self, task: str, step: Step) -> Key:
        private = task if "dma" in self.context.machine.private else ""
        return (step.gpu, step.engine, step.queue, private)

    def _write(
        self,
        host: HostThread,
        key: Key,
        steps: list[Step],
        completed: Call,
        cost: Callable[[int], float] | None,
        waited: bool = False,
    ) -> None:
        """Write *steps* into their ring as far as they fit, and the rest as room comes;
        *cost(packets)*: host time [s] of packets and their doorbell, None: they were written before
        the release.
        """
        ring = self.engines.ring(key)
        written = _take(ring, steps)
        rest = steps[len(written) :]
        if cost is None:
            self.engines.arrive(key, written, completed)
            if rest:  # did not fit: written from the release on, as the engine takes the others
                costs = self.context.node.host
                self._write(
                    host,
                    key,
                    rest,
                    completed,
                    lambda n: n * costs.packet_time + costs.doorbell_time,
                )
            return
        packets = sum(step.packets for step in written)
        if not rest and not steps[-1].signals:
            # behind the last one, to signal the end of all, unless the program's own last one does
            packets += 1

        def rung() -> None:
            self.engines.arrive(key, written, completed)
            if rest:
                self._wait_for_room(ring, rest[0].size, again)

        def again() -> None:
            self._write(host, key, rest, completed, cost, waited=True)

        if rest:
            host.block()
        host.occupy(cost(packets) if written else 0.0, rung)
        if waited and not rest:
            host.release()

    def _wait_for_room(self, ring: Ring, size: float, then: Call) -> None:
        if ring.fits(size):
            then()
        else:
            ring.full.append(partial(self._wait_for_room, ring, size, then))


def _take(ring: Ring, steps: list[Step]) -> list[Step]:
    """The first of *steps* that fit into *ring* now; their room is taken."""
    taken = []
    for step in steps:
        if not ring.fits(step.size):
            break
        ring.used += step.size
        taken.append(step)
    return taken
