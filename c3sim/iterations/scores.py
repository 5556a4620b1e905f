"""Attention that keeps its scores in memory, an operator for each step, as eager frameworks ran it
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

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op, Share, Step
from c3sim.specs.models import Transformer


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """Of *batch* heads of all sequences, *width* wide: *rows* new tokens that see *seen*."""

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
        flops = self.o.parts.dropout_flops
        return _of_attention(self.o.elementwise(name, self.numbers, read, written, flops=flops))

    def _rows(self, name: str, read: float, written: float) -> Op:
        """Softmax over rows, forward or backward: so many tensors of scores read and written."""
        size = self.numbers * self.o.element
        kernel = self.o.softmax(name, 1, 1).task
        moved = {"read": size * read, "written": size * written}
        return _of_attention(Op(name, kernel.model_copy(update=moved), "normalisation"))


def _of_attention(op: Op) -> Op:
    """*op* in the class of attention."""
    task = op.task.model_copy(update={"operator": "attention"})
    return Op(f"attention-{op.name}", task, "attention", op.flops)
