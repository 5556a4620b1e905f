"""Attention that keeps its scores in memory, an operator for each step, as eager frameworks ran it
before there were kernels for the whole (arXiv 2104.08335, section 2; BertSelfAttention in
github.com/huggingface/transformers).

With b sequences, h heads of width d (values of v), n new tokens, s tokens seen; scores are b h
tensors n x s:

    forward    q k (n x s x d), scale, mask, softmax, dropout, p v (n x v x s), heads side by side
    backward   those of p (n x s x v) and v (s x v x n), of dropout, softmax, scale, those of
               q (n x d x s) and k (s x d x n)

Every score is computed; what a causal mask or a window drops is not needed, so those FLOP are not
counted as the model's. Over latent vectors all heads of one new token have one key: b products of
h x s.
"""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.iterations.inference.kv import pairs_seen
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op, Step
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
    value: int
    dropout: bool
    needed: float
    """part of the FLOP that the model needs"""
    absorbed: bool = False
    """true: heads are rows; there is nothing to mask, and results stay as they are"""

    @classmethod
    def of(
        cls, o: OperatorSet, model: Transformer, share: Share, window: int | None = None
    ) -> Scores:
        seen = share.tokens + share.context
        exact = pairs_seen(share.tokens, share.context, window)
        return cls(
            o=o,
            batch=share.sequences * (model.heads // share.tensor),
            rows=share.tokens,
            seen=seen,
            width=model.head_dim,
            value=model.value_dim,
            dropout=model.dropout and share.training,
            needed=exact / (share.tokens * seen) if model.causal else 1.0,
        )

    @classmethod
    def of_latents(cls, o: OperatorSet, model: Transformer, share: Share) -> Scores:
        """Attention of one new token, absorbed: its heads are the rows."""
        assert model.latent is not None
        return cls(
            o=o,
            batch=share.sequences,
            rows=model.heads // share.tensor,
            seen=share.tokens + share.context,
            width=model.latent.rank + model.latent.rotary,
            value=model.latent.rank,
            dropout=False,
            needed=1.0,
            absorbed=True,
        )

    @property
    def numbers(self) -> float:
        """Scores of all heads."""
        return float(self.batch * self.rows * self.seen)

    def forward(self) -> list[Step]:
        """In order of their launches."""
        first: list[Step] = [self._gemm("scores", self.rows, self.seen, self.width)]
        numbers = float(self.batch * self.rows * self.value)
        last = [self._gemm("weighted", self.rows, self.value, self.seen)]
        if self.absorbed:
            scale = [] if self.o.fused else [self._move("scale", self.numbers, 1, 1)]
            return [*first, *scale, self._rows("softmax", 1, 1), *last]
        last.append(self._move("heads-side-by-side", numbers, 1, 1, strided=True))
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
            self._rows("softmax-gradient", 2, 1, backward=True),
            self._move("scale-gradient", self.numbers, 1, 1),
        ]
        if self.o.fused:
            between = [self._rows("softmax-dropout-gradient", 2 + mask, 1, backward=True)]
        return [
            self._gemm("weighted-scores", self.rows, self.seen, self.value),
            self._gemm("weighted-values", self.seen, self.value, self.rows),
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
        return self.o.elementwise(name, numbers, read, written, strided=strided).of_attention()

    def _drop(self, name: str, read: float, written: float) -> Op:
        return self.o.dropout(name, self.numbers, read, written).of_attention()

    def _rows(self, name: str, read: float, written: float, *, backward: bool = False) -> Op:
        """Softmax over rows: so many tensors of scores read and written."""
        rows, element = self.numbers / self.seen, self.o.element
        op = self.o.over_rows(name, rows, self.seen, element, read, written, backward=backward)
        return op.of_attention()
