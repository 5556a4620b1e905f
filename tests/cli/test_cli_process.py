"""The command as a process of its own: start-up, pipes, interrupts, completion."""

import os
import subprocess
import sys

import pytest
from cli_case import COMMAND, files
from signals import with_signals

HEAVY = {
    "pydantic",
    "numpy",
    "pandas",
    "scipy",
    "pint",
    "simpy",
    "yaml",
    "rich",
    "matplotlib",
    "perfetto",
    "joblib",
}


def test_an_error_is_one_line_and_no_traceback(shell, empty):
    run = shell("run", "gemm-alone", "--set", "task.gemm.m=0", "--plot", "x.png")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "task.gemm.m: got 0; must be greater than 0\n"
    assert files(empty) == []


@pytest.mark.parametrize(
    "script", ["import c3sim", "import c3sim.cli.app", "from c3sim.cli import main"]
)
def test_nothing_heavy_is_imported_before_a_command_needs_it(script, empty):
    """Half a second for --help bounds what is imported; times would depend on the computer."""
    code = f"{script}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not HEAVY & set(loaded.split())


def test_a_reader_that_goes_away_is_no_error_to_talk_about(empty):
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run(
        [*COMMAND, "schema", "study"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(write)
    assert run.stderr == "" and run.returncode != 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", (["schema", "study"], ["--help"]), ids=" ".join)
def test_a_full_disk_is_one_line(empty, words):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (run.returncode, run.stderr) == (1, "c3sim: no space left on device\n")


#: The command, which interrupts itself as Ctrl-C would when its first scenario begins.
INTERRUPTED = """
import os, signal
from c3sim.cli import main
from c3sim.experiments.papers import sweep
signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is inherited as ignored
begun = sweep.outcome
sweep.outcome = lambda *arguments: os.kill(os.getpid(), signal.SIGINT) or begun(*arguments)
main()
"""


@with_signals
def test_an_interrupt_is_one_line_and_leaves_nothing(empty):
    command = [
        sys.executable,
        "-c",
        INTERRUPTED,
        "study",
        "conccl",
        "--jobs",
        "1",
        "--out",
        "results",
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (130, "")
    assert run.stderr == "c3sim: interrupted; nothing was done yet\n"
    assert files(empty) == []


@pytest.fixture
def complete(empty, monkeypatch, capsys):
    """Words that the command offers a shell in which *words* were typed."""
    from c3sim.cli import main

    def ask(words):
        monkeypatch.setenv("_C3SIM_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        monkeypatch.setattr(sys, "argv", ["c3sim"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out.split()

    return ask


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("c3sim stu", ["study"]),
        ("c3sim run gemm-al", ["gemm-alone"]),
        ("c3sim run gemm-alone --strategy conccl_", ["conccl_rp", "conccl_latte"]),
        ("c3sim run gemm-alone --node teach", ["teaching-4", "teaching-cluster"]),
        ("c3sim compare gemm-alone --strategies base,sp_", ["base,sp_rp"]),
        ("c3sim study conccl-", ["conccl-pool"]),
        ("c3sim show teach", ["teaching-4", "teaching-cluster", "teaching"]),
        ("c3sim schema wo", ["workload"]),
    ],
)
def test_completion(complete, words, expected):
    assert complete(words) == expected


def test_completion_of_files(complete, pair):
    assert complete("c3sim run ./pa") == ["./pair.yaml"]


def test_a_shell_asks_for_completion(shell, empty):
    """It starts the command with what was typed in the environment."""
    given = {"_C3SIM_COMPLETE": "complete_bash", "COMP_WORDS": "c3sim stu", "COMP_CWORD": "1"}
    assert shell(env={**os.environ, **given}).stdout.split() == ["study"]
