"""An iteration under several strategies, whose runs go side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from time import monotonic, sleep
from typing import Any

import pytest
from signals import hear_interrupts

import c3sim
from c3sim.api import prepare
from c3sim.iterations.described import asked
from c3sim.simulation.later import side_by_side
from c3sim.simulation.runs import forget
from c3sim.spec.iteration import Described

MAIN = "from c3sim.cli import main; main()"
STRATEGIES = ("sp", "as_written", "rp:32", "conccl", "auto")


def figures(result: c3sim.Result) -> dict[str, object]:
    return {
        name: each
        for name, each in result.to_dict().items()
        if name in ("wall_s", "energy_j", "exposed_s", "classes", "groups", "parts", "strategy")
    }


def test_each_result_is_that_of_its_strategy_by_itself_whatever_the_processes() -> None:
    """In the order in which they are asked for."""
    found = []
    for jobs in (1, 2):
        forget()
        found.append(c3sim.compare("dlrm-training", strategies=STRATEGIES, jobs=jobs))
    assert [each.strategy for each in found[0]] == list(STRATEGIES)
    assert found[0].to_dict() == found[1].to_dict()
    for each in found[0]:
        forget()
        assert figures(each) == figures(c3sim.run("dlrm-training", strategy=each.strategy))


def test_what_cannot_apply_is_left_out_of_all() -> None:
    """There is nothing to communicate on one GPU."""
    every = c3sim.compare("bert-large-one-gpu")
    assert "needs a collective" in every.left_out["conccl"] and every[0].strategy == "as_written"


def children(process: int) -> list[str]:
    with open(f"/proc/{process}/task/{process}/children") as file:
        return file.read().split()


@pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux")
@pytest.mark.parametrize("command", ["run", "compare", "explain"])
def test_ctrl_c_ends_all_copies_at_once_with_one_line(
    command: str, tmp_path: os.PathLike[str]
) -> None:
    words = [sys.executable, "-c", MAIN, command, "llama3-70b-training", "--jobs", "3"]
    if command != "explain":
        words.append("--json")
    asked = subprocess.Popen(
        words,
        env={**os.environ, "XDG_CACHE_HOME": os.fspath(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    end = monotonic() + 60.0
    while not (begun := children(asked.pid)) and asked.poll() is None and monotonic() < end:
        sleep(0.05)
    assert begun
    asked.send_signal(signal.SIGINT)
    _, said = asked.communicate(timeout=30)
    end = monotonic() + 10.0
    assert asked.returncode == 130 and said.count("\n") == 1 and "interrupted" in said
    while left := [child for child in begun if os.path.exists(f"/proc/{child}")]:
        assert monotonic() < end, f"{left} of {begun} go on"
        sleep(0.05)  # what tracks their semaphores ends behind the command


def test_a_step_that_outlasts_its_host_asks_for_all_runs_at_once() -> None:
    """Two numbers of layers, each whole and both sides: none has to say whether the host is in the
    loop. One GPU with little to do is asked first.
    """

    def batches(name: str, **changes: object) -> list[int]:
        forget()
        workload, node = prepare(name, "mi300x-8", changes)
        assert isinstance(workload, Described)
        found: list[int] = []

        def each(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
            found.append(len(items))
            return map(function, items)

        with side_by_side(each):
            ask = asked(workload, node, "as_written")
            found.append(0)
            ask()
        return found

    assert batches("llama3-8b-training") == [0, 6]
    assert batches("llama3-8b-training", tokens=16, batch=1)[0] > 0
