"""Plans: which commands of the probe are run, for which suite, and what their records may be used
for.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from c3sim.errors import InputError
from c3sim.spec.base import Spec
from c3sim.spec.quantities import check_file_name
from c3sim.spec.reading.loading import load_file
from c3sim.spec.words import unknown

PLANS = Path(__file__).parent.parent / "probe" / "plans"


class Step(Spec):
    """One command of the probe; its records go to a file named after the step."""

    name: str
    suite: str = Field("", description="left out: the name of the step")
    role: Literal["calibration", "validation"]
    gpus: Annotated[int, Field(ge=0)] = Field(
        1, description="how many it needs; with fewer it is skipped"
    )
    core_clock_mhz: Annotated[int, Field(gt=0)] | None = Field(
        None, description="core clock that it runs at, where it may be set; left out: as it is"
    )
    what: str = Field("", description="what it measures, in a few words")
    means: str = Field("", description="what its result would mean for the model")
    command: str | tuple[str | float, ...] = Field(
        description="subcommand of the probe and its options, as a line or as a list of words"
    )

    @property
    def words(self) -> list[str]:
        """The command as words; a number is written without needless digits."""
        if isinstance(self.command, str):
            return shlex.split(self.command)
        return [word if isinstance(word, str) else _digits(word) for word in self.command]

    @property
    def suite_name(self) -> str:
        return self.suite or self.name

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        for field, text in (("name", self.name), ("suite", self.suite)):
            if field == "name" or text:
                check_file_name(text, field)
        try:
            words = self.words
        except ValueError as error:
            raise ValueError(
                f"command of step {self.name!r}: {str(error).lower()}; must be words as "
                "a shell reads them"
            ) from None
        if not words or not words[0].strip():
            raise ValueError(
                f"command of step {self.name!r} is empty; needs a subcommand of the "
                "probe, as in stream"
            )
        return self


class Plan(Spec):
    """Steps that together measure something."""

    name: str
    description: str
    minutes: Annotated[float, Field(gt=0)] = Field(description="about how long it takes")
    send: bool = Field(False, description="leave one file to send, PLAN.zip, and say what it means")
    steps: tuple[Step, ...] = Field(min_length=1)

    @property
    def gpus(self) -> int:
        """GPUs that the largest step needs."""
        return max(step.gpus for step in self.steps)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        twice = [
            name for name, count in Counter(step.name for step in self.steps).items() if count > 1
        ]
        if twice:
            raise ValueError(
                f"step {twice[0]!r} is there twice; each needs a name of its own, its "
                "records go to that file"
            )
        return self


def names() -> list[str]:
    """The packaged plans."""
    return sorted(path.stem for path in PLANS.glob("*.yaml"))


def packaged() -> list[Plan]:
    """Every packaged plan. Raises InputErrors."""
    return [load_file(PLANS / f"{name}.yaml", Plan) for name in names()]


def load_plan(name_or_path: str) -> Plan:
    """The packaged plan of that name, or the one in that file. Raises InputError(s)."""
    if name_or_path in names():
        return load_file(PLANS / f"{name_or_path}.yaml", Plan)
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 or path.is_file():
        return load_file(path, Plan)
    raise InputError(
        unknown("plan", name_or_path, names())
        + " ('c3sim probe plans' shows them; a file ends in .yaml)"
    )


def chosen(plan: Plan, only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[Step]:
    """The steps of *plan* that are named, less those to skip. Raises InputError for a name it does
    not have.
    """
    known = [step.name for step in plan.steps]
    for option, given in (("--only", only), ("--skip", skip)):
        for name in given:
            if name not in known:
                raise InputError(unknown("step", name, known), option)
    steps = [
        step for step in plan.steps if (not only or step.name in only) and step.name not in skip
    ]
    if not steps:
        raise InputError(
            f"no step of plan {plan.name!r} is left; its steps are {', '.join(known)}", "--skip"
        )
    return steps


def _digits(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(number)
