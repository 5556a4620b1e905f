"""The text of a capacity, for people; and that two capacities are one if all their parts are."""

from __future__ import annotations

import pytest

from c3sim.models.capacity import Capacity, Port, of_gpu


@pytest.mark.parametrize(
    ("capacity", "text"),
    [
        (Capacity("gpu", 0, "hbm"), "gpu0.hbm"),
        (Capacity("gpu", 12, "dma", 2), "gpu12.dma[2]"),
        (of_gpu(0, Port("link", "out", 3)), "gpu0.link[3].out"),
        (of_gpu(1, Port("port", "in")), "gpu1.port.in"),
        (Capacity("gpu", 0, "host", direction="out"), "gpu0.host.out"),
        (Capacity("leaf", 4, "up"), "leaf4.up"),
        (Capacity("host", 0, "memory"), "host0.memory"),
        (Capacity("gpu", 0, "hbm", task="gather"), "gpu0.hbm~gather"),
    ],
)
def test_the_text_is_a_path(capacity: Capacity, text: str) -> None:
    assert str(capacity) == f"{capacity}" == text
    assert text == f"{capacity.owner_name}.{capacity.name}"


def test_a_private_capacity_is_another_one() -> None:
    shared = Capacity("gpu", 0, "hbm")
    assert shared == Capacity("gpu", 0, "hbm") != shared._replace(task="gather")
