"""Schema 1 of a model: a transformer, or a recommendation model with embedding tables."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from c3sim.spec.base import SchemaOne, Spec
from c3sim.spec.quantities import Count, Extent, Parts, Positive
from c3sim.spec.task import DTYPE_BYTES, Dtype


class Latent(Spec):
    """Attention over one vector of each token, from which the keys and values of all heads are made
    (arXiv 2405.04434, section 2.1).
    """

    query_rank: Extent | None = None
    """numbers of the vector that a token's queries are made from; left out: from the token"""
    rank: Extent
    """numbers of the vector that its keys and values are made from"""
    plain: Extent
    """numbers of a head's query and key that do not know their place"""
    rotary: Extent
    """numbers of them that are turned; all heads have one such key"""
    value: Extent
    """numbers of a head's value"""


class LayerKind(NamedTuple):
    """A layer of a transformer: *experts* or a dense network; *window*: tokens that a token sees,
    None: all before it.
    """

    experts: bool
    window: int | None


#: Projections that can have a bias by themselves.
Biased = Literal["qkv", "o", "network", "router"]


class Transformer(Spec):
    """A transformer: *layers* of attention and a feed-forward network, or experts. What is left out
    is as in Llama; encoders such as BERT say what differs.
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
    latent: Latent | None = None
    """where keys and values are made from one vector of each token; left out: they are kept"""
    window: Count | None = None
    """tokens that a token sees, itself included; left out: all before it"""
    full_every: Parts | None = None
    """every so many-th layer sees all tokens, whatever *window* says; left out: none does"""
    dense_layers: int = Field(0, ge=0, le=4096)
    """so many first layers have one network in place of experts"""
    dense_ffn: Extent | None = None
    """inner width of that network"""
    shared_ffn: Extent | None = None
    """inner width of the experts that every token takes beside its own, together; left out: there
    are none"""
    shared_gate: bool = False
    """true: a number of each token weighs what these give"""
    scoring: Literal["softmax", "sigmoid"] = "softmax"
    """makes scores of what the router gives"""
    expert_groups: Extent = 1
    """groups of experts, of which a token takes some"""
    groups_per_token: Extent = 1
    """groups that one token's experts are in"""
    expert_bias: bool = False
    """true: a number of each expert is added to its scores before experts are chosen"""
    vocab: Extent
    dtype: Dtype = "bf16"
    """type of weights, activations, keys and values"""
    gated: bool = True
    """true: the network multiplies two inner projections; false: it has one"""
    fused_qkv: bool = False
    """true: queries, keys and values are one matrix product; false: three, as in most models that
    are trained (torchtitan, Hugging Face); serving engines have one"""
    fused_gate: bool = False
    """the same of gate and up; experts always have one"""
    causal: bool = True
    """true: a token sees those before it only"""
    bias: bool = False
    """true: projections and norms have biases"""
    biases: tuple[Biased, ...] = ()
    """projections that have one where not all do; network: experts' too"""
    sinks: bool = False
    """true: softmax has a number of each head more in its sum"""
    head_norms: bool = False
    """true: queries and keys go through a norm, head by head"""
    norms: Literal[2, 4] = 2
    """norms of a layer; 4: also behind attention and behind the network"""
    activation: Literal["silu", "gelu"] = "silu"
    """function of a gated network; others have gelu"""
    positions: Literal["rotary", "learned", "none"] = "rotary"
    """how a token knows its place: its queries and keys are turned, or a row of a table is added"""
    learned_rows: Count | None = None
    """rows of tables that are added to the embedding: learned positions, token types"""
    dropout: bool = False
    """true: training drops outputs of attention and network at random"""
    tied: bool = False
    """true: the output head's weights are the embedding's"""
    pretraining_head: bool = False
    """BERT's: a dense layer and a norm before the output head, a pooler and two outputs of it"""
    predicted: Annotated[Positive, Field(le=1)] = 1.0
    """share of the tokens that the output head is run for in training"""
    left_out: tuple[str, ...] = ()
    """what the model has beside, that is not counted"""

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
        if self.full_every and self.window is None:
            raise ValueError("full_every is for models with a window")
        if self.latent is not None and self.head_dim != self.latent.plain + self.latent.rotary:
            raise ValueError(
                f"head_dim {self.head_dim}; must be latent.plain + latent.rotary: "
                f"{self.latent.plain + self.latent.rotary}"
            )
        return self

    @model_validator(mode="after")
    def _layers_fit_together(self) -> Transformer:
        if self.groups_per_token > self.expert_groups or self.experts % self.expert_groups:
            raise ValueError(
                f"a token takes {self.groups_per_token} groups of {self.expert_groups}, of "
                f"{self.experts} experts; must be at most all, of equal size"
            )
        if bool(self.dense_layers) != (self.dense_ffn is not None):
            raise ValueError("dense_layers and dense_ffn: give both, or none")
        if self.dense_layers and (self.experts == 1 or self.dense_layers >= self.layers):
            raise ValueError(
                f"{self.dense_layers} dense_layers of {self.layers}; others must have experts"
            )
        if self.shared_ffn is not None and self.experts == 1:
            raise ValueError("shared_ffn is for models with experts")
        return self

    def kind_of(self, index: int) -> LayerKind:
        """Kind of layer *index*, the first being 0."""
        full = self.full_every is not None and (index + 1) % self.full_every == 0
        experts = self.experts > 1 and index >= self.dense_layers
        return LayerKind(experts, None if full else self.window)

    @property
    def period(self) -> int:
        """Layers after which kinds come again, behind the dense ones."""
        return self.full_every or 1

    @property
    def dense(self) -> Transformer:
        """A model whose layers all are as its dense ones."""
        if self.experts == 1 or self.dense_ffn is None:
            return self
        changes = {"experts": 1, "experts_per_token": 1, "ffn": self.dense_ffn}
        none = {"shared_ffn": None, "shared_gate": False, "expert_groups": 1}
        rest = {"groups_per_token": 1, "expert_bias": False, "dense_layers": 0, "dense_ffn": None}
        return self.changed(**(changes | none | rest))

    @property
    def value_dim(self) -> int:
        """Numbers of a head's value."""
        return self.head_dim if self.latent is None else self.latent.value

    @property
    def element(self) -> int:
        """Bytes of a number."""
        return DTYPE_BYTES[self.dtype]

    @property
    def kv_numbers(self) -> int:
        """Numbers that are kept of one token in one layer: 2 x kv_heads x head_dim, or the latent
        vector and its turned key.
        """
        if self.latent is not None:
            return self.latent.rank + self.latent.rotary
        return 2 * self.kv_heads * self.head_dim

    def kv_numbers_of(self, gpus: int) -> int:
        """Those of one of *gpus* that share a layer: its heads' of keys and values, one at least;
        every GPU has the latent vectors.
        """
        if self.latent is not None:
            return self.kv_numbers
        return self.kv_numbers // self.kv_heads * max(1, self.kv_heads // gpus)

    @property
    def kv_bytes(self) -> int:
        """Bytes that are kept of one token in one layer."""
        return self.kv_numbers * self.element

    @property
    def weight_bytes(self) -> int:
        """Bytes of projections, networks, routers, embedding and output head, without norms."""
        heads = (1 if self.tied else 2) * self.vocab * self.hidden
        return self.element * (self.layer_weights + heads)

    @property
    def layer_weights(self) -> int:
        """Weights of projections, networks and routers of all layers."""
        dense = self.dense
        first = self.dense_layers * (dense.shared_weights + dense.network_weights)
        one = self.shared_weights + self.experts * self.network_weights
        return first + (self.layers - self.dense_layers) * one

    @property
    def attention_weights(self) -> int:
        """Weights of a layer's attention."""
        latent, heads = self.latent, self.heads
        if latent is None:
            return self.hidden * self.head_dim * (2 * heads + 2 * self.kv_heads)
        queries = self.hidden * heads * self.head_dim
        if latent.query_rank is not None:
            queries = latent.query_rank * (self.hidden + heads * self.head_dim)
        keys = self.hidden * (latent.rank + latent.rotary)
        keys += latent.rank * heads * (latent.plain + latent.value)
        return queries + keys + heads * latent.value * self.hidden

    @property
    def shared_weights(self) -> int:
        """Weights of a layer's attention, router and shared experts: what every token goes
        through.
        """
        if self.experts == 1:
            return self.attention_weights
        shared = 3 * self.hidden * (self.shared_ffn or 0) + self.hidden * self.shared_gate
        return self.attention_weights + self.hidden * self.experts + shared

    @property
    def network_weights(self) -> int:
        """Weights of a feed-forward network, or of one expert."""
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def vectors(self) -> tuple[int, ...]:
        """Lengths of a layer's vectors: weights of norms; biases of projections."""
        norms: tuple[int, ...] = (self.hidden,) * self.norms
        inner = (2 if self.gated else 1) * self.ffn
        if self.latent is not None:
            ranks = (self.latent.query_rank, self.latent.rank)
            norms += tuple(rank for rank in ranks if rank is not None)
        norms += (self.head_dim,) * 2 if self.head_norms else ()
        projected = (self.heads + 2 * self.kv_heads) * self.head_dim
        if self.bias:
            return (*norms, *norms, projected, self.hidden, inner, self.hidden)
        biases = {
            "qkv": projected,
            "o": self.hidden,
            "router": self.experts if self.experts > 1 else 0,
            "network": self.experts * (inner + self.hidden),
        }
        given = tuple(biases[name] for name in self.biases if biases[name])
        sinks = (self.heads,) if self.sinks else ()
        return (*norms, *given, *sinks, *((self.experts,) if self.expert_bias else ()))

    @property
    def layer_parameters(self) -> int:
        """Parameters of one layer with experts, where there are any: all of them, and vectors."""
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
        first = self.dense_layers * self.dense.layer_parameters
        rest = (self.layers - self.dense_layers) * self.layer_parameters
        return first + rest + self.other_parameters

    @property
    def active_parameters(self) -> int:
        """Parameters that one token goes through."""
        idle = (self.experts - self.experts_per_token) * self.network_weights
        if "network" in self.biases:
            inner = (2 if self.gated else 1) * self.ffn
            idle += (self.experts - self.experts_per_token) * (inner + self.hidden)
        return self.parameters - (self.layers - self.dense_layers) * idle


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
        """Parameters of the networks and the tables."""
        return self.network_parameters + sum(self.rows) * self.width
