"""Explanations of iterations: kinds of sharing that need no run."""

from __future__ import annotations

import pytest

from c3sim.api import prepare
from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.limiter import better
from c3sim.iterations import described
from c3sim.simulation import runs, simulate
from c3sim.spec.reading.hardware import load_hardware

TEXT = """\
schema: 1
kind: iteration
name: small
node: mi300x-8
model: llama-3-8b
layers: 2
tokens: 256
parallel: {kind: fsdp}
phase: forward
"""


@pytest.mark.parametrize(
    ("strategy", "unmet"), [("as_written", {"dma", "host", "links"}), ("conccl", set())]
)
def test_kinds_in_which_no_two_tasks_meet_change_no_figure(tmp_path, strategy, unmet):
    """All-gathers follow each other in one stream, so no two are on links at once; by engines they
    have queues and packets of the host.
    """
    file = tmp_path / "small.yaml"
    file.write_text(TEXT, encoding="utf-8")
    node = load_hardware("mi300x-8").node
    workload = described.subject(file, node)
    sample = described._measured(workload, node, strategy).sample
    assert described._of_one(sample.workload, node) == unmet
    assert sample.sharing(node, frozenset(unmet)) == sample.sharing(node, frozenset())


@pytest.mark.parametrize("parallel", ["kind: fsdp", "pp: 2, dp_shard: 4"])
@pytest.mark.parametrize("path", ["links.bandwidth", "gpu.clock.maximum"])
def test_other_rates_leave_what_computation_alone_leaves_idle(tmp_path, path, parallel):
    """Kernels' launches and completions are latencies: what waits for communication on a node with
    better rates is told without a run of computation alone there. The copies of shards run beside
    layers: with the clock that an explanation takes they leave 0.4 us of 122 less idle.
    """
    file = tmp_path / "small.yaml"
    file.write_text(TEXT.replace("kind: fsdp", parallel), encoding="utf-8")
    node = load_hardware("mi300x-8").node
    workload = described.subject(file, node)
    there = better(node, (path,), 1.1)
    with_sides = described._figures(described._measured(workload, there, "as_written").numbers)
    figures = described.figures_on(workload, node, "as_written")(there)
    assert figures["exposed"] > 0.0
    assert figures.pop("exposed") == pytest.approx(with_sides.pop("exposed"), rel=1e-3)
    assert figures == pytest.approx(with_sides, rel=1e-9)


@pytest.fixture
def turns(monkeypatch):
    """Events of every turn that is simulated since."""
    events, once = [], simulate._simulated

    def counting(*given):
        made = once(*given)
        events.append(made[0].events)
        return made

    monkeypatch.setattr(simulate, "_simulated", counting)
    return events


def test_time_that_computation_leaves_idle_needs_no_clock_that_remembers(tmp_path, turns):
    """An explanation asks for nothing else of either side: one turn, with a clock that follows
    power at once.
    """
    file = tmp_path / "small.yaml"
    file.write_text(TEXT.replace("tokens: 256", "tokens: 4096"), encoding="utf-8")
    node = load_hardware("mi300x-8").node
    workload = described.subject(file, node)
    found, counts = {}, {}
    for sides in ("run", "idle", "none"):
        runs.forget()
        turns.clear()
        found[sides] = described._measured(workload, node, "as_written", sides=sides)
        counts[sides] = len(turns)
    assert counts["run"] > counts["idle"] + 1 and counts["idle"] == counts["none"] + 1
    assert found["idle"].sample.idle == pytest.approx(found["run"].sample.idle, rel=1e-9)
    assert found["idle"].numbers.waited == pytest.approx(found["run"].numbers.waited, rel=1e-9)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("gpu.gemm_libraries.triton.operand_feed", False),
        ("host.launch_time", False),
        ("host_profiles.framework.launch_time", False),
        ("links.bandwidth", True),
    ],
)
def test_a_number_that_no_run_reads_is_moved_without_one(tmp_path, turns, path, read):
    """A library that makes no kernel of the step, and calls that a graph needs none of."""
    file = tmp_path / "small.yaml"
    file.write_text(TEXT, encoding="utf-8")
    node = load_hardware("mi300x-8").node
    workload = described.subject(file, node)
    runs.forget()
    figures = described.figures_on(workload, node, "as_written")
    turns.clear()
    assert (figures(better(node, (path,), 1.1)) != figures(node)) == read == bool(turns)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("parallel", "{dp_shard: x}", "parallel.dp_shard: 'x' is not a whole number"),
        ("parallel", "{kind: fsdpx}", "parallel.kind: unknown value 'fsdpx'; did you mean 'fsdp'?"),
        ("parallel", "{dp_shrad: 8}", "unknown field 'dp_shrad'; did you mean 'dp_shard'?"),
        ("parallel", "[{kind: fsdp}, {kind: tensor, size: x}]", "parallel[1].size: 'x' is not"),
        (
            "mixture",
            "{dispatsh: puts}",
            "mixture: unknown field 'dispatsh'; did you mean 'dispatch'",
        ),
        ("mixture", "{units: 9}", "units are for dispatch: kernels or puts; it is all_to_all"),
        ("mixture", "3", "it is not one value; set one of its fields: skew, seed, dispatch, units"),
        ("parallel.prefetc", "2", "did you mean 'parallel.prefetch'?"),
        ("parallel", "{dp_shard: 3}", "dp_shard 3 does not divide 8 GPUs"),
    ],
)
def test_a_mistake_inside_a_value_set_by_hand_names_the_field(tmp_path, path, value, said):
    """In the words of the file, and without its line, in which nothing is wrong."""
    file = tmp_path / "small.yaml"
    file.write_text(TEXT, encoding="utf-8")
    with pytest.raises((InputError, InputErrors)) as error:
        prepare(file, None, {path: value})
    assert str(error.value).startswith(path)
    assert said in str(error.value)


def test_what_has_a_default_for_each_field_is_set_whole(tmp_path):
    """As one field after the other, whichever comes first."""
    file = tmp_path / "small.yaml"
    file.write_text(TEXT, encoding="utf-8")
    (one, two) = (
        prepare(file, "h200-8", settings)[0].iteration.mixture
        for settings in (
            {"mixture": "{units: 24, dispatch: puts}"},
            {"mixture.dispatch": "puts", "mixture.units": "24"},
        )
    )
    assert one == two and (one.dispatch, one.units) == ("puts", 24)
