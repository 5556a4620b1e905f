"""Latent attention of a layer, kernel by kernel (arXiv 2405.04434, section 2.1 and appendix C).

With T rows, hidden width H, h heads, ranks c' of queries and c of keys and values, p plain and r
turned numbers of a head's query and key, v of its value:

    q-down (T x c' x H), norm, q-up (T x h (p + r) x c'); without c': q (T x h (p + r) x H)
    kv-down (T x (c + r) x H), norm of c, kv-up (T x h (p + v) x c)
    turned: queries' h r numbers, the r of the one key; queries and keys put together
    attention over h heads, p + r wide, values v wide; o

One new token, absorbed: c and r are kept of each token, and what makes keys and values of them is
applied to queries and results instead, in h products each:

    queries (T x c x p), attention of all heads over one key of c + r, whose c are the value,
    values (T x v x c); o

Whole sequences run as DeepseekV3Attention in github.com/huggingface/transformers; one new token as
``naive: absorb`` in inference/model.py of github.com/deepseek-ai/DeepSeek-V3.
"""

from __future__ import annotations

from c3sim.iterations.one_token import of_latents
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.projections import Projections
from c3sim.iterations.pytorch_ring import shared_sequence
from c3sim.iterations.rotary import rotary, rotary_backward
from c3sim.iterations.scores import Scores
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Op, Step
from c3sim.spec.host import HostCall
from c3sim.spec.models import Transformer


class LatentAttention:
    """Latent attention of a GPU that has *share* of a layer of *model*, with its *products*."""

    def __init__(
        self, operators: OperatorSet, model: Transformer, share: Share, products: Projections
    ):
        assert model.latent is not None
        self.o, self.model, self.latent = operators, model, model.latent
        self.share, self.products, self.rows = share, products, share.rows
        self.heads = model.heads // share.tensor

    def forward(self) -> list[Step]:
        """From the norm's output to the input of ``o``."""
        return [
            *self._queries(),
            self.products.forward("kv-down", views=2),
            self.o.normalisation("kv-norm", self.rows, self.latent.rank),
            *(self._of_one() if self.share.of_one else self._of_many()),
        ]

    def _queries(self) -> list[Step]:
        """A view and a transpose by heads, and a split."""
        if self.latent.query_rank is None:
            return [self.products.forward("q", views=3)]
        norm = self.o.normalisation("q-norm", self.rows, self.latent.query_rank)
        return [self.products.forward("q-down"), norm, self.products.forward("q-up", views=3)]

    def _of_many(self) -> list[Step]:
        """Keys and values of all heads are made, and queries and keys put together."""
        numbers = self.rows * self.heads * self.model.head_dim
        steps: list[Step] = [
            self.products.forward("kv-up", views=3),
            *self._turned(),
            self._moved("queries-together", numbers),
            self._moved("keys-together", numbers),
        ]
        if self.o.eager:
            return [*steps, *Scores.of(self.o, self.model, self.share).forward()]
        if self.share.sequence_parts > 1:
            return [*steps, *shared_sequence(self.o, self.model, self.share).forward()]
        return [*steps, self._attention("attention").beside({"view": 2})]

    def _of_one(self) -> list[Step]:
        """One new token of each sequence: its latent vector is written to its place; queries and
        results go through what makes keys and values.
        """
        o, latent, rows, heads = self.o, self.latent, self.rows, self.heads
        calls: dict[HostCall, float] = {"copy": 1, "view": 1}
        kept = [("latent", latent.rank), ("turned-key", latent.rotary)]
        return [
            *self._turned(),
            self.products.forward("absorb-keys"),
            *(
                o.elementwise(name, rows * width, 1, 1, strided=True).called(calls)
                for name, width in kept
            ),
            self._moved("queries-together", rows * heads * (latent.rank + latent.rotary)),
            *self._over_latents(),
            self.products.forward("absorb-values"),
            self._moved("heads-side-by-side", rows * heads * latent.value),
        ]

    def _over_latents(self) -> list[Step]:
        """Attention of all heads over one key, the latent vectors of all tokens before."""
        if self.o.eager:
            return Scores.of_latents(self.o, self.model, self.share).forward()
        share, latent = self.share, self.latent
        seen = share.tokens + share.context
        width = latent.rank + latent.rotary
        sizes = share.sequences, self.heads, width, latent.rank, seen
        return [of_latents(self.o, "attention", *sizes).beside({"view": 2})]

    def _turned(self, *, backward: bool = False) -> list[Step]:
        turn = rotary_backward if backward else rotary
        numbers = self.rows * self.latent.rotary
        return turn(self.o, numbers * self.heads, numbers)

    def _moved(self, what: str, numbers: float) -> Op:
        """Parts of every head, or gradients of such, side by side."""
        return self.o.elementwise(what, numbers, 1, 1, strided=True).called({"copy": 1})

    def _attention(self, name: str, *, backward: bool = False) -> Op:
        share, model = self.share, self.model
        return self.o.attention(
            name,
            share.sequences,
            share.tokens,
            self.heads,
            self.heads,
            model.head_dim,
            value=model.value_dim,
            causal=model.causal,
            backward=backward,
        )

    def backward(self, exchange: list[Step]) -> list[Step]:
        """From the gradient of ``o``'s input to that of the norm's output, which goes through
        *exchange* beside the gradient of the last weights.
        """
        o, latent, rows, heads = self.o, self.latent, self.rows, self.heads
        together = rows * heads * self.model.head_dim
        turned = o.elementwise("sum-turned", rows * heads * latent.rotary, 1, 1 / heads)
        return [
            *self._attention_gradient(together),
            turned.called({"elementwise": 1}),
            *self._turned(backward=True),
            self._moved("kv-up-side-by-side", rows * heads * (latent.plain + latent.value)),
            *self.products.gradients(("kv-up",)),
            *o.normalisation_backward("kv-norm", rows, latent.rank, 1),
            self._moved("kv-side-by-side", rows * (latent.rank + latent.rotary)),
            self._moved("queries-side-by-side", together),
            *self._queries_gradient(),
            *self.products.gradients(self.products.attention, exchange),
        ]

    def _attention_gradient(self, together: float) -> list[Step]:
        if self.o.eager:
            return Scores.of(self.o, self.model, self.share).backward()
        values = self.rows * self.heads * self.latent.value
        whole = self._attention("attention-gradient", backward=True).beside({"view": 8})
        attention: list[Step] = [whole]
        if self.share.sequence_parts > 1:
            attention = shared_sequence(self.o, self.model, self.share).backward()
        return [
            self.o.elementwise("attention-product", values, 2, 0).called({}),
            *attention,
            self.o.elementwise("attention-convert", together, 2, 1).called({}),
        ]

    def _queries_gradient(self) -> list[Step]:
        """Down to that of the queries' low rank."""
        rank = self.latent.query_rank
        if rank is None:
            return []
        norm = self.o.normalisation_backward("q-norm", self.rows, rank, 1)
        return [*self.products.gradients(("q-up",)), *norm]
