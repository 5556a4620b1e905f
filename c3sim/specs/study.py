"""Schema 1 of a study: scenarios listed one by one, or axes to cross; strategies; outputs. One schema for both."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from c3sim.specs.serving import Serving

__all__ = ["Scenario", "Study"]


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scenario(Spec):
    """A workload by name, with values set in it (paths as for ``--set``)."""

    name: str
    label: str = ""
    workload: str | None = Field(None, description="left out: the study's")
    set: dict[str, Any] = {}


class Study(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    name: str
    description: str = ""
    source: str = ""
    node: str = "mi300x-8"
    workload: str | None = Field(None, description="default workload of the scenarios")
    serving: Serving | None = Field(
        None,
        description="instead of a workload: requests to an inference engine; paths serving.hit_rate and so on",
    )
    scenarios: tuple[Scenario, ...] = ()
    axes: dict[str, tuple[Any, ...]] = Field(
        {}, description="path -> values; crossed with each other and the scenarios"
    )
    strategies: tuple[str, ...] = ("base",)
    outputs: tuple[str, ...] = ("wall_s", "speedup", "fraction_of_ideal", "own_fraction")
    published: dict[str, Any] = Field(
        {}, description="figures to show beside, with their source; never inputs"
    )
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="after")
    def _has_something_to_run(self) -> Study:
        if self.serving is not None:
            if self.workload is not None or any(s.workload is not None for s in self.scenarios):
                raise ValueError("a study of serving has no workload; leave it out")
            return self
        if self.workload is None and any(s.workload is None for s in self.scenarios):
            raise ValueError("each scenario needs a workload, or the study a default one")
        if self.workload is None and not self.scenarios:
            raise ValueError("nothing to run: give scenarios, or a workload and axes")
        return self
