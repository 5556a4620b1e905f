"""Kernels that live in the last shared cache beside others: who finds its lines again, and when."""

import pytest

from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import StreamKernel, Workload

H200 = load_node("h200-2")
GIB = 2.0**30


def reader(mib=30.0, passes=69, **more):
    size = mib * 2**20
    return StreamKernel(
        kind="stream", pattern="read", bytes=size, passes=passes, workgroups=32, **more
    )


def end(name, **tasks):
    workload = Workload(schema=1, name="w", node="h200-2", tasks=tasks)
    return simulate(H200, workload).task(name).end


def test_two_readers_that_do_not_fit_together_find_nothing():
    """30 + 30 MiB of 51.6 that a sweep finds: both read memory. Measured 1260 us, alone 610; two of
    10 MiB fit.
    """
    both = end("a", a=reader(), b=reader())
    assert both == pytest.approx(1260e-6, rel=0.05)
    assert both > 2.0 * end("a", a=reader())
    fit = {"a": reader(10, 207), "b": reader(10, 207)}
    assert end("a", **fit) < 0.65 * both


def test_a_reader_finds_its_lines_again_once_the_stream_has_ended():
    """Measured 930 us: memory serves it for the 633 us of the stream, then L2. All from memory it
    takes 1250, all from L2 610.
    """
    stream = StreamKernel(kind="stream", pattern="read", bytes=GIB, workgroups=32)
    assert end("a", a=reader(), stream=stream) == pytest.approx(930e-6, rel=0.1)


def test_the_order_of_launch_does_not_say_who_hits():
    copy = StreamKernel(kind="stream", pattern="copy", bytes=GIB, workgroups=32)
    first, second = end("a", a=reader(), copy=copy), end("a", copy=copy, a=reader())
    assert first == pytest.approx(second, rel=0.05)
    assert first > 1.8 * end("a", a=reader())


@pytest.mark.parametrize(("mib", "hits"), [(44, True), (48, True), (56, False), (60, False)])
def test_a_sweep_finds_less_than_the_whole_cache(mib, hits):
    """Measured alone: 44 and 48 MiB hit, 56 do not; a byte of memory takes 1.7 times as long."""
    alone = end("a", a=reader(mib, 16))
    assert (alone < 1.3 * mib / 44 * end("a", a=reader(44, 16))) == hits
