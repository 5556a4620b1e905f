"""The kinds of studies: ``kind`` of a study file -> how it runs, prints and is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.studies import c3, c3_variants, dma_variants, kv_fetch, sweep
from c3sim.studies.kind import Kind

KINDS: Mapping[str, Kind[Any]] = {
    "sweep": sweep.KIND,
    "c3": c3.KIND,
    "dma_variants": dma_variants.KIND,
    "c3_variants": c3_variants.KIND,
    "kv_fetch": kv_fetch.KIND,
}
