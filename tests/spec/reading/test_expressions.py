"""Expressions of constraints and costs: arithmetic over paths, and nothing else."""

import pytest

from c3sim.errors import InputError
from c3sim.spec.reading.expressions import parse_expression

VALUES = {
    "hw.sdma.engines": 16,
    "gpu.dma_engines.bandwidth": 50e9,
    "task.my-gather.size": 2.0**20,
    "strategy": "conccl",
    "n": 1,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hw.sdma.engines * gpu.dma_engines.bandwidth / 1e9", 800.0),
        ("hw.sdma.engines * gpu.dma_engines.bandwidth <= 800 GB/s", True),  # a unit: 800e9
        ("task.my-gather.size == 1 MiB", True),  # a hyphen between letters belongs to the name
        ("n - 1", 0.0),
        ("n-1", 0.0),
        ("strategy == 'conccl' or hw.sdma.engines == 8", True),
        ("strategy in ['base', 'sp']", False),
        ("not strategy in ['a-b.c-d', '4 GB']", True),  # quoted words stay as they are
        ("1 <= n < 3", True),
        ("2 if n > 1 else 3", 3.0),
        ("max(n, 2) + log2(8) - sqrt(4)", 3.0),
        ("7 // 2 + 7 % 2 + 2 ** 3", 12.0),
        ("-n + +n", 0.0),
    ],
)
def test_what_it_is_worth(text, value):
    assert parse_expression(text).value(VALUES.__getitem__) == value


def test_the_names_it_asks_for():
    expression = parse_expression("task.my-gather.size / n + n")
    assert expression.names == ("task.my-gather.size", "n")


@pytest.mark.parametrize(
    ("text", "message"),
    [("n" * 2000, "an expression of 2000 characters"), ("(" * 900 + ")", "is no expression")],
)
def test_what_is_refused_before_anything_is_computed(text, message):
    with pytest.raises(InputError) as caught:
        parse_expression(text)
    assert message in str(caught.value)


def test_a_cost_is_a_number():
    with pytest.raises(InputError, match="must be a finite number"):
        parse_expression("n == 1").number(VALUES.__getitem__)
