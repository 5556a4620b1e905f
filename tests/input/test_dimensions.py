"""Constraints compare like with like: what is let through, and what is told of the rest."""

import pytest

from c3sim.errors import InputError
from c3sim.input.expressions import TRUTH, WORDS, check_constraint, parse_expression

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate >= 30 us", "'rate >= 30 us' compares B/s with s"),
        ("rate >= latency", "compares B/s with s"),
        ("rate >= 30", "compares B/s with a number without unit; write a unit, as in '48 GB/s'"),
        ("3 us < engines", "compares s with a number without unit"),
        ("on and rate + latency > 3 GB/s", "adds B/s with s"),
        ("1 < engines < 3 us", "compares a number without unit with s"),
        ("rate * rate > 3 GB/s", "compares B^2 s^-2 with B/s"),
        ("rate == '30 GB/s'", "compares B/s with words"),
        ("rate in [1 GB/s, 2 s]", "compares B/s with s"),
        ("min(rate, latency) > 0", "mixes B/s with s"),
        ("rate", "'rate' is no comparison; write one such as 'links.bandwidth >= 30 GB/s'"),
        ("1", "'1' is no comparison"),
        ("engines > 1 and 1", "is no comparison"),
        ("strategy == 'concl'", "unknown value of strategy 'concl'; did you mean 'conccl'?"),
        (
            "strategy in ['base', 'nosuch']",
            "unknown value of strategy 'nosuch'; allowed: base, conccl",
        ),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        check(text)
    assert message in str(caught.value)
