"""Memory under load: the soft minimum of what is asked and what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.models.memory import felt_beside_posts, load_behind, load_of, memory_given, served_share
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import ARRAYS

GPU = load_node("mi300x-8").gpu


@pytest.mark.parametrize(
    ("asked", "saturation_exponent", "share"),
    [
        (0.0, 2.0, 1.0),  # nobody else: all of it
        (1.0, 1.0, 1 / 2),  # as much as there is, p = 1
        (1.0, 2.0, 2**-0.5),  # p = 2
        (3.0, 1.0, 1 / 4),  # asks for 3 times the capacity: 3/4 of it is given
        (4.0, 300.0, 1 / 4),  # p large: the hard minimum, 1 in all
        (0.5, 300.0, 1.0),
    ],
)
def test_served_share(asked: float, saturation_exponent: float, share: float) -> None:
    assert served_share(asked, saturation_exponent) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(
    ("load", "first", "felt"),
    [
        (2.0, 0.0, 2.0),  # nobody is first
        (2.0, 0.2, 2.5),  # 2 on the 0.8 that are left
        (1.0, 2.0, 20.0),  # more than all is wanted first: a twentieth stays
    ],
)
def test_what_is_served_first_leaves_less(load: float, first: float, felt: float) -> None:
    assert load_behind(load, first) == pytest.approx(felt)


@pytest.mark.parametrize(
    ("links", "load"),
    [
        (0.3, 0.3),  # on slow links it asks for 0.3 and gets that: S(0.3) is 1 / 1.3, no limit
        # asking for 0.6 it would get 0.6 of S(0.6) = 1 / 1.6 and so the 0.6. Without links it asks
        # for 1 and gets 1/2; no more on links, so that S(x) = 1/2: x = 1
        (0.6, 1.0),
        (8.0, 1.0),
    ],
)
def test_nobody_gains_by_being_slow(links: float, load: float) -> None:
    """A sender that alone would ask for all that memory gives, p = 1, behind *links* that let so
    much of it through.
    """
    asked = min(1.0, links)
    found = load_of(asked, lambda share: share, lambda share: min(share, links), 1.0)
    assert found == pytest.approx(load)


@given(st.floats(0, 1e3), st.floats(1e-3, 10), st.floats(1, 20))
def test_who_asks_for_more_gets_more_in_all_and_less_of_what_he_asks(
    asked: float, more: float, saturation_exponent: float
) -> None:
    before, after = (
        served_share(asked, saturation_exponent),
        served_share(asked + more, saturation_exponent),
    )
    assert 0 < after <= before <= 1
    assert before * asked <= after * (asked + more) * (1 + 1e-12)
    assert after * (asked + more) <= 1 + 1e-12  # never more than there is


@pytest.mark.parametrize(
    ("write_share", "mix"),
    [
        (0.0, 0.0),
        (1.0, 0.0),
        (0.5, 1.0),
        (0.25, 0.5),
        (1 / 3, 2 / 3),
    ],  # pure; even; one write to 3 reads; triad
)
def test_efficiency_lies_between_pure_and_evenly_mixed(write_share: float, mix: float) -> None:
    hbm = GPU.hbm
    efficiency = hbm.read_efficiency * (1 - mix) + hbm.mixed_efficiency * mix
    assert memory_given(GPU, write_share) == pytest.approx(hbm.bandwidth * efficiency, rel=1e-12)


@pytest.mark.parametrize("load", [0.1, 0.5, 1.0, 3.0])
def test_who_carries_less_on_slow_memory_is_felt_as_he_asks(load: float) -> None:
    """A kernel that only waits for loads: carried and asked come to the same."""
    felt = felt_beside_posts(lambda alike: alike, lambda share: load * share, 2.2, 0.26)
    assert felt == pytest.approx(served_share(load, 2.2))


@pytest.mark.parametrize(
    ("carried", "share"),
    [  # (1 - c^2.2)^(1 / 2.2); reads keep 0.33 to 0.37 beside writes of 0.93 of memory (loaded.py)
        (0.5, 0.894),
        (0.907, 0.474),
        (0.93, 0.419),
        (5.0, 0.26),  # no less
    ],
)
def test_memory_is_as_full_as_what_it_carries(carried: float, share: float) -> None:
    felt = felt_beside_posts(lambda alike: alike, lambda _share: carried, 2.2, 0.26)
    assert felt == pytest.approx(share, abs=2e-3)


def test_arrays_of_the_stream_kernels() -> None:
    """copy: b = a. triad: c = a + s b. (reads, writes), as BabelStream counts them."""
    assert ARRAYS == {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}
