"""The designs of a search as a file of results, which ``c3sim plot`` draws."""

from __future__ import annotations

import json
from pathlib import Path

from c3sim.sweeps.outputs import describe
from c3sim.sweeps.plan import FORMAT
from c3sim.sweeps.points import models_of
from c3sim.sweeps.search import Found
from c3sim.sweeps.store import results_schema, write_table


def write_designs(found: Found, path: Path) -> None:
    """A row for each design in the order tried: ``point``, knobs, outputs, ``error``, and
    ``on_front``, 1 or 0.

    ``scenario`` is the only one, or ``mean of N``: outputs are means over the scenarios.
    """
    import pyarrow as pa

    study, setup = found.loaded.study, found.setup
    knobs = [knob for knob in found.knobs if knob.path != "strategy"]
    names = list(setup.workloads)
    scenario = names[0] if len(names) == 1 else f"mean of {len(names)}"
    front = set(found.front)
    rows = [
        {
            "point": number,
            **{
                knob.path: value
                if knob.numeric or value is None or isinstance(value, str)
                else json.dumps(value)
                for knob, (_, value) in zip(knobs, settings, strict=True)
            },
            "scenario": scenario,
            **row,
            "on_front": float(number in front),
        }
        for number, (settings, row) in enumerate(zip(found.settings, found.rows, strict=True))
    ]
    outputs = (*setup.outputs, "on_front")
    better = {name: "higher" if more else "lower" for name, more in found.objectives.items()}
    about = {
        "version": FORMAT,
        "study": {
            **study.model_dump(mode="json", by_alias=True, exclude={"published"}),
            "paths": [knob.path for knob in knobs],
            "outputs": list(setup.outputs),
            "models": models_of(setup),
        },
        "node": setup.node.name,
        "objectives": {
            name: "maximise" if more else "minimise" for name, more in found.objectives.items()
        },
        "axes": {
            knob.path: {
                "unit": knob.unit,
                "label": " ".join(knob.path.replace("_", " ").split(".")[-2:]),
            }
            for knob in knobs
        },
        "outputs": {
            name: describe(name) | ({"better": better[name]} if name in better else {})
            for name in outputs
        },
    }
    schema = results_schema({knob.path: knob.numeric for knob in knobs}, outputs, about)
    write_table(pa.Table.from_pylist(rows, schema=schema), path)
