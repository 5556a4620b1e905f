"""Runs of a GEMM and a collective of which one lasts longer than the other, so that the shorter one
is beside it from its first moment to its last.

The collective is resident before the GEMM begins, as in a step where they follow each other: a hold
of one compute unit delays the GEMM. GEMMs are repeated until they take at least ``LEAST``.
"""

from __future__ import annotations

from math import ceil

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.experiments.cases import Case, collective_of, gemm_of
from c3sim.experiments.study import Row
from c3sim.models.hierarchy import plan_collective
from c3sim.simulation.run import TaskRun
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective, Gemm, Hold, Task, Workload
from c3sim.tasks.plan import payload_bytes

LEAST = 5e-3  # s of GEMMs alone, and of collectives
DELAY = 50e-6  # s until the GEMM begins; channels are there by then
FIRST = 64.0 * 2**20  # bytes of the collective whose rate sizes the others
GEMM, GATHER = "gemm", "collective"


class Beside:
    """*gemm* and *collective*, with its channels, on *node*."""

    def __init__(self, node: Node, gemm: Gemm, collective: Collective):
        self.node, self.collective = node, collective
        one = self._run(gemm, None)[GEMM]
        repeat = ceil(LEAST / (one.end - one.start))
        self.gemm = gemm.changed(repeat=repeat)
        self.gemm_alone = _length(self._run(self.gemm, None)[GEMM])
        """s of all repetitions"""
        first = _length(self._run(None, FIRST)[GATHER])
        self.size = FIRST * max(1.0, ceil(LEAST / first))
        """bytes of a collective that takes LEAST alone"""
        self.collective_alone = _length(self._run(None, self.size)[GATHER])

    @property
    def bytes_per_gpu(self) -> float:
        """Bus bytes of one GPU, of a collective of *size*."""
        sized = self.collective.changed(size=self.size)
        moved = payload_bytes(self.node, sized)
        assert moved is not None  # collectives move bytes
        return moved / self.node.ranks

    def gemm_time(self) -> float:
        """S of all repetitions beside a collective that outlasts them."""
        longer = 2.0
        while True:
            size = self.size * max(1.0, longer * self.gemm_alone / self.collective_alone)
            runs = self._run(self.gemm, size)
            if runs[GATHER].end >= runs[GEMM].end:
                return _length(runs[GEMM])
            longer *= 2.0

    def collective_time(self) -> float:
        """S of a collective of *size* beside GEMMs that outlast it."""
        repeat = self.gemm.repeat
        while True:
            runs = self._run(self.gemm.changed(repeat=repeat), self.size)
            if runs[GEMM].end >= runs[GATHER].end:
                return _length(runs[GATHER])
            repeat *= 2

    def _run(self, gemm: Gemm | None, size: float | None) -> dict[str, TaskRun]:
        """Runs of the GEMM and the collective of *size* bytes, of each that is given."""
        tasks: dict[str, Task] = {}
        if size is not None:
            tasks[GATHER] = self.collective.changed(size=size, stream="communication", after=())
        if gemm is not None:
            tasks["delay"] = Hold(kind="hold", workgroups=1, time=DELAY, stream="compute")
            tasks[GEMM] = gemm.changed(stream="compute", after=())
        workload = Workload(schema_version=1, name="beside", tasks=tasks)
        run = run_once(self.node, workload, energy=False)
        return {name: run.task(name) for name in tasks}


def row_of(case: Case) -> Row:
    """Times and bus bandwidths of the GEMM and the collective of *case*, alone and beside."""
    gemm, collective = gemm_of(case)[1], collective_of(case)[1]
    both = Beside(case.node, gemm, collective)
    unpinned = collective.changed(channels=None)
    default = plan_collective(case.node, unpinned).channels
    beside, bandwidth = both.gemm_time(), both.bytes_per_gpu / both.collective_time()
    return Row(
        node=case.node.name,
        gemm=case.label or case.name.split(",")[0],
        collective=collective.op,
        channels=collective.channels or default,
        default_channels=default,
        gemm_alone_s=both.gemm_alone / both.gemm.repeat,
        gemm_beside_s=beside / both.gemm.repeat,
        gemm_slowdown=beside / both.gemm_alone,
        bandwidth_alone_bytes_per_s=both.bytes_per_gpu / both.collective_alone,
        bandwidth_beside_bytes_per_s=bandwidth,
        gemm_loss_s_per_gb=1e9 * max(0.0, 1.0 - both.gemm_alone / beside) / bandwidth,
    )


def effort_beside(node: Node, gemm: Gemm, collective: Collective) -> Effort:
    """The effort of one ``Beside`` and both of its times: repeated GEMMs run three times (alone,
    beside a longer collective, outlasting one), as often as whatever a result is made of.
    """
    tasks: dict[str, Task] = {
        GEMM: gemm.changed(repeat=repeats_at_most(node, gemm), after=()),
        GATHER: collective.changed(stream="communication", after=()),
    }
    return effort_of(Workload(schema_version=1, name="beside", tasks=tasks), node)


def repeats_at_most(node: Node, gemm: Gemm) -> int:
    """As many of *gemm* as take LEAST at the peak rates of matrix units or memory, whichever is
    slower; each waits for memory once at least.
    """
    gpu = node.gpu
    rate = gpu.compute_units.flops_per_cycle[gemm.dtype] * gpu.compute_unit_count
    flops = 2.0 * gemm.m * gemm.n * gemm.k
    computing = gemm.batch * flops / (rate * gpu.clock.maximum)
    seconds = max(computing, gemm.operand_bytes / gpu.hbm.bandwidth)
    return ceil(LEAST / max(seconds, gpu.hbm.latency))


def _length(run: TaskRun) -> float:
    return run.end - run.start
