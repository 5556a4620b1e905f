"""Fetches alone: what a copy costs by each method, from the mechanisms, and laws between the
methods.
"""

import pytest

from c3sim.iterations.inference.kv import HOSTS, METHODS, Fetch, workload_of
from c3sim.simulation.runs import run_once
from c3sim.spec.reading.loading import load_hardware

SIZES = (4096, 65536, 2**21)


@pytest.fixture(scope="module")
def node():
    return load_hardware("mi300x-8").node.changed(gpus=1)


@pytest.mark.parametrize("size", SIZES)
def test_a_copy_of_a_batch_costs_decoding_the_read_of_the_host_and_its_bytes(node, size):
    """One packet and one wait per copy; 50.8 GB/s of the engine is less than the host link. A
    packet written: 0.02 us.
    """
    engines = node.gpu.dma_engines
    expected = engines.packet_time + node.host.read_latency + size / engines.bandwidth
    assert Fetch(node, "batched_pl", size, 8).per_copy == pytest.approx(expected)
    written = Fetch(node, "batched", size, 8).per_copy
    assert written == pytest.approx(expected + node.host.batch_copy_time)


@pytest.mark.parametrize("size", SIZES)
def test_a_copy_of_a_loop_also_waits_for_the_end_of_the_one_before(node, size):
    """Its way through the engine and the signal; submission, 5.5 us each, takes less."""
    engines = node.gpu.dma_engines
    moved = engines.packet_time + node.host.read_latency + size / engines.bandwidth
    signal = engines.latency * engines.completion_fraction
    expected = max(node.host.copy_time, moved + engines.copy_latency + signal)
    assert Fetch(node, "per_block", size, 8).per_copy == pytest.approx(expected)


def test_the_reported_cost_in_a_batch_is_calibration(node):
    """2.6 us for 4 to 8 KB; read_latency is that less decoding and bytes."""
    costs = [Fetch(node, "batched", size, 8).per_copy for size in (4096, 8192)]
    assert costs == [pytest.approx(2.6e-6, rel=0.04)] * 2


@pytest.mark.parametrize(("workgroups", "rate"), [(1, 25.9e9), (8, 36e9), (304, 36e9)])
def test_a_gather_kernel_is_bound_by_its_compute_units_then_by_what_all_of_them_read(
    node, workgroups, rate
):
    """One CU copies 12.4 B per cycle of 2.1 GHz over a link, less the load on memory; all of them
    36 GB/s.
    """
    per_copy = Fetch(node, "gather", 65536, workgroups).per_copy
    assert 65536 / per_copy == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_long_fetches_lie_on_a_line(node, method):
    """The time extrapolated from 32 and 96 copies is that of 300 simulated ones."""
    fetch = Fetch(node, method, 65536, 8)
    whole = run_once(node, workload_of({"fetch": fetch.task(300)}, HOSTS[method])).end
    assert fetch.alone(300) == pytest.approx(whole, rel=1e-6)
    assert fetch.alone(0) == 0.0


@pytest.mark.parametrize("name", ["mi300x-8", "h200-2", "b200-8", "teaching-4"])
@pytest.mark.parametrize("size", SIZES)
def test_a_batch_is_never_slower_than_copies_one_by_one(name, size):
    node = load_hardware(name).node.changed(gpus=1)
    for copies in (1, 40):
        times = {method: Fetch(node, method, size, 4).alone(copies) for method in METHODS}
        assert times["batched_pl"] <= times["batched"] * (1 + 1e-9)
        if copies > 1:
            assert times["batched"] <= times["per_block"] * (1 + 1e-9)


def test_a_fetch_takes_the_same_on_one_gpu_and_on_all_that_share_a_model():
    """Every GPU has its own host link and its own thread."""
    whole = load_hardware("mi300x-8").node
    one = whole.changed(gpus=1)
    for method in METHODS:
        assert Fetch(whole, method, 8192, 8).alone(500) == pytest.approx(
            Fetch(one, method, 8192, 8).alone(500)
        )


def test_what_the_submitting_thread_is_busy_for(node):
    """A call per copy; one launch; a batch with a packet per copy, one for the signal, one
    doorbell; done before.
    """
    host = node.host
    assert Fetch(node, "per_block", 65536, 8).host_time(100) == pytest.approx(100 * host.copy_time)
    assert Fetch(node, "gather", 65536, 8).host_time(100) == host.launch_time
    batch = host.batch_time + 101 * host.batch_copy_time + host.doorbell_time
    assert Fetch(node, "batched", 65536, 8).host_time(100) == pytest.approx(batch)
    assert Fetch(node, "batched_pl", 65536, 8).host_time(100) == 0.0
