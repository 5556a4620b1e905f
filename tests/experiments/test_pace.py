"""Batches take about a second: slow points come one by one, fast ones many at a time, and none is
lost or doubled.
"""

import pytest

from c3sim.experiments.jobs import Pace


def cut(seconds, together=1, points=200, jobs=1):
    """Sizes of the batches of points that take so many *seconds* each; all of them together are the
    points in order.
    """
    now = [0.0]
    pace = Pace(together, 64, jobs, lambda: now[0])
    found, sizes = [], []
    for batch in pace.batches(range(points)):
        now[0] += seconds * len(batch) / jobs
        pace.finished(len(batch))
        found += batch
        sizes.append(len(batch))
    assert found == list(range(points))
    return sizes


@pytest.mark.parametrize(("seconds", "largest"), [(3.0, 1), (0.3, 3), (0.125, 8), (1e-4, 64)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_batch_is_what_a_second_is_enough_for(seconds, largest, jobs):
    sizes = cut(seconds, jobs=jobs)
    assert sizes[0] == 1 and max(sizes) == largest


def test_neighbours_that_share_what_they_need_stay_together():
    assert {size % 3 for size in cut(0.1, together=3, points=201)} == {0}
