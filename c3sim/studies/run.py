"""A study from its file to the result of its kind."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.specs.study import Study
from c3sim.strategies.table import STRATEGIES
from c3sim.studies.kind import Options, StudyResult
from c3sim.studies.kinds import KINDS
from c3sim.studies.settings import with_settings


def run_study(study: Study, options: Options | None = None) -> StudyResult:
    """Run *study*; the result is that of its kind (kinds.py). Raises InputError."""
    options = options or Options()
    changed = with_settings(study, options.settings)
    if options.strategies:
        changed = changed.model_copy(update={"strategies": tuple(options.strategies)})
    for index, name in enumerate(changed.strategies):
        if name.partition(":")[0] not in STRATEGIES:
            raise InputError(unknown("strategy", name, STRATEGIES), f"strategies[{index}]")
    result: StudyResult = KINDS[study.kind].run(changed, options)
    return result
