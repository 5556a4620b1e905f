"""A hold: workgroups that keep compute units of a GPU and do nothing there."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.machine.traffic import Traffic
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.workload import Hold
from c3sim.tasks.on_units import OnUnits, OnUnitsKind


class HoldKind(OnUnitsKind[Hold]):
    """Holds, which occupy compute units as kernels of others do."""

    def resolve(self, name: str, task: Hold, scene: Scene) -> Planned[Hold]:
        # it stays within its GPU, and every GPU has it
        return HeldUnits(**self.placed(name, task, scene), foldable=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldUnits(OnUnits[Hold]):
    """A workgroup keeps a compute unit, its LDS and waves, for the task's time at any clock."""

    def kernel(self, context: Context, _gpu: int, *, watched: bool) -> KernelSpec:
        task, unit = self.task, context.node.gpu.compute_units
        held = TileCost(rate=lambda _state: 1.0 / task.time, traffic=Traffic())
        return KernelSpec(
            tiles=task.workgroups,
            schedule="one_per_tile",
            claim=Claim(lds=unit.lds, registers=1, waves=task.waves or unit.waves),
            residents=1,
            cost=lambda _per_unit, _concurrent: held,
        )
