"""Plans, the machine and results of a campaign on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.output.kit.layout import add_row, make_table, show, stack
from c3sim.output.kit.text import size

from .plan import Plan
from .step import Outcome

if TYPE_CHECKING:
    from rich.console import Console


def print_plans(plans: Iterable[Plan], console: Console | None = None) -> None:
    """A table of plans, then the steps of each."""
    plans = list(plans)
    table = make_table(["plan", "what it measures"], ["steps", "GPUs", "minutes"])
    for plan in plans:
        add_row(
            table,
            plan.name,
            plan.description,
            str(len(plan.steps)),
            str(plan.gpus),
            f"about {plan.minutes:g}",
        )
    parts: list[Any] = [table]
    for plan in plans:
        steps = make_table([f"step of {plan.name}", "suite", "role", "what it measures"], ["GPUs"])
        for step in plan.steps:
            add_row(steps, step.name, step.suite_name, step.role, step.what, str(step.gpus))
        parts += ["", steps]
    show(stack("run one with: c3sim probe run PLAN --node NODE --out FOLDER", *parts), console)


def plans_dict(plans: Iterable[Plan]) -> list[dict[str, Any]]:
    """The same as plain data."""
    return [
        {
            "name": plan.name,
            "description": plan.description,
            "minutes": plan.minutes,
            "gpus": plan.gpus,
            "steps": [
                {
                    "name": step.name,
                    "suite": step.suite_name,
                    "role": step.role,
                    "gpus": step.gpus,
                    "what": step.what,
                    "command": step.words,
                }
                for step in plan.steps
            ],
        }
        for plan in plans
    ]


def print_outcomes(outcomes: Sequence[Outcome], console: Console | None = None) -> None:
    """A row per step."""
    table = make_table(["step", "result"], ["records", "time (s)"])
    for each in outcomes:
        said = f"{each.result}: {each.message}" if each.message else each.result
        add_row(table, each.step.name, said, str(each.records), f"{each.seconds:.1f}")
    records = sum(each.records for each in outcomes)
    fine = sum(each.result == "ok" for each in outcomes)
    show(stack(f"{fine} of {len(outcomes)} steps went well, {records} records", table), console)


def print_machine(data: dict[str, Any], console: Console | None = None) -> None:
    """The GPUs, then what else is known, a line each."""
    table = make_table(["GPU", "PCI"], ["compute units", "memory", "L2"])
    for gpu in data["gpus"]:
        sizes = [
            size(gpu[key]) if isinstance(gpu.get(key), int | float) else "-"
            for key in ("memory_bytes", "l2_bytes")
        ]
        add_row(
            table,
            str(gpu.get("name", "-")),
            str(gpu.get("pci", "-")),
            str(gpu.get("compute_units", "-")),
            *sizes,
        )
    other = [
        f"{key}: {value}"
        for key, value in data.items()
        if isinstance(value, str | int | float) and value != ""
    ]
    libraries = data.get("libraries")
    if isinstance(libraries, dict):
        other += [f"{name}: {version}" for name, version in libraries.items()]
    show(stack(f"{len(data['gpus'])} GPUs", table, *other), console)
