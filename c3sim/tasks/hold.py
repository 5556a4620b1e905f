"""A hold: workgroups that keep compute units of a GPU and do nothing there."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.machine.traffic import Traffic
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim, GridShape
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Hold
from c3sim.tasks.kind import LAUNCH, RESIDENT, Kind
from c3sim.tasks.on_units import OnUnits


class HoldKind(Kind[Hold]):
    """Holds, which occupy compute units as kernels of others do."""

    def events(self, task: Hold, node: Node) -> float:
        return LAUNCH + task.workgroups / (node.gpu.compute_unit_count * RESIDENT)

    def resolve(self, name: str, task: Hold, scene: Scene) -> Planned[Hold]:
        units = scene.node.gpu.compute_unit_count
        return HeldUnits(
            **self.placed(name, task, scene),
            shape=GridShape(task.workgroups or units, scene.mask(task.stream)),
            foldable=True,  # it stays within its GPU, and every GPU has it
        )


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
