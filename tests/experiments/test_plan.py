"""A study as its points: their order, constraints, and what tells one sweep from another."""

import pytest
from sweep_case import STUDY, write

from c3sim.errors import C3simError
from c3sim.experiments import points as module
from c3sim.experiments.plan import make_plan


def points(plan):
    return [plan.point(number) for number in range(len(plan.indices))]


def test_scenarios_then_axes_then_strategies(tmp_path):
    text = STUDY + "scenarios: [{name: a}, {name: b, set: {task.gemm.m: 1024}}]\n"
    plan = make_plan(write(tmp_path, text))
    found = [
        (
            p.scenario,
            dict(p.settings)["gpu.dma_engines.count"],
            dict(p.settings)["links.bandwidth"],
            p.strategy,
        )
        for p in points(plan)
    ]
    assert found == [
        (scenario, engines, bandwidth, strategy)
        for scenario in "ab"
        for engines in (1, 2)
        for bandwidth in (10e9, 20e9, 30e9)
        for strategy in ("base", "conccl")
    ]
    assert [p.number for p in points(plan)] == list(range(24))


def test_a_point_sets_what_the_one_before_did_not(tmp_path, monkeypatch):
    """Two engines, under each three bandwidths: eight values are set, not two for each of six
    nodes; and a node is that of all its values.
    """
    plan, values = make_plan(write(tmp_path)), []
    real = module.node_with

    def node_with(node, workload, settings):
        values.extend(settings)
        return real(node, workload, settings)

    monkeypatch.setattr(module, "node_with", node_with)
    runner = module.PointRunner(plan.setup)
    for point in points(plan):
        _, node = runner.models(point.scenario, point.settings)
        engines, bandwidth = (value for _, value in point.settings)
        assert (node.gpu.dma_engines.count, node.links.bandwidth) == (engines, bandwidth)
    assert len(values) == 2 + 2 * 3


def test_linked_axes_move_together(tmp_path):
    text = (
        STUDY + "linked:\n  - gpu.hbm.bandwidth: [1 TB/s, 2 TB/s]\n    gpu.l2.bandwidth: [100 "
        "B/cycle, 200 B/cycle]\n"
    )
    plan = make_plan(write(tmp_path, text))
    assert len(plan.indices) == 2 * 3 * 2 * 2
    pairs = {
        (dict(p.settings)["gpu.hbm.bandwidth"], dict(p.settings)["gpu.l2.bandwidth"])
        for p in points(plan)
    }
    assert pairs == {(1e12, 100.0), (2e12, 200.0)}


def test_points_that_violate_a_constraint_are_left_out(tmp_path):
    """Engines matter to conccl only, so base needs one of their counts: 6 of 12 points less 3."""
    text = STUDY + "constraints: [\"strategy != 'base' or hw.sdma.engines == 1\"]\n"
    plan = make_plan(write(tmp_path, text))
    assert (len(plan.indices), plan.left_out) == (9, 3)
    assert all(
        p.strategy == "conccl" or dict(p.settings)["gpu.dma_engines.count"] == 1
        for p in points(plan)
    )


def test_a_constraint_may_ask_for_values_that_are_no_axis(tmp_path):
    """The node of each point is asked: two engines of the node's 25 GB/s are more than a link of 10
    or 20 GB/s.
    """
    plan = make_plan(write(tmp_path, STUDY))
    rate = plan.setup.node.gpu.dma_engines.bandwidth
    plan = make_plan(
        write(
            tmp_path,
            STUDY + "constraints: [hw.sdma.engines * hw.sdma.bandwidth <= links.bandwidth]\n",
        )
    )
    assert {
        (dict(p.settings)["gpu.dma_engines.count"], dict(p.settings)["links.bandwidth"])
        for p in points(plan)
    } == {(n, b) for n in (1, 2) for b in (10e9, 20e9, 30e9) if n * rate <= b}
    assert plan.left_out > 0


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("steps: 3", "steps: 4", "study"),
        ("node: teaching-4", "node: mi300x-8", "node"),
        ("workload: gemm-beside-all-gather", "workload: gemm-beside-dma-all-gather", "workloads"),
        ("1e9", "1e6", "study"),
    ],
)
def test_what_decides_the_numbers_decides_the_hash(tmp_path, old, new, changed):
    before = make_plan(write(tmp_path, STUDY)).hashes
    after = make_plan(write(tmp_path, STUDY.replace(old, new, 1))).hashes
    assert before[changed] != after[changed] and before["all"] != after["all"]


def test_words_do_not_decide(tmp_path):
    before = make_plan(write(tmp_path, STUDY)).hashes
    assert make_plan(write(tmp_path, STUDY + "description: words\nsource: me\n")).hashes == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "strategies: [base",
            "strategies: [bse",
            "small.yaml:5: strategies[0]: unknown strategy 'bse'; did you mean 'base'?",
        ),
        (
            "strategies: [base, conccl]",
            "strategies: [base, base]",
            "small.yaml:5: strategies: 'base' is given twice",
        ),
        (
            "outputs: [wall_s",
            "outputs: [wal_s",
            "small.yaml:6: outputs[0]: unknown output 'wal_s'; did you mean 'wall_s'?",
        ),
        (
            "tasks.*.slowdown",
            "tasks.gemm.slodown",
            "small.yaml:6: outputs[2]: unknown output 'tasks.gemm.slodown'; did you mean "
            "'tasks.gemm.slowdown'?",
        ),
        (
            "{area: hw.sdma.engines",
            "{area: hw.sdma.engins",
            "small.yaml:7: costs.area: hw.sdma.engins: unknown path",
        ),
        ("1e9}", "1 GB)}", "small.yaml:7: costs.area: "),
        (
            ", area]\ncosts: {area:",
            "]\ncosts: {speedup:",
            "small.yaml:7: costs.speedup: 'speedup' is taken, or has a dot; choose another name",
        ),
        (
            "axes:",
            "constraints: [hw.sdma.engines > 9]\naxes:",
            "small.yaml:8: constraints: no point is left of 12",
        ),
        (
            "axes:",
            "constraints: [hw.sdma.engines +]\naxes:",
            "small.yaml:8: constraints[0]: 'hw.sdma.engines +' is no expression",
        ),
        (
            "axes:",
            "constraints: [links.bandwidth >= 30 us]\naxes:",
            "small.yaml:8: constraints[0]: 'links.bandwidth >= 30 us' compares B/s with s",
        ),
        (
            "axes:",
            "constraints: [links.bandwidth >= 30]\naxes:",
            "compares B/s with a number without unit; write a unit, as in '48 GB/s'",
        ),
        (
            "axes:",
            "constraints: [\"scenario == 'smal'\"]\naxes:",
            "unknown value of scenario 'smal'; did you mean 'small'?",
        ),
        (
            "axes:",
            "constraints: [\"strategy == 'sp'\"]\naxes:",
            "unknown value of strategy 'sp'; allowed: base, conccl",
        ),
        (
            "node: teaching-4",
            "node: teachin-4",
            "small.yaml:3: node: unknown node 'teachin-4'; did you mean 'teaching-4'?",
        ),
        ("workload: gemm-b", "workload: gem-b", "small.yaml:4: workload: unknown workload 'gem-b"),
        (
            "axes:",
            "scenarios: [{name: a, set: {task.gem.m: 1}}]\naxes:",
            "small.yaml:8: scenarios[0].set.'task.gem.m': unknown path 'task.gem.m'",
        ),
        (
            "axes:",
            "scenarios: [{name: a}, {name: a}]\naxes:",
            "small.yaml:8: scenarios[1].name: name 'a' is given twice",
        ),
        ("steps: 3", "steps: 100000000", "100000000 values; must be at most 100000"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_line(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    assert old in STUDY
    write(tmp_path, STUDY.replace(old, new, 1))
    with pytest.raises(C3simError) as caught:
        make_plan("small.yaml")
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("small.yaml:")
