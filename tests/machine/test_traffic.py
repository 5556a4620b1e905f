"""The bytes of a unit of progress, several units at once."""

from __future__ import annotations

from c3sim.machine.traffic import Traffic
from c3sim.models.groups import Group
from c3sim.models.links import link_to

FULL = Traffic(
    l2=1.0,
    cache=2.0,
    hbm_read=3.0,
    hbm_write=4.0,
    hbm_busy=4.5,
    ports=(((0, link_to(1)), 5.0),),
    network=((("node", 0), 6.0),),  # type: ignore[arg-type]
    alike=Group(2, 4),
    together=True,
    remote=((1, 7.0, 8.0),),
    host=(("in", 9.0),),
    engine=(0, 10.0),
    core_energy=11.0,
    inserted=12.0,
    touched=12.5,
    footprint=12.6,
    stored=True,
    releasing=13.0,
    release_hold=0.5,
    vector=14.0,
)


def test_one_unit_is_the_same_in_every_field() -> None:
    """Fields are copied by hand; one that is added and forgotten shows here."""
    plain = Traffic()
    for field in Traffic._fields:
        assert getattr(FULL, field) != getattr(plain, field), field
        assert getattr(FULL.times(1.0), field) == getattr(FULL, field), field


def test_bytes_grow_with_the_count_and_shares_do_not() -> None:
    double = FULL.times(2.0)
    assert (double.l2, double.releasing, double.ports[0][1]) == (2.0, 26.0, 10.0)
    assert (double.release_hold, double.stored, double.engine) == (0.5, True, (0, 10.0))
    assert (double.touched, double.footprint) == (25.0, 12.6)
