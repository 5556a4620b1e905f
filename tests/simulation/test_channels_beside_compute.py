"""Channels that keep a part of their rate while arithmetic runs on the units."""

import c3sim

PATH = "collective_libraries.rccl.channels.beside_compute"
PAIR = {"strategy": "sp", "set": {"task.gather.size": "64 MiB"}}


def times(**settings: float) -> dict[str, float]:
    """End of the all-gather [s] beside a GEMM of 8192^3, which fills all units, and alone."""
    found = c3sim.run("c3-pair", **{**PAIR, "set": {**PAIR["set"], **settings}})
    gather = found.tasks["gather"]
    return {"beside": gather.end_s, "alone": gather.isolated_s}


def test_channels_that_come_second_on_their_units_are_slow_beside_a_gemm_only() -> None:
    """The GEMM takes 1.7 ms, the all-gather 0.25 alone; at a tenth of its rate it takes most of
    2.5 ms, ten times as long, or what is left of it once the GEMM has ended.
    """
    usual, second = times(), times(**{PATH: 0.1})
    assert second["alone"] == usual["alone"]
    assert usual["beside"] < 2 * usual["alone"]
    assert 3.5 * usual["alone"] < second["beside"] < 10.5 * usual["alone"]
    assert times(**{PATH: 1.0}) == usual
