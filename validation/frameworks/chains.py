"""Chains of one operator on tiny tensors, as models call it, for :mod:`.calls`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .models import turned
from .timing import BF16

CALLS = 50
ROWS, HEADS, WIDTH, VOCAB = 16, 4, 64, 1024
HIDDEN = HEADS * WIDTH
Step = Callable[[int, Tensor], Tensor]


@dataclass
class Chain:
    """*step* called :data:`CALLS` times: each on the result of the one before, or *apart* all on
    *start*. Gradients go to *weights*.
    """

    step: Step
    start: Tensor
    apart: bool = False
    weights: list[Tensor] = field(default_factory=list)

    def run(self) -> list[Tensor]:
        """The results that nothing follows."""
        if self.apart:
            return [self.step(number, self.start) for number in range(CALLS)]
        x = self.start
        for number in range(CALLS):
            x = self.step(number, x)
        return [x]


def chains() -> dict[str, Callable[[], Chain]]:
    """Makers of the chains, by name; names say the operator, and what is special about it."""
    return {
        "linear": lambda: _modules(lambda: nn.Linear(HIDDEN, HIDDEN, bias=False, **BF16)),
        "linear_bias": lambda: _modules(lambda: nn.Linear(HIDDEN, HIDDEN, **BF16)),
        "rms_norm": lambda: _modules(lambda: nn.RMSNorm(HIDDEN, **BF16)),
        "layer_norm": lambda: _modules(lambda: nn.LayerNorm(HIDDEN, **BF16)),
        "identity_module": lambda: _modules(nn.Identity),
        "matmul": _matmul,
        "attention_causal": lambda: _attention(HEADS, causal=True),
        "attention_grouped": lambda: _attention(HEADS // 2, causal=True),
        "attention_dropped": lambda: _attention(HEADS, causal=False, dropout=0.1),
        "attention_of_one": lambda: _attention(HEADS // 2, causal=False, queries=1),
        "add": lambda: _with_other(lambda x, y: x + y),
        "mul": lambda: _with_other(lambda x, y: x * y),
        "mul_add": lambda: _with_other(lambda x, y: x * y + y),
        "mul_add_fork": lambda: _with_other(lambda x, y: x * y + x),
        "square": lambda: _plain(lambda x: x * x),
        "neg": lambda: _plain(lambda x: -x),
        "silu": lambda: _plain(F.silu),
        "gelu": lambda: _plain(F.gelu),
        "cast": lambda: _plain(lambda x: x.float().bfloat16()),  # two calls
        "dropout": lambda: _plain(lambda x: F.dropout(x, 0.1, True)),
        "view": lambda: _plain(lambda x: x.view(x.shape)),
        "transpose": lambda: _plain(lambda x: x.transpose(1, 2)),
        "reshape": lambda: _plain(lambda x: x.reshape(x.shape)),
        "contiguous": lambda: _plain(lambda x: x.transpose(1, 2).contiguous()),
        "chunk_cat": lambda: _plain(lambda x: torch.cat(x.chunk(2, dim=-1)[::-1], dim=-1)),
        "cache_write": _cache_write,
        "rotary": _rotary,
        "embedding": _embedding,
        "cross_entropy": _cross_entropy,
    }


def _x() -> Tensor:
    return torch.randn(1, ROWS, HIDDEN, **BF16).requires_grad_()


def _plain(call: Callable[[Tensor], Tensor]) -> Chain:
    x = _x()
    return Chain(lambda _, each: call(each), x, weights=[x])


def _with_other(call: Callable[[Tensor, Tensor], Tensor]) -> Chain:
    """*call* with a second tensor that wants no gradient."""
    other = torch.randn(1, ROWS, HIDDEN, **BF16)
    x = _x()
    return Chain(lambda _, each: call(each, other), x, weights=[x])


def _modules(make: Callable[[], nn.Module]) -> Chain:
    """A module of its own for each call, as layers have."""
    every, x = [make() for _ in range(CALLS)], _x()
    weights = [weight for each in every for weight in each.parameters()]
    return Chain(lambda number, each: every[number](each), x, weights=[x, *weights])


def _matmul() -> Chain:
    x = torch.randn(HEADS, ROWS, WIDTH, **BF16).requires_grad_()
    other = torch.randn(HEADS, WIDTH, WIDTH, **BF16)
    return Chain(lambda _, each: torch.matmul(each, other), x, weights=[x])


def _attention(groups: int, *, causal: bool, dropout: float = 0.0, queries: int = ROWS) -> Chain:
    """Attention whose results are laid out as queries are: (sequence, head, token, width), tokens
    outside.
    """
    q = torch.randn(1, queries, HEADS, WIDTH, **BF16).transpose(1, 2).requires_grad_()
    k, v = (torch.randn(1, ROWS, groups, WIDTH, **BF16).transpose(1, 2) for _ in range(2))

    def step(_: int, each: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(
            each, k, v, is_causal=causal, dropout_p=dropout, enable_gqa=groups != HEADS
        )

    return Chain(step, q, weights=[q])


def _cache_write() -> Chain:
    """A new token's keys into a cache; nothing has gradients."""
    cache, new = torch.randn(1, 2, ROWS, WIDTH, **BF16), torch.randn(1, 2, 1, WIDTH, **BF16)

    def step(_: int, each: Tensor) -> Tensor:
        cache[:, :, -1:] = new
        return each

    return Chain(step, _x())


def _rotary() -> Chain:
    """Four element-wise kernels, two views and one kernel that puts halves side by side."""
    cosine, sine = torch.randn(ROWS, WIDTH, **BF16), torch.randn(ROWS, WIDTH, **BF16)
    x = torch.randn(1, ROWS, HEADS, WIDTH, **BF16).transpose(1, 2).requires_grad_()
    return Chain(lambda _, each: turned(each, cosine, sine), x, weights=[x])


def _embedding() -> Chain:
    tables = [torch.randn(VOCAB, HIDDEN, **BF16).requires_grad_() for _ in range(CALLS)]
    words = torch.randint(0, VOCAB, (1, ROWS), device=BF16["device"])
    return Chain(lambda number, x: F.embedding(x, tables[number]), words, True, tables)


def _cross_entropy() -> Chain:
    """Cross entropy of logits in 4 bytes a number."""
    logits = [
        torch.randn(ROWS, VOCAB, device=BF16["device"]).requires_grad_() for _ in range(CALLS)
    ]
    words = torch.randint(0, VOCAB, (ROWS,), device=BF16["device"])
    return Chain(lambda number, x: F.cross_entropy(logits[number], x), words, True, logits)
