"""Training under autocast: which numbers have 4 bytes, and what is cast."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import built, planned
from pydantic import ValidationError

from c3sim.errors import InputError
from c3sim.iterations.autocast import cast
from c3sim.iterations.steps import Op
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Collective

MODEL: dict[str, Any] = {
    "name": "m",
    "layers": 2,
    "hidden": 512,
    "heads": 8,
    "kv_heads": 8,
    "head_dim": 64,
    "ffn": 1024,
    "vocab": 1000,
}
STEP: dict[str, Any] = {"model": MODEL, "batch": 8, "tokens": 128, "node": "mi350x-8"}
ROWS = 8 * 128


def operators(**said: Any) -> dict[str, Op]:
    """Operators of a layer, by name, with their casts."""
    made = planned(**STEP, **said)
    layer = made.units().layer
    steps = [*layer.forward, *layer.backward]
    around = cast(made.operators, steps) if made.iteration.autocast else steps
    return {each.name: each for each in around if isinstance(each, Op)}


def moved(op: Op) -> float:
    task = op.task
    return task.read + task.written


def test_what_goes_round_has_4_bytes() -> None:
    """A sum reads 4 and 2 and writes 4 bytes for 2, 2 and 2; its gradient twice as many."""
    plain, wide = operators(), operators(autocast=True)
    numbers = ROWS * MODEL["hidden"]
    assert moved(plain["add1"]) == 6 * numbers
    assert moved(wide["add1"]) == 10 * numbers
    assert moved(wide["add-gradient2"]) == 2 * moved(plain["add-gradient2"])
    assert moved(wide["norm2-weight"]) == 2 * moved(plain["norm2-weight"])
    assert moved(wide["silu"]) == moved(plain["silu"])


def test_each_product_of_a_norm_s_output_casts_it() -> None:
    """q, k, v, gate and up do, 6 bytes a number; o and down have 2 byte numbers already."""
    made = operators(autocast=True)
    narrowed = {n for n in made if n.endswith("-narrow") and "-input" not in n}
    assert narrowed == {f"{n}-narrow" for n in ("q", "k", "v", "gate", "up")}
    assert moved(made["q-narrow"]) == 6 * ROWS * MODEL["hidden"]
    assert {n for n in made if n.endswith("-input-narrow")} == {
        "o-input-narrow",
        "down-input-narrow",
    }
    assert moved(made["down-narrow-weight"]) == 6 * MODEL["hidden"] * MODEL["ffn"]


def test_gradients_of_weights_are_complete_behind_their_cast() -> None:
    plain, made = operators(), operators(autocast=True)
    assert plain["q-weight"].gradients and not made["q-weight"].gradients
    assert made["q-weight-wide"].gradients == plain["q-weight"].gradients


def test_products_stay_as_they_are() -> None:
    plain, made = operators(), operators(autocast=True)
    assert made["gate"] == plain["gate"]
    assert made["attention"] == plain["attention"]


def test_buckets_and_optimizer_have_gradients_of_4_bytes() -> None:
    said = {"parallel": {"kind": "ddp"}, "optimizer": "adamw"}
    moved_by = {}
    for autocast in (False, True):
        tasks = built(2, **STEP, **said, autocast=autocast).workload.tasks
        sent = sum(t.size for t in tasks.values() if isinstance(t, Collective))
        updated = sum(
            t.read + t.written
            for t in tasks.values()
            if isinstance(t, Kernel) and t.operator == "optimizer"
        )
        moved_by[autocast] = sent, updated
    assert moved_by[True] == pytest.approx([2 * each for each in moved_by[False]])


def test_a_product_waits_for_its_casts() -> None:
    tasks = built(2, **STEP, autocast=True).workload.tasks
    names = list(tasks)
    (gate,) = (name for name in names if name.endswith("1-gate"))
    assert names[names.index(gate) - 1].endswith("gate-narrow-weight")


@pytest.mark.parametrize("said", [{"precision": "fp8"}, {"master_weights": True}])
def test_autocast_of_other_numbers_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="autocast"):
        planned(**STEP, autocast=True, **said)


@pytest.mark.parametrize(
    "said",
    [{"parallel": {"kind": "fsdp"}}, {"model": MODEL | {"experts": 8, "experts_per_token": 2}}],
)
def test_autocast_of_shards_and_experts_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not sharded"):
        built(2, **(STEP | said), autocast=True)
