"""Hits and traffic of the kernels of cache_lab.cu: by the cache laboratory, and by counters.

    python -m validation.frameworks.cache_lab predict NODE CASES > predicted.csv
    python -m validation.frameworks.cache_lab compare predicted.csv counters.csv

*counters.csv* is what Nsight Compute writes for ``cache_lab CASES``, a line a launch: each case
cold, then at once again. Printed are prediction and count; of L2 hits three counts: of the loads
that reach L2 what memory does not read; the same of those that leave L1, some of which are joined
on their way to L2; both are compared; and what the nearer half of L2 finds.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from c3sim.cachelab.laboratory import Counts, Laboratory
from c3sim.cachelab.machine import machine_of
from c3sim.cachelab.nests import Program, product, program_of
from c3sim.cachelab.stream import Launch, Memory
from c3sim.spec.reading.loading import load_node
from c3sim.spec.study import Application

STATES = ("cold", "warm")
COLUMNS = ("case", "state", "l1_hits", "l2_hits", "past_l1", "read", "written", "seconds")
SECTOR = 32  # bytes
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3}
TILE = 64
#: Workgroups of a SM where registers (40, 48, 55 as compiled) leave room for fewer than threads do.
RESIDENTS = {"softmax": 6, "product": 5, "product-transposed": 4}
#: Time of its FLOP over that at the peak: for 16 multiply-adds a thread loads 8 numbers from shared
#: memory, which gives a warp one a cycle where four warps multiply.
PACE = {"product": 2.0, "product-transposed": 2.0}
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
    """The loop nest of *kernel*, as cache_lab.cu has it, with as many workgroups on a SM."""
    found = _nest(kernel, v)
    for launch in found.launches:
        launch.residents = RESIDENTS.get(kernel, 0)
        launch.flops *= PACE.get(kernel, 1.0)
    return found


def _nest(kernel: str, v: list[int]) -> Program:
    if kernel in ("read", "read-fixed", "fill"):
        pages = v[0] // 1024
        launch = Launch(kernel, pages, float(v[0]))
        begin = np.arange(pages) * 4096
        launch.touch(np.arange(pages), 0, begin, 4096, store=kernel == "fill")
        return Program.of(launch)
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
    past = counts.loaded - counts.l1
    reached = past - counts.joined
    return {
        "l1_hits": counts.l1 / counts.loaded if counts.loaded else 0.0,
        "l2_hits": max(0.0, 1.0 - counts.read / reached) if reached else 0.0,
        "past_l1": max(0.0, 1.0 - counts.read / past) if past else 0.0,
        "read": counts.read,
        "written": counts.written,
        "seconds": counts.seconds,
    }


def predict(node: str, path: str) -> None:
    machine = machine_of(load_node(node))
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


BOUNDS = {"L2 hits": 0.05, "hits past L1": 0.05, "DRAM bytes": 0.10}


class Both(NamedTuple):
    """A launch: predicted and counted rates, and by how much they differ."""

    case: str
    state: str
    ours: dict[str, float]
    counted: dict[str, float]
    off: dict[str, float]


def _found(read: float, loads: float) -> float:
    """Part of *loads* sectors that memory, of which so many bytes are *read*, does not read."""
    return max(0.0, 1.0 - read / (SECTOR * loads)) if loads else 0.0


def both(predicted: str, counters: str) -> list[Both]:
    """Every launch. L2 hits are loads that reach L2 and that memory does not read; *past_l1*: the
    same of those that leave L1; *near*: those that the nearer half of L2 finds.
    """
    with open(predicted, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = []
    for row, its in zip(rows, counted(counters), strict=True):
        row = {"past_l1": row["l2_hits"]} | row  # plans of before joined loads were followed
        ours = {name: float(row[name]) for name in COLUMNS[2:]}
        read, written = its["dram__bytes_read.sum"], its["dram__bytes_write.sum"]
        seen = {
            "l1_hits": its[L1_HIT] / its[L1] if its[L1] else 0.0,
            "l2_hits": _found(read, its[READ]),
            "past_l1": _found(read, its[L1] - its[L1_HIT]),
            "near": its[HIT] / its[READ] if its[READ] else 0.0,
            "read": read,
            "written": written,
        }
        off = {
            "L2 hits": abs(ours["l2_hits"] - seen["l2_hits"]),
            "hits past L1": abs(ours["past_l1"] - seen["past_l1"]),
            "DRAM bytes": abs((ours["read"] + ours["written"]) / (read + written) - 1.0),
        }
        found.append(Both(row["case"], row["state"], ours, seen, off))
    return found


def compare(predicted: str, counters: str) -> None:
    """Print both sides of every launch, and the errors."""
    found = both(predicted, counters)
    print(f"{'case':32}{'':6}{'L1 hits %':>14}{'L2 hits %':>28}{'read MB':>18}{'written MB':>18}")
    for case, state, ours, seen, _ in found:
        hits = f"{100 * ours['l1_hits']:7.1f}{100 * seen['l1_hits']:7.1f}"
        hits += "".join(f"{100 * each:7.1f}" for each in (ours["l2_hits"], seen["l2_hits"]))
        moved = "".join(
            f"{each / 1e6:9.1f}"
            for name in ("read", "written")
            for each in (ours[name], seen[name])
        )
        print(
            f"{case:32}{state:6}{hits}{100 * seen['past_l1']:7.1f}{100 * seen['near']:7.1f}{moved}"
        )
    for name, bound in BOUNDS.items():
        errors = [each.off[name] for each in found]
        unit, within = "%" if name == "DRAM bytes" else "points", sum(e <= bound for e in errors)
        shown = f"median {100 * median(errors):.1f}, worst {100 * max(errors):.0f} {unit}"
        print(f"{name}: {shown}; {within} of {len(errors)} within {100 * bound:.0f}")


def main(arguments: list[str]) -> None:
    what = {"predict": predict, "compare": compare}[arguments[0]]
    what(*arguments[1:3])


if __name__ == "__main__":
    main(sys.argv[1:])
