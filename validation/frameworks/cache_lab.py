"""Hits and traffic of the kernels of cache_lab.cu: by the cache laboratory, and by counters.

    python -m validation.frameworks.cache_lab predict NODE CASES > predicted.csv
    python -m validation.frameworks.cache_lab compare predicted.csv counters.csv

*counters.csv* is what Nsight Compute writes for ``cache_lab CASES``, a line a launch: each case
cold, then at once again. Printed are prediction and count; of L2 hits two counts: of the loads that
reach L2 what memory does not read, which is compared, and what the nearer half of L2 finds.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from c3sim.cachelab.laboratory import Counts, Laboratory
from c3sim.cachelab.machine import machine_of
from c3sim.cachelab.nests import Program, product, program_of
from c3sim.cachelab.stream import Memory
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.study import Application

STATES = ("cold", "warm")
COLUMNS = ("case", "state", "l1_hits", "l2_hits", "read", "written", "seconds")
SECTOR = 32  # bytes
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3}
TILE = 64
POLICY = {"plain": "cache_rw", "cg": "past_l1", "cs": "past_l1"}
_READ = "lts__t_sectors_srcunit_tex_op_read"
READ, HIT = f"{_READ}.sum", f"{_READ}_lookup_hit.sum"
_LOAD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
L1, L1_HIT = f"{_LOAD}.sum", f"{_LOAD}_lookup_hit.sum"


def cases(path: str) -> Iterator[tuple[str, str, str, list[int]]]:
    """Name, kernel, load, and numbers of each case."""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, kernel, load, *numbers = line.split()
            yield name, kernel, load, [int(each) for each in numbers]


def program(kernel: str, v: list[int]) -> Program:
    """The loop nest of *kernel*, as cache_lab.cu has it."""
    if kernel.startswith("product"):
        m, n, k = v
        memory = Memory()
        a, b, c = (memory.place(4 * size) for size in (m * k, n * k, m * n))
        rows = kernel == "product"
        tile = (TILE, TILE)
        return Program.of(product(m, n, k, 4, bases=(a, b, c), b_rows=rows, tile=tile))
    kind, _, backward = kernel.partition("-")
    shape: dict[str, int] = {
        "activation": lambda: {"n": 1, "c": 1, "h": 1, "w": v[0]},
        "softmax": lambda: {"n": v[0], "c": v[1], "h": 1, "w": 1},
        "batch_norm": lambda: {"n": v[0], "c": v[1], "h": v[2], "w": 1},
        "lrn": lambda: {"n": v[0], "c": v[1], "h": v[2], "w": 1, "window": 5},
        "pooling": lambda: {"n": v[0], "c": 1, "h": v[1], "w": v[2], "window": 3, "stride": 2},
    }[kind]()
    return program_of(Application(kind=kind, backward=bool(backward), shape=shape, source="probe"))


def rates(counts: Counts) -> dict[str, float]:
    reached = counts.loaded - counts.l1
    return {
        "l1_hits": counts.l1 / counts.loaded,
        "l2_hits": counts.l2 / reached if reached else 0.0,
        "read": counts.read,
        "written": counts.written,
        "seconds": counts.seconds,
    }


def predict(node: str, path: str) -> None:
    machine = machine_of(load_hardware(node).node)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, kernel, load, numbers in cases(path):
        cold = program(kernel, numbers)
        for state, each in zip(STATES, (cold, cold.warm()), strict=True):
            found = rates(Laboratory(each, machine).counts(POLICY[load]))
            writer.writerow([name, state, *(f"{found[column]:.6g}" for column in COLUMNS[2:])])
            sys.stdout.flush()


def counted(path: str) -> Iterator[dict[str, float]]:
    """Counters of each launch, in SI."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(line for line in file if line.startswith('"')))
    names, units = rows[0], rows[1]
    for row in rows[2:]:
        found = {}
        for name, unit, value in zip(names, units, row, strict=True):
            if name.startswith(("dram__", "lts__", "l1tex__", "gpu__")):
                found[name] = float(value.replace(",", "")) * UNITS.get(unit, 1.0)
        yield found


def compare(predicted: str, counters: str) -> None:
    """Print both sides of every launch, and the errors."""
    with open(predicted, encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    off: dict[str, list[float]] = {"L2 hits": [], "DRAM bytes": []}
    print(f"{'case':32}{'':6}{'L1 hits %':>14}{'L2 hits %':>21}{'read MB':>18}{'written MB':>18}")
    for mine, its in zip(ours, counted(counters), strict=True):
        l1, l2 = its[L1_HIT] / its[L1], its[HIT] / its[READ]
        read, written = its["dram__bytes_read.sum"], its["dram__bytes_write.sum"]
        served = max(0.0, 1.0 - read / (SECTOR * its[READ]))
        number = {key: float(mine[key]) for key in COLUMNS[2:]}
        off["L2 hits"].append(abs(number["l2_hits"] - served))
        moved = number["read"] + number["written"]
        off["DRAM bytes"].append(abs(moved / (read + written) - 1.0))
        print(
            f"{mine['case']:32}{mine['state']:6}{100 * number['l1_hits']:7.1f}{100 * l1:7.1f}"
            f"{100 * number['l2_hits']:7.1f}{100 * served:7.1f}{100 * l2:7.1f}"
            f"{number['read'] / 1e6:9.1f}{read / 1e6:9.1f}"
            f"{number['written'] / 1e6:9.1f}{written / 1e6:9.1f}"
        )
    for (name, errors), bound in zip(off.items(), (0.05, 0.10), strict=True):
        unit, within = "%" if name == "DRAM bytes" else "points", sum(e <= bound for e in errors)
        shown = f"median {100 * median(errors):.1f}, worst {100 * max(errors):.0f} {unit}"
        print(f"{name}: {shown}; {within} of {len(errors)} within {100 * bound:.0f}")


def main(arguments: list[str]) -> None:
    what = {"predict": predict, "compare": compare}[arguments[0]]
    what(*arguments[1:3])


if __name__ == "__main__":
    main(sys.argv[1:])
