"""The kinds of studies: ``kind`` in a study file -> how it runs, prints and is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.errors import InputError
from c3sim.specs.study import Study
from c3sim.strategies.table import unknown_strategy
from c3sim.studies import (
    c3,
    c3_variants,
    cache_policies,
    channels,
    dma_variants,
    fused,
    keep_or_stream,
    kv_fetch,
    operator_shares,
    pieces,
    sweep,
    t3,
    training_overlap,
)
from c3sim.studies.kind import Kind, Options, StudyResult
from c3sim.studies.settings import with_settings

KINDS: Mapping[str, Kind[Any]] = {
    "sweep": sweep.KIND,
    "c3": c3.KIND,
    "dma_variants": dma_variants.KIND,
    "c3_variants": c3_variants.KIND,
    "kv_fetch": kv_fetch.KIND,
    "operator_shares": operator_shares.KIND,
    "training_overlap": training_overlap.KIND,
    "channels": channels.KIND,
    "pieces": pieces.KIND,
    "t3": t3.KIND,
    "fused": fused.KIND,
    "cache_policies": cache_policies.KIND,
    "keep_or_stream": keep_or_stream.KIND,
}


def run_study(study: Study, options: Options | None = None) -> StudyResult:
    """Run *study*; the result is that of its kind. Raises InputError."""
    options = options or Options()
    changed = with_settings(study, options.settings)
    if options.strategies:
        changed = changed.model_copy(update={"strategies": tuple(options.strategies)})
    for index, name in enumerate(changed.strategies):
        if mistake := unknown_strategy(name):
            raise InputError(mistake, f"strategies[{index}]")
    result: StudyResult = KINDS[study.kind].run(changed, options)
    return result


def kind_of(result: StudyResult) -> Kind[Any]:
    """The kind whose result *result* is: the folder in which its class lies."""
    return KINDS[type(result).__module__.split(".")[2]]
