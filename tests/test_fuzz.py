"""Generated bad input: a case of each command, and some of nine more;
benchmarks/bench_fuzz.py has thousands.
"""

import pytest
from fuzz_files import good
from fuzzing import COMMANDS, NODES, TASKS, case_of, cases, fault_of

from c3sim.api import prepare
from c3sim.cli import consent
from c3sim.spec.reading.loading import load_hardware

ASKED_AT = 0.1  # s: so that no case that is right runs for long


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "turn", [pytest.param(n, marks=pytest.mark.turns(9) if n else []) for n in range(10)]
)
def test_bad_input_ends_soon_in_a_short_message_with_a_place(turn, tmp_path, monkeypatch):
    """One of each command."""
    monkeypatch.setattr(consent, "MOST_SECONDS", ASKED_AT)
    faults = []
    for number in range(turn * len(COMMANDS), (turn + 1) * len(COMMANDS)):
        case = case_of(2, number)
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        if fault := fault_of(case, folder, ASKED_AT):
            faults.append(f"case {number}: {fault}: {case}")
    assert faults == []


def test_the_files_that_mistakes_are_put_into_are_right(tmp_path, monkeypatch):
    """Of one that is refused as it is, every case would be refused for the same reason."""
    monkeypatch.chdir(tmp_path)
    for name in (*NODES, "gpu.yaml", "h200.yaml", *TASKS):
        (tmp_path / name).write_bytes(good()[name])
    for name in TASKS:
        prepare(name, None)
    for name in NODES:
        load_hardware(name)


def test_the_cases_of_a_seed_are_always_the_same():
    assert [str(case) for case in cases(3, 40)] == [str(case) for case in cases(3, 40)]


def test_the_fuzzer_sees_faults(tmp_path, monkeypatch):
    """A command that breaks, and one that says too much, are told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(consent, "MOST_SECONDS", ASKED_AT)
    case = next(cases(0, 1))
    for error, told in (
        (ValueError("x"), "traceback"),
        (consent.InputError("a b"), "without a place"),
    ):

        def prepare(*_, error=error):
            raise error

        monkeypatch.setattr("c3sim.api.prepare", prepare)
        broken = type(case)(("run", "pair.yaml"), dict(case.files), "")
        assert fault_of(broken, tmp_path, ASKED_AT).startswith(told)
