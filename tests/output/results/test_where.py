"""Rows picked by conditions."""

import pytest
from chart_case import table

from c3sim.errors import InputError
from c3sim.output.results.table import select


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("strategy=conccl", 6),
        ("strategy = base, conccl", 12),
        ("strategy!=conccl", 6),
        ("gpu.dma_engines.count=4", 4),
        ("gpu.dma_engines.count=2,8", 8),
        ("gpu.dma_engines.count!=2", 8),
        ("links.bandwidth=64 GB/s", 6),
        ("links.bandwidth>40 GB/s", 6),
        ("links.bandwidth>=32e9", 12),
        ("fraction_of_ideal>50 %", 2),  # conccl with 8 engines, at both bandwidths
        (
            "wall_s<=1 ms",
            7,
            # base at 64 GB/s: 3; conccl, 128 / (b n) ms: 2 engines 1, 4 engines 1 (1 failed),
            # 8 engines 2
        ),
    ],
)
def test_conditions(condition, count):
    assert len(select(table(), [condition])) == count


def test_conditions_add_up():
    assert len(select(table(), ["strategy=conccl", "gpu.dma_engines.count<8"])) == 4


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("strategy", "is not a condition"),
        ("strategie=base", "did you mean 'strategy'"),
        ("strategy=sp", "leaves no points; strategy has base, conccl"),
        ("links.bandwidth>=100 GB/s", "leaves no points; links.bandwidth has 32 GB/s, 64 GB/s"),
        ("links.bandwidth=fast", "is not a quantity"),
        ("gpu.dma_engines.count=four", "is not a number"),
        ("strategy<base", "compares one number"),
    ],
)
def test_mistakes_are_told_in_one_line(condition, message):
    with pytest.raises(InputError, match=message) as caught:
        select(table(), [condition])
    assert str(caught.value).startswith("--where: ") and "\n" not in str(caught.value)
