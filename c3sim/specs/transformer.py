"""Schema 1 of a language model: the shapes that decide its GEMMs, weights and key-value cache."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Extent, Parts
from c3sim.specs.workload import DTYPE_BYTES, Dtype


class Transformer(Spec):
    """A decoder-only transformer: *layers* equal ones of attention and a gated feed-forward
    network, or experts.
    """

    schema_version: Literal[1] = Field(alias="schema")
    name: str
    description: str = ""
    source: str
    layers: Parts
    hidden: Extent
    """width of a token between the layers"""
    heads: Extent
    """query heads"""
    kv_heads: Extent
    """heads of keys and values; fewer than heads: grouped-query attention"""
    head_dim: Extent
    ffn: Extent
    """inner width of the feed-forward network, or of one expert"""
    experts: Extent = 1
    """feed-forward networks per layer; 1: dense"""
    experts_per_token: Extent = 1
    """experts that one token takes"""
    vocab: Extent
    dtype: Dtype = "bf16"
    """of weights, activations, keys and values"""

    @model_validator(mode="after")
    def _fits_together(self) -> Transformer:
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads on {self.kv_heads} kv_heads; must be a whole number each"
            )
        if self.experts_per_token > self.experts:
            raise ValueError(
                f"a token takes {self.experts_per_token} experts of {self.experts}; must be at "
                "most all"
            )
        return self

    @property
    def element(self) -> int:
        """Bytes of a number."""
        return DTYPE_BYTES[self.dtype]

    @property
    def kv_bytes(self) -> int:
        """Bytes of keys and values of one token in one layer: 2 x kv_heads x head_dim x element."""
        return 2 * self.kv_heads * self.head_dim * self.element

    @property
    def weight_bytes(self) -> int:
        """Bytes of projections, networks, routers, embedding and output head, without norms."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        networks = 3 * self.hidden * self.ffn * self.experts
        router = self.hidden * self.experts if self.experts > 1 else 0
        return self.element * (
            self.layers * (attention + networks + router) + 2 * self.vocab * self.hidden
        )
