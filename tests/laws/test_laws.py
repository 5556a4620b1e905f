"""Every law on every case: a test is a node and a workload, and says which laws it breaks.

A run of all tests tries a sample (``law_cases.sample``): on the teaching nodes all of it but what
is long, on real nodes a cover that is the same for each commit, and of the others a share, another
with each commit. In compiled loops (``--compiled``) a cover on the teaching nodes stands for all of
them: they share what they compile. ``--every-case`` tries all (nox -s laws).
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import laws_of_energy
import laws_of_links
import laws_of_rates
import laws_of_times
import pytest
from law_cases import CASES, TEACHING, Case, mechanisms, on_real_nodes, on_teaching_nodes, sample
from law_exceptions import EXCEPTIONS, MISTAKES, known
from law_runs import LAWS, Trial, ends, first_digest
from turns import has_turn, turn_of_commit

from c3sim.simulation.simulate import simulate

#: Workloads of the sample that take seconds; shorter ones use the same mechanisms.
LONG = (
    "packaged llama3",
    "packaged fsdp-layer",
    "packaged gemm-behind-all-gather-by-pytorch",
    "t3-8: packaged gemm-stores-staggered",
    "DMA all_gather, pull, one thread",
)
TURNS = 10  # commits in a row that have all cases on real nodes

MODULES = (laws_of_energy, laws_of_links, laws_of_rates, laws_of_times)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases that laws are tried on; slow outside of the teaching nodes, and of large layers."""
    if "tried" not in metafunc.fixturenames:
        return
    config = metafunc.config
    every, compiled = config.getoption("--every-case"), config.getoption("--compiled")
    cases = CASES if every else tried_by_commit(turn_of_commit(TURNS), compiled=compiled)
    laws_of_times.EVERY = every

    def marks(case: Case) -> list[pytest.MarkDecorator]:
        if _is_long(case):
            return [pytest.mark.slow, pytest.mark.long]
        return [] if case.node_name in TEACHING else [pytest.mark.slow]

    metafunc.parametrize("tried", [pytest.param(c, marks=marks(c), id=str(c)) for c in cases])


def _is_long(case: Case) -> bool:
    return case.name.startswith(LONG) or str(case) in LONG


def tried_by_commit(turn: int, *, compiled: bool = False) -> list[Case]:
    """The cases that every commit has, and of others on real nodes those of *turn*."""
    teaching = on_teaching_nodes() if compiled else sample()
    always = _real_always() | {case for case in teaching if case.node_name in TEACHING}
    others = {case for case in sample() if case.node_name not in TEACHING} - always
    return [
        case
        for case in CASES
        if case in always or (case in others and has_turn(str(case), turn, TURNS))
    ]


@cache
def _real_always() -> frozenset[Case]:
    return frozenset(on_real_nodes(case for case in sample() if not _is_long(case)))


def test_laws_hold(tried: Case) -> None:
    """All but those that the table names for this case; those do not."""
    trial, broken = Trial(tried), {}
    for law in LAWS:
        if law.applies(tried):
            try:
                law.check(trial)
            except Exception as error:  # whatever it is, the other laws are tried too
                broken[law.name] = f"{type(error).__name__}: {error}"
    needless = [law for law in known(tried) if law not in broken]
    assert not needless, f"in law_exceptions.py, and yet they hold: {needless}"
    new = [f"{law}: {why}" for law, why in broken.items() if law not in known(tried)]
    assert not new, "\n\n".join(new)


def test_every_law_and_every_exception_is_tried() -> None:
    """The sample has cases for each law, and tables name laws and cases that there are."""
    sampled = sample()
    assert [law.name for law in LAWS if not any(map(law.applies, sampled))] == []
    names = {law.name for law in LAWS}
    cases = {name for case in CASES for name in (str(case), case.name)}
    assert [
        key for key in (EXCEPTIONS | MISTAKES) if key[0] not in names or key[1] not in cases
    ] == []


def test_the_sample_has_every_workload_and_every_two_mechanisms_of_a_node() -> None:
    sampled, of = sample(), {}
    for case in CASES:
        of.setdefault(case.node_name, set()).update(case.pairs)
    for case in sampled:
        of[case.node_name] -= case.pairs
    assert not any(of.values())
    assert {case.name for case in sampled} == {case.name for case in CASES}
    assert {case for case in CASES if case.node_name == TEACHING[0]} <= {*sampled}


def test_every_commit_has_the_kinds_of_a_node_and_every_two_mechanisms() -> None:
    """On real nodes, but for what only long cases have; commits in a row have the whole sample."""
    commits = [{*tried_by_commit(turn)} for turn in range(TURNS)]
    assert set.union(*commits) == {*sample()}
    short = {case for case in sample() if case.node_name not in TEACHING and not _is_long(case)}
    always = set.intersection(*commits) & short
    assert len(always) < len(short) / 3
    for shown in (lambda case: case.pairs, lambda case: {(case.node_name, k) for k in case.kinds}):
        assert set().union(*map(shown, always)) == set().union(*map(shown, short))


def test_mechanisms_are_what_a_workload_says_beyond_defaults() -> None:
    (case,) = (case for case in CASES if str(case) == "teaching-4: tile groups release copies")
    used = mechanisms(case.workload)
    assert {"gemm", "copy", "copy.after.tiles", "copy.gpus=all", "copy.peer"} <= used
    assert not any(name.startswith(("host", "collective")) for name in used)


@pytest.mark.slow
@pytest.mark.turns(5)
def test_same_input_same_bytes_in_another_process() -> None:
    """Nor does the order in which Python happens to keep sets of strings matter. On cases of the
    teaching nodes in which every two mechanisms meet.
    """
    script = (
        "from law_cases import on_teaching_nodes\nfrom law_runs import first_digest\n"
        "for case in on_teaching_nodes(): print(case, first_digest(case))"
    )
    here = os.environ.get("PYTHONHASHSEED")  # where it is not set it is random
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "1" if here != "1" else "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    assert run.stdout.splitlines() == [
        f"{case} {first_digest(case)}" for case in on_teaching_nodes()
    ]


def test_compiled_loops_change_rounding_alone() -> None:
    """A sample of all cases, unfolded, in compiled loops; tests/engine/test_compiled.py has random
    flows, and CI the laws on the teaching nodes.
    """
    pytest.importorskip("numba")
    for case in CASES[:: len(CASES) // 12]:
        compiled, pure = (
            ends(simulate(case.node, case.workload, fold=False, compiled=way))
            for way in (True, False)
        )
        assert compiled == pytest.approx(pure, rel=1e-12), str(case)
