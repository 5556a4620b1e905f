"""The steps of a plan in order: one that fails does not stop the others, an interrupt ends the
running one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from c3sim.errors import InputError
from c3sim.kit.layout import add_row, make_table, show, stack
from c3sim.kit.text import size

from .clocks import core_clock
from .plan import Plan, Step
from .recorded import recall
from .step import Outcome, Setting, run_step, written_by

if TYPE_CHECKING:
    from rich.console import Console


class Watcher(Protocol):
    """Shows the progress of a campaign."""

    def begin(self, number: int, total: int, step: Step) -> None: ...

    def tell(self, records: int, last: str) -> None: ...

    def end(self, number: int, total: int, outcome: Outcome) -> None: ...


def prepare(steps: Sequence[Step], out: Path, replace: bool) -> None:
    """Create the folder.

    Raises InputError: it cannot be created, or records of an earlier run would be lost.
    """
    files = (written_by(step, out)[kind] for step in steps for kind in ("jsonl", "part"))
    there = [path for path in files if path.exists()]
    if there and not replace:
        raise InputError(
            (
                f"holds records of an earlier run ({there[0].name}); give another folder "
                "for a repeat, or --replace"
            ),
            file=str(out),
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot be created: {reason}; must be a folder to write to", "--out", str(out)
        ) from None


def run_steps(
    steps: Sequence[Step], setting: Setting, gpus: int | None, watcher: Watcher
) -> list[Outcome]:
    """An outcome for each step. *gpus*: how many there are, None where it is not known. Raises
    InputError (files).
    """
    done: list[Outcome] = []
    with _terminable():
        for number, step in enumerate(steps, 1):
            watcher.begin(number, len(steps), step)
            if done and done[-1].interrupted:
                outcome = Outcome(
                    step=step, result="not run", message="interrupted before", interrupted=True
                )
            elif gpus is not None and step.gpus > gpus:
                outcome = Outcome(
                    step=step, result="skipped", message=f"needs {step.gpus} GPUs, there are {gpus}"
                )
            else:
                outcome = _at_its_clock(step, setting, watcher)
            done.append(outcome)
            watcher.end(number, len(steps), outcome)
    return done


def _at_its_clock(step: Step, setting: Setting, watcher: Watcher) -> Outcome:
    """Run *step* at the core clock that it asks for; skipped where that cannot be set, or where an
    earlier run did not come to it.
    """
    if setting.recorded is not None and recall(setting.recorded, f"{step.name}.jsonl") is None:
        return Outcome(step=step, result="skipped", message="not in the earlier run")
    mhz = None if setting.recorded is not None else step.core_clock_mhz
    if mhz is not None and not setting.set_clocks:
        reason = f"runs at {mhz} MHz; needs --set-clocks, and the right to set clocks"
        return Outcome(step=step, result="skipped", message=reason)
    with core_clock(mhz) as failed:
        if failed:
            return Outcome(step=step, result="skipped", message=failed)
        return run_step(step, setting, watcher.tell)


def to_dict(outcome: Outcome) -> dict[str, Any]:
    """Plain data for ``--json``."""
    step = outcome.step
    return {
        "step": step.name,
        "suite": step.suite_name,
        "role": step.role,
        "result": outcome.result,
        "records": outcome.records,
        "rejected": outcome.rejected,
        "seconds": round(outcome.seconds, 3),
        "exit_code": outcome.code,
        "message": outcome.message,
        "files": list(outcome.files),
    }


@contextmanager
def _terminable() -> Iterator[None]:
    """A request to end (SIGTERM) is an interrupt: no process of the probe is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# Plans, the machine and results of a campaign on a terminal.


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
