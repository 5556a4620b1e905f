"""Forward and backward pass of a transformer's layer, kernel by kernel, as eager frameworks do.

On one of t GPUs that share the layer (tensor parallel), with T rows (tokens of all its sequences),
hidden width H, q = h d / t and kv = g d / t wide queries and keys, inner width F / t:

    norm, q, k, v, rotary (5 kernels each of q and k), attention, o, add,
    norm, gate, silu, up, product, down, add

The matrix products are those of :mod:`c3sim.iterations.projections`; latent attention and experts
have files of their own.
"""

from __future__ import annotations

from dataclasses import replace

from c3sim.iterations.experts import Experts
from c3sim.iterations.latent import LatentAttention
from c3sim.iterations.one_token import sums_of_parts
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.projections import Projections
from c3sim.iterations.pytorch_ring import shared_sequence
from c3sim.iterations.rotary import rotary, rotary_backward
from c3sim.iterations.scores import Scores
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.host import HostCall
from c3sim.spec.models import LayerKind, Transformer


class Layer:
    """The operators of one layer of *model*, of that *kind*, on a GPU that has *share* of it."""

    def __init__(
        self,
        operators: OperatorSet,
        model: Transformer,
        share: Share,
        kind: LayerKind | None = None,
    ):
        kind = kind or model.kind_of(model.layers - 1)
        if not kind.experts:
            model, share = model.dense, share.whole
        self.o, self.model, self.share, self.window = operators, model, share, kind.window
        self.products = Projections(operators, model, share)
        self.queries, self.keys = self.products.queries, self.products.keys
        self.apart = model.experts > 1 and share.of_expert < share.tensor
        parts = share.of_expert if self.apart else share.tensor
        self.inner = self.products.chosen * (model.ffn // parts)
        self.size = float(share.rows * model.hidden * operators.element)
        self.latent: LatentAttention | None = None
        if model.latent is not None:
            self.latent = LatentAttention(operators, model, share, self.products)
        self.experts: Experts | None = None
        if model.experts > 1:
            self.experts = Experts(operators, model, share, self.products)

    def forward(self) -> list[Step]:
        """In order of their launches."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        return [
            o.normalisation("norm1", rows, width).beside({"layer": 1}),
            *self._whole("gather1"),
            *(self.latent.forward() if self.latent else self._heads_forward()),
            self.products.forward("o"),
            *self._sum("reduce1"),
            *self._norm_behind("attention"),
            *self._residual("1"),
            o.normalisation("norm2", rows, width),
            *(self._network() if self.apart else self._shared_network()),
            *self._norm_behind("network"),
            *self._residual("2"),
        ]

    def backward(self) -> list[Step]:
        """In order of their launches, from the gradient of the layer's output on."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        vectors = 2 if model.bias else 1
        return [
            *self._undropped("2"),
            *self._norm_behind("network", backward=True),
            *([] if self.apart else self._whole("gather-gradient2")),
            *self._network_backward(),
            *o.normalisation_backward("norm2", rows, width, vectors),
            o.elementwise("add-gradient2", rows * width, 2, 1, element=o.kept),
            *self._undropped("1"),
            *self._norm_behind("attention", backward=True),
            *self._whole("gather-gradient1"),
            *self.products.gradients(("o",)),
            *self._heads_backward(),
            *o.normalisation_backward("norm1", rows, width, vectors),
            o.elementwise("add-gradient1", rows * width, 2, 1, element=o.kept).beside({"layer": 1}),
        ]

    def _heads_forward(self) -> list[Step]:
        """From the norm's output to the input of ``o``."""
        return [*self._inputs_of_attention(), *self._attention_forward()]

    def _heads_backward(self) -> list[Step]:
        """From the gradient of ``o``'s input to that of the norm's output."""
        summed = self._sum_of_input("1")
        if self.latent:
            return self.latent.backward(summed)
        return [
            *self._attention_backward(),
            *self._turned(backward=True),
            *self._head_norms(backward=True),
            *self.products.gradients(self.products.attention, summed),
        ]

    def _head_norms(self, *, backward: bool = False) -> list[Step]:
        """Norms of queries and keys, head by head."""
        if not self.model.head_norms:
            return []
        width = self.model.head_dim
        steps: list[Step] = []
        for name, numbers in (("q", self.queries), ("k", self.keys)):
            rows = self.share.rows * numbers // width
            if backward:
                steps += self.o.normalisation_backward(f"{name}-norm", rows, width, 1)
            else:
                steps.append(self.o.normalisation(f"{name}-norm", rows, width))
        return steps

    def _norm_behind(self, what: str, *, backward: bool = False) -> list[Step]:
        """The norm of what attention or the network gives."""
        if self.model.norms == 2:
            return []
        rows, width = self.share.own_rows, self.model.hidden
        if backward:
            return [*self.o.normalisation_backward(f"{what}-norm", rows, width, 1)]
        return [self.o.normalisation(f"{what}-norm", rows, width)]

    def _inputs_of_attention(self) -> list[Step]:
        """Queries, keys and values by heads, a view and a transpose each; in one product they are
        split before. One new token: its keys and values go to their places among the others.
        """
        together = self.model.fused_qkv
        names = self.products.attention
        steps: list[Step] = [
            self.products.forward(name, views=7 if together else 2) for name in names
        ]
        steps += [*self._head_norms(), *self._turned()]
        if self.share.of_one:
            numbers = self.share.rows * self.keys
            calls: dict[HostCall, float] = {"copy": 1, "view": 1}
            writes = [("keys-and-values", 2)] if self.o.fused else [("keys", 1), ("values", 1)]
            steps += [
                self.o.elementwise(name, count * numbers, 1, 1, strided=True).called(calls)
                for name, count in writes
            ]
        return steps

    def _attention_forward(self) -> list[Step]:
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share, self.window).forward()
        if self.share.sequence_parts > 1:
            return shared_sequence(self.o, self.model, self.share, self.window).forward()
        attention = self._attention("attention").beside({"view": 2})
        if self.share.tokens > 1:
            return [attention]
        model, parts = self.model, self.share.tensor
        heads = model.heads // parts, model.head_dim
        keys = max(1, model.kv_heads // parts)
        return [attention, *sums_of_parts(self.o, "parts", self.share.sequences, keys, *heads)]

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
            window=self.window,
            dropped=model.dropout and share.training,
            backward=backward,
        )

    def _attention_backward(self) -> list[Step]:
        """The product of the output and its gradient, the gradients, that of q in 2 bytes again;
        of heads that share keys, those of the keys are added up. One call, and eight views. Where
        q, k and v were one product, their gradients are put side by side.
        """
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share, self.window).backward()
        o, rows = self.o, self.share.rows
        queries, keys = rows * self.queries, rows * self.keys
        sinks = (self.model.heads // self.share.tensor,) if self.model.sinks else ()
        gradient = self._attention("attention-gradient", backward=True).beside({"view": 8})
        attention: list[Step] = [replace(gradient, gradients=sinks)]
        if self.share.sequence_parts > 1:
            shared = shared_sequence(self.o, self.model, self.share, self.window)
            attention = shared.backward()
        steps: list[Step] = [
            o.elementwise("attention-product", queries, 2, 0).called({}),
            *attention,
            o.elementwise("attention-convert", queries, 2, 1).called({}),
        ]
        grouped = self.keys < self.queries
        if grouped:
            part = keys / queries
            sums = (o.elementwise(f"attention-sum-{x}", queries, 1, part) for x in "kv")
            steps += [each.called({}) for each in sums]
        if not self.model.fused_qkv:
            return steps
        whole, side = queries + 2 * keys, "qkv-side-by-side"
        if grouped:
            return [*steps, o.elementwise(side, whole, 1, 1).called({"copy": 1})]
        moves = (side,) if o.fused else (side, "qkv-transpose")
        each = (o.elementwise(name, whole, 1, 1, strided=True) for name in moves)
        return [*steps, *(move.called({"copy": 1}) for move in each)]

    def _turned(self, *, backward: bool = False) -> list[Step]:
        """Queries and keys, where that is how a token knows its place."""
        if self.model.positions != "rotary":
            return []
        turn = rotary_backward if backward else rotary
        return turn(self.o, self.share.rows * self.queries, self.share.rows * self.keys)

    def _shared_network(self) -> list[Step]:
        """Network of all tokens, between GPUs that share it."""
        return [*self._whole("gather2"), *self._network(), *self._sum("reduce2")]

    def _network(self) -> list[Step]:
        if self.experts:
            return self.experts.forward(self._activated())
        return [*self._activated(), self.products.forward("down")]

    def _activated(self) -> list[Step]:
        """From the network's input to that of ``down``."""
        o, products = self.o, self.products
        if not self.model.gated:
            flops = o.parts.activation_flops
            return [
                products.forward("gate_up"),
                o.elementwise("gelu", self.inner, 1, 1, flops=flops),
            ]
        flops = self._activation_flops
        apart = len(products.network) == 2
        first, *others = products.network
        if o.fused:
            last = o.elementwise("swiglu", self.inner, 2, 1, flops=flops)
            return [*(products.forward(name) for name in products.network), last]
        return [
            products.forward(first, views=0 if apart else 1),
            o.elementwise("silu", self.inner, 1, 1, strided=not apart, flops=flops),
            *(products.forward(name) for name in others),
            o.elementwise("product", self.inner, 2, 1, strided=not apart),
        ]

    def _network_backward(self) -> list[Step]:
        if self.experts:
            summed = [] if self.apart else self._sum_of_input("2", beside=0)
            return self.experts.backward(self._activation_backward(), summed)
        return [
            *self.products.gradients(("down",)),
            *self._activation_backward(),
            *self.products.gradients(self.products.network, self._sum_of_input("2")),
        ]

    def _activation_backward(self) -> list[Step]:
        o, numbers = self.o, self.inner
        flops = self._gradient_flops
        if not self.model.gated:
            return [o.elementwise("gelu-gradient", numbers, 2, 1, flops=flops)]
        if o.fused:
            return [o.elementwise("swiglu-gradient", numbers, 3, 2, flops=flops)]
        apart = len(self.products.network) == 2
        side = o.elementwise("gate-up-side-by-side", 2 * numbers, 1, 1).called({"copy": 1})
        return [
            o.elementwise("product-gradient-up", numbers, 2, 1),
            o.elementwise("product-gradient-silu", numbers, 2, 1, strided=not apart),
            o.elementwise("silu-gradient", numbers, 2, 1, strided=not apart, flops=flops),
            *([] if apart else [side]),
        ]

    @property
    def _activation_flops(self) -> float:
        parts = self.o.parts
        if self.model.activation == "gelu":
            return parts.activation_flops
        return parts.silu_flops or parts.activation_flops

    @property
    def _gradient_flops(self) -> float:
        parts, gelu = self.o.parts, not self.model.gated or self.model.activation == "gelu"
        known = parts.activation_gradient_flops if gelu else parts.silu_gradient_flops
        return known or (parts.activation_flops if gelu else self._activation_flops)

    def _residual(self, number: str) -> list[Step]:
        """Dropout (a mask of a byte each is kept) and the sum with what went round."""
        o, numbers = self.o, self.share.own_rows * self.model.hidden
        mask, wide = 1.0 / o.element, o.kept / o.element
        if not (self.model.dropout and self.share.training):
            return [o.elementwise(f"add{number}", numbers, 1 + wide, wide)]
        if o.fused:
            return [o.dropout(f"dropout-add{number}", numbers, 1 + wide, wide + mask)]
        dropped = o.dropout(f"dropout{number}", numbers, 1, 1 + mask)
        added = o.elementwise(f"add{number}", numbers, 1 + wide, wide)
        return [dropped.called({"dropout": 1}), added]

    def _undropped(self, number: str) -> list[Step]:
        if not self.model.dropout:
            return []
        numbers = self.share.own_rows * self.model.hidden
        read = 1 + 1.0 / self.o.element
        op = self.o.elementwise(f"dropout-gradient{number}", numbers, read, 1)
        return [op.called({"dropout": 1})]

    def _whole(self, name: str) -> list[Step]:
        """All tokens, where norms have a part of them."""
        return [Exchange(name, "all_gather", self.size)] if self._splits() else []

    def _sum(self, name: str) -> list[Step]:
        """Collective that sums the parts of all GPUs: of all tokens, or each of its own."""
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
