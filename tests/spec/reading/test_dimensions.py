"""Constraints compare like with like: what is let through, and what is told of the rest."""

import pytest

from c3sim.spec.reading.expressions import TRUTH, WORDS, check_constraint, parse_expression

UNITS = {
    "engines": "",
    "rate": "B/s",
    "latency": "s",
    "size": "B",
    "clock": "Hz",
    "power": "W",
    "used": "J",
    "strategy": WORDS,
    "on": TRUTH,
    "channels": None,
}


def check(text):
    check_constraint(parse_expression(text), UNITS.__getitem__, {"strategy": ("base", "conccl")})


@pytest.mark.parametrize(
    "text",
    [
        "rate >= 30 GB/s",
        "engines * rate <= 400 GB/s",
        "size / rate < 1 ms",  # B / (B/s)
        "rate * latency >= 64 KiB and engines > 2",
        "latency > 0",  # nothing is nothing in every unit
        "used / latency <= power * 2",  # J/s are W
        "clock * latency > 100",  # Hz s are a number
        "sqrt(rate * rate) == rate",
        "rate ** 2 < rate * 10 GB/s",
        "max(latency, 2 us) + 1 us <= 10 us",
        "strategy != 'base' or rate == 1 GB/s",
        "strategy in ['base', 'conccl']",
        "on",
        "not on",
        "channels == 4",  # unset now: it cannot be told
        "1 GB/s <= rate < 9 GB/s",
    ],
)
def test_like_with_like(text):
    check(text)
