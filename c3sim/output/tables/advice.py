"""The table of ``advise``: knob by knob, what it gains; below it what to set, and what it costs.

Settings are paths of 50 characters and more, which cells of a table would break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, stack

if TYPE_CHECKING:
    from c3sim.experiments.advice import Advice, Advices


def advice_table(found: Advices) -> Any:
    table = make_table(["knob", "verdict"], ["gain, %", "5 to 95 %", "wall, ms"])
    every = [*found.each, *([found.together] if found.together else [])]
    for each in every:
        verdict = "take it" if each.good else "leave it"
        wall = f"{1e3 * each.wall_s:.3f}"
        add_row(table, each.knob, verdict, f"{100 * each.gain:.1f}", _band(each), wall)
    lines = [f"as it is: {1e3 * found.wall_s:.3f} ms{_draws(every)}"]
    lines += [f"{each.knob}: {each.setting}" for each in every]
    lines += [f"{each.knob} costs: {each.cost}" for each in found.each if each.good]
    if not any(each.good for each in every):
        lines.append("leave it as it is: no gain is sure")
    lines += [f"not tried: {name}: {why}" for name, why in found.left_out.items()]
    return stack(f"{found.workload} on {found.node}", table, *lines)


def _draws(every: list[Advice]) -> str:
    """Number of draws of the bands, in words; empty where there are none."""
    counts = sorted({each.draws for each in every if each.draws})
    if not counts:
        return ""
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"; bands: this machine and {several} draws of what is uncertain, common to both runs"


def _band(each: Advice) -> str:
    if each.low is None or each.high is None:
        return "-"
    return f"{100 * each.low:.1f} to {100 * each.high:.1f}"
