"""Edits of YAML texts: what is named changes, everything else stays."""

from __future__ import annotations

import pytest

from c3sim.errors import InputError
from c3sim.spec.reading.yaml_edit import apply, entries_of, flow, quoted, replace_values, word

TEXT = """\
# a comment
a: {b: 1, c: "two"}  # beside
d:
  e: 3
  f:
    g: 4  # of g
# at the end
"""


def test_single_values_are_replaced_in_place():
    changed = replace_values(TEXT, {("a", "b"): "7 us", ("d", "f", "g"): "8"})
    assert changed == TEXT.replace("b: 1", "b: 7 us").replace("g: 4", "g: 8")


@pytest.mark.parametrize("keys", [("a",), ("a", "x"), ("d", "e", "x")])
def test_what_is_no_single_value_cannot_be_replaced(keys):
    with pytest.raises(InputError, match="is not a single value in the file"):
        replace_values(TEXT, {keys: "1"})


def test_an_entry_ends_with_its_last_value():
    """A block mapping ends before the comments that follow it."""
    entry = entries_of(TEXT)["d", "f"]
    assert apply(TEXT, [entry.replace("h: 5")]) == TEXT.replace("f:\n    g: 4", "h: 5")
    assert apply(TEXT, [entry.replace_key("k")]) == TEXT.replace("f:", "k:")


def test_new_text_is_folded_and_quoted_where_it_has_to_be():
    assert quoted('say "a" \\ b', 2) == r'"say \"a\" \\ b"'
    assert len(quoted("word " * 60, 4).splitlines()) == 3
    assert flow({"a": "[1 us, 2 us]", "b": "x"}, 2) == "{a: [1 us, 2 us], b: x}"
    # an entry is never broken inside
    assert all("[1 us, 2 us]" in line for line in flow({"a" * 60: "[1 us, 2 us]"}, 60).split("\n"))
    # a hash of digits only would be read as a number
    assert (word("b621"), word("1234"), word("12e4")) == ("b621", '"1234"', '"12e4"')
