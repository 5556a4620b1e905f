"""One GPU's part of a layer of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from c3sim.iterations.load import BALANCED, BY_ALL_TO_ALL, Dispatch, Load


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """One GPU's part of a layer: *sequences* of *tokens* new tokens behind *context* others, a
    part of *tensor* of the layer (*split*: of norms and residuals too), a part of *expert* of the
    experts, each of which *expert_tensor* GPUs share (left out: as the layer). *sequence_parts*:
    GPUs that share the tokens, and how attention sees those of others (context.py). *training*:
    dropout is on. *load*: of experts; *dispatch*: to them.
    """

    sequences: int
    tokens: int
    context: int = 0
    tensor: int = 1
    split: bool = False
    expert: int = 1
    expert_tensor: int | None = None
    sequence_parts: int = 1
    sequence_by: str = "all_gather"
    sequence_rotate: str | None = None
    training: bool = False
    load: Load = BALANCED
    dispatch: Dispatch = BY_ALL_TO_ALL

    @property
    def rows(self) -> int:
        """Tokens that go through projections and networks."""
        return self.sequences * self.tokens // self.sequence_parts

    @property
    def of_expert(self) -> int:
        """GPUs that share an expert."""
        return self.tensor if self.expert_tensor is None else self.expert_tensor

    @property
    def deals(self) -> bool:
        """True where GPUs that share a layer have experts of their own."""
        return self.expert > 1 or self.of_expert < self.tensor

    @property
    def whole(self) -> Share:
        """The same part of a layer without experts."""
        return replace(self, expert=1, expert_tensor=None)

    @property
    def routed_rows(self) -> int:
        """Tokens that a GPU sends to experts: of those it shares with others its own part."""
        return self.rows * self.of_expert // self.tensor

    @property
    def own_rows(self) -> int:
        """Tokens that go through norms and residuals."""
        return max(1, self.rows // self.tensor) if self.split else self.rows

    @property
    def of_one(self) -> bool:
        """True where a token is made at a time."""
        return self.tokens == 1 and not self.training
