"""Energy of a flow, by hand; bytes of a task; and both in a run."""

from __future__ import annotations

import json

import pytest
from made_workload import workload_of

import c3sim
from c3sim.machine.energy import bill_of
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Port
from c3sim.simulation.simulate import simulate
from c3sim.spec.energies import COMPONENTS, by_component, components_of
from c3sim.spec.reading.loading import load_node
from c3sim.tasks.plan import payload_bytes

PJ = 1e-12
NODE = load_node(
    "teaching-4"
)  # flop 4, vector 10, L2 5, HBM 60, link 50, host link 40, DMA 5 pJ; CU 1 W
MI300X = load_node("mi300x-8")
SWITCH = load_node("h200-2")


def bill(traffic, node=NODE, gpu=0, work=1.0, units=0.0, home=lambda gpu: gpu):
    return bill_of(node, gpu, traffic, work, units, home)


def uncore(found):
    return {(gpu, name): pytest.approx(joules / PJ) for gpu, name, joules in found.uncore}


def task(kind, **fields):
    made = workload_of({"t": {"kind": kind, **fields}})
    return made.tasks["t"]


# A flow's bill ------------------------------------------------------------------------------------
# ----------------


def test_a_channel_pays_for_what_its_waves_load_and_store_and_for_its_unit():
    """2 B loaded or stored per byte sent: 2 x 10 pJ in the unit, 2 x 5 in L2 though no L2 is drawn
    on, 3 units of 1 W; 1 B read and 1 B written in HBM, 120 pJ; one link from GPU 0 to GPU 1, 50 pJ
    at either end.
    """
    found = bill(
        Traffic(
            vector=2.0, hbm_read=1.0, hbm_write=1.0, ports=(((0, Port("link", "out", 1)), 1.0),)
        ),
        units=3.0,
    )
    assert dict(found.core) == {
        "vector_byte": pytest.approx(20 * PJ),
        "l2_byte": pytest.approx(10 * PJ),
    }
    assert uncore(found) == {(0, "hbm_byte"): 120.0, (0, "link_byte"): 50.0, (1, "link_byte"): 50.0}
    assert (found.held, found.busy) == (3.0, 0.0)
    assert found.core_energy == pytest.approx(30 * PJ) and found.uncore_energy == pytest.approx(
        220 * PJ
    )


def test_what_waves_load_is_not_counted_twice_in_l2():
    assert dict(bill(Traffic(vector=1.0, l2=1.0)).core)["l2_byte"] == pytest.approx(5 * PJ)
    assert dict(bill(Traffic(l2=3.0, core_energy=1.0)).core) == {
        "flop": 1.0,
        "l2_byte": pytest.approx(15 * PJ),
    }


def test_an_engine_pays_per_byte_read_and_written_per_command_and_while_it_moves():
    """A copy of 1000 B to GPU 1: read here (60 pJ/B), written there (60), both through L2 (5), as
    there is no cache behind it; 5 pJ/B into and out of the engine, 2 uJ for its one command, spread
    over its bytes: 2 nJ per byte; half a watt.
    """
    copy = Traffic(cache=1.0, hbm_read=1.0, remote=((1, 0.0, 1.0),), engine=(0, 1.0))
    found = bill(copy, work=1000.0)
    assert uncore(found) == {
        (0, "hbm_byte"): 60.0,
        (1, "hbm_byte"): 60.0,
        (0, "dma_byte"): 10.0,
        (0, "dma_command"): 2000.0,
        (0, "l2_byte"): 5.0,
        (1, "l2_byte"): 5.0,
    }
    assert found.busy == 0.5 and not found.core


def test_a_broadcast_reads_once_for_two():
    """Two copies read and write twice, 4 accesses; a broadcast reads once, 3 accesses."""
    copies = Traffic(cache=4.0, hbm_read=2.0, hbm_write=2.0, engine=(0, 1.0))
    broadcast = Traffic(cache=3.0, hbm_read=1.0, hbm_write=2.0, engine=(0, 1.0))
    per_access = (60 + 5 + 5) * PJ  # memory, L2, engine
    saved = bill(copies).uncore_energy - bill(broadcast).uncore_energy
    assert saved == pytest.approx(per_access, rel=1e-6)


def test_a_copy_longer_than_a_packet_is_several_commands():
    """2.5 GiB in packets of 1 GiB: three commands of 2 uJ."""
    work = 2.5 * 2**30
    spent = {name: joules for _, name, joules in bill(Traffic(engine=(0, 1.0)), work=work).uncore}
    assert spent["dma_command"] * work == pytest.approx(6e-6)


def test_the_host_link_is_paid_at_the_gpus_end():
    assert uncore(bill(Traffic(host=(("out", 1.0),)))) == {(0, "host_link_byte"): 40.0}


def test_a_byte_through_a_switch_is_paid_by_its_two_gpus():
    """Each its own; what the switch takes is not the GPUs'."""
    ports = (((0, Port("port", "out")), 1.0), ((1, Port("port", "in")), 1.0))
    each = SWITCH.gpu.energy.link_byte / PJ
    assert uncore(bill(Traffic(ports=ports), SWITCH)) == {
        (0, "link_byte"): each,
        (1, "link_byte"): each,
    }


def test_in_a_folded_run_both_ends_are_the_one_gpu():
    ports = (((0, Port("link", "out", 1)), 1.0), ((0, Port("link", "out", 3)), 1.0))
    assert uncore(bill(Traffic(ports=ports), home=lambda _gpu: 0)) == {(0, "link_byte"): 200.0}


# Components ---------------------------------------------------------------------------------------
# ----------------


def test_components_have_the_files_words_for_display():
    assert components_of(MI300X) == {
        "compute_units": "CU",
        "l2": "L2",
        "memory_side_cache": "Infinity Cache",
        "hbm": "HBM3",
        "links": "xGMI",
        "dma_engines": "SDMA engine",
        "host_link": "host link",
        "idle": "idle",
    }
    assert "memory_side_cache" not in components_of(NODE) and set(components_of(MI300X)) == set(
        COMPONENTS
    )


def test_energies_of_one_component_add_up():
    found = by_component(
        NODE, {"flop": 1.0, "compute_unit": 2.0, "vector_byte": 4.0, "idle_power": 8.0}
    )
    assert (found["compute_units"], found["idle"], found["hbm"]) == (7.0, 8.0, 0.0)


# Bytes of a task
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (task("collective", op="all_gather", size=800.0), 3 * 800.0),  # 3/4 of it to each of 4 GPUs
        (task("collective", op="all_reduce", size=800.0), 6 * 800.0),
        (task("copy", bytes=10.0, repeat=3), 30.0),
        (task("copy", bytes=10.0, gpus="all"), 40.0),
        (task("stream", pattern="triad", bytes=10.0, passes=2), 4 * 2 * 30.0),
        (
            task(
                "commands",
                program=[{"op": "copy", "bytes": 5.0, "peer": 1}, {"op": "atomic", "on": "x"}],
            ),
            20.0,
        ),
        (task("gemm", m=64, n=64, k=64), None),
        (task("host", time=1e-6), None),
    ],
)
def test_payload(made, moved):
    assert payload_bytes(NODE, made) == (None if moved is None else pytest.approx(moved))


# A run --------------------------------------------------------------------------------------------
# ----------------


@pytest.fixture(scope="module")
def run():
    return c3sim.run("gemm-beside-dma-all-gather", trace=True)


def test_a_run_gives_energy_by_component_power_and_energy_per_byte(run):
    data = json.loads(json.dumps(run.to_dict()))
    assert sum(data["energy"].values()) == pytest.approx(data["energy_j"])
    assert data["average_power_w"] == pytest.approx(data["energy_j"] / data["wall_s"])
    assert data["energy"]["idle"] == pytest.approx(8 * MI300X.gpu.clock.idle_power * data["wall_s"])
    gather, gemm = data["tasks"]["gather"], data["tasks"]["gemm"]
    assert sum(gather["energy"].values()) == pytest.approx(gather["energy_j"])
    assert gather["payload_bytes"] == 7 * 896 * 2**20
    assert gather["energy_per_byte"] == pytest.approx(gather["energy_j"] / gather["payload_bytes"])
    assert gemm["payload_bytes"] is None and gemm["energy_per_byte"] is None
    assert gather["energy"]["compute_units"] == 0.0 < gather["energy"]["dma_engines"]
    assert gather["average_power_w"] == pytest.approx(
        gather["energy_j"] / (gather["end_s"] - gather["start_s"])
    )


def test_seven_engines_at_one_port_draw_no_more_than_the_port_lets_through():
    """Copies to seven peers leave an H200 by one port of 380 GB/s, whether one engine of 400 GB/s
    or seven of 340 do them: as many bytes a second, as much power, and so the same clock beside
    them. Counted engine by engine they would be 7 x 340 GB/s, and the GEMM 23 % slower.
    """
    gather = {"kind": "collective", "op": "all_gather", "size": "400 MiB", "by": "engines"}
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
    pair = {"tasks": {"gather": gather, "gemm": gemm}}
    engines = "gpu.dma_engines"
    one, seven = (
        c3sim.run(
            pair, node="h200-8", set={f"{engines}.count": count, f"{engines}.bandwidth": rate}
        )
        for count, rate in ((1, "400 GB/s"), (7, "340 GB/s"))
    )
    assert seven.tasks["gemm"].end_s == pytest.approx(one.tasks["gemm"].end_s, rel=1e-2)


@pytest.mark.parametrize(("op", "quarters"), [("all_reduce", 20), ("all_gather", 11)])
def test_a_collective_reads_and_writes_what_its_algorithm_does(op, quarters):
    """Rings of 4 GPUs, in quarters of the buffer S: an all-reduce reads 3 n - 2 = 10 on each GPU
    and writes as many, what arrives included; an all-gather reads n = 4 and writes 2 n - 1 = 7. At
    60 pJ per byte of HBM, on 4 GPUs.
    """
    size = 64 * 2**20
    collective = {"kind": "collective", "op": op, "size": "64 MiB", "algorithm": "ring"}
    workload = workload_of({"t": collective})
    outcome = simulate(NODE, workload, energy=True)
    expected = 4 * quarters * size / 4 * 60 * PJ
    assert outcome.account_of("t")["hbm_byte"] == pytest.approx(expected)


def test_a_copied_byte_costs_what_its_way_costs(run):
    """Read and written: 2 accesses of HBM (50), cache (10) and engine (2), two ends of a link (20):
    164 pJ. On top: seven engines of 0.3 W for 2.5 ms and 7 commands of 1 uJ, over 784 MiB per GPU:
    6.4 + 0.01 pJ.
    """
    gather = run.tasks["gather"]
    busy = 7 * 0.3 * (gather.end_s - gather.start_s) / (7 / 8 * 896 * 2**20)
    assert gather.energy_per_byte == pytest.approx(164 * PJ + busy, rel=5e-3)


def test_power_over_time_is_split_by_component(run):
    power = next(counter for counter in run.trace.counters if counter.name == "gpu0.power")
    assert list(power.by_component) == [
        "compute_units",
        "l2",
        "memory_side_cache",
        "hbm",
        "links",
        "dma_engines",
        "idle",
    ]
    for i, value in enumerate(power.values):
        assert sum(part[i] for part in power.by_component.values()) == pytest.approx(value)


def test_an_idle_gpu_has_its_power_too():
    """A copy from the first GPU to its neighbour: the other two of four take their 20 W."""
    made = workload_of({"copy": {"kind": "copy", "bytes": 2**20}}, node="teaching-4")
    counters = c3sim.run(made, node=NODE, trace=True).trace.counters
    power = {
        counter.name: counter.values for counter in counters if counter.name.endswith(".power")
    }
    assert power["gpu2.power"] == power["gpu3.power"] == [20.0]
    assert (
        max(power["gpu0.power"]) > max(power["gpu1.power"]) > 20.0
    )  # who reads and sends; who receives and writes
