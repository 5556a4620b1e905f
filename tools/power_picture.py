"""Draws docs/img/power-h200.png, and prints the table of docs/energy.md, from the records of suite
h200_power.

python tools/power_picture.py
"""

from __future__ import annotations

from pathlib import Path

from c3sim.kit.look import INK, colours, panel, save, style
from c3sim.spec.energies import components_of
from c3sim.spec.reading.loading import load_node
from c3sim.spec.record import Record
from c3sim.validation.compare.loops import Loop, measured_loop, predicted_loop
from c3sim.validation.compare.measurements import merge
from c3sim.validation.compare.record_files import PACKAGED, load

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "power-h200.png"
Row = tuple[str, Record, Loop, Loop]  # load, record, measured, predicted


def rows() -> list[Row]:
    """Every load, those that were fitted to first, by measured power."""
    node = load_node("h200-2")
    found = []
    for one in merge(load(sorted((PACKAGED / "h200").glob("power-run*.jsonl")))):
        measured = measured_loop(one.record)
        assert measured is not None  # the suite has nothing else
        load_name = one.record.observed["energy"]["load"]
        found.append((load_name, one.record, measured, predicted_loop(node, one.record.workload)))
    return sorted(found, key=lambda row: (row[1].role, row[2].power_w))


def table(found: list[Row]) -> str:
    """Power, and time and energy of a turn, as Markdown: measured, predicted, error."""
    lines = [
        "| load | measured W | predicted W | error | turn us | error | turn mJ | error |",
        "|---" * 8 + "|",
    ]
    for name, record, measured, predicted in found:
        cells = [f"{name}{'' if record.role == 'validation' else ' *'}"]
        for metric, scale, digits in (("power", 1.0, 0), ("loop_time", 1.0, 0), ("energy", 1e3, 1)):
            value, guess = measured.figures.get(metric), predicted.figures[metric]
            both = ["-"] if value is None else [f"{value * scale:.{digits}f}"]
            both += [f"{guess:.0f}"] if metric == "power" else []
            cells += [*both, "-" if value is None else f"{100 * (guess / value - 1):+.1f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(found: list[Row]) -> None:
    """Predicted power by component, measured power as a mark."""
    from matplotlib.figure import Figure

    names = components_of(load_node("h200-2"))
    with style():
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        axes = figure.add_subplot()
        places, bottom = range(len(found)), [0.0] * len(found)
        for name, colour in sorted(colours(names).items(), key=lambda pair: pair[0] != "idle"):
            watts = [predicted.components.get(name, 0.0) for *_, predicted in found]
            if max(watts) > 1.0:
                axes.bar(places, watts, 0.7, bottom, color=colour, label=names[name])
            bottom = [a + b for a, b in zip(bottom, watts, strict=True)]
        powers = [measured.power_w for _, _, measured, _ in found]
        axes.plot(
            places, powers, "D", color=INK, markerfacecolor="white", markersize=6, label="measured"
        )
        fitted = sum(record.role == "calibration" for _, record, *_ in found)
        axes.axvline(fitted - 0.5, color=INK, linewidth=0.8, linestyle=":")
        axes.text(fitted - 0.6, 740, "fitted to", ha="right")
        axes.text(fitted - 0.4, 740, "held out", ha="left")
        axes.set_xticks(
            places, [name.replace("_", " ") for name, *_ in found], rotation=40, ha="right"
        )
        axes.set_ylim(0, 790)
        panel(axes, "H200: mean power of a load over and over, predicted by component", "W per GPU")
        axes.legend(
            ncols=3, loc="upper left", fontsize=9, frameon=False, bbox_to_anchor=(0.0, 0.94)
        )
        save(figure, PICTURE)


def main() -> None:
    """Both."""
    found = rows()
    print(table(found))
    draw(found)


if __name__ == "__main__":
    main()
