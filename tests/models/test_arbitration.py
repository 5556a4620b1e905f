"""Memory that serves compute first: the share of communication by hand, and what moves it."""

from __future__ import annotations

import pytest

from c3sim.experiments.subjects.sub_layer import SubLayer, tracked
from c3sim.machine import machine
from c3sim.models.arbitration import admitted_share, least_admitted
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.reading.loading import load_hardware, parse_workload

NODE = load_hardware("t3-8").node


def node(**hbm: object) -> Node:
    """With 1 TB/s and requests of 2048 B: one takes 2.048 ns."""
    gpu = NODE.gpu.model_copy(update={"hbm": NODE.gpu.hbm.model_copy(update=hbm)})
    return NODE.model_copy(update={"gpu": gpu})


def gpu(**hbm: object) -> Gpu:
    return node(**hbm).gpu


def test_the_share_is_that_of_a_queue_below_its_threshold() -> None:
    """Half loaded, a queue has 3 requests or more for 1/8 of the time."""
    assert admitted_share(gpu(communication_threshold=3), 0.5) == pytest.approx(7 / 8)
    assert admitted_share(gpu(communication_threshold=1), 0.5) == pytest.approx(1 / 2)
    assert admitted_share(gpu(communication_threshold=None), 2.0) == 1.0


def test_the_floor_is_a_request_per_starvation_limit() -> None:
    """2.048 ns of every 20.48 ns: a tenth, whatever compute asks for."""
    limited = gpu(communication_threshold=3, starvation_limit=20.48e-9)
    assert least_admitted(limited) == pytest.approx(0.1)
    assert admitted_share(limited, 5.0) == pytest.approx(0.1)
    assert least_admitted(gpu(starvation_limit=0.0)) == 0.0


def sent(by: Node) -> tuple[float, float]:
    """Ends [s] of a stream that wants some 0.7 of memory, and of a copy beside it."""
    tasks = {
        "read": {"kind": "stream", "pattern": "read", "bytes": "1 GB", "workgroups": 16},
        "copy": {"kind": "copy", "bytes": "30 MB", "gpus": "all"},
    }
    workload = parse_workload({"schema": 1, "name": "w", "node": "t3-8", "tasks": tasks})
    run = simulate(by, workload)
    return run.task("read").end, run.task("copy").end


def test_threshold_and_limit_move_what_they_should() -> None:
    alike = sent(node(communication_threshold=None))
    first = sent(node(communication_threshold=3, starvation_limit=0.5e-6))
    more = sent(node(communication_threshold=30, starvation_limit=0.5e-6))
    fed = sent(node(communication_threshold=3, starvation_limit=2.5e-9))  # floor 0.82
    assert first[0] < alike[0] and first[1] > alike[1]  # compute gains what the copy loses
    assert more[1] < first[1]  # a longer queue lets more in
    assert fed[1] <= first[1] and fed[0] >= first[0]  # so does less patience, at compute's expense


def test_where_memory_is_exhausted_compute_keeps_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GEMM whose output the memory adds up, beside the chunks that engines send: what is admitted
    and what the GEMM asks for are more than there is. By equal weights the GEMM would pay for that.
    """
    layer = SubLayer(tokens=16384, hidden=3072, depth=4 * 3072 // 8)
    by = with_reducing_engines(NODE)

    def gemm() -> float:
        return simulate(by, tracked(by, layer)).task("gemm").end

    first = gemm()
    monkeypatch.setattr(machine, "least_weight", lambda *_: 1.0)
    assert first < 0.995 * gemm()


def with_reducing_engines(by: Node) -> Node:
    engines = by.gpu.dma_engines
    able = engines.model_copy(update={"commands": (*engines.commands, "reduce")})
    return by.model_copy(update={"gpu": by.gpu.model_copy(update={"dma_engines": able})})
