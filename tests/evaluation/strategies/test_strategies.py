"""Strategies are pure rewrites: what they change, what they leave alone, and how auto decides."""

import pytest
from made_workload import workload_of

from c3sim.errors import InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies import table
from c3sim.evaluation.strategies.heuristics import recommend, sp_estimate
from c3sim.evaluation.strategies.rewrites import (
    baseline,
    is_memory_bound,
    reserved,
    splits,
    staying_note,
)
from c3sim.evaluation.strategies.table import STRATEGIES, best_candidate, candidates_of, exhaustive
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload, task_order

NODE = load_node("mi300x-8")
TEACHING = load_node("teaching-4")
GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "op": "all_gather", "size": 64 * 2**20}
DECODE = {"kind": "gemm", "m": 64, "n": 57344, "k": 8192}
REWRITING = ["base", "sp", "rp:32", "sp_rp:32", "conccl", "conccl_rp"]


def workload(gemm=GEMM, gather=GATHER, **fields):
    tasks = {"gather": gather, "gemm": gemm}  # the collective first: base has to change that
    return workload_of(tasks, **fields)


def one(name, given, node=NODE):
    (candidate,) = candidates_of(name, given, node)
    return candidate.workload


def wrong(name, given, node=NODE):
    with pytest.raises(InputError) as caught:
        candidates_of(name, given, node)
    return str(caught.value)


# All of them --------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_input_is_unchanged(name):
    given = workload()
    before = given.model_dump_json()
    candidates_of(name, given, NODE)
    assert given.model_dump_json() == before


@pytest.mark.parametrize("name", REWRITING)
def test_rewriting_twice_changes_nothing_more(name):
    once = one(name, workload())
    assert one(name, once) == once


@pytest.mark.parametrize("first", REWRITING)
@pytest.mark.parametrize("second", ["base", "sp", "conccl"])
def test_a_strategy_forgets_order_priority_masks_and_backend_of_another(first, second):
    """Channels asked for are the workload's own; rp:32 limits them, so it is compared with a
    workload that asks for 32.
    """
    given = workload(gather={**GATHER, "channels": 32})
    assert one(second, one(first, given)).streams == one(second, given).streams
    assert one(second, one(first, given)).host == one(second, given).host


@pytest.mark.parametrize("name", REWRITING)
@pytest.mark.parametrize("node", [NODE, TEACHING], ids=["mi300x", "teaching"])
def test_what_comes_out_can_run(name, node):
    library = next(iter(TEACHING.gpu.gemm_libraries)) if node is TEACHING else "hipblaslt"
    backend = next(iter(node.collective_libraries))
    given = workload({**GEMM, "library": library}, {**GATHER, "backend": backend})
    number = name.replace("32", "4") if node is TEACHING else name
    check_on_node(one(number, given, node), node)


# Each of them
# --------------------------------------------------------------------------------------------------


def test_as_written_is_the_workload_itself():
    given = workload()
    assert one("as_written", given) is given


def test_base_launches_the_gemm_first_on_plain_streams():
    masked = {"c": {"compute_units": 8, "priority": 3}}
    out = one("base", workload(gather={**GATHER, "stream": "c", "backend": "dma"}, streams=masked))
    assert task_order(out) == ("gemm", "gather")
    assert out.streams == {}
    assert out.tasks["gather"].backend == "rccl"
    assert out.tasks["gemm"].stream != out.tasks["gather"].stream


def test_sp_launches_the_kernel_with_fewer_workgroups_first():
    """8192^2 results need at least 8192^2 / 256^2 = 1024 workgroups, an all-gather at most one per
    channel; a result of 64 x 256 with K = 256 is at most a few tiles.
    """
    assert task_order(one("sp", workload())) == ("gather", "gemm")
    tiny = {"kind": "gemm", "m": 64, "n": 256, "k": 256, "macro_tile": [64, 256]}
    assert task_order(one("sp", workload(tiny))) == ("gemm", "gather")


def test_sp_needs_priority_only_where_order_cannot_act():
    assert one("sp", workload()).streams == {}
    tasks = {
        "gemm": GEMM,
        "first": {**GEMM, "m": 256},
        "gather": {**GATHER, "stream": "c", "after": ["first"]},
    }
    late = workload_of(tasks)
    assert one("sp", late).streams["c"].priority == 1


def test_rp_reserves_the_same_number_of_cus_on_every_die():
    out = one("rp:32", workload())
    masks = {
        name: set(parse_cu_mask(out.streams[name].compute_units, 304))
        for name in ("gemm", "gather")
    }
    assert masks["gather"] == set(range(272, 304)) and masks["gemm"] == set(range(272))
    assert [sum(1 for bit in masks["gather"] if bit % 8 == die) for die in range(8)] == [
        4
    ] * 8  # 32 / 8
    assert task_order(out) == ("gemm", "gather")


@pytest.mark.parametrize(
    ("strategy", "asked", "channels"), [("rp:8", None, 8), ("rp:128", 16, 16), ("rp:32", 40, 32)]
)
def test_rp_limits_the_channels_to_the_cus_reserved(strategy, asked, channels):
    assert (
        one(strategy, workload(gather={**GATHER, "channels": asked})).tasks["gather"].channels
        == channels
    )


def test_rp_leaves_channels_to_a_library_that_has_no_more_than_there_is_room_for():
    assert NODE.collective_libraries["rccl"].channels.maximum <= 128
    assert one("rp:128", workload()).tasks["gather"].channels is None
    # NCCL gives 256 KiB among 8 ranks 8 of its 24 channels, so 16 units are enough (decision 112)
    nodes = load_node("h200-8")
    for size, channels in ((2**18, None), (2**28, 16)):
        small = workload(gather={**GATHER, "size": size})
        assert reserved(small, nodes, 16).tasks["gather"].channels == channels


def test_rp_without_a_number_tries_1_to_16_cus_per_die():
    names = [candidate.name for candidate in candidates_of("rp", workload(), NODE)]
    assert names == ["rp:8", "rp:16", "rp:32", "rp:64", "rp:128"]
    assert all(2 * count <= TEACHING.gpu.compute_unit_count for count in splits(TEACHING))


def test_sp_rp_is_both():
    out = one("sp_rp:16", workload())
    assert task_order(out) == ("gather", "gemm")
    assert out.streams["gather"].compute_units == "288-303"


def test_conccl_moves_the_collective_to_dma_engines():
    task = one("conccl", workload(gather={**GATHER, "channels": 8, "protocol": "ll"})).tasks[
        "gather"
    ]
    assert (task.backend, task.channels, task.protocol, task.algorithm) == ("dma", None, None, None)


@pytest.mark.parametrize("op", ["all_reduce", "reduce_scatter"])
@pytest.mark.parametrize("name", ["conccl", "conccl_rp"])
def test_dma_engines_cannot_reduce(name, op):
    message = wrong(name, workload(gather={**GATHER, "op": op}))
    assert (
        message == f"tasks.gather.op: DMA engines copy and cannot reduce, so not {op!r};"
        " allowed: all_gather, all_to_all"
    )


@pytest.mark.parametrize("name", ["conccl", "conccl_rp", "conccl_latte"])
def test_reductions_stay_where_gathers_go_to_engines(name):
    """And it is said, but of what a strategy moved alone."""
    reduction = {**GATHER, "op": "all_reduce", "channels": 8}
    tasks = {"gather": GATHER, "reduction": reduction, "gemm": GEMM}
    mixed = workload_of(tasks)
    chosen = candidates_of(name, mixed, NODE)[0].workload
    assert chosen.tasks["gather"].backend == "dma"
    assert chosen.tasks["reduction"].backend in (None, "rccl")
    assert chosen.tasks["reduction"].channels == 8
    note = staying_note(name, chosen, NODE)
    assert note == "all_reduce stays on compute units: DMA engines copy and cannot reduce"
    assert staying_note("as_written", chosen, NODE) is None
    assert note in evaluate_run(mixed, NODE, name).notes


def test_conccl_rp_withholds_one_cu_per_die_from_memory_bound_gemms_only():
    """64 x 57344 x 8192 in 16 bit: 60 GFLOP, at 1.3 PFLOP/s 46 us (tiles may be padded to 128 or
    256 rows: four times that at most); 0.95 GB, at 5.3 TB/s at least 179 us. 8192^3: 1.1 TFLOP, 840
    us; 0.4 GB, some 90 us.
    """
    assert is_memory_bound(NODE, workload(DECODE).tasks["gemm"])
    assert not is_memory_bound(NODE, workload().tasks["gemm"])
    assert one("conccl_rp", workload(DECODE)).streams["gemm"].compute_units == "0-295"
    assert one("conccl_rp", workload()) == one("conccl", workload())


# Wrong input --------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bsae", "unknown strategy 'bsae'; did you mean 'base'?"),
        ("concl", "unknown strategy 'concl'; did you mean 'conccl'?"),
        ("sp:3", "strategy 'sp:3': sp takes no number; write 'sp'"),
        ("rp:0", "strategy 'rp:0': '0' compute units; must be 1 to 303, as in 'rp:32'"),
        ("rp:304", "strategy 'rp:304': '304' compute units; must be 1 to 303, as in 'rp:32'"),
        (
            "sp_rp:",
            "strategy 'sp_rp:': no number behind the colon; must be 1 to 303, as in 'sp_rp:32'",
        ),
        ("rp:-8", "strategy 'rp:-8': '-8' compute units; must be 1 to 303, as in 'rp:32'"),
    ],
)
def test_a_name_that_is_no_strategy(name, message):
    assert wrong(name, workload()) == message


def test_units_of_more_digits_than_python_reads_are_too_many():
    assert wrong("rp:" + "9" * 5000, workload()).endswith("must be 1 to 303, as in 'rp:32'")


@pytest.mark.parametrize("name", ["rp:8", "sp_rp:8", "conccl", "conccl_rp"])
def test_strategies_about_the_collective_need_one(name):
    alone = workload_of({"gemm": GEMM})
    assert (
        wrong(name, alone)
        == f"strategy {name.partition(':')[0]!r} needs a collective; workload 'w' has none"
    )


def test_one_stream_for_both_is_the_programs_order():
    shared = workload({**GEMM, "stream": "s"}, {**GATHER, "stream": "s"})
    assert wrong("sp", shared).startswith("tasks: stream 's' holds compute tasks and collectives")
    assert one("as_written", shared) is shared


# auto ---------------------------------------------------------------------------------------------
# -------------


@pytest.mark.parametrize(
    ("first", "second", "slowdown", "end"),
    [
        (3.0, 4.0, 2.0, 5.5),  # by 3 s it has done 1.5 of 4; the other 2.5 at full speed
        (3.0, 1.0, 2.0, 3.0),  # done after 2 s, before the first one
        (3.0, 4.0, 1.0, 4.0),  # no slowdown: side by side
    ],
)
def test_the_second_runs_slowed_down_until_the_first_has_ended(first, second, slowdown, end):
    assert sp_estimate(first, second, slowdown) == end


def test_rp_is_estimated_by_the_published_rule():
    base = baseline(workload(), NODE)
    recommended = recommend(base, NODE, (8, 64))
    for count in (8, 64):
        parted = reserved(base, NODE, count)
        estimate = max(isolated(NODE, parted, name).end for name in parted.tasks)
        assert recommended.estimates[f"rp:{count}"] == pytest.approx(estimate, rel=1e-12)
    assert recommended.estimates[recommended.strategy] == min(recommended.estimates.values())


def test_auto_is_the_strategy_it_names():
    (chosen,) = candidates_of("auto", workload(), NODE)
    assert chosen.workload == one(chosen.detail["chosen"], workload())
    assert chosen.name in [candidate.name for candidate in exhaustive(workload(), NODE)]


def test_auto_leaves_dma_out_for_operations_that_reduce():
    (chosen,) = candidates_of("auto", workload(gather={**GATHER, "op": "all_reduce"}), NODE)
    assert not any(name.startswith("conccl") for name in chosen.detail["estimated_s"])


# The best of several ------------------------------------------------------------------------------
# -------------

FEW_ROWS = {**DECODE, "m": 128}
TO_ALL = {"kind": "collective", "op": "all_to_all", "size": 896 * 2**20}


@pytest.mark.parametrize("strategy", ["rp", "sp_rp"])
@pytest.mark.parametrize("gather", [GATHER, {**GATHER, "size": 2**20}, TO_ALL])
@pytest.mark.parametrize("gemm", [GEMM, DECODE, FEW_ROWS, {**GEMM, "m": 1024, "n": 1024}])
def test_a_split_that_is_not_run_is_not_the_best(strategy, gemm, gather):
    given = workload(gemm, gather)
    every = [(run_once(NODE, c.workload).end, c.name) for c in candidates_of(strategy, given, NODE)]
    best = best_candidate(strategy, given, NODE)
    assert list(best.names) == [name for _, name in every]
    assert best.run.end == min(every)[0]
    firsts = [name for end, name in every if end == min(every)[0]]
    assert best.candidate.name == firsts[0]


def test_no_split_is_run_on_whose_units_the_collective_alone_takes_longer(monkeypatch):
    """896 MiB to all by 8 units take twice as long as a GEMM beside them on 128."""
    ran = []

    def counted(node, asked, *args, **options):
        ran.append(asked)
        return run_once(node, asked, *args, **options)

    monkeypatch.setattr(table, "run_once", counted)
    best = best_candidate("rp", workload(gather=TO_ALL), NODE)
    assert len(best.names) == 5 and len(ran) <= 2


@pytest.mark.parametrize(
    "fields",
    [
        {"host": {"release": "per_rank"}},
        {"host": {"loop": {"iterations": 10}}},
        {"tasks": {"gemm": GEMM, "gather": GATHER, "other": TO_ALL}},
    ],
)
def test_every_split_is_run_where_a_collective_alone_says_nothing(monkeypatch, fields):
    monkeypatch.setattr(table, "isolated", None)
    given = Workload.model_validate({**workload().model_dump(by_alias=True), **fields})
    assert len(best_candidate("rp", given, NODE).names) == 5
