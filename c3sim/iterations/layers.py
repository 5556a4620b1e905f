"""Forward and backward pass of a transformer's layer, kernel by kernel, as eager frameworks do.

On one of t GPUs that share the layer (tensor parallel), with T rows (tokens of all its sequences),
hidden width H, q = h d / t and kv = g d / t wide queries and keys, inner width F / t:

    norm, qkv, rotary, attention, o, add, norm, gate_up, silu, product, down, add

The GEMMs are those of :func:`c3sim.inference.layers.layer_gemms`. Backward, each GEMM becomes two:
the gradient of its input (M, K, N) and of its weights (N, K, M).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from c3sim.inference.layers import layer_gemms
from c3sim.iterations.operators import Exchange, Op, OperatorSet, Step
from c3sim.iterations.scores import Scores
from c3sim.specs.transformer import Transformer


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What one GPU has of a layer: *sequences* of *tokens* new tokens behind *context* others, a
    part of *tensor* of the layer (*split*: of norms and residuals too), a part of *expert* of the
    experts. *training*: dropout is on.
    """

    sequences: int
    tokens: int
    context: int = 0
    tensor: int = 1
    split: bool = False
    expert: int = 1
    training: bool = False

    @property
    def rows(self) -> int:
        """Tokens that go through projections and networks."""
        return self.sequences * self.tokens

    @property
    def own_rows(self) -> int:
        """Tokens that go through norms and residuals."""
        return max(1, self.rows // self.tensor) if self.split else self.rows


class Layer:
    """The operators of one layer of *model* on a GPU that has *share* of it."""

    def __init__(self, operators: OperatorSet, model: Transformer, share: Share):
        self.o, self.model, self.share = operators, model, share
        self.gemms: dict[str, dict[str, Any]] = layer_gemms(
            model, share.tensor, share.rows, share.expert
        )
        self.queries = model.heads // share.tensor * model.head_dim
        self.keys = max(1, model.kv_heads // share.tensor) * model.head_dim
        self.chosen = share.rows * model.experts_per_token  # tokens that go through experts
        self.inner = self.chosen * (model.ffn // share.tensor)
        self.projections = {"qkv": self.queries + 2 * self.keys}
        if operators.separate:
            self.projections = {"q": self.queries, "k": self.keys, "v": self.keys}
            for name, width in self.projections.items():
                self.gemms[name] = {**self.gemms["qkv"], "n": width}
        self.size = float(share.rows * model.hidden * operators.element)

    def forward(self) -> list[Step]:
        """In order of their launches."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        return [
            o.normalisation("norm1", rows, width),
            *self._whole("gather1"),
            *(self._gemm(name) for name in self.projections),
            *self._rotary("rotary"),
            *self._attention_forward(),
            self._gemm("o"),
            *self._sum("reduce1"),
            *self._residual("1"),
            o.normalisation("norm2", rows, width),
            *self._whole("gather2"),
            *self._network(),
            *self._sum("reduce2"),
            *self._residual("2"),
        ]

    def backward(self) -> list[Step]:
        """In order of their launches, from the gradient of the layer's output on."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        vectors = 2 if model.bias else 1
        return [
            *self._undropped("2"),
            *self._whole("gather-gradient2"),
            *self._network_backward(),
            *o.normalisation_backward("norm2", rows, width, vectors),
            o.elementwise("add-gradient2", rows * width, 2, 1),
            *self._undropped("1"),
            *self._whole("gather-gradient1"),
            *self._gradients("o", width),
            *self._attention_backward(),
            *self._rotary("rotary-gradient"),
            *self._projections_backward(),
            *o.normalisation_backward("norm1", rows, width, vectors),
            o.elementwise("add-gradient1", rows * width, 2, 1),
        ]

    def _gemm(self, name: str) -> Op:
        gemm = self.gemms[name]
        return self.o.gemm(name, gemm["m"], gemm["n"], gemm["k"], gemm["batch"])

    def _gradients(self, name: str, width: int, exchange: list[Step] | None = None) -> list[Step]:
        """Of the input of a GEMM, then of its weights and bias; *exchange* runs beside the
        latter.
        """
        gemm = self.gemms[name]
        m, n, k, batch = gemm["m"], gemm["n"], gemm["k"], gemm["batch"]
        weight = self.o.gemm(f"{name}-weight", n, k, m, batch)
        steps: list[Step] = [self.o.gemm(f"{name}-input", m, k, n, batch), *(exchange or [])]
        held = self._held(name)
        steps.append(Op(weight.name, weight.task, "gemm", weight.flops, gradients=(n * k * held,)))
        if self.model.bias and width:
            steps.append(self.o.column_sum(f"{name}-bias", m * batch, width))
        return steps

    def _projections_backward(self) -> list[Step]:
        """Of queries, keys and values; of three projections, the gradients of the one input are
        added up before they are exchanged.
        """
        *first, (last, width) = self.projections.items()
        numbers = self.share.rows * self.model.hidden
        adds = [self.o.elementwise(f"{name}-add-input", numbers, 2, 1) for name, _ in first]
        steps = [step for name, each in first for step in self._gradients(name, each)]
        return [*steps, *self._gradients(last, width, [*adds, *self._sum_of_input("1")])]

    def _held(self, name: str) -> int:
        """Weight matrices of that kind that this GPU has."""
        return self.model.experts // self.share.expert if name in ("gate_up", "down") else 1

    def _attention_forward(self) -> list[Step]:
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share).forward()
        return [self._attention("attention")]

    def _attention(self, name: str, *, backward: bool = False) -> Op:
        model, share = self.model, self.share
        return self.o.attention(
            name,
            share.sequences,
            share.tokens,
            model.heads // share.tensor,
            max(1, model.kv_heads // share.tensor),
            model.head_dim,
            causal=model.causal,
            context=share.context,
            backward=backward,
        )

    def _attention_backward(self) -> list[Step]:
        """The product of the output and its gradient, the gradients, that of q in 2 bytes again;
        of heads that share keys, those of the keys are added up; all are put side by side.
        """
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share).backward()
        o, rows = self.o, self.share.rows
        queries, keys = rows * self.queries, rows * self.keys
        steps: list[Step] = [
            o.elementwise("attention-product", queries, 2, 0),
            self._attention("attention-gradient", backward=True),
            o.elementwise("attention-convert", queries, 2, 1),
        ]
        if self.keys < self.queries:
            part = keys / queries
            steps += [o.elementwise(f"attention-sum-{x}", queries, 1, part) for x in "kv"]
            return [*steps, o.elementwise("qkv-side-by-side", queries + 2 * keys, 1, 1)]
        whole = queries + 2 * keys
        moves = ("qkv-side-by-side",) if o.fused else ("qkv-side-by-side", "qkv-transpose")
        return [*steps, *(o.elementwise(name, whole, 1, 1, strided=True) for name in moves)]

    def _rotary(self, name: str) -> list[Step]:
        """Queries and keys are turned in place by one kernel."""
        if self.model.positions != "rotary":
            return []
        return [self.o.elementwise(name, self.share.rows * (self.queries + self.keys), 1, 1)]

    def _network(self) -> list[Step]:
        steps: list[Step] = []
        if self.model.experts > 1:
            steps += [
                self._gemm("router"),
                self.o.elementwise("choose", self.share.rows * self.model.experts, 1, 1),
                self.o.elementwise("permute", self.chosen * self.model.hidden, 1, 1),
                *self._to_experts("to-experts"),
            ]
        steps += [self._gemm("gate_up"), *self._activation(), self._gemm("down")]
        if self.model.experts > 1:
            steps += [
                *self._to_experts("from-experts"),
                self.o.elementwise("unpermute", self.chosen * self.model.hidden, 1, 1),
            ]
        return steps

    def _activation(self) -> list[Step]:
        o = self.o
        flops = o.parts.activation_flops
        if not self.model.gated:
            return [o.elementwise("gelu", self.inner, 1, 1, flops=flops)]
        if o.fused:
            return [o.elementwise("swiglu", self.inner, 2, 1, flops=flops)]
        return [
            o.elementwise("silu", self.inner, 1, 1, strided=True, flops=flops),
            o.elementwise("product", self.inner, 2, 1, strided=True),
        ]

    def _network_backward(self) -> list[Step]:
        o, model = self.o, self.model
        steps: list[Step] = []
        moved = self.chosen * model.hidden
        if model.experts > 1:
            steps += [o.elementwise("unpermute-gradient", moved, 1, 1)]
            steps += self._to_experts("from-experts-gradient")
        steps += [*self._gradients("down", model.hidden), *self._activation_backward()]
        inner = self.gemms["gate_up"]["n"]
        own = self._sum_of_input("2") if model.experts == 1 else []
        steps += self._gradients("gate_up", inner, own)
        if model.experts > 1:
            steps += self._to_experts("to-experts-gradient")
            steps += [o.elementwise("permute-gradient", moved, 1, 1), *self._gradients("router", 0)]
            steps += self._sum_of_input("2", beside=0)
        return steps

    def _activation_backward(self) -> list[Step]:
        o, numbers = self.o, self.inner
        flops = o.parts.activation_flops
        if not self.model.gated:
            return [o.elementwise("gelu-gradient", numbers, 2, 1, flops=flops)]
        if o.fused:
            return [o.elementwise("swiglu-gradient", numbers, 3, 2, flops=flops)]
        return [
            o.elementwise("product-gradient-up", numbers, 2, 1),
            o.elementwise("product-gradient-silu", numbers, 2, 1, strided=True),
            o.elementwise("silu-gradient", numbers, 2, 1, strided=True, flops=flops),
            o.elementwise("gate-up-side-by-side", 2 * numbers, 1, 1),
        ]

    def _residual(self, number: str) -> list[Step]:
        """Dropout (a mask of a byte each is kept) and the sum with what went round."""
        o, numbers = self.o, self.share.own_rows * self.model.hidden
        flops, mask = o.parts.dropout_flops, 1.0 / o.element
        if not (self.model.dropout and self.share.training):
            return [o.elementwise(f"add{number}", numbers, 2, 1)]
        if o.fused:
            return [o.elementwise(f"dropout-add{number}", numbers, 2, 1 + mask, flops=flops)]
        return [
            o.elementwise(f"dropout{number}", numbers, 1, 1 + mask, flops=flops),
            o.elementwise(f"add{number}", numbers, 2, 1),
        ]

    def _undropped(self, number: str) -> list[Step]:
        if not self.model.dropout:
            return []
        numbers = self.share.own_rows * self.model.hidden
        return [
            self.o.elementwise(f"dropout-gradient{number}", numbers, 1 + 1.0 / self.o.element, 1)
        ]

    def _whole(self, name: str) -> list[Step]:
        """All tokens, where norms have a part of them."""
        return [Exchange(name, "all_gather", self.size)] if self._splits() else []

    def _sum(self, name: str) -> list[Step]:
        """Of the parts of all GPUs: of all tokens, or each of its own."""
        if self.share.tensor == 1:
            return []
        return [Exchange(name, "reduce_scatter" if self._splits() else "all_reduce", self.size)]

    def _sum_of_input(self, number: str, beside: int = 1) -> list[Step]:
        """The same of the gradient of a GEMM's input, beside that of its weights."""
        return [
            Exchange(f"{each.name}-gradient{number}", each.op, each.size, beside)
            for each in self._sum("reduce")
            if isinstance(each, Exchange)
        ]

    def _splits(self) -> bool:
        return self.share.tensor > 1 and self.share.split

    def _to_experts(self, name: str) -> list[Step]:
        if self.share.expert == 1:
            return []
        size = float(self.chosen * self.model.hidden * self.o.element)
        return [Exchange(name, "all_to_all", size)]
