"""Forward and backward pass of a transformer's layer, kernel by kernel, as eager frameworks do.

On one of t GPUs that share the layer (tensor parallel), with T rows (tokens of all its sequences),
hidden width H, q = h d / t and kv = g d / t wide queries and keys, inner width F / t:

    norm, q, k, v, rotary (5 kernels each of q and k), attention, o, add,
    norm, gate, silu, up, product, down, add

The matrix products are those of :mod:`c3sim.iterations.projections`.

Attention that keeps its scores in memory, an operator for each step, as eager frameworks ran it
before there were kernels for the whole (arXiv 2104.08335, section 2; BertSelfAttention in
github.com/huggingface/transformers).

With b sequences, h heads of width d, n new tokens, s tokens seen; scores are b h tensors n x s:

    forward    q k (n x s x d), scale, mask, softmax, dropout, p v (n x d x s), heads side by side
    backward   those of p (n x s x d) and v (s x d x n), of dropout, softmax, scale, those of
               q (n x d x s) and k (s x d x n)

Every score is computed; what a causal mask drops is not needed, so half of the FLOP are.
"""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.iterations.context import SharedSequence
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.projections import Projections
from c3sim.iterations.rotary import rotary, rotary_backward
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.host import HostCall
from c3sim.spec.models import Transformer


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """Attention scores of *batch* heads of all sequences, *width* wide: *rows* new tokens that see
    *seen*.
    """

    o: OperatorSet
    batch: int
    rows: int
    seen: int
    width: int
    dropout: bool
    needed: float
    """part of the FLOP that the model needs"""

    @classmethod
    def of(cls, o: OperatorSet, model: Transformer, share: Share) -> Scores:
        seen = share.tokens + share.context
        exact = share.tokens * share.context + share.tokens * (share.tokens + 1) / 2
        return cls(
            o=o,
            batch=share.sequences * (model.heads // share.tensor),
            rows=share.tokens,
            seen=seen,
            width=model.head_dim,
            dropout=model.dropout and share.training,
            needed=exact / (share.tokens * seen) if model.causal else 1.0,
        )

    @property
    def numbers(self) -> float:
        """Scores of all heads."""
        return float(self.batch * self.rows * self.seen)

    def forward(self) -> list[Step]:
        """In order of their launches."""
        first = [self._gemm("scores", self.rows, self.seen, self.width)]
        numbers = float(self.batch * self.rows * self.width)
        last = [
            self._gemm("weighted", self.rows, self.width, self.seen),
            self._move("heads-side-by-side", numbers, 1, 1, strided=True),
        ]
        mask = 1.0 / self.o.element if self.dropout else 0.0
        if self.o.fused:
            return [*first, self._rows("mask-softmax-dropout", 1, (2 if mask else 1) + mask), *last]
        drop = [self._drop("dropout-scores", 1, 1 + mask)] if self.dropout else []
        return [
            *first,
            self._move("scale", self.numbers, 1, 1),
            self._move("mask", self.numbers, 1, 1),
            self._rows("softmax", 1, 1),
            *drop,
            *last,
        ]

    def backward(self) -> list[Step]:
        """In order of their launches."""
        mask = 1.0 / self.o.element if self.dropout else 0.0
        drop = [self._drop("dropout-scores-gradient", 1 + mask, 1)] if self.dropout else []
        between: list[Step] = [
            *drop,
            self._rows("softmax-gradient", 2, 1),
            self._move("scale-gradient", self.numbers, 1, 1),
        ]
        if self.o.fused:
            between = [self._rows("softmax-dropout-gradient", 2 + mask, 1)]
        return [
            self._gemm("weighted-scores", self.rows, self.seen, self.width),
            self._gemm("weighted-values", self.seen, self.width, self.rows),
            *between,
            self._gemm("scores-queries", self.rows, self.width, self.seen),
            self._gemm("scores-keys", self.seen, self.width, self.rows),
        ]

    def _gemm(self, name: str, m: int, n: int, k: int) -> Op:
        gemm = self.o.gemm(name, m, n, k, self.batch)
        return Op(f"attention-{name}", gemm.task, "attention", self.needed * gemm.flops)

    def _move(
        self, name: str, numbers: float, read: float, written: float, *, strided: bool = False
    ) -> Op:
        return _of_attention(self.o.elementwise(name, numbers, read, written, strided=strided))

    def _drop(self, name: str, read: float, written: float) -> Op:
        return _of_attention(self.o.dropout(name, self.numbers, read, written))

    def _rows(self, name: str, read: float, written: float) -> Op:
        """Softmax over rows, forward or backward: so many tensors of scores read and written."""
        rows = self.numbers / self.seen
        return _of_attention(self.o.over_rows(name, rows, self.seen, self.o.element, read, written))


def _of_attention(op: Op) -> Op:
    """*op* in the class of attention."""
    task = op.task.model_copy(update={"operator": "attention"})
    return Op(f"attention-{op.name}", task, "attention", op.flops)


class Layer:
    """The operators of one layer of *model* on a GPU that has *share* of it."""

    def __init__(self, operators: OperatorSet, model: Transformer, share: Share):
        self.o, self.model, self.share = operators, model, share
        self.products = Projections(operators, model, share)
        self.queries, self.keys = self.products.queries, self.products.keys
        self.chosen = share.rows  # tokens that go through networks
        if model.experts > 1:
            self.chosen = share.routed_rows * model.experts_per_token
        self.apart = model.experts > 1 and share.of_expert < share.tensor
        width = model.ffn // (share.of_expert if self.apart else share.tensor)
        self.inner = self.chosen * width
        self.size = float(share.rows * model.hidden * operators.element)

    def forward(self) -> list[Step]:
        """In order of their launches."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        return [
            o.normalisation("norm1", rows, width).beside({"layer": 1}),
            *self._whole("gather1"),
            *self._inputs_of_attention(),
            *self._attention_forward(),
            self.products.forward("o"),
            *self._sum("reduce1"),
            *self._residual("1"),
            o.normalisation("norm2", rows, width),
            *(self._network() if self.apart else self._shared_network()),
            *self._residual("2"),
        ]

    def backward(self) -> list[Step]:
        """In order of their launches, from the gradient of the layer's output on."""
        o, model, share = self.o, self.model, self.share
        rows, width = share.own_rows, model.hidden
        vectors = 2 if model.bias else 1
        return [
            *self._undropped("2"),
            *([] if self.apart else self._whole("gather-gradient2")),
            *self._network_backward(),
            *o.normalisation_backward("norm2", rows, width, vectors),
            o.elementwise("add-gradient2", rows * width, 2, 1),
            *self._undropped("1"),
            *self._whole("gather-gradient1"),
            *self.products.gradients(("o",)),
            *self._attention_backward(),
            *self._turned(backward=True),
            *self.products.gradients(self.products.attention, self._sum_of_input("1")),
            *o.normalisation_backward("norm1", rows, width, vectors),
            o.elementwise("add-gradient1", rows * width, 2, 1).beside({"layer": 1}),
        ]

    def _inputs_of_attention(self) -> list[Step]:
        """Queries, keys and values by heads, a view and a transpose each; in one product they are
        split before. One new token: its keys and values go to their places among the others.
        """
        together = self.model.fused_qkv
        names = self.products.attention
        steps: list[Step] = [
            self.products.forward(name, views=7 if together else 2) for name in names
        ]
        steps += self._turned()
        if self.share.tokens == 1 and not self.share.training:
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
            return Scores.of(self.o, self.model, self.share).forward()
        if self.share.sequence_parts > 1:
            return SharedSequence.of(self.o, self.model, self.share).forward()
        attention = self._attention("attention").beside({"view": 2})
        if self.share.tokens > 1:
            return [attention]
        model, parts = self.model, self.share.tensor
        heads = model.heads // parts, model.head_dim
        keys = max(1, model.kv_heads // parts)
        return [attention, *self.o.attention_sums("parts", self.share.sequences, keys, *heads)]

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
        of heads that share keys, those of the keys are added up. One call, and eight views. Where
        q, k and v were one product, their gradients are put side by side.
        """
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share).backward()
        o, rows = self.o, self.share.rows
        queries, keys = rows * self.queries, rows * self.keys
        if self.share.sequence_parts > 1:
            attention = SharedSequence.of(self.o, self.model, self.share).backward()
        else:
            attention = [self._attention("attention-gradient", backward=True).beside({"view": 8})]
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
        """Of all tokens, between GPUs that share it."""
        return [*self._whole("gather2"), *self._network(), *self._sum("reduce2")]

    def _network(self) -> list[Step]:
        steps: list[Step] = []
        if self.model.experts > 1:
            steps += [
                self.products.forward("router"),
                self.o.elementwise("choose", self.share.routed_rows * self.model.experts, 1, 1),
                self.o.elementwise("permute", self.chosen * self.model.hidden, 1, 1),
                *self._to_experts("to-experts"),
            ]
        steps += [*self._activated(), self.products.forward("down")]
        if self.model.experts > 1:
            steps += [
                *self._to_experts("from-experts"),
                self.o.elementwise("unpermute", self.chosen * self.model.hidden, 1, 1),
            ]
        return steps

    def _activated(self) -> list[Step]:
        """From the network's input to that of ``down``."""
        o, products = self.o, self.products
        if not self.model.gated:
            flops = o.parts.activation_flops
            return [
                products.forward("gate_up"),
                o.elementwise("gelu", self.inner, 1, 1, flops=flops),
            ]
        flops = o.parts.silu_flops or o.parts.activation_flops
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
        o, model = self.o, self.model
        steps: list[Step] = []
        moved = self.chosen * model.hidden
        if model.experts > 1:
            steps += [o.elementwise("unpermute-gradient", moved, 1, 1)]
            steps += self._to_experts("from-experts-gradient")
        steps += self.products.gradients(("down",))
        steps += self._activation_backward()
        own = self._sum_of_input("2") if model.experts == 1 else []
        steps += self.products.gradients(self.products.network, own)
        if model.experts > 1:
            steps += self._to_experts("to-experts-gradient")
            steps += [o.elementwise("permute-gradient", moved, 1, 1)]
            steps += self.products.gradients(("router",), bias=False)
            steps += [] if self.apart else self._sum_of_input("2", beside=0)
        return steps

    def _activation_backward(self) -> list[Step]:
        o, numbers = self.o, self.inner
        if not self.model.gated:
            flops = o.parts.activation_flops
            return [o.elementwise("gelu-gradient", numbers, 2, 1, flops=flops)]
        flops = o.parts.silu_flops or o.parts.activation_flops
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

    def _residual(self, number: str) -> list[Step]:
        """Dropout (a mask of a byte each is kept) and the sum with what went round."""
        o, numbers = self.o, self.share.own_rows * self.model.hidden
        mask = 1.0 / o.element
        if not (self.model.dropout and self.share.training):
            return [o.elementwise(f"add{number}", numbers, 2, 1)]
        if o.fused:
            return [o.dropout(f"dropout-add{number}", numbers, 2, 1 + mask)]
        dropped = o.dropout(f"dropout{number}", numbers, 1, 1 + mask)
        return [dropped.called({"dropout": 1}), o.elementwise(f"add{number}", numbers, 2, 1)]

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

    def _to_experts(self, name: str) -> list[Step]:
        if self.share.expert == 1:
            return []
        size = float(self.chosen * self.model.hidden * self.o.element)
        return [Exchange(name, "all_to_all", size, among="expert")]
