"""Draws the pictures of the how-tos on backends, docs/img/backends-*.png.

python tools/backend_pictures.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import c3sim
from c3sim.kit import look

IMAGES = Path(__file__).parents[1] / "docs" / "img"
STEP, PAIR = "llama3-8b-training", "gemm-beside-all-gather"
GATHER, SCATTER = (f"tasks[kind=collective,op={op}].by" for op in ("all_gather", "reduce_scatter"))
ENGINES: Mapping[str, Mapping[str, Any]] = {
    "SMs carry both": {},
    "engines gather": {GATHER: "engines"},
    "engines scatter": {SCATTER: "engines"},
    "engines do both": {GATHER: "engines", SCATTER: "engines"},
}
CHANNELS = (2, 4, 6, 8, 12, 16, 24)
QUEUES = (1, 2, 4, 8)
PRODUCT = {"kind": "gemm", "m": 8192, "n": 3584, "k": 4096, "stream": "compute"}
TENSOR_PARALLEL = {
    "schema": 1,
    "name": "tensor-parallel",
    "node": "h200-8",
    "tasks": {
        "gather": {
            "kind": "collective",
            "op": "all_gather",
            "size": "64 MiB",
            "stream": "communication",
        },
        "product": PRODUCT,
        "next": {**PRODUCT, "after": ["gather"]},
    },
    "host": {"release": "per_rank"},
}


def bars(name: str, title: str, walls: Mapping[str, Sequence[float]], words: Sequence[str]) -> None:
    """A picture of bars: *walls* [ms] by label, of parts in *words* that add up."""
    from matplotlib.figure import Figure

    with look.style():
        figure = Figure(figsize=(7, 0.45 * len(walls) + 1.3), layout="constrained")
        axes = figure.subplots()
        look.panel(axes, title, "")
        for number, (label, parts) in enumerate(walls.items()):
            left = 0.0
            for part, colour, word in zip(parts, look.PALETTE, words, strict=False):
                named = word if number == 0 and len(words) > 1 else None
                axes.barh(label, part, left=left, color=colour, label=named)
                left += part
            axes.text(left, number, f" {left:.4g}", va="center", fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("ms")
        axes.margins(x=0.12)
        if len(words) > 1:
            axes.legend(
                frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1, -0.4)
            )
        look.save(figure, IMAGES / f"backends-{name}.png")
    print(f"wrote backends-{name}.png")


def step_parts(**settings: Any) -> list[float]:
    """Parts of a step [ms]: computation alone, what is stretched, what is exposed and idle."""
    result = c3sim.run(STEP, set=settings)
    alone, stretched = result.compute_s, result.overlap.stretched_s or 0.0
    return [1e3 * part for part in (alone, stretched, result.wall_s - alone - stretched)]


def main() -> None:
    parts = ("computation alone", "stretched", "exposed")
    engines = {name: step_parts(**settings) for name, settings in ENGINES.items()}
    bars("engines", "Llama 3 8B in shards over eight H200: who carries collectives", engines, parts)
    channels = {
        str(count): step_parts(**{"tasks[kind=collective].channels": count}) for count in CHANNELS
    }
    bars("channels", "The same step: channels of each collective", channels, parts)
    loses = {
        name: [1e3 * c3sim.run(PAIR, node="h200-8", strategy=strategy).wall_s]
        for name, strategy in {"product first": "base", "collective first": "sp"}.items()
    }
    pair = c3sim.run(PAIR, node="h200-8", strategy="base")
    loses["one after the other"] = [1e3 * pair.serial_s]
    bars("overlap", "A product beside an all-gather on eight H200", loses, ("wall time",))
    queues = {}
    for count in QUEUES:
        wall = c3sim.run(TENSOR_PARALLEL, set={"workload.host.queues": count}).wall_s
        queues[f"queues: {count}"] = [1e3 * wall]
    bars("queues-tensor", "An all-gather launched before a product", queues, ("wall time",))
    sharded = {
        f"queues: {count}": step_parts(**{"workload.host.queues": count}) for count in QUEUES
    }
    bars("queues-shards", "The step in shards: hardware queues", sharded, parts)


if __name__ == "__main__":
    main()
