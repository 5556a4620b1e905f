"""Attention over sequences whose tokens several GPUs share (context parallel).

With c GPUs, T tokens of a sequence, K bytes of all keys and values of a GPU's heads:

    ==========  ===================================  ==========================================
    cp_by       forward sends, of each GPU           backward
    ==========  ===================================  ==========================================
    all_gather  (c-1)/c K, before attention          gathers again; (c-1)/c K of their gradients
                                                     are reduce-scattered behind it
    ring        (c-1)/c K, in c - 1 steps, each      as much, and c steps of gradients, which
                beside attention to what came        travel with their keys until they are home
                before; results are merged
    all_to_all  (c-1)/c of its own queries, keys     the same the other way round
                and values before, of its own
                output behind it: then a GPU has
                all tokens of 1/c of the heads
    ==========  ===================================  ==========================================

(Ring attention: arXiv 2310.01889; all-gather: arXiv 2407.21783, section 3.3.2; all-to-all: arXiv
2309.14509.) Under a causal mask each GPU has a piece from both ends of a sequence, so that all do
as much: its T / c queries see as many keys as if (T - T/c) / 2 tokens stood before them.

With latent attention the keys and values that were made of the vectors are exchanged, all heads'
(Megatron-LM's multi-latent attention does so). In layers with a window a token sees so many others;
all keys are exchanged all the same, and a ring cannot be (TransformerEngine's attention takes
windows with all_gather and all_to_all alone).
"""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.models import Transformer

CONTEXT = "context"


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSequence:
    """Attention on a GPU with *own* tokens of *sequences*, one of *parts*; *heads*, *kv_heads* of
    *width*, with values of *value* numbers; a token sees *window* others.
    """

    o: OperatorSet
    by: str
    parts: int
    sequences: int
    own: int
    heads: int
    kv_heads: int
    width: int
    value: int
    causal: bool
    window: int | None = None

    @classmethod
    def of(
        cls, o: OperatorSet, model: Transformer, share: Share, window: int | None = None
    ) -> SharedSequence:
        heads = model.heads if model.latent is not None else model.kv_heads
        return cls(
            o=o,
            by=share.sequence_by,
            parts=share.sequence_parts,
            sequences=share.sequences,
            own=share.tokens // share.sequence_parts,
            heads=model.heads // share.tensor,
            kv_heads=max(1, heads // share.tensor),
            width=model.head_dim,
            value=model.value_dim,
            causal=model.causal,
            window=window,
        )

    @property
    def queries(self) -> int:
        """Numbers of the queries of the GPU's tokens."""
        return self.sequences * self.own * self.heads * self.width

    @property
    def keys(self) -> float:
        """Bytes of keys and values of the GPU's tokens."""
        rows = self.sequences * self.own
        return float(rows * self.kv_heads * (self.width + self.value) * self.o.element)

    @property
    def results(self) -> int:
        """Numbers of the output of the GPU's tokens."""
        return self.sequences * self.own * self.heads * self.value

    def forward(self) -> list[Step]:
        """In order of their launches, from queries, keys and values by heads to the output."""
        if self.by == "all_gather":
            whole = self.parts * self.keys
            return [Exchange("gather-keys", "all_gather", whole, 0, CONTEXT), self._whole(False)]
        if self.by == "all_to_all":
            return self._by_heads(backward=False)
        steps: list[Step] = []
        for number in range(self.parts):
            if number < self.parts - 1:
                steps.append(Exchange(f"keys{number}", "shift", self.keys, 1, CONTEXT))
            steps.append(self._piece(number, backward=False))
            if number:
                merged = self.o.elementwise(f"merge{number}", self.results, 2, 1)
                steps.append(merged.of_attention())
        return steps

    def backward(self) -> list[Step]:
        """The same of the gradients."""
        if self.by == "all_gather":
            whole = self.parts * self.keys
            return [
                Exchange("gather-keys-again", "all_gather", whole, 0, CONTEXT),
                self._whole(True),
                Exchange("scatter-keys-gradient", "reduce_scatter", whole, 0, CONTEXT),
            ]
        if self.by == "all_to_all":
            return self._by_heads(backward=True)
        steps: list[Step] = []
        for number in range(self.parts):
            if number < self.parts - 1:
                steps.append(Exchange(f"keys-again{number}", "shift", self.keys, 1, CONTEXT))
            steps.append(self._piece(number, backward=True))
            beside = 0 if number == self.parts - 1 else 1
            name = f"keys-gradient{number}"
            steps.append(Exchange(name, "shift", self.keys, beside, CONTEXT))
        return steps

    def _whole(self, backward: bool) -> Op:
        """Own queries over the keys of all tokens."""
        return self._attention("attention", self._context, backward=backward)

    @property
    def _context(self) -> int:
        """Tokens that stand before the GPU's own, as it seems to a mask."""
        others = (self.parts - 1) * self.own
        return others // 2 if self.causal else others

    def _piece(self, number: int, *, backward: bool) -> Op:
        """Own queries over the keys of one GPU: a part of all as large as any other."""
        whole = self._attention(f"attention{number}", self._context, backward=backward)
        task = whole.task
        assert task.kind == "kernel"
        exact = whole.flops / self.parts
        others = self._seen * (1 - 1 / self.parts)  # keys of other pieces
        part = {"flops": task.flops / self.parts, "read": task.read - others}
        if backward:
            part["written"] = task.written - others
        return Op(whole.name, task.changed(**part), "attention", exact, calls=whole.calls)

    @property
    def _seen(self) -> float:
        """Bytes of keys and values that a whole attention reads."""
        return self.keys * (self.own + self._context) / self.own

    def _attention(self, name: str, context: int, *, backward: bool) -> Op:
        op = self.o.attention(
            f"{name}-gradient" if backward else name,
            self.sequences,
            self.own,
            self.heads,
            self.kv_heads,
            self.width,
            value=self.value,
            causal=self.causal,
            context=context,
            window=self.window,
            backward=backward,
        )
        return op.beside({"view": 8 if backward else 2})

    def _by_heads(self, *, backward: bool) -> list[Step]:
        """Queries, keys, values by heads, attention to all tokens, the output by tokens."""
        o, parts, size = self.o, self.parts, float(self.results * self.o.element)
        copies = max(1.0, parts / self.kv_heads)  # of keys that more GPUs need than there are heads
        inputs = self.queries * o.element + self.keys * copies
        attention = o.attention(
            "attention-gradient" if backward else "attention",
            self.sequences,
            self.own * parts,
            self.heads // parts,
            max(1, self.kv_heads // parts),
            self.width,
            value=self.value,
            causal=self.causal,
            window=self.window,
            backward=backward,
        ).beside({"view": 8 if backward else 2})
        first = Exchange("heads", "all_to_all", inputs, 0, CONTEXT)
        last = Exchange("tokens", "all_to_all", size, 0, CONTEXT)
        if backward:
            first = Exchange("heads-gradient", "all_to_all", size, 0, CONTEXT)
            last = Exchange("tokens-gradient", "all_to_all", inputs, 0, CONTEXT)
        return [first, attention, last]
