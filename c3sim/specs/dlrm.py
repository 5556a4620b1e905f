"""Schema 1 of a recommendation model with embedding tables."""

from __future__ import annotations

from pydantic import Field, model_validator

from c3sim.specs.base import SchemaOne, Spec
from c3sim.specs.quantities import Count
from c3sim.specs.task import DTYPE_BYTES, Dtype


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
