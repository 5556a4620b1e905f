"""Ring attention as PyTorch runs it, eager (``cp_rotate``).

A kernel for each step of ``_templated_ring_attention`` and its backward in
torch/distributed/tensor/experimental/_context_parallel/_attention.py of github.com/pytorch/pytorch
2.11. Of a GPU's n results, and k numbers of its keys and values together, of e bytes:

    ========  ===============================================================================
    forward   keys and values are copied into one buffer (2 k e, twice). allgather: all buffers
              are gathered beside the first piece; alltoall: they go round, a step beside each
              piece. Results of a piece become 32 bit, and each but the first is merged with
              those before it by three kernels over all n, five over the log of their sums.
    backward  buffers as in forward. Gradients are added up in 32 bit, and those of keys and
              values go round as such, 4 k bytes a step, beside the next piece.
    ========  ===============================================================================

Pieces differ by rank: the last of the group has whole queries and half of the keys in each step but
the first, the first one half of the queries in each. All wait for each other; the last one's
kernels, which move more, stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from c3sim.iterations.context import CONTEXT, SharedSequence
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.models import Transformer

WIDE = 4  # bytes of a number that results and gradients are added up in


def shared_sequence(
    o: OperatorSet, model: Transformer, share: Share, window: int | None = None
) -> SharedSequence:
    """Attention of one GPU over a sequence that several share."""
    plain = SharedSequence.of(o, model, share, window)
    if share.sequence_rotate is None:
        return plain
    known = {each.name: getattr(plain, each.name) for each in fields(plain)}
    return PytorchRing(**known, rotate=share.sequence_rotate)


@dataclass(frozen=True, kw_only=True, slots=True)
class PytorchRing(SharedSequence):
    """*rotate*: torchtitan's context_parallel_rotate_method."""

    rotate: str

    @property
    def keys_numbers(self) -> float:
        """Numbers of keys and values of the GPU's tokens."""
        return self.keys / self.o.element

    def forward(self) -> list[Step]:
        """In order of their launches, from queries, keys and values by heads to the output."""
        steps: list[Step] = [*self._copies("")]
        for number in range(self.parts):
            work = [
                self._piece(number, backward=False),
                self._over(f"wide{number}", self.results, self.o.element, WIDE, mixed=True),
                *(self._merged(number) if number else ()),
            ]
            steps += [*self._sent(number, "", len(work)), *work]
        return [*steps, self._over("narrow", self.results, WIDE, self.o.element)]

    def backward(self) -> list[Step]:
        """The same of the gradients, behind the product of the output and its gradient."""
        keys, narrow = self.keys_numbers, self.o.element
        sums = {"queries": float(self.queries), "keys": keys / 2, "values": keys / 2}
        steps: list[Step] = [self._over(f"no-{name}", sums[name], 0, WIDE) for name in sums]
        steps += self._copies("-again")
        last = self.parts - 1
        for number in range(self.parts):
            piece, added = self._gradients(number), [*self._added(number)]
            steps += self._sent(number, "-again", len(piece) + len(added) + 2)
            steps += [*piece, *added, self._over(f"gradient-buffer{number}", keys, WIDE, WIDE)]
            # beside it the sum of the queries' gradients, and the next piece or the last rounding
            beside = 2 if number == last else 1 + (number + 1 < last) + len(self._gradients(1))
            sent = Exchange(f"keys-gradient{number}", "shift", keys * WIDE, beside, CONTEXT)
            name, moved = f"queries-gradient{number}", narrow + WIDE
            steps += [sent, self._over(name, self.queries, moved, WIDE, mixed=True)]
        steps.append(self._over("queries-narrow", self.queries, WIDE, narrow))
        return [*steps, self._over("keys-narrow", keys, WIDE, narrow)]

    def _copies(self, again: str) -> list[Op]:
        """Keys and values, each by heads in one block."""
        half = self.keys_numbers / 2
        copies = (f"{name}-copy{again}" for name in ("keys", "values"))
        return [self.o.elementwise(n, half, 1, 1, strided=True).of_attention() for n in copies]

    def _sent(self, number: int, again: str, beside: int) -> Iterator[Step]:
        """Keys and values of step *number* into one buffer, and on their way *beside* kernels."""
        element = self.o.element
        if number == self.parts - 1:
            return
        yield self._over(f"buffer{again}{number}", self.keys_numbers, element, element)
        if self.rotate == "alltoall":
            yield Exchange(f"keys{again}{number}", "shift", self.keys, beside, CONTEXT)
        elif number == 0:
            whole = self.parts * self.keys
            yield Exchange(f"gather-keys{again}", "all_gather", whole, beside, CONTEXT)

    def _merged(self, number: int) -> Iterator[Op]:
        """Results and the log of their sums of piece *number* join those before it: out - sigmoid(b
        - a) (out - piece), a - logsigmoid(a - b), a kernel for each sign.
        """
        rows = float(self.sequences * self.own * self.heads)
        sums = [("difference", 2), ("sigmoid", 1), ("back", 2), ("log-sigmoid", 1), ("sums", 2)]
        for name, read in sums:
            yield self._over(f"{name}{number}", rows, read * WIDE, WIDE)
        for name, read, mixed in (("apart", 2, False), ("weighed", 1, True), ("merge", 2, True)):
            yield self._over(f"{name}{number}", self.results, read * WIDE, WIDE, mixed=mixed)

    def _gradients(self, number: int) -> list[Op]:
        """Kernels of one call; those around the first piece are those of any attention (layers.py):
        the output times its gradient, that of queries in 2 bytes, sums of heads that share keys.
        """
        piece, o = self._piece(number, backward=True), self.o
        if number == 0:
            return [piece]
        grouped = ("keys", "values") if self.kv_heads < self.heads else ()
        part = self.kv_heads / self.heads
        behind = [
            o.elementwise(f"sum-of-{name}{number}", self.queries, 1, part) for name in grouped
        ]
        return [
            o.elementwise(f"product{number}", self.results, 2, 0).of_attention().called({}),
            piece,
            o.elementwise(f"convert{number}", self.queries, 2, 1).of_attention().called({}),
            *(each.of_attention().called({}) for each in behind),
        ]

    def _added(self, number: int) -> Iterator[Op]:
        """Gradients of keys and values of piece *number* join those that came: behind the first
        piece those of the first half, which then are copied together with the others.
        """
        half, read = self.keys_numbers / 2, WIDE + self.o.element
        for name in ("keys", "values"):
            size = half / 2 if number else half
            yield self._over(f"{name}-added{number}", size, read, WIDE, mixed=True)
            if number:
                yield self._over(f"{name}-whole{number}", half, WIDE, WIDE)

    def _over(
        self, name: str, numbers: float, read: float, written: float, *, mixed: bool = False
    ) -> Op:
        """A kernel that reads and writes so many bytes of each of *numbers* numbers; *mixed*: of
        two widths or layouts, so that it loads and stores them one by one, as strided ones do
        (unrolled_elementwise_kernel and elementwise_kernel in PyTorch's CUDALoops.cuh).
        """
        op = self.o.elementwise(name, numbers, read, written, element=1, strided=mixed)
        return op.of_attention()
