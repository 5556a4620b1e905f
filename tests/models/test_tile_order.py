"""Groups of tiles by owner, and the share of tiles behind which a group has been made."""

from __future__ import annotations

import pytest

from c3sim.models.tile_order import groups_of, share_behind


@pytest.mark.parametrize(
    ("order", "groups"),
    [
        ("mixed", ((0, 1, 2, 3),)),
        ("remote_first", ((1, 2, 3), (0,))),
        ("staggered", ((1,), (2,), (3,), (0,))),
        # of GPU 1 the owners 0, 1, 2, 3 are 3, 0, 1, 2 further round
        ("by_owner", ((3,), (0,), (1,), (2,))),
    ],
)
def test_groups_of_the_second_of_four_gpus(order, groups):
    assert groups_of(order, 1, 4) == groups


@pytest.mark.parametrize("order", ["mixed", "remote_first", "staggered"])
def test_all_but_by_owner_are_alike_on_every_gpu(order):
    assert len({groups_of(order, gpu, 8) for gpu in range(8)}) == 1


@pytest.mark.parametrize("order", ["mixed", "remote_first", "staggered", "by_owner"])
@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_every_owner_is_in_one_group(order, gpus):
    for gpu in range(gpus):
        owners = [owner for group in groups_of(order, gpu, gpus) for owner in group]
        assert sorted(owners) == list(range(gpus))


def test_share_behind_a_part_of_a_group():
    staggered, remote_first = groups_of("staggered", 0, 4), groups_of("remote_first", 0, 4)
    assert share_behind(staggered, 2) == 2 / 4
    assert share_behind(staggered, 2, 0.5) == 1.5 / 4
    assert share_behind(staggered, 0) == 1
    # three owners mixed: a half of those of one is made with a half of all three
    assert share_behind(remote_first, 2, 0.5) == 1.5 / 4
    assert share_behind(remote_first, 2) == 3 / 4
    with pytest.raises(ValueError, match="at 4"):
        share_behind(staggered, 4)
