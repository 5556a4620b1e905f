"""Records of host calls, from lines that the driver writes, here with made-up times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import mean, quantiles
from typing import Any

import pytest
import yaml

from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.record import Record
from c3sim.validation.compare.record_files import load
from c3sim.validation.frameworks.call_records import (
    CLASSES,
    MODELS,
    of_classes,
    of_hosts,
    of_optimizers,
    of_wrappers,
    records,
    times_of,
    values,
)

#: Us of a call: forward, recorded, there and back.
CALL, LAYER = (10.0, 12.0, 30.0), (1000.0, 1200.0, 3000.0)


def row(call: str, phase: str, us: float, rank: int = 0) -> dict[str, Any]:
    # one repeat was disturbed: the median leaves it out
    times = [us, us, 50 * us]
    about = {"call": call, "phase": phase, "mode": "together", "rank": rank, "count": 1}
    return {**about, "run": "first", "us": times, "us_to_end": times}


def lines() -> Iterator[dict[str, Any]]:
    phases = ("forward", "recorded", "both")
    chains = {chain for each in CLASSES.values() for names in each for chain in names if chain}
    for name in sorted(chains):
        yield from (row(name, phase, us) for phase, us in zip(phases, CALL, strict=True))
    for name in MODELS:
        for phase, us in zip(phases, LAYER, strict=True):
            yield row(f"layer_{name}", phase, us)
        yield row(f"fsdp_{name}", "forward", 1300.0)
        yield row(f"fsdp_{name}", "both", 4000.0)
        yield row(f"ddp_{name}", "both", 3144.0)
    for name in ("decoder", "decode"):
        yield row(f"split_{name}", "forward", 800.0)
        yield row(f"tensor_{name}", "forward", 1000.0)
    for name in ("all_reduce", "all_gather", "reduce_scatter"):
        yield row(name, "call", 40.0)
    for kind in ("adamw_foreach", "adamw_fused", "lamb_foreach"):
        yield from (row(f"{kind}_{count}", "step", 100.0 + 3 * count) for count in (8, 64, 256))


ROWS = list(lines())


def test_the_slowness_of_h200_is_that_of_its_calls() -> None:
    """Value and interval are read from the suite that the node's file names, no whole iteration:
    each call on the slower rank of a run, beside the quickest process; mean, 5th, 95th percentile.
    """
    leaf = load_hardware("h200-2").provenance["host_profiles.framework_alone.slowness"]
    rows = [
        {**call, "run": process.split()[0], "us": us}
        for call in (r.observed["host_call"] for r in load() if r.suite == "h200_host_calls")
        for process, us in call["us"].items()
    ]
    hosts = of_hosts(rows, "together")
    low, *_, high = quantiles(hosts, n=20)
    assert leaf.value == pytest.approx(mean(hosts), rel=5e-3)
    assert leaf.interval == pytest.approx((low, high), rel=5e-3)


def test_backward_is_there_and_back_less_the_way_there() -> None:
    """30 - 12 us; of two ranks and of two runs the quickest one."""
    again = row("linear", "both", 60.0) | {"run": "second"}
    times = times_of([*ROWS, row("linear", "both", 50.0, rank=1), again], "together")
    assert times["linear_bias", "backward"] == pytest.approx(18.0)
    assert times["linear", "backward"] == pytest.approx(30 - 12)


def test_what_calls_do_not_take_is_between_them() -> None:
    """A decoder's layer forward: 22 kernels, 10 views of 10 us each; two copies less the view that
    their chain has beside them cost nothing here. 1000 - 320 us; an encoder has 22 calls.
    """
    between = of_classes(times_of(ROWS, "together"))["layer", "forward"]
    assert between == pytest.approx([1000 - 320, 1000 - 220])


def test_buckets_hooks_and_steps() -> None:
    """144 us for nine gradients of a decoder's layer, for 16 of an encoder's. A gather: 300 - 40
    us; a training step has two, and a reduce: 1000 - 2 x 300 - 40. Two sums of a shared layer: 200
    us, 40 of each is the call.
    """
    times = times_of(ROWS, "together")
    assert of_classes(times)["bucket", "backward"] == pytest.approx([16, 9])
    wrappers = of_wrappers(times)
    assert wrappers["gather_time"] == pytest.approx([260, 260])
    assert wrappers["reduce_time"] == pytest.approx([360, 360])
    assert wrappers["exchange_time"] == pytest.approx([60, 60])
    steps = of_optimizers(times)
    assert steps["lamb_foreach", "step"] == pytest.approx(100)
    assert steps["lamb_foreach", "tensor"] == pytest.approx(3)


def test_records_and_entries_are_read_back() -> None:
    made = [Record.model_validate(json.loads(json.dumps(each))) for each in records(ROWS, "h200-2")]
    assert (
        len({each.id for each in made}) == len(made) == len({str(each.observed) for each in made})
    )
    found = yaml.safe_load("\n".join(values(ROWS, "together")))
    assert found["call_times"]["linear"]["backward"]["value"] == "18 us"
    assert found["enqueue_time"]["interval"] == ["36 us", "44 us"]
    assert found["optimizer_times"]["adamw_fused"]["tensor"]["value"] == "3 us"
