"""The matrix products of a transformer's layer, and their gradients.

Queries, keys and values are three products of one input, unless the model has them in one
(``fused_qkv``); gate and up are two (``fused_gate``). Backward each product becomes two: the
gradient of its input (M, K, N) and of its weights (N, K, M). Gradients of one input are added up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from c3sim.inference.steps import layer_gemms
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op, Step
from c3sim.spec.models import Transformer


class Projections:
    """Those on a GPU that has *share* of a layer. Experts' gate and up are one product."""

    def __init__(self, operators: OperatorSet, model: Transformer, share: Share):
        rows, tensor, expert = share.rows, share.tensor, share.expert
        self.o, self.model, self.rows, self.expert = operators, model, rows, expert
        self.gemms: dict[str, dict[str, Any]] = layer_gemms(model, tensor, rows, expert)
        if model.experts > 1 and share.of_expert != tensor:
            own = layer_gemms(model, share.of_expert, share.routed_rows, expert)
            self.gemms |= {name: own[name] for name in ("router", "gate_up", "down")}
        self.queries = model.heads // tensor * model.head_dim
        self.keys = max(1, model.kv_heads // tensor) * model.head_dim
        self.attention = ("qkv",) if model.fused_qkv else ("q", "k", "v")
        whole = model.fused_gate or model.experts > 1 or not model.gated
        self.network = ("gate_up",) if whole else ("gate", "up")
        widths = {"q": self.queries, "k": self.keys, "v": self.keys}
        inner = self.gemms["gate_up"]["n"] // 2
        for name in (*self.attention, *self.network):
            if name not in self.gemms:
                source = self.gemms["qkv" if name in widths else "gate_up"]
                self.gemms[name] = {**source, "n": widths.get(name, inner)}

    def forward(self, name: str, views: int = 0) -> Op:
        """The product, and *views* of its result."""
        gemm = self.gemms[name]
        op = self.o.gemm(name, gemm["m"], gemm["n"], gemm["k"], gemm["batch"])
        return op.beside({"view": views}) if views else op

    def gradients(
        self, names: tuple[str, ...], exchange: list[Step] | None = None, bias: bool = True
    ) -> list[Step]:
        """Gradients of products of one input, the last first: of the input, then of weights and
        bias. *exchange*: what the sum of the input's gradients goes through, beside the last
        weights.
        """
        steps: list[Step] = []
        for number, name in enumerate(reversed(names)):
            steps.append(self._of_input(name))
            if number:
                numbers = self.rows * self.model.hidden
                steps.append(self.o.elementwise(f"{name}-sum", numbers, 2, 1))
            steps += (exchange or []) if number == len(names) - 1 else []
            steps += self._of_weights(name, bias and self.model.bias)
        return steps

    def _of_input(self, name: str) -> Op:
        gemm = self.gemms[name]
        op = self.o.gemm(f"{name}-input", gemm["m"], gemm["k"], gemm["n"], gemm["batch"])
        return op.called({"linear": 0.5})

    def _of_weights(self, name: str, bias: bool) -> list[Step]:
        gemm = self.gemms[name]
        m, n, k, batch = gemm["m"], gemm["n"], gemm["k"], gemm["batch"]
        held = self.model.experts // self.expert if name in ("gate_up", "down") else 1
        weight = self.o.gemm(f"{name}-weight", n, k, m, batch).called({"linear": 0.5})
        steps: list[Step] = [replace(weight, gradients=(n * k * held,))]
        if bias:  # the sum is part of the backward call of a product with a bias
            steps.append(self.o.column_sum(f"{name}-bias", m * batch, n).called({}))
        return steps
