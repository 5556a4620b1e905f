"""One GPU's part of a layer."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.iterations.load import BALANCED, Load


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """One GPU's part of a layer: *sequences* of *tokens* new tokens behind *context* others, a
    part of *tensor* of the layer (*split*: of norms and residuals too), a part of *expert* of the
    experts. *training*: dropout is on.
    """

    sequences: int
    tokens: int
    context: int = 0
    tensor: int = 1
    split: bool = False
    expert: int = 1
    training: bool = False
    load: Load = BALANCED

    @property
    def rows(self) -> int:
        """Tokens that go through projections and networks."""
        return self.sequences * self.tokens

    @property
    def own_rows(self) -> int:
        """Tokens that go through norms and residuals."""
        return max(1, self.rows // self.tensor) if self.split else self.rows

    @property
    def of_one(self) -> bool:
        """True where a token is made at a time."""
        return self.tokens == 1 and not self.training
