"""Workgroups of attention: how many, and their room."""

from __future__ import annotations

from c3sim.iterations.attention_kernels import (
    Kernels,
    Tiles,
    part_of_peak,
    room_of_one,
    room_of_tiles,
)
from c3sim.spec.reading.loading import load_hardware

H200 = load_hardware("h200-1").node.gpu
MI300X = load_hardware("mi300x-8").node.gpu


def test_workgroups_stay_on_h200_and_a_wave_has_room_beside_each() -> None:
    """12 waves of 168 registers are 2016 of 2048. Few tiles have a unit each, as all elsewhere."""
    assert H200.operators and MI300X.operators
    said = room_of_tiles(H200, H200.operators, 1000)
    assert said == {
        "workgroups": 132,
        "tiles": 1000,
        "threads": 384,
        "registers": 168,
        "lds": 196 * 1024,
    }
    alone = {"workgroups": 100, "per_unit": 1}
    assert room_of_tiles(H200, H200.operators, 100) == alone
    assert room_of_tiles(MI300X, MI300X.operators, 1000) == {"workgroups": 1000, "per_unit": 1}


def test_threads_and_registers_drawn_apart_fit_a_unit_together() -> None:
    """512 threads of 65536 registers have 128 each, whatever was drawn; 256 have what is said."""
    parts = H200.operators
    assert parts and parts.attention_room
    for threads, registers in ((512, 128), (256, 232), (384, 168)):
        update = {"threads": threads, "registers": 232}
        drawn = parts.attention_room.changed(**update)
        said = room_of_tiles(H200, parts.changed(attention_room=drawn), 1000)
        assert said["registers"] == registers


def test_one_token_has_blocks_of_keys_and_values_under_way() -> None:
    """128 keys of 128 numbers of 16 bit, and as many values."""
    assert H200.operators and MI300X.operators
    said = room_of_one(H200, H200.operators, 512.0)
    assert said["loads"] == 64 * 1024
    assert (said["threads"], said["registers"], said["lds"]) == (128, 184, 87360)
    assert room_of_one(MI300X, MI300X.operators, 512.0) == {}


def test_short_sequences_reach_less_of_the_peak() -> None:
    """A workgroup waits for its first queries and keys, and for its result's way out."""
    assert H200.operators
    on = H200, H200.operators, "bf16"
    short = part_of_peak(*on, Tiles(128, (128,) * 8, 132, 128, 1e6))
    long = part_of_peak(*on, Tiles(128, (4096,) * 8, 132, 128, 1e6))
    assert short < long <= H200.operators.attention_forward


def time_of(tokens: int, heads: int, width: int, which: Kernels, *, causal: bool = True) -> float:
    """Seconds on one H200: 4 or 10 FLOP for each pair of numbers that a mask leaves. A peak of 4096
    FLOP a cycle of 1.98 GHz on 132 units.
    """
    assert H200.operators
    peak = H200.compute_units.flops_per_cycle["bf16"] * H200.clock.maximum
    side = min(128, tokens)
    keys = tuple(range(side, tokens + 1, side)) if causal else (tokens,) * (tokens // side)
    per_key = (10.0 if which.backward else 4.0) * width * side
    tiles = Tiles(width, keys, heads, side, per_key)
    part = part_of_peak(H200, H200.operators, "bf16", tiles, which)
    shared = 2 if which.flash_2 and not which.backward else 1  # workgroups on a unit
    rounds = -(-len(keys) * heads // (132 * shared))
    each = per_key * sum(keys) / len(keys)  # of a workgroup in the mean
    return rounds * each * shared / (part * peak)


def test_kernels_of_flash_attention_2_take_as_long_as_alone() -> None:
    """Measured on one H200 (validation/data/kernels, h200-attention), 32 heads of 128, causal, 2048
    and 8192 tokens: 165 and 1749 us forward, 382 and 4626 backward.
    """
    for tokens, backward, measured in (
        *((2048, False, 165e-6), (8192, False, 1749e-6)),
        *((2048, True, 382e-6), (8192, True, 4626e-6)),
    ):
        time = time_of(tokens, 32, 128, Kernels(backward, flash_2=True))
        assert abs(time / measured - 1) < 0.06, (tokens, backward, time)
    parts = H200.operators
    assert parts
    assert room_of_tiles(H200, parts, 1000, Kernels(flash_2=True)) == {
        "workgroups": 1000,
        "per_unit": 2,
    }


def test_the_gpus_own_kernels_take_as_long_as_alone() -> None:
    """Measured on one H200 (validation/data/kernels, h200-attention-widths and h200-attention):
    32 heads under a causal mask. Heads of 80 and 96 numbers take the time of 128.
    """
    for width, tokens, backward, us in (
        *((64, 2048, False, 57.5), (64, 8192, False, 629), (64, 8192, True, 1600)),
        *((80, 8192, False, 860), (96, 8192, False, 865), (96, 8192, True, 2400)),
        *((128, 2048, False, 81.2), (128, 8192, False, 888), (128, 8192, True, 2424)),
    ):
        time = time_of(tokens, 32, width, Kernels(backward))
        assert abs(time / us * 1e6 - 1) < 0.05, (width, tokens, backward, time)


def test_scores_that_may_be_dropped_wait_for_their_numbers() -> None:
    """As above, 16 heads of 64 of 32 sequences of 512 tokens, all seen: 91 and 244 us, and 210 and
    311 where a tenth of the scores is dropped.
    """
    for backward, kept, dropped in ((False, 90.9, 210.3), (True, 244.3, 311.1)):
        for drops, us in ((False, kept), (True, dropped)):
            time = time_of(512, 512, 64, Kernels(backward, dropped=drops), causal=False)
            assert abs(time / us * 1e6 - 1) < 0.1, (backward, drops, time)


def test_halves_of_heads_are_put_together_slower_than_they_are_copied() -> None:
    """Measured on one H200 (validation/data/kernels, h200-strided), 32 heads of 128, 8192 tokens:
    136 us, where a copy of strided rows takes 85. 132 units of 128 lanes, two FLOP a cycle each.
    """
    parts, units = H200.operators, H200.compute_units
    assert parts
    peak = 132 * units.flops_per_cycle["fp32"] * H200.clock.maximum
    for flops, measured in ((parts.joined_flops, 136e-6), (parts.strided_flops, 85e-6)):
        assert abs(flops * 8192 * 32 * 128 / peak / measured - 1) < 0.05, measured
