"""Models of iterations, as one would write them with PyTorch: decoder and encoder layers, eager.
Projections of queries, keys and values are modules of their own, gate and up too, as most models
have them.

A model is built from a description (`kind: iteration`): its sizes, how many of its layers, how many
GPUs share each layer (tensor parallel), and among which experts are dealt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from .mixtures import LatentAttention, Mixture
from .mixtures import turned as turned
from .timing import BF16


@dataclass(frozen=True)
class Among:
    """Groups that a rank's layers talk to; no group: all ranks."""

    tensor: Any = None  # group that shares each layer
    experts: Any = None  # group that experts are dealt to
    first: bool = True  # stage of a pipeline that has the embedding
    last: bool = True  # the one that has the output head


class _Sum(torch.autograd.Function):  # type: ignore[misc]
    """Parts of a result, added up over a group; the gradient is that of each part."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.mark_dirty(x)
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Shared(torch.autograd.Function):  # type: ignore[misc]
    """Input that all of a group use; its gradients are added up."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class Layer(nn.Module):  # type: ignore[misc]
    """Attention and a feed-forward network, latent attention and a mixture where its sizes say so.
    *part*: GPUs that share it; *reduces*: whether they add their results up, *among* whom.
    """

    def __init__(
        self, sizes: dict[str, Any], part: int = 1, reduces: bool = True, among: Among = Among()
    ):
        super().__init__()
        self.group = among.tensor
        self.heads, self.groups = sizes["heads"] // part, max(1, sizes["kv_heads"] // part)
        self.width, self.gated = sizes["head_dim"], sizes["gated"]
        hidden, inner = sizes["hidden"], sizes["ffn"] // part
        self.causal, self.reduces = sizes["causal"], reduces and part > 1
        plain, norm = {"bias": not self.gated, **BF16}, nn.RMSNorm if self.gated else nn.LayerNorm
        self.norms = nn.ModuleList([norm(hidden, **BF16), norm(hidden, **BF16)])
        self.query = nn.Linear(hidden, self.heads * self.width, **plain)
        self.key = nn.Linear(hidden, self.groups * self.width, **plain)
        self.value = nn.Linear(hidden, self.groups * self.width, **plain)
        self.output = nn.Linear(self.heads * self.width, hidden, **plain)
        self.up = nn.Linear(hidden, inner, **plain)
        self.gate = nn.Linear(hidden, inner, **plain) if self.gated else None
        self.down = nn.Linear(inner, hidden, **plain)
        self.dropout = 0.0 if self.gated else 0.1
        self.head_norms = None
        if sizes.get("head_norms"):
            pair = [nn.RMSNorm(self.width, **BF16), nn.RMSNorm(self.width, **BF16)]
            self.head_norms = nn.ModuleList(pair)
        self.latent = LatentAttention(sizes) if "latent" in sizes else None
        self.mixture = Mixture(sizes, among.experts) if sizes.get("experts", 1) > 1 else None
        if self.latent is not None:
            self.query = self.key = self.value = self.output = None
        if self.mixture is not None:
            self.up = self.gate = self.down = None

    def past(self, batch: int, tokens: int) -> Any:
        """Keys and values of so many tokens of each sequence."""
        if self.latent is not None:
            return torch.randn(batch, tokens, self.latent.rank + self.latent.rotary, **BF16)
        shape = (batch, self.groups, tokens, self.width)
        return torch.randn(*shape, **BF16), torch.randn(*shape, **BF16)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor] | None, past: Any = None) -> Tensor:
        if self.gated:  # norms before
            x = x + self.added(self.attention(self.used(self.norms[0](x)), angles, past))
            return x + self.added(self.network(self.used(self.norms[1](x))))
        x = self.norms[0](x + self.dropped(self.attention(x, angles, past)))
        return self.norms[1](x + self.dropped(self.network(x)))

    def attention(self, x: Tensor, angles: tuple[Tensor, Tensor] | None, past: Any) -> Tensor:
        if self.latent is not None:
            return self.latent(x, angles, past)
        batch, tokens, _ = x.shape
        shape = (batch, tokens, -1, self.width)
        q, k = self.query(x).view(shape), self.key(x).view(shape)
        if self.head_norms is not None:
            q, k = self.head_norms[0](q), self.head_norms[1](k)
        q, k = q.transpose(1, 2), k.transpose(1, 2)
        v = self.value(x).view(shape).transpose(1, 2)
        if angles is not None:
            q, k = turned(q, *angles), turned(k, *angles)
        if past is not None:  # caches with room for the new token
            past[0][:, :, -tokens:], past[1][:, :, -tokens:] = k, v
            k, v = past
        mixed = F.scaled_dot_product_attention(
            q,
            k,
            v,
            is_causal=self.causal and past is None,
            dropout_p=self.dropout if self.training else 0.0,
            enable_gqa=self.groups != self.heads,
        )
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))

    def network(self, x: Tensor) -> Tensor:
        if self.mixture is not None:
            return self.mixture(x)
        if self.gate is None:
            return self.down(F.gelu(self.up(x)))
        return self.down(F.silu(self.gate(x)) * self.up(x))

    def dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)

    def used(self, x: Tensor) -> Tensor:
        return _Shared.apply(x, self.group) if self.reduces and self.training else x

    def added(self, x: Tensor) -> Tensor:
        if self.reduces and self.training:
            return _Sum.apply(x, self.group)
        if self.reduces:
            dist.all_reduce(x, group=self.group)
        return x


class Model(nn.Module):  # type: ignore[misc]
    """*layers* layers; with *head* the embedding and the projection to words too. An encoder's
    embedding adds learned *positions*, with a norm; a decoder has a last norm. A stage that is not
    the first or the last of a pipeline has no embedding or no projection.
    """

    def __init__(
        self,
        sizes: dict[str, Any],
        layers: int,
        head: bool,
        part: int,
        reduces: bool,
        among: Among = Among(),
    ):
        super().__init__()
        self.layers = nn.ModuleList([Layer(sizes, part, reduces, among) for _ in range(layers)])
        first, last = head and among.first, head and among.last
        width = sizes["latent"]["rotary"] if "latent" in sizes else sizes["head_dim"]
        self.rotary = width if sizes["gated"] else 0
        self.embedding = nn.Embedding(sizes["vocab"], sizes["hidden"], **BF16) if first else None
        self.head = nn.Linear(sizes["hidden"], sizes["vocab"], bias=False, **BF16) if last else None
        norm = nn.RMSNorm if sizes["gated"] else nn.LayerNorm
        self.norm: Any = norm(sizes["hidden"], **BF16) if last else None
        rows = sizes.get("positions", 0) if head else 0
        self.positions = nn.Embedding(rows, sizes["hidden"], **BF16) if rows else None

    def forward(self, x: Tensor, past: Any = None, place: int = 0) -> Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        if self.positions is not None:
            places = torch.arange(x.shape[1], device=x.device)
            x = self.norm(x + self.positions(places))
        angles = self.angles(place, x.shape[1]) if self.rotary else None
        for index, layer in enumerate(self.layers):
            x = layer(x, angles, None if past is None else past[index])
        if self.head is None:
            return x
        return self.head(x if self.positions is not None else self.norm(x))

    def angles(self, place: int, tokens: int) -> tuple[Tensor, Tensor]:
        half = torch.arange(0, self.rotary, 2, device="cuda") / self.rotary
        turns = torch.outer(torch.arange(place, place + tokens, device="cuda"), 500_000.0**-half)
        both = torch.cat([turns, turns], dim=-1)
        return both.cos().bfloat16(), both.sin().bfloat16()


class Lamb(torch.optim.Optimizer):  # type: ignore[misc]
    """LAMB over lists of tensors, without correction of its moments (arXiv 1904.00962, algorithm
    2).
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, decay: float = 0.01):
        super().__init__(parameters, {"lr": lr, "decay": decay})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self) -> None:
        for group in self.param_groups:
            weights = [each for each in group["params"] if each.grad is not None]
            for each in weights:
                if each not in self.state:
                    self.state[each] = (torch.zeros_like(each), torch.zeros_like(each))
            self._update(weights, [each.grad for each in weights], group["lr"], group["decay"])

    def _update(self, weights: list[Tensor], grads: list[Any], lr: float, decay: float) -> None:
        first, second = ([self.state[each][i] for each in weights] for i in range(2))
        torch._foreach_mul_(first, 0.9)
        torch._foreach_add_(first, grads, alpha=0.1)
        torch._foreach_mul_(second, 0.999)
        torch._foreach_addcmul_(second, grads, grads, 0.001)
        update = torch._foreach_sqrt(second)
        torch._foreach_add_(update, 1e-6)
        update = torch._foreach_div(first, update)
        torch._foreach_add_(update, weights, alpha=decay)
        sizes, changes = torch._foreach_norm(weights), torch._foreach_norm(update)
        for each, size, change in zip(update, sizes, changes, strict=True):
            each.mul_(size.clamp(min=1e-6) / change.clamp(min=1e-6))
        torch._foreach_add_(weights, update, alpha=-lr)
