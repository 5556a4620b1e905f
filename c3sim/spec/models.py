"""Schema 1 of a model: a transformer, or a recommendation model with embedding tables."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from c3sim.spec.base import SchemaOne, Spec
from c3sim.spec.quantities import Count, Extent, Parts, Positive
from c3sim.spec.task import DTYPE_BYTES, Dtype


class Transformer(Spec):
    """A transformer: *layers* equal ones of attention and a feed-forward network, or experts. What
    is left out is as in Llama; encoders such as BERT say what differs.
    """

    schema_version: SchemaOne = Field(alias="schema")
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
    gated: bool = True
    """whether the network multiplies two inner projections; false: it has one"""
    fused_qkv: bool = False
    """whether queries, keys and values are one matrix product; false: three, as in most models that
    are trained (torchtitan, Hugging Face); serving engines have one"""
    fused_gate: bool = False
    """the same of gate and up; experts always have one"""
    causal: bool = True
    """whether a token sees those before it only"""
    bias: bool = False
    """whether projections and norms have biases"""
    positions: Literal["rotary", "learned", "none"] = "rotary"
    """how a token knows its place: its queries and keys are turned, or a row of a table is added"""
    learned_rows: Count | None = None
    """rows of tables that are added to the embedding: learned positions, token types"""
    dropout: bool = False
    """whether training drops outputs of attention and network at random"""
    tied: bool = False
    """whether the output head's weights are the embedding's"""
    pretraining_head: bool = False
    """BERT's: a dense layer and a norm before the output head, a pooler and two outputs of it"""
    predicted: Annotated[Positive, Field(le=1)] = 1.0
    """share of the tokens that the output head is run for in training"""

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
        layer = self.shared_weights + self.experts * self.network_weights
        heads = (1 if self.tied else 2) * self.vocab * self.hidden
        return self.element * (self.layers * layer + heads)

    @property
    def shared_weights(self) -> int:
        """Weights of a layer's attention and router."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return attention + (self.hidden * self.experts if self.experts > 1 else 0)

    @property
    def network_weights(self) -> int:
        """Weights of a feed-forward network, or of one expert."""
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def vectors(self) -> tuple[int, ...]:
        """Lengths of a layer's vectors: weights of two norms; with biases, theirs and those of the
        four projections.
        """
        norms = (self.hidden, self.hidden)
        if not self.bias:
            return norms
        projected = (self.heads + 2 * self.kv_heads) * self.head_dim
        inner = (2 if self.gated else 1) * self.ffn
        return (*norms, *norms, projected, self.hidden, inner, self.hidden)

    @property
    def layer_parameters(self) -> int:
        """Parameters of one layer, all experts and vectors included."""
        return self.shared_weights + self.experts * self.network_weights + sum(self.vectors)

    @property
    def other_parameters(self) -> int:
        """Parameters of embedding, its added tables, the last or first norm, and output head."""
        norm = self.hidden * (2 if self.bias else 1)
        embedding = (self.vocab + (self.learned_rows or 0)) * self.hidden
        head = 0 if self.tied else self.vocab * self.hidden
        if self.pretraining_head:
            dense = self.hidden * self.hidden + self.hidden
            head += dense + norm + self.vocab  # dense layer, its norm, bias of the output
            head += dense + 2 * self.hidden + 2  # pooler, and whether sentences follow each other
        return embedding + norm + head

    @property
    def parameters(self) -> int:
        """Parameters of the whole model."""
        return self.layers * self.layer_parameters + self.other_parameters


class Dlrm(Spec):
    """Embedding tables and a bottom network, their dot products, and a top network
    (arXiv 1906.00091).
    """

    schema_version: SchemaOne = Field(alias="schema")
    name: str
    description: str = ""
    source: str
    rows: tuple[Count, ...] = Field(min_length=1)
    """rows of each embedding table"""
    lookups: tuple[Count, ...] = Field(min_length=1)
    """rows that one sample adds up, of each table"""
    width: Count
    """numbers in a row"""
    dense: Count
    """numbers that come with a sample beside its rows"""
    bottom: tuple[Count, ...] = Field(min_length=1)
    """widths of the network over the dense numbers; the last one is that of a row"""
    top: tuple[Count, ...] = Field(min_length=1)
    """widths of the network over all dot products"""
    dtype: Dtype = "bf16"

    @model_validator(mode="after")
    def _fits_together(self) -> Dlrm:
        if len(self.lookups) != len(self.rows):
            raise ValueError(f"{len(self.lookups)} lookups for {len(self.rows)} tables")
        if self.bottom[-1] != self.width:
            raise ValueError(
                f"the bottom network ends with {self.bottom[-1]}, a row has {self.width}"
            )
        return self

    @property
    def element(self) -> int:
        """Bytes of a number."""
        return DTYPE_BYTES[self.dtype]

    @property
    def interactions(self) -> int:
        """Inputs of the top network: a dot product for each pair of the vectors, and the bottom's
        output.
        """
        vectors = len(self.rows) + 1
        return vectors * (vectors - 1) // 2 + self.width

    @property
    def networks(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of every layer, bottom then top."""
        bottom = zip((self.dense, *self.bottom), self.bottom, strict=False)
        top = zip((self.interactions, *self.top), self.top, strict=False)
        return (*bottom, *top)

    @property
    def network_parameters(self) -> int:
        """Weights and biases of both networks."""
        return sum(inputs * outputs + outputs for inputs, outputs in self.networks)

    @property
    def parameters(self) -> int:
        """Those and the tables."""
        return self.network_parameters + sum(self.rows) * self.width
