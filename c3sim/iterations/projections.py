"""The matrix products of a transformer's layer, and their gradients.

Queries, keys and values are three products of one input, unless the model has them in one
(``fused_qkv``); gate and up are two (``fused_gate``). Those of latent attention are in latent.py.
Backward each product becomes two: the gradient of its input (M, K, N) and of its weights (N, K, M).
Gradients of one input are added up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from c3sim.iterations.inference.steps import OF_EXPERTS, layer_gemms
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op, Step
from c3sim.spec.models import Biased, Transformer

_BIASED: dict[str, Biased] = {"o": "o", "router": "router", "gate": "network", "up": "network"}
_BIASED |= dict.fromkeys(("qkv", "q", "k", "v"), "qkv")
_BIASED |= dict.fromkeys((*OF_EXPERTS, "shared-down"), "network")


class Projections:
    """Projections of a GPU that has *share* of a layer of *model*. Experts' gate and up are one
    product. *attention*, *network*: products of one input each; *chosen*: rows that go through
    experts.
    """

    def __init__(self, operators: OperatorSet, model: Transformer, share: Share):
        tensor, rows = share.tensor, share.rows
        self.o, self.model, self.rows, self.share = operators, model, rows, share
        self.gemms: dict[str, dict[str, Any]] = layer_gemms(model, tensor, rows, share.expert)
        if model.experts > 1:
            parts, rows = share.of_expert, share.routed_rows
            own = layer_gemms(model, parts, rows, share.expert) if parts != tensor else {}
            routed = ("router", *OF_EXPERTS, *(name for name in own if name.startswith("shared")))
            self.gemms |= {name: own[name] for name in routed if own}
        self.chosen = rows * model.experts_per_token
        self._spread(share)
        heads = model.heads // tensor
        self.queries = heads * model.head_dim
        self.keys = max(1, model.kv_heads // tensor) * model.head_dim
        self.attention: tuple[str, ...] = ("qkv",) if model.fused_qkv else ("q", "k", "v")
        whole = model.fused_gate or model.experts > 1 or not model.gated
        self.network = ("gate_up",) if whole else ("gate", "up")
        widths = {"q": self.queries, "k": self.keys, "v": self.keys}
        if model.latent is not None:
            low = model.latent.query_rank is not None
            self.attention = ("q-down" if low else "q", "kv-down")
        elif not model.fused_qkv:
            for name, width in widths.items():
                self._add(name, width, model.hidden)
        inner = self.gemms["gate_up"]["n"] // 2
        if not whole:
            for name in self.network:
                self._add(name, inner, model.hidden)

    def _spread(self, share: Share) -> None:
        """Give each expert its rows, where they have not as many."""
        of_all = self.chosen * share.expert
        loads = share.load.fullest(of_all, self.model.experts, share.expert)
        if self.model.experts == 1 or not loads:
            return
        self.chosen = sum(loads)
        for name in OF_EXPERTS:
            mean = -(-self.chosen // len(loads))
            self.gemms[name] |= {"m": mean, "batch": len(loads), "rows": loads}

    def _add(self, name: str, n: int, k: int) -> None:
        """A product of every token's."""
        self.gemms[name] = {"m": self.rows, "n": n, "k": k, "batch": 1}

    def forward(self, name: str, views: int = 0) -> Op:
        """The product, and *views* of its result."""
        gemm = self.gemms[name]
        op = self._product(name, name, gemm["m"], gemm["n"], gemm["k"])
        return op.beside({"view": views}) if views else op

    def _product(self, of: str, name: str, m: int, n: int, k: int, *, inner: bool = False) -> Op:
        """One of the products of *of*; *inner*: its rows are added over."""
        gemm = self.gemms[of]
        if self.model.experts > 1 and of in OF_EXPERTS:
            rows = () if inner else gemm.get("rows", ())
            return self.o.grouped(name, m, n, k, gemm["batch"], rows)
        return self.o.gemm(name, m, n, k, gemm["batch"])

    def gradients(self, names: tuple[str, ...], exchange: list[Step] | None = None) -> list[Step]:
        """Gradients of products of one input, the last first: of the input, then of weights and
        bias. *exchange*: what the sum of the input's gradients goes through, beside the last
        weights.
        """
        steps: list[Step] = []
        for number, name in enumerate(reversed(names)):
            steps.append(self._of_input(name))
            if number:
                numbers = self.gemms[name]["m"] * self.gemms[name]["k"]
                steps.append(self.o.elementwise(f"{name}-sum", numbers, 2, 1, element=self.o.kept))
            steps += (exchange or []) if number == len(names) - 1 else []
            steps += self._of_weights(name)
        return steps

    def _of_input(self, name: str) -> Op:
        gemm = self.gemms[name]
        op = self._product(name, f"{name}-input", gemm["m"], gemm["k"], gemm["n"])
        return op.called({"linear": 0.5})

    def _of_weights(self, name: str) -> list[Step]:
        gemm = self.gemms[name]
        m, n, k, batch = gemm["m"], gemm["n"], gemm["k"], gemm["batch"]
        of_experts = self.model.experts > 1 and name in OF_EXPERTS
        held = self.model.experts // self.share.expert if of_experts else 1
        dealt = of_experts and self.share.deals
        weight = self._product(name, f"{name}-weight", n, k, m, inner=True).called({"linear": 0.5})
        steps: list[Step] = [replace(weight, gradients=(n * k * held,), dealt=dealt)]
        if self._has_bias(name):  # the sum is part of the backward call of a product with a bias
            cleared, bias = self.o.column_sum(f"{name}-bias", m * batch, n)
            steps += [cleared, replace(bias.called({}), gradients=(n * held,), dealt=dealt)]
        return steps

    def _has_bias(self, name: str) -> bool:
        of_all = self.model.bias and name != "router"
        return of_all or _BIASED.get(name) in self.model.biases
