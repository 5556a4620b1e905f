"""Schema of what a study calls ``published``: by kind of study; figures to show beside,
never inputs.

Numbers are as the source has them: shares and ratios plain, times in the unit of their name. Kinds
that are not named in ``PUBLISHED`` show source and note alone; what else they have is their own.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, model_validator

from c3sim.spec.base import Reading, Spec

Figure = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e12, le=1e12)]
Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e12)]
Size = Annotated[int, Field(strict=True, gt=0, le=2**40, description="bytes")]
ByName = dict[str, Figure | None]


class Published(Spec):
    source: str = ""
    note: str = ""
    first_hand: tuple[str, ...] = ()
    """claims that the source itself states, by the begin of their text; all others: second hand"""


class FreelyPublished(Published):
    """Figures of a kind that compares none, or is not packaged."""

    model_config = ConfigDict(extra="allow")


class Spread(Spec):
    """Figures of many cases."""

    geomean: Ratio | None = None
    mean: Figure | None = None
    max: Figure | None = None
    least: Figure | None = None


class OfPairs(Published):
    """Published by kind c3: figures by strategy, their order, how sure the source is, isolated
    behaviour.
    """

    class Isolated(Spec):
        value: Figure | tuple[Figure, Figure] | None = None
        flag: str | None = None
        note: str = ""

    mean_fraction_of_ideal: ByName | None = None
    mean_speedup: ByName | None = None
    max_speedup: ByName | None = None
    order: tuple[tuple[str, ...], ...] | None = None
    evidence: dict[str, str] = Field({})
    """what isolated runs of others say of a pair of the order, by its name ("a < b")"""
    flags: dict[str, dict[str, str]] = Field({})
    characterisation: dict[str, Isolated] = Field({})


class Speedups(Spec):
    """Operation -> size -> a speedup for each of the operation's *columns*, which name variants."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, tuple[Ratio, ...]]]

    columns: dict[str, tuple[str, ...]] = Field({})

    @model_validator(mode="after")
    def _as_many_as_columns(self) -> Speedups:
        for op, sizes in self.__pydantic_extra__.items():
            count = len(self.columns.get(op, ()))
            for size, row in sizes.items():
                if len(row) not in (0, count):
                    raise ValueError(f"{op}.{size} has {len(row)} speedups for {count} columns")
        return self


class OfPrograms(Published):
    """Published by dma_variants: ratios of times, speedups over pcpy by operation and size, phases
    of a copy by size [%], savings of power.
    """

    class Power(Spec):
        saving_over_rccl: Figure
        saving_of_variants: Figure | tuple[Figure, Figure]
        large_bytes: Size

    calibration_bytes: tuple[Size, ...] = ()
    claims: dict[
        Literal[
            "best_over_pcpy", "best_over_pcpy_most", "large",
            "all_gather_before", "all_gather_after", "all_to_all_before", "all_to_all_after",
        ],
        Ratio,
    ] = Field({})  # fmt: skip
    speedup: Speedups | None = None
    phases: dict[str, tuple[Figure, ...]] | None = None
    power: Power | None = None


class OfOperators(Published):
    """Published by operator_shares: shares of classes of operators, and changes between two
    configurations.
    """

    class Claim(Spec):
        of: Literal["share", "longer", "shorter", "speedup", "change"]
        configuration: str
        beside: str | None = None
        classes: str = ""
        low: Figure | None = None
        high: Figure | None = None
        standing: str
        text: str

    claims: tuple[Claim, ...] = ()


class OfServing(Published):
    """Published by kind kv_fetch: speedups, and times of one copy by method and bytes."""

    class Claim(Spec):
        of: Literal["latency", "throughput"]
        low: Figure
        high: Figure
        text: str

    class Copy(Spec):
        how: Literal["batch", "loop"]
        bytes: Size
        time_us: Ratio

    claims: tuple[Claim, ...] = ()
    copy_source: str = ""
    copy_costs: tuple[Copy, ...] = ()


class OfPieces(Published):
    """Published by kind pieces: the most that is published, as a text such as ``up to 1.7x``."""

    class Claim(Spec):
        of: Literal["ideal", "speedup", "heuristic", "shards"]
        value: str = Field(pattern=r"^(up to )?\d{1,9}(\.\d{1,9})?(x| %)(,.*)?$")
        text: str

    claims: tuple[Claim, ...] = ()


class OfPolicies(Published):
    """Published by cache_policies: applications by class, and the most that one loses."""

    classes: dict[str, tuple[str, ...]] = Field({})
    worst_loss: Figure = 0.05


class OfTracking(Published):
    """Published by kind t3: speedups by size of the node, of steps, and bytes moved."""

    class Traffic(Spec):
        all: Spread = Spread()
        rs_reads: dict[str, Ratio] = Field({})
        writes: Ratio | None = None
        gemm_reads: Ratio | None = None

    speedups: dict[str, dict[str, Spread]] = Field({})
    end_to_end: dict[str, Spread] = Field({})
    traffic: Traffic = Traffic()
    near_memory_alone: dict[str, Ratio] = Field({})


class OfFused(Published):
    """Published by kind fused: savings by operator and node and of a step, skew of two nodes."""

    class Ends(Spec):
        low: Figure
        high: Figure

    savings: dict[str, dict[str, dict[Literal["mean", "max"], Figure]]] = Field({})
    training: Ends | None = None
    skew: dict[Literal["without", "with"], Figure] = Field({})


PUBLISHED: dict[str, type[Published]] = {
    "c3": OfPairs,
    "dma_variants": OfPrograms,
    "operator_shares": OfOperators,
    "kv_fetch": OfServing,
    "pieces": OfPieces,
    "cache_policies": OfPolicies,
    "t3": OfTracking,
    "fused": OfFused,
}


def model_for(kind: object) -> type[Published]:
    """The model of what is published about studies of this *kind*."""
    return PUBLISHED.get(str(kind), FreelyPublished)


def check_published(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """*value*, as it is. Raises ValidationError where the study's kind cannot compare it."""
    model_for(info.data.get("kind")).model_validate(value, strict=Reading.of(info) is not None)
    return value
