"""Text in, SI floats out; and back for display."""

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.errors import InputError
from c3sim.spec import units
from c3sim.spec.units import UNIT_EXAMPLES, format_si, parse_quantity


@pytest.mark.parametrize(
    ("text", "si", "value"),
    [
        ("48 GB/s", "B/s", 48e9),  # decimal giga
        ("256 MiB", "B", 256 * 2**20),  # binary mega
        ("1 kB", "B", 1000),
        ("1 KiB", "B", 1024),
        ("2.1 GHz", "Hz", 2.1e9),
        ("2.5 us", "s", 2.5e-6),
        ("2.5 µs", "s", 2.5e-6),
        ("60 pJ/B", "J/B", 60e-12),
        ("0.6 pJ/flop", "J/flop", 0.6e-12),
        ("128 B/cycle", "B/cycle", 128),
        ("750 W", "W", 750),
        ("7.5e2 W", "W", 750),
        ("896MiB", "B", 896 * 2**20),  # the space is optional
        ("-1 us", "s", -1e-6),  # the sign is the field's business
    ],
)
def test_a_quantity_is_read_in_si(text, si, value):
    assert parse_quantity(text, si) == value


@given(st.integers(1, 10**6))
def test_spelling_does_not_change_the_last_bit(number):
    """The law units_do_not_matter holds to the bit, because conversion rounds once."""
    assert parse_quantity(f"{number} GB/s", "B/s") == parse_quantity(f"{number}000 MB/s", "B/s")
    assert parse_quantity(f"{number} ns", "s") == parse_quantity(f"{number}e-3 us", "s")


def test_an_absurd_exponent_is_refused_at_once():
    """An exact power of ten with a billion digits would hang."""
    with pytest.raises(InputError, match="unknown unit"):
        parse_quantity("1e-999999999 s", "s")
    with pytest.raises(InputError, match="unknown unit"):
        parse_quantity("1 s*9^999999999", "s")


def test_a_number_of_any_length_is_read_or_refused_in_words_of_its_own():
    """Python reads no whole number of more than 4,300 digits, and says so in words of its own."""
    with pytest.raises(InputError, match="is not finite; write a finite number"):
        parse_quantity("9" * 5000 + " MiB", "B")
    assert parse_quantity("0." + "0" * 5000 + "1 s", "s") == 0.0
    assert parse_quantity("2." + "0" * 5000 + " us", "s") == 2e-6


def test_no_text_raises_anything_else():
    """Any letters, and those that quantities are made of."""
    dice = Random(2)
    for _ in range(200):
        letters = [*"0123456789.eE+-*/ ()µ²½\n", "GB/s", *map(chr, dice.sample(range(0xD800), 9))]
        text = "".join(dice.choices(letters, k=dice.randrange(20)))
        try:
            assert math.isfinite(parse_quantity(text, "B/s"))
        except InputError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.23e-3, "s", "1.23 ms"),
        (999.96e-6, "s", "1.00 ms"),  # rounding reaches the next prefix
        (48e9, "B/s", "48.0 GB/s"),
        (256 * 2**20, "B", "256 MiB"),  # a whole binary multiple
        (1536 * 2**20, "B", "1536 MiB"),
        (1000, "B", "1000 B"),
        (4097, "B", "4.10 kB"),  # not a multiple of anything: decimal
        (64, "B/cycle", "64.0 B/cycle"),  # per cycle takes no prefix
        (50e-12, "J/B", "50.0 pJ/B"),
        (750, "W", "750 W"),
        (0, "s", "0 s"),
        (14, "", "14"),
        (0.87, "", "0.87"),
    ],
)
def test_values_are_shown_with_three_digits(value, unit, text):
    assert format_si(value, unit) == text


@pytest.mark.parametrize("si", UNIT_EXAMPLES)
def test_a_prefix_scales_as_pint_says(si):
    """Short prefixes before the SI unit are read without pint; to the last bit as it reads them."""
    pint = units._registry()
    for prefix, scale in units._SCALES.items():
        one = pint.Quantity(Fraction(1), pint.parse_units(prefix + si))
        assert one.to(si).magnitude == scale
