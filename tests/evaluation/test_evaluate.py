"""Figures of a run of more than a pair: ideal, parts of a slowdown, exposed, stretched, choices."""

from __future__ import annotations

import pickle

import pytest
from made_workload import workload_of

import c3sim
from c3sim.errors import DeadlockError
from c3sim.evaluation import evaluate as evaluation
from c3sim.evaluation import notes
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies.table import candidates_of
from c3sim.simulation.run import TaskRun
from c3sim.simulation.runs import each_isolated
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload

NODE = load_node("mi300x-8")
GATHER = {"kind": "collective", "op": "all_gather", "size": "256 MiB", "stream": "comm"}
UP = {"kind": "gemm", "m": 8192, "n": 14336, "k": 4096, "stream": "compute"}
DOWN = {"kind": "gemm", "m": 8192, "n": 4096, "k": 14336, "stream": "compute"}


def layers(count: int, **gather: object) -> Workload:
    """Layers of FSDP: the weights of the next are gathered while this one computes."""
    tasks: dict[str, object] = {f"gather_{i}": {**GATHER, **gather} for i in range(count)}
    for i in range(count):
        tasks[f"up_{i}"] = {**UP, "after": [f"gather_{i}"]}
        tasks[f"down_{i}"] = DOWN
    return workload_of(tasks)


LAYERS = layers(2)


def test_the_ideal_of_two_layers_is_their_longest_chain():
    """The sum over the longest task would be 5: as if all four GEMMs ran at once."""
    result = c3sim.run(LAYERS)
    alone = {name: task.isolated_s for name, task in result.tasks.items()}
    chain = alone["gather_0"] + 2 * (alone["up_0"] + alone["down_0"])
    assert result.overlap.ideal_s == pytest.approx(chain, rel=1e-9)
    assert result.ideal_speedup == pytest.approx(sum(alone.values()) / chain, rel=1e-9)
    assert result.ideal_speedup < 1.2 and result.fraction_of_ideal > 0.5


def test_tasks_that_cannot_overlap_have_no_fraction():
    tasks = {"a": UP, "b": UP}
    result = c3sim.run(workload_of(tasks))
    assert result.ideal_speedup == pytest.approx(1.0, abs=1e-9)
    assert result.fraction_of_ideal is None and result.overlap.own_fraction is None
    assert any(note.startswith("nothing can overlap") for note in result.notes)


@pytest.mark.parametrize("strategy", ["as_written", "base", "rp:32", "conccl"])
def test_the_parts_of_a_slowdown_add_up(strategy: str):
    result = c3sim.run(LAYERS, strategy=strategy)
    for task in result.tasks.values():
        parts = task.isolated_s + task.predecessors_s + task.room_s + task.slower_s
        assert parts == pytest.approx(task.time_s, rel=1e-12)
    last = result.tasks["down_1"]
    assert last.predecessors_s > 2 * last.isolated_s > 20 * abs(last.slower_s) + last.room_s


def test_waiting_for_room_is_not_running_slower():
    """Launched behind a GEMM, the channels get no compute unit until its last round."""
    gather = c3sim.run("gemm-beside-all-gather").tasks["gather"]
    assert gather.predecessors_s == 0 and gather.room_s > 1e-3 > 5 * gather.slower_s


def test_a_kernel_that_was_in_its_queue_in_time_did_not_wait_for_room():
    """Behind another of its stream it begins 1 us later, alone 4 us after the release: it was ready
    later than alone, and its waiting for room is no less than nothing."""
    kernel = {"kind": "kernel", "time": "50 us", "workgroups": 132, "stream": "compute"}
    row = {"tasks": {"first": kernel, "second": kernel}, "host": {"kernel_gap": "1 us"}}
    second = c3sim.run(row, node="h200-2").tasks["second"]
    assert second.room_s == 0.0
    parts = second.isolated_s + second.predecessors_s + second.room_s + second.slower_s
    assert parts == pytest.approx(second.time_s, rel=1e-12)


def test_exposed_and_stretched():
    """The first gather has nothing to hide behind; the second slows the first layer down."""
    result = c3sim.run(LAYERS)
    first = result.tasks["gather_0"].time_s
    assert first <= result.overlap.exposed_s < 1.05 * first
    slower = sum(task.slower_s for name, task in result.tasks.items() if "gather" not in name)
    assert result.overlap.stretched_s == pytest.approx(slower, rel=0.05)
    assert result.wall_s > result.overlap.exposed_s + result.overlap.stretched_s


def test_without_communication_nothing_is_exposed_or_stretched():
    result = c3sim.run("gemm-alone")
    assert result.overlap.exposed_s == result.overlap.stretched_s == 0
    assert c3sim.run("all-gather-alone").overlap.exposed_s == c3sim.run("all-gather-alone").wall_s


def test_a_result_may_do_without_the_second_run():
    assert (
        evaluate_run(LAYERS, NODE, "base", noted=False, stretched=False).overlap.stretched_s is None
    )


# Choices of strategies
# --------------------------------------------------------------------------------------------------


def test_a_collective_on_the_critical_path_gets_its_quickest_variant():
    """One engine back to back is hidden behind the sum of all GEMMs, and yet the first layer waits
    for it; beside the first layer the second gather may be slow.
    """
    result = c3sim.run(LAYERS, strategy="conccl_latte")
    plain = c3sim.run(LAYERS, strategy="conccl")
    assert result.tasks["gather_0"].isolated_s <= plain.tasks["gather_0"].isolated_s
    assert result.wall_s < 1.01 * plain.wall_s < result.serial_s


def test_auto_estimates_chains():
    """Its estimates are times of the whole, so none is below the chain of the GEMMs."""
    result = c3sim.run(LAYERS, strategy="auto")
    gemms = sum(t.isolated_s for name, t in result.tasks.items() if "gather" not in name)
    (chosen,) = candidates_of("auto", LAYERS, NODE)
    assert min(chosen.detail["estimated_s"].values()) >= gemms * (1 - 1e-9)
    assert result.wall_s <= c3sim.run(LAYERS).wall_s * 1.001


def test_a_choice_that_loses_says_so():
    """A small all-reduce launched behind a GEMM that is much longer: auto launches it first."""
    gemm = {"kind": "gemm", "m": 8192, "n": 4096, "k": 8192}
    tasks = {"gemm": gemm, "reduce": {"kind": "collective", "op": "all_reduce", "size": "16 MiB"}}
    pair = workload_of(tasks, node="h200-8")
    result = c3sim.run(pair, strategy="auto")
    loss = 100 * (result.wall_s / c3sim.run(pair).wall_s - 1)
    assert f"the choice loses: {loss:.1f} % slower than as_written" in result.notes and loss > 1
    better = c3sim.run(LAYERS, strategy="conccl_latte")
    assert not any(note.startswith("the choice loses") for note in better.notes)


def test_tasks_are_run_alone_once_somebody_looks_at_what_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wall time, energy and classes are of the run; a speedup is not. Whoever runs it by name
    gets the same, with notes.
    """
    asked: list[object] = []

    def alone(*args: object) -> dict[str, TaskRun]:
        asked.append(args)
        return each_isolated(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluation, "each_isolated", alone)
    for result in (evaluate_run(LAYERS, NODE, "base"), c3sim.run(LAYERS, strategy="base")):
        assert result.wall_s > 0 and result.energy_j > 0 and result.ranks.count == NODE.ranks
        assert result.overlap.exposed_s > 0 and not asked
        tasks = result.tasks
        assert result.serial_s == pytest.approx(sum(task.isolated_s for task in tasks.values()))
        assert result.speedup == result.serial_s / result.wall_s
        assert result.tasks is tasks and len(asked) == 3  # as run, of the baseline, and its own
        asked.clear()


def test_a_collective_that_fits_nowhere_alone_is_refused_before_anything_is_read() -> None:
    """Engines carry it in the run; its isolated time would be that on compute units, which have
    room for 2048 registers a lane.
    """
    large = {"collective_libraries.rccl.channels.registers": 2100}
    with pytest.raises(DeadlockError, match="'gather' waits for a compute unit"):
        c3sim.run("gemm-beside-all-gather", strategy="conccl", set=large)


def test_losses_notes_and_trust_are_worked_out_once_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They take runs of their own, for those who look. A copy has the values."""
    asked = []

    def losses(*args: object, **options: object) -> None:
        asked.append("losses")

    monkeypatch.setattr(notes, "losses", losses)
    monkeypatch.setattr(evaluation, "nearest", lambda *_: asked.append("trust") or "near")
    result = evaluate_run(LAYERS, NODE, "base")
    assert result.figure("wall_s") == result.wall_s > 0 and not asked
    assert result.overlap.losses is None and result.notes is result.notes
    assert asked == ["losses"]
    assert pickle.loads(pickle.dumps(result)) == result
    assert result.trust == "near" and asked == ["losses", "trust"]
