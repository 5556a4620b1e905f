"""Layers with latent attention and with a mixture of experts, as one would write them with PyTorch,
eager: c3sim/iterations/latent.py and experts.py count them.

Sizes that a layer of models.py has, and ``latent`` (query_rank, rank, plain, rotary, value),
``experts`` with ``experts_per_token``, ``shared_ffn``, ``scoring``, ``expert_bias``,
``expert_groups`` and ``groups_per_token``. Which experts tokens take is dealt beforehand, in random
order: as many rows for each, or by ``skew`` and ``seed``; the router's own choice is made and not
followed.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from c3sim.iterations.load import Load

from .timing import BF16

Angles = tuple[Tensor, Tensor]


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False, **BF16)


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary embedding, by halves."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


class LatentAttention(nn.Module):  # type: ignore[misc]
    """Queries, keys and values from vectors of low rank; one new token is absorbed."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        latent, hidden, self.heads = sizes["latent"], sizes["hidden"], sizes["heads"]
        self.rank, self.plain = latent["rank"], latent["plain"]
        self.rotary, self.width = latent["rotary"], latent["value"]
        queries, low = self.heads * (self.plain + self.rotary), latent.get("query_rank")
        self.low = None
        if low:
            self.low = nn.Sequential(linear(hidden, low), nn.RMSNorm(low, **BF16))
        self.query = linear(low or hidden, queries)
        self.kept = linear(hidden, self.rank + self.rotary)
        self.norm = nn.RMSNorm(self.rank, **BF16)
        self.made = linear(self.rank, self.heads * (self.plain + self.width))
        self.output = linear(self.heads * self.width, hidden)

    def forward(self, x: Tensor, angles: Angles, past: Tensor | None) -> Tensor:
        batch, tokens, _ = x.shape
        low = x if self.low is None else self.low(x)
        q = self.query(low).view(batch, tokens, self.heads, -1).transpose(1, 2)
        plain, place = q.split([self.plain, self.rotary], dim=-1)
        vector, key = self.kept(x).split([self.rank, self.rotary], dim=-1)
        vector = self.norm(vector)
        place, key = turned(place, *angles), turned(key.unsqueeze(1), *angles)
        if past is not None:
            return self.output(self.of_one(plain, place, vector, key, past))
        both = self.made(vector).view(batch, tokens, self.heads, -1).transpose(1, 2)
        own, value = both.split([self.plain, self.width], dim=-1)
        q = torch.cat([plain, place], dim=-1)
        k = torch.cat([own, key.expand(-1, self.heads, -1, -1)], dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))

    def of_one(
        self, plain: Tensor, place: Tensor, vector: Tensor, key: Tensor, past: Tensor
    ) -> Tensor:
        """One new token of each sequence over the vectors *past*, its own among them."""
        batch = plain.shape[0]
        past[:, -1:, : self.rank], past[:, -1:, self.rank :] = vector, key.squeeze(1)
        made = self.made.weight.view(self.heads, -1, self.rank)
        absorbed = torch.bmm(plain.squeeze(2).transpose(0, 1), made[:, : self.plain])
        query = torch.cat([absorbed.transpose(0, 1), place.squeeze(2)], dim=-1)
        scores = torch.bmm(query, past.transpose(1, 2)) * (self.plain + self.rotary) ** -0.5
        mixed = torch.bmm(scores.softmax(dim=-1), past[:, :, : self.rank])
        values = torch.bmm(mixed.transpose(0, 1), made[:, self.plain :].transpose(1, 2))
        return values.transpose(0, 1).reshape(batch, 1, -1)


class _Exchange(torch.autograd.Function):  # type: ignore[misc]
    """Equal parts of the rows to every rank of a group; gradients go back the same way."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, group: Any) -> Tensor:
        ctx.group = group
        found = torch.empty_like(rows)
        dist.all_to_all_single(found, rows, group=group)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Exchange.apply(gradient.contiguous(), ctx.group), None


class Mixture(nn.Module):  # type: ignore[misc]
    """Router, experts by grouped products, and those of all tokens. Experts are dealt to the ranks
    of *group*; every rank sends as many rows to each of them, so their loads must be equal.
    """

    def __init__(self, sizes: dict[str, Any], group: Any = None):
        super().__init__()
        self.sizes, hidden, inner = sizes, sizes["hidden"], sizes["ffn"]
        self.group, self.ranks = group, 1 if group is None else dist.get_world_size(group)
        self.count = sizes["experts"]
        count = self.count // self.ranks
        self.each = sizes["experts_per_token"]
        self.router = linear(hidden, self.count)
        self.gate_up = nn.Parameter(torch.randn(count, 2 * inner, hidden, **BF16) / hidden**0.5)
        self.down = nn.Parameter(torch.randn(count, hidden, inner, **BF16) / inner**0.5)
        shared = sizes.get("shared_ffn")
        self.shared = None
        if shared:
            pair = [linear(hidden, shared), linear(hidden, shared)]
            self.shared = nn.ModuleList([*pair, linear(shared, hidden)])
        self.bias = torch.zeros(self.count, device="cuda") if sizes.get("expert_bias") else None
        self.dealt: dict[int, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        weights = self.weights(rows)
        chosen = self.deal(rows.shape[0])
        order = chosen.argsort(stable=True)
        ends = torch.histc(chosen, bins=self.count, min=0, max=self.count).cumsum(
            0, dtype=torch.int32
        )
        tokens = order // self.each
        given = rows.index_select(0, tokens)
        found = self.experts(given, ends) if self.group is None else self.elsewhere(given)
        found = found * weights.flatten().index_select(0, order).unsqueeze(1).to(found.dtype)
        result = torch.zeros_like(rows).index_add(0, tokens, found)
        if self.shared is not None:
            first, second, last = self.shared
            result = result + last(F.silu(first(rows)) * second(rows))
        return result.view_as(x)

    def experts(self, given: Tensor, ends: Tensor) -> Tensor:
        """Results of the experts of this rank for rows that lie expert by expert."""
        both = F.grouped_mm(given, self.gate_up.transpose(-2, -1), offs=ends)
        gate, up = both.chunk(2, dim=-1)
        return F.grouped_mm(F.silu(gate) * up, self.down.transpose(-2, -1), offs=ends)

    def elsewhere(self, given: Tensor) -> Tensor:
        """Results for rows that lie expert by expert of the whole group: rows arrive rank by rank,
        are put expert by expert, and go back.
        """
        rows, count = given.shape[0], self.count // self.ranks
        each = rows // self.count
        place = torch.arange(rows, device="cuda").view(self.ranks, count, each)
        order = place.transpose(0, 1).flatten()
        ends = torch.arange(1, count + 1, device="cuda", dtype=torch.int32) * (each * self.ranks)
        here = _Exchange.apply(given, self.group).index_select(0, order)
        found = self.experts(here, ends).index_select(0, order.argsort())
        return _Exchange.apply(found, self.group)

    def weights(self, rows: Tensor) -> Tensor:
        """Weights of the experts that the router chooses for each of *rows*."""
        scores = self.router(rows).float()
        sigmoid = self.sizes.get("scoring") == "sigmoid"
        scores = scores.sigmoid() if sigmoid else scores.softmax(dim=-1)
        if self.bias is None:
            weights, _ = scores.topk(self.each, dim=-1)
        else:
            masked = self.masked(scores.detach() + self.bias)
            weights = scores.gather(1, masked.topk(self.each, dim=-1)[1])
        return weights / weights.sum(dim=-1, keepdim=True)

    def masked(self, scores: Tensor) -> Tensor:
        """*scores* without those of groups that a token does not take."""
        groups = self.sizes.get("expert_groups", 1)
        if groups == 1:
            return scores
        by_group = scores.view(scores.shape[0], groups, -1)
        best = by_group.topk(2, dim=-1)[0].sum(dim=-1)
        taken = best.topk(self.sizes["groups_per_token"], dim=-1)[1]
        mask = torch.zeros_like(best).scatter_(1, taken, 1).bool().unsqueeze(-1)
        return by_group.masked_fill(~mask, 0.0).flatten(1)

    def deal(self, tokens: int) -> Tensor:
        """Experts of so many tokens, one after the other."""
        if tokens not in self.dealt:
            rows = tokens * self.each
            load = Load(self.sizes.get("skew", 0.0), self.sizes.get("seed", 0))
            loads = load.fullest(rows, self.count, 1) or (-(-rows // self.count),) * self.count
            numbers = torch.arange(len(loads), device="cuda")
            dealt = numbers.repeat_interleave(torch.tensor(loads, device="cuda"))
            while len(dealt) < rows:  # shares were rounded
                dealt = torch.cat([dealt, dealt[-1:]])
            self.dealt[tokens] = dealt[torch.randperm(len(dealt), device="cuda")[:rows]]
        return self.dealt[tokens]
