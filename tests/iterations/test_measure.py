"""Figures of a run of an iteration: times that add up, extrapolation, host, memory, speed."""

from __future__ import annotations

from typing import Any

import pytest
from iteration_case import check_figures, described, planned, result, run_described

import c3sim
from c3sim.api import prepare
from c3sim.errors import InputError
from c3sim.iterations.described import evaluate
from c3sim.iterations.memory import memory_bytes
from c3sim.spec.reading.loading import load_hardware, open_iteration

pytestmark = pytest.mark.turns(5)

BERT: dict[str, Any] = {
    "model": "bert-large",
    "batch": 64,
    "tokens": 128,
    "optimizer": "lamb",
    "parallel": {"kind": "ddp"},
}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"layers": 9, "parallel": {"kind": "ddp"}, "optimizer": "adamw"}, marks=pytest.mark.long
        ),
        pytest.param(
            {"layers": 12, "parallel": {"kind": "fsdp", "prefetch": 4}}, marks=pytest.mark.long
        ),
        {"layers": 7, "parallel": {"kind": "tensor"}, "head": True, "launch": "graph"},
        pytest.param({**BERT, "layers": 14}, marks=pytest.mark.long),  # bound by the host
        pytest.param(  # the same, which launches the optimizer behind a long last exchange
            {"node": "h100-cluster", "layers": 12, "optimizer": "adamw", "parallel": {"cp": 16}},
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"node": "mi300x-8", "layers": 8, "parallel": {"kind": "fsdp"}, "phase": "forward"},
            marks=pytest.mark.long,
        ),
    ],
    ids=str,
)
def test_few_layers_stand_for_all(fields: dict[str, Any]) -> None:
    few, all_of_them = result(**fields), result(all_layers=True, **fields)
    assert few.simulated < all_of_them.simulated == all_of_them.layers
    assert few.wall_s == pytest.approx(all_of_them.wall_s, rel=5e-3)
    assert few.energy_j == pytest.approx(all_of_them.energy_j, rel=1e-2)
    assert few.communication_s == pytest.approx(all_of_them.communication_s, rel=0.05)
    for name, times in all_of_them.overlap.classes.items():
        if times.busy_s > 0.02 * all_of_them.wall_s:
            assert few.overlap.classes[name].busy_s == pytest.approx(times.busy_s, rel=0.08), name


def test_a_wall_time_alone_needs_no_run_of_either_side() -> None:
    """Two thirds of the runs are for what communication and computation take by themselves."""
    model, node = prepare("llama3-8b-forward", None, {"layers": 2})
    whole = evaluate(model, node, "as_written")
    assert evaluate(model, node, "as_written", wall_only=True).wall_s == whole.wall_s


def test_what_the_host_does_around_a_collective_is_not_exposed_communication() -> None:
    """Decoding that the host binds: between layers the GPU is idle while the host calls for the
    sums. Those wait for nothing else, so little more is exposed than they take.
    """
    fields = {"phase": "decode", "batch": 8, "context": 512, "layers": 4, "node": "h200-2"}
    found = result(**fields, tokens=None, parallel={"kind": "tensor"}, slowness=2.0)
    assert found.host_bound
    assert found.wall_s > found.compute_s + 8 * 100e-6  # eight calls of some 160 us
    alone = found.overlap.classes["communication"].busy_s
    assert alone <= found.overlap.exposed_s < alone + 8 * 10e-6


def test_times_add_up() -> None:
    """The wall is computation alone, what contention adds to it, and exposed communication. Seven
    pauses of 2 us between kernels, which computation alone has too, are full of communication here.
    """
    early = {"kind": "fsdp", "forward_prefetch": True}
    found = result(layers=6, parallel=early, batch=2, phase="forward")
    overlap, communication = found.overlap, found.overlap.classes["communication"]
    parts = found.compute_s + overlap.stretched_s + overlap.exposed_s
    assert found.wall_s == pytest.approx(parts, abs=7 * 2e-6)
    assert communication.exposed_s == pytest.approx(overlap.exposed_s, rel=0.1)
    assert overlap.exposed_s < found.communication_s < communication.busy_s


@pytest.mark.parametrize("prefetch", [0, 1])
def test_waiting_is_split_and_never_negative(prefetch: int) -> None:
    """An all-gather waits for its copy longer without operators than with them in front: what it
    waits less is not room, of which it cannot have had less than none.
    """
    found = result(layers=3, parallel={"kind": "fsdp", "prefetch": prefetch}, batch=2)
    for name, task in found.tasks.items():
        assert task.room_s >= 0.0, name
        parts = task.isolated_s + task.predecessors_s + task.room_s + task.slower_s
        assert parts == pytest.approx(task.time_s, rel=1e-9), name


def test_without_parallelism_nothing_is_exposed() -> None:
    found = result(layers=3)
    assert found.communication_s == found.overlap.exposed_s == found.overlap.stretched_s == 0
    assert found.wall_s == found.compute_s


def test_without_prefetch_communication_is_exposed() -> None:
    """Gathers cannot overlap; reduce-scatters still do."""
    base: dict[str, Any] = {"layers": 8, "batch": 2, "phase": "forward"}
    ahead = result(**base, parallel={"kind": "fsdp"})
    none = result(**base, parallel={"kind": "fsdp", "prefetch": 0})
    assert none.overlap.exposed_s > 0.95 * none.communication_s
    assert ahead.overlap.exposed_s < 0.3 * ahead.communication_s
    assert ahead.overlap.stretched_s > 0


def test_bert_at_8192_tokens_is_bound_by_the_host() -> None:
    """On an H200; a graph takes what the GPU needs."""
    eager, graph = result(**BERT, layers=3), result(**BERT, layers=3, launch="graph")
    assert eager.host_bound and eager.host_s > eager.serial_s * 0.9
    assert any("bound by the host" in note for note in eager.notes)
    assert eager.wall_s > 1.5 * graph.wall_s
    assert not graph.host_bound


def test_where_the_head_hides_the_host_of_few_layers_all_are_simulated() -> None:
    """The loss keeps the GPU of a tensor group busy while the host launches a few layers, not all.
    An iteration takes no less than its launches.
    """
    found = result(layers=6, tokens=1024, parallel={"kind": "tensor"}, head=True)
    assert found.host_bound and found.wall_s == found.host_s


def test_faster_memory_lengthens_no_step_where_the_host_begins_to_bind() -> None:
    """A turn of a loop takes the longer of the host's launches and the GPU's work. With 2.58 TB/s
    decoding is bound by memory, with 2.64 by the host; when a turn by itself was taken, whose last
    kernels run behind the launches, the step rose by a tenth there.
    """
    step = {"layers": 8, "phase": "decode", "tokens": 1, "batch": 64, "context": 2047}
    loaded, node = described(node="h200-1", **step), load_hardware("h200-1").node
    slow, fast = (
        run_described(loaded, node, settings={"gpu.hbm.bandwidth": f"{rate} TB/s"})
        for rate in (2.58, 2.64)
    )
    assert not slow.host_bound and fast.host_bound
    assert fast.wall_s == fast.host_s < slow.wall_s < 1.02 * fast.wall_s
    assert sum(fast.parts.values()) == pytest.approx(fast.wall_s)


def test_mfu_and_tokens() -> None:
    """6 FLOP per weight and token, attention beside it; on all four GPUs."""
    found = result(layers=4, batch=2)
    assert found.tokens_per_s == pytest.approx(4 * 2 * 4096 / found.wall_s)
    layer = 218112000 - 2 * 4096
    attention = 3 * 4 * 128 * 32 * (4096 * 4097 / 2) * 2
    flops = 4 * (6 * layer * 2 * 4096 + attention)
    peak = 132 * 4096 * 1.98e9
    assert found.mfu == pytest.approx(flops / (found.wall_s * peak), rel=1e-6)
    assert 0.3 < found.mfu < 0.6


def test_a_mixture_that_is_not_there_is_said() -> None:
    """Of a model without experts, and of rows where every GPU has all of them."""
    small = {"phase": "forward", "layers": 1, "parallel": {"kind": "none"}, "node": "h200-8"}
    for model, mixture, said in (
        ("llama-3-8b", {"skew": 0.5}, "mixture: llama-3-8b has no experts"),
        ("mixtral-8x7b", {"dispatch": "kernels"}, "mixture.dispatch: every GPU has all experts"),
        ("mixtral-8x7b", {"skew": 0.5}, None),
    ):
        notes = result(model=model, mixture=mixture, **small).notes
        heard = [note for note in notes if note.startswith("mixture")]
        assert len(heard) == (said is not None) and (not heard or heard[0].startswith(said))


def test_memory_that_does_not_fit_is_said() -> None:
    """Weights, gradients, two moments of 2 bytes each of 8.03 billion parameters are 64 GB; in
    four shards 16, with a few layers gathered.
    """

    def needed(kind: str) -> float:
        fields = {"optimizer": "adamw", "checkpointing": "layer"}
        return memory_bytes(planned(**fields, parallel={"kind": kind}))

    assert 64e9 < needed("ddp") < 80e9
    assert 16e9 < needed("fsdp") < 32e9
    small = result(layers=2, parallel={"kind": "ddp"}, checkpointing="layer")
    assert small.fits and not any(note.startswith("warning: needs") for note in small.notes)
    large = result(model="llama-3-70b", parallel={"kind": "none"}, layers=40)
    assert not large.fits and any(note.startswith("warning: needs") for note in large.notes)


def test_layers_in_fp8_have_weights_of_one_byte() -> None:
    """Decoding with Llama 3 8B on eight GPUs: 32 layers of 218,112,000 parameters, of which each
    has an eighth, its embedding and head in 2 bytes still. Those that are trained, or cast in front
    of each product, are in 2 bytes.
    """

    def needed(**fields: str) -> float:
        sizes = {"parallel": {"tp": 8}, "context": 64, "tokens": None, "node": "h200-8"}
        return memory_bytes(planned(**{**sizes, "phase": "decode", **fields}))

    less = needed(precision="bf16") - needed(precision="fp8")
    assert less == pytest.approx(32 * 218_112_000 / 8, rel=1e-3)
    assert needed(precision="fp8", scales="tensor") == needed(precision="bf16")


def test_checkpointing_costs_a_third_more_and_saves_memory() -> None:
    """A forward pass more on three: less than 1.33, as the optimizer and others stay."""
    base: dict[str, Any] = {"layers": 6, "batch": 2}
    kept, again = result(**base), result(**base, checkpointing="layer")
    assert 1.25 < again.wall_s / kept.wall_s < 1.36
    assert again.memory_bytes < 0.6 * kept.memory_bytes
    assert again.mfu < kept.mfu  # work done again is not the model's


def test_decoding_is_bound_by_memory() -> None:
    """80 layers of 70B on four GPUs: 35 GB of weights each take 7.3 ms at 4.8 TB/s."""
    found = result(
        model="llama-3-70b",
        phase="decode",
        tokens=1,
        context=2047,
        batch=64,
        launch="graph",
        parallel={"kind": "tensor"},
    )
    assert 7.3e-3 < found.overlap.classes["gemm"].busy_s < 11e-3
    assert found.mfu < 0.15


@pytest.mark.parametrize(
    ("name", "node"),
    [
        pytest.param("llama3-70b-training", "mi300x-8", marks=pytest.mark.long),
        ("dlrm-training", "h200-8"),
    ],
)
def test_packaged_iterations_run_on_another_node(name: str, node: str) -> None:
    """On their own all run in test_glance.py."""
    found = run_described(open_iteration(name), load_hardware(node).node, settings={})
    check_figures(found)


def test_python_takes_a_description_too() -> None:
    loaded = open_iteration("llama3-8b-forward")
    by_name = c3sim.run("llama3-8b-forward", set={"layers": 2})
    by_model = c3sim.run(loaded.iteration.changed(layers=2))
    assert by_name.wall_s == by_model.wall_s
    with pytest.raises(InputError, match="did you mean 'llama3-8b-forward'"):
        c3sim.run("llama3-8b-foward")
