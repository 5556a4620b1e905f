"""What actions cost in energy, and the engine clock that a power limit holds down."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from c3sim.specs.quantities import (
    Energy,
    EnergyPerByte,
    EnergyPerFlop,
    Factor,
    Frequency,
    Power,
    Time,
)
from c3sim.specs.sourced import Hardware


class Energies(Hardware):
    """Energy of each action (machine/energy.py). Core terms scale with voltage squared, the others
    do not.
    """

    flop: dict[Literal["bf16", "fp16", "fp8", "fp32", "fp64"], EnergyPerFlop]
    """at the maximum clock; with the operands' way through registers and LDS"""
    operands: dict[Literal["random", "pattern", "zero"], Factor] = Field({})
    """factor on flop, by what a GEMM's operands hold; left out: 1"""
    compute_unit: Power
    """a CU that holds waves, at the maximum clock, beside its FLOPs"""
    vector_byte: EnergyPerByte
    """per byte that waves load or store (first-level cache, registers), at the maximum clock; in a
    GEMM it is part of flop"""
    l2_byte: EnergyPerByte
    """at the maximum clock"""
    cache_byte: EnergyPerByte = 0.0
    """of the memory-side cache; left out where there is none"""
    hbm_byte: EnergyPerByte
    link_byte: EnergyPerByte
    """per byte and GPU that sends or receives it"""
    host_link_byte: EnergyPerByte
    """the GPU's end of the host link"""
    dma_byte: EnergyPerByte
    """per byte that a DMA engine reads or writes, beside memory"""
    dma_engine: Power
    """a DMA engine that moves bytes, beside them; waiting ones are idle"""
    dma_command: Energy
    """fetch, decoding, address translation and signal of one command"""
    measured: str = ""
    """the measured power that these were compared with; left out: none"""


class Clock(Hardware):
    """Engine clock under the power limit (models/power.py)."""

    maximum: Frequency
    minimum: Frequency
    power_limit: Power
    peak_power: Power | None = None
    """what the GPU draws at most at any instant: the clock gives way at once; left out: no limit"""
    idle_power: Power
    """at running clocks while nothing runs; it is part of every load"""
    voltage_exponent: Factor
    """x in power ~ f^(1+x) at a fixed activity"""
    power_window: Time = 0.0
    """time constant of the average that the limit holds (machine/governor.py); left out, or 0: the
    limit acts at once"""
