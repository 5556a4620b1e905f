"""Whatever happens to a log: an importer answers, and what it answers with can be loaded."""

from __future__ import annotations

import gzip
import random

import pytest

from c3sim.errors import InputError
from c3sim.importers import Target, find_format, import_file
from c3sim.spec.record import Record

FIXTURES = [
    "nccl_all_gather_h200x4.txt",
    "nccl_all_gather_h200x4.json",
    "rccl_all_reduce_from_documentation.csv",
    "rccl_all_reduce_from_documentation.json",
    "rccl_all_reduce_A1_from_documentation.txt",
    "transferbench_a2a_h200x4.txt",
    "transferbench_p2p_h200x4.csv",
    "transferbench_p2p_h200x4.txt",
    "transferbench_scaling_h200x4.txt",
    "transferbench_tests_from_documentation.txt",
    "transferbench_tests_from_documentation.csv",
    "hipblaslt_bench_from_documentation.log",
    "rocblas_bench_from_documentation.log",
    "rocprofv3_kernel_trace_from_documentation.csv",
    "kineto_h200x4_rank0.json.gz",
]


@pytest.mark.parametrize("name", FIXTURES)
def test_damaged_logs_never_raise_and_give_valid_records(name, data, given):
    raw = (data / name).read_bytes()
    whole = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    importer = find_format("auto", whole, name)
    dice = random.Random(name)
    rounds = 12 if name.startswith("kineto") else 60
    for _ in range(rounds):
        place = dice.randrange(len(whole))
        kind = dice.randrange(3)
        if kind == 0:
            damaged = whole[:place]
        elif kind == 1:
            damaged = whole[:place] + dice.choice('x-,|\n 0:{}"') + whole[place + 1 :]
        else:
            damaged = whole[:place] + whole[place + dice.randrange(1, 200) :]
        try:
            result = importer.read(damaged, given(gpus=4))
        except InputError as error:
            pytest.fail(f"raised {error}")
        for record in result.records:
            Record.model_validate(record)


@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("other", FIXTURES[:3] + FIXTURES[5:7] + FIXTURES[-3:])
def test_a_log_read_as_another_format_is_partial_not_a_traceback(name, other, data, given):
    texts = []
    for each in (name, other):
        raw = (data / each).read_bytes()
        texts.append((gzip.decompress(raw) if each.endswith(".gz") else raw).decode())
    mine, importer = find_format("auto", texts[0], name), find_format("auto", texts[1], other)
    if mine.name != importer.name:
        result = importer.read(texts[0], given())
        assert not result.records and result.partial


@pytest.mark.parametrize("name", FIXTURES[2:6:3])
def test_a_number_of_thousands_of_digits_is_refused_by_its_line(name, data, tmp_path):
    """Python reads no whole number of more than 4,300 digits."""
    lines = (data / name).read_text().splitlines()
    lines[1] += " " + "9" * 5000
    file = tmp_path / name
    file.write_text("\n".join(lines))
    target = Target(node="teaching-4", role="validation", suite="", assume={}, known=None)
    with pytest.raises(InputError, match=rf"{name}:2: a number of more than 1000 digits"):
        import_file(file, "auto", target)
