"""A recommendation model (arXiv 1906.00091) as units, on one of n GPUs.

The networks run on the GPU's own B samples. Tables are dealt to the GPUs: each looks up its tables
for all samples, which on average are as many rows as all tables have for B, and an all-to-all hands
every GPU the rows of its samples. Backward the gradients go the same way and are added to the rows.
"""

from __future__ import annotations

from itertools import pairwise

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.iterations.units import NOTHING, Unit, Units
from c3sim.spec.models import Dlrm


def dlrm_units(
    operators: OperatorSet, model: Dlrm, batch: int, ranks: int, *, training: bool
) -> Units:
    """The whole model as one unit; *batch*: samples of a GPU."""
    parts = _Parts(operators, model, batch, ranks)
    unit = Unit(
        name="model",
        forward=tuple(parts.forward()),
        backward=tuple(parts.backward()) if training else (),
        parameters=model.network_parameters + sum(model.rows) * model.width // ranks,
        shared=model.network_parameters,
    )
    return Units(start=NOTHING, each=(), end=unit)


class _Parts:
    def __init__(self, operators: OperatorSet, model: Dlrm, batch: int, ranks: int):
        self.o, self.model, self.batch, self.ranks = operators, model, batch, ranks
        self.rows = batch * sum(model.lookups)
        self.pooled = batch * len(model.rows)
        self.vectors = len(model.rows) + 1

    def forward(self) -> list[Step]:
        o, model, batch = self.o, self.model, self.batch
        added = self.rows / self.pooled
        dots = batch * model.interactions
        return [
            o.gather("embedding", self.pooled, model.width, added=added),
            *self._rows_change_hands("rows"),
            *self._network("bottom", (model.dense, *model.bottom)),
            o.gemm("dots", self.vectors, self.vectors, model.width, batch),
            o.elementwise("dots-side-by-side", dots, 1, 1, strided=True),
            *self._network("top", (model.interactions, *model.top)),
        ]

    def backward(self) -> list[Step]:
        o, model, batch = self.o, self.model, self.batch
        dots = batch * model.interactions
        return [
            *self._network_backward("top", (model.interactions, *model.top)),
            o.elementwise("dots-apart", dots, 1, 1, strided=True),
            o.gemm("dots-gradient", self.vectors, model.width, self.vectors, batch),
            *self._rows_change_hands("rows-gradient"),
            *self._network_backward("bottom", (model.dense, *model.bottom)),
            o.gather("embedding-update", self.rows, model.width, added=2),
        ]

    def _rows_change_hands(self, name: str) -> list[Step]:
        if self.ranks == 1:
            return []
        size = float(self.pooled * self.model.width * self.o.element)
        return [Exchange(name, "all_to_all", size, among="data")]

    def _network(self, name: str, widths: tuple[int, ...]) -> list[Step]:
        steps: list[Step] = []
        for number, (inputs, outputs) in enumerate(pairwise(widths)):
            steps.append(self.o.gemm(f"{name}{number}", self.batch, outputs, inputs))
            steps.append(self.o.elementwise(f"{name}{number}-relu", self.batch * outputs, 1, 1))
        return steps

    def _network_backward(self, name: str, widths: tuple[int, ...]) -> list[Step]:
        o, batch = self.o, self.batch
        steps: list[Step] = []
        for number in reversed(range(len(widths) - 1)):
            inputs, outputs = widths[number], widths[number + 1]
            weight = o.gemm(f"{name}{number}-weight", outputs, inputs, batch)
            steps += [
                o.elementwise(f"{name}{number}-relu-gradient", batch * outputs, 2, 1),
                o.gemm(f"{name}{number}-input", batch, inputs, outputs),
                Op(weight.name, weight.task, "gemm", weight.flops, gradients=(inputs * outputs,)),
                *o.column_sum(f"{name}{number}-bias", batch, outputs),
            ]
        return steps
