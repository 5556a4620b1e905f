"""Kernels of a softmax: which one a row gets, and what that comes to on an H200."""

from __future__ import annotations

import csv

import pytest
from places import ROOT

import c3sim
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.softmax_kernels import RowKernel, row_kernel
from c3sim.spec.reading.loading import load_hardware
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Workload

NODE = load_hardware("h200-1").node
ON = OperatorSet.on(NODE.gpu, "bf16")
UNITS = NODE.gpu.compute_units
MEASURED = ROOT / "validation/data/kernels/h200-softmax.csv"


def kernel(rows: int, width: int, element: float, *, backward: bool = False) -> Kernel:
    read = 2 if backward else 1
    return ON.over_rows("s", float(rows), width, element, read, 1, backward=backward).task


def alone_us(task: Kernel) -> float:
    said = {**task.model_dump(mode="json", exclude_defaults=True), "kind": "kernel"}
    named = {"schema": 1, "name": "softmax", "tasks": {"s": said}}
    return 1e6 * c3sim.run(Workload.model_validate(named), node=NODE).tasks["s"].isolated_s


def test_grids_are_those_that_a_profiler_shows() -> None:
    """All 432 calls: threads of a workgroup, and how many rows it has (two of a warp's rows of 128
    numbers count as one here).
    """
    with MEASURED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        element = 2 if row["dtype"] == "bfloat16" else 4
        width, count = int(row["width"]), int(row["rows"])
        found = row_kernel(ON.parts, width, element, backward="backward" in row["op"])
        assert found.threads == int(row["threads"]), row
        if width > 128:
            assert -(-count // found.rows) == int(row["workgroups"]), row


@pytest.mark.parametrize(
    ("width", "residents"),
    [  # 65536 registers and 2048 threads: 1024 threads of 32 registers fit twice, of 40 once;
        # 128 of 48 ten times (6144 each), of 80 six times
        *((6144, 2), (7168, 1), (9216, 1), (12288, 2), (1024, 10), (2048, 6))
    ],
)
def test_registers_say_how_many_share_a_unit(width: int, residents: int) -> None:
    assert row_kernel(ON.parts, width, 2, backward=False).per_unit(UNITS) == residents


@pytest.mark.parametrize(
    ("width", "residents"),
    [  # 72 registers where softmax has 48, 128 for 80; 32 of each of 1024 threads to 7168 numbers
        *((1024, 7), (2048, 4), (512, 12), (6144, 2), (7168, 2), (8192, 1))
    ],
)
def test_log_softmax_has_registers_of_its_own(width: int, residents: int) -> None:
    assert row_kernel(ON.parts, width, 2, backward=False, log=True).per_unit(UNITS) == residents


def test_log_softmax_of_16_bit_has_one_exponential_less() -> None:
    """27 shapes of 192 MiB: the worst was 62 % long with the numbers of softmax, and now is 22,
    launch included.
    """
    with MEASURED.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["op"] == "log_softmax"]
    errors = []
    for row in rows:
        count, width = int(row["rows"]), int(row["width"])
        if row["dtype"] == "bfloat16" and 2 * count * width > 100 << 20:
            task = ON.over_rows("s", float(count), width, 2, 1, 1, log=True).task
            assert isinstance(task, Kernel)
            errors.append(abs(alone_us(task) / float(row["us"]) - 1))
    assert len(errors) == 27 and max(errors) < 0.25 and sorted(errors)[13] < 0.08


def test_threads_without_a_number_pass_through_its_instructions() -> None:
    """2304 of 3 x 1024 places are filled, and cost what 3072 do."""
    few, many = (row_kernel(ON.parts, width, 2, backward=False) for width in (2304, 3072))
    assert few == many == RowKernel(3072 * ON.parts.softmax_kernels.kept_flops, 1024, 32)


def test_rows_beyond_shared_memory_are_read_again() -> None:
    """16384 numbers of 2 bytes are less than 48 KiB: read once. Of 4 bytes: two rows a unit, read
    three times and written in the last pass, so 2 x (64 + 64 / 3) KiB lie between two uses;
    backward they are read twice. 30592 of 2 bytes are 3 vectors of 8 for each of 1024 threads, and
    6016 left over, at 2.2 times.
    """
    short, long = (kernel(100, 16384, element) for element in (2, 4))
    assert short.accesses == () and short.read == 100 * 32768
    assert long.accesses[0].again == 2
    assert long.accesses[0].near == pytest.approx(2 * 65536 * (1 + 1 / 3))
    assert kernel(100, 16384, 4, backward=True).accesses[0].again == 1
    assert kernel(1, 30592, 2).flops / ON.parts.softmax_flops == pytest.approx(30592 + 1.2 * 6016)


@pytest.mark.parametrize(
    ("rows", "width", "backward", "us", "within"),
    [  # 192 MiB of 16 bit numbers (h200-softmax.csv). The first three set numbers of the model
        *((98304, 1024, False, 155.5, 0.03), (24576, 4096, False, 317.9, 0.04)),
        *((49152, 2048, True, 139.6, 0.06), (12288, 8192, False, 387.6, 0.04)),
        *((14043, 7168, False, 411.8, 0.03), (16384, 6144, False, 309.4, 0.04)),
        *((8192, 12288, True, 145.2, 0.04), (3072, 32768, False, 186.3, 0.14)),
    ],
)
def test_times_are_those_measured(
    rows: int, width: int, backward: bool, us: float, within: float
) -> None:
    assert alone_us(kernel(rows, width, 2, backward=backward)) == pytest.approx(us, rel=within)
