"""Every energy of the schema has a component."""

from __future__ import annotations

from c3sim.spec.energies import COMPONENT_OF
from c3sim.spec.parts import Energies


def test_every_energy_of_the_schema_has_a_component() -> None:
    """But for idle power, which is a value of the clock."""
    assert set(COMPONENT_OF) - {"idle_power"} == set(Energies.model_fields) - {
        "measured",
        "operands",
    }
