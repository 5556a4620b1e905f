"""The independence of a suite's rows from the model, and who ran them, from ``suites.yaml``.

No fit uses a row of role ``validation``. That alone does not make it independent: somebody may
have looked at it and changed the model. So each suite with such rows has one of these words:

``blind``       predicted before it was measured; the model still gives the prediction on file
``reread``      predicted before it was measured; then changed, as ``reread`` says, with its rows
                in view
``held_out``    nobody looked at its rows while the model was made
``inspected``   somebody looked at its rows, and perhaps read a mechanism from them
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from c3sim.spec.base import Spec
from c3sim.spec.reading.loading import load_file

FILE = Path(__file__).parent.parent / "suites.yaml"
OPEN_TO_FITS = "open_to_fits"  # rows of role calibration
NOT_STATED = "not_stated"  # suites that the file does not list
SEEN = ("reread", "inspected")  # standings of suites whose rows somebody looked at


class Standing(Spec):
    """The word for a suite's rows of role validation, and what was read from them, or why not."""

    standing: Literal["blind", "reread", "held_out", "inspected"]
    runs: Literal["harness", "loops", "others"]
    """programs that ship here, tasks released together; processes that go round; others' rows"""
    reason: str = Field(min_length=1)
    predictions: str = ""
    """of ``blind``: the file of docs/predictions"""
    reread: str = ""
    """of ``reread``: what changed after the run because of its rows"""

    @model_validator(mode="after")
    def _complete(self) -> Standing:
        for word, field in (("blind", "predictions"), ("reread", "reread")):
            if (self.standing == word) != bool(getattr(self, field)):
                needs = "needs" if self.standing == word else "has no"
                raise ValueError(f"a suite that is {self.standing!r} {needs} {field!r}")
        return self


class SuitesFile(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    suites: dict[str, Standing]


def load_standings(path: str | Path = FILE) -> Mapping[str, Standing]:
    """Suite -> standing. Raises InputErrors."""
    return load_file(Path(path), SuitesFile).suites


def standing_of(suite: str, role: str, standings: Mapping[str, Standing]) -> str:
    """The word for the rows of *suite* that have *role*."""
    if role == "calibration":
        return OPEN_TO_FITS
    return standings[suite].standing if suite in standings else NOT_STATED


def runs_of(suite: str, standings: Mapping[str, Standing]) -> str:
    """The people who ran *suite*; ``not_stated`` for one that the file does not list."""
    return standings[suite].runs if suite in standings else NOT_STATED
