"""``c3sim probe run``: what a step measured stays, whatever happens to it or to others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_case import invoke
from probe_case import fake_probe, plan_file
from signals import hear_interrupts

from c3sim.spec.reading.records import load_records
from c3sim.validation.probing import step as process_step
from c3sim.validation.probing.campaign import run_steps
from c3sim.validation.probing.plan import Step
from c3sim.validation.probing.step import Setting

pytestmark = pytest.mark.turns(5)

COMMAND = [sys.executable, "-c", "from c3sim.cli import main; main()"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process_step, "GRACE", 0.3)
    monkeypatch.setattr(process_step, "TICK", 0.01)
    return tmp_path


def run(
    *commands: str,
    options: tuple[str, ...] = (),
    gpus: int = 2,
    machine: str = "",
    **fields: object,
):
    """Run a plan of the fake probe's *commands* into ``out``."""
    binary, plan = fake_probe(Path.cwd(), gpus, machine), plan_file(Path.cwd(), *commands, **fields)
    return invoke(*probe_run(plan, binary, *options))


def probe_run(plan: Path, binary: Path, *options: str) -> list[str]:
    """The arguments of ``c3sim`` that run *plan* into ``out``."""
    where = ("--node", "mine-2", "--out", "out", "--probe", str(binary))
    return ["probe", "run", str(plan), *where, *options]


def records(step: str) -> int:
    return len(load_records(f"out/{step}.jsonl"))


def test_records_are_kept_with_what_the_step_asked_for(here):
    found = run("stream", options=("--source", "me, here", "--revision", "abc"))
    assert found.exit_code == 0, found.stderr
    kept = load_records("out/stream.jsonl")
    assert {(r.suite, r.role, r.source, r.revision) for r in kept} == {
        ("stream", "calibration", "me, here", "abc")
    }
    assert (
        "--node mine-2 --suite stream --role calibration --revision abc --source me, here"
        in kept[0].command
    )
    assert sorted(os.listdir("out")) == ["stream.jsonl", "stream.log"]
    log = Path("out/stream.log").read_text(encoding="utf-8")
    assert log.startswith("$ ") and "footprint 1 of 1\n" in log
    assert "1 of 1 steps went well, 2 records" in found.stdout


def test_one_failing_step_loses_neither_the_others_nor_its_own_records(here):
    found = run("crash", "fail", "sleep", "nothing", "stream", options=("--timeout", "0.7"))
    assert found.exit_code == 1, found.stderr
    lines = found.stderr.splitlines()
    assert any(
        "crash: failed: ended by signal 11 (SIGSEGV): before the fall" in each for each in lines
    )
    assert any("fail: failed: exit code 3: no device" in each for each in lines)
    assert any("sleep: failed: timed out after 1 s: still at it" in each for each in lines)
    assert any("nothing: failed: printed no record: nothing to measure" in each for each in lines)
    assert [records(name) for name in ("crash", "sleep", "stream")] == [1, 1, 2]
    assert not Path("out/fail.jsonl").exists() and not Path("out/nothing.jsonl").exists()


def test_what_a_timed_out_step_started_is_ended_too(here):
    run("sleep", options=("--timeout", "0.7"))
    child = int(Path("child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(") ")[2].startswith("Z"):
            return
        time.sleep(0.02)
    pytest.fail("the child of the step still runs")


def test_a_step_that_refuses_to_end_is_ended(here):
    began = time.monotonic()
    assert run("stubborn", options=("--timeout", "0.3")).exit_code == 1
    assert time.monotonic() - began < 10


def test_a_line_that_is_no_record_is_told_and_kept_aside(here):
    found = run("wrong", "foreign")
    assert found.exit_code == 1
    assert "wrong: line 2 is no record: the line is cut off" in found.stderr
    assert (
        "foreign: line 1 is no record: suite: got 'never asked for'; this step asked for 'foreign'"
        in found.stderr
    )
    assert records("wrong") == 2
    assert Path("out/wrong.rejected").read_text() == '{"schema": 1, "id"\n'
    assert not Path("out/foreign.jsonl").exists()


def test_a_record_cut_off_by_the_end_is_not_taken_for_one(here):
    found = run("cut")
    assert found.exit_code == 1 and "signal 9 (SIGKILL)" in found.stderr
    assert records("cut") == 1 and len(Path("out/cut.rejected").read_text()) == 40


def test_much_on_standard_error_blocks_nothing(here):
    assert run("flood", options=("--timeout", "20")).exit_code == 0
    assert Path("out/flood.log").stat().st_size > 300_000


@pytest.mark.parametrize(
    ("options", "code", "calls", "said"),
    [
        ((), 0, [], "runs at 1300 MHz; needs --set-clocks"),
        (("--set-clocks",), 0, ["--setperfdeterminism 1300", "--resetperfdeterminism"], ""),
        (
            ("--set-clocks",),
            5,
            ["--setperfdeterminism 1300", "--resetperfdeterminism"],
            "5: denied",
        ),
    ],
)
def test_a_clock_is_set_for_its_step_alone(here, monkeypatch, options, code, calls, said):
    """By a tool of the machine, which is asked to give it back whatever happened."""
    (tools := here / "tools").mkdir()
    tool = tools / "rocm-smi"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {here}/calls\necho denied >&2\nexit {code}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    found = run("stream", options=options, core_clock_mhz=1300)
    assert found.exit_code == 0 and said in found.stderr
    made = here / "calls"
    assert (made.read_text().splitlines() if made.exists() else []) == calls
    assert Path("out/stream.jsonl").exists() == (not said)


def test_a_step_for_four_gpus_on_two_is_skipped(here):
    file = plan_file(here, "stream")
    plan = json.loads(file.read_text())
    plan["steps"].append({"name": "wide", "role": "validation", "command": "stream", "gpus": 4})
    file.write_text(json.dumps(plan))
    found = invoke(*probe_run(file, fake_probe(here, gpus=2), "--json"))
    assert found.exit_code == 0, found.stderr
    assert "wide: skipped: needs 4 GPUs, there are 2" in found.stderr
    steps = json.loads(found.stdout)["steps"]
    assert [(step["step"], step["result"], step["records"]) for step in steps] == [
        ("stream", "ok", 2),
        ("wide", "skipped", 0),
    ]


def test_without_a_count_of_gpus_steps_are_tried(here):
    found = run("stream", machine="[]")
    assert found.exit_code == 0
    assert "the number of GPUs is not known, all steps are tried" in found.stderr


def test_records_of_an_earlier_run_are_not_lost_by_accident(here):
    assert run("stream").exit_code == 0
    again = run("stream")
    assert again.exit_code == 2 and "holds records of an earlier run (stream.jsonl)" in again.stderr
    assert records("stream") == 2
    assert run("stream", options=("--replace",)).exit_code == 0


def test_what_a_killed_run_left_is_not_lost_by_accident_either(here):
    (here / "out").mkdir()
    (here / "out" / "stream.part").write_text("half\n")
    again = run("stream")
    assert again.exit_code == 2 and "holds records of an earlier run (stream.part)" in again.stderr
    assert (here / "out" / "stream.part").read_text() == "half\n"


def test_a_replaced_step_that_measures_nothing_leaves_the_earlier_records(here):
    assert run("stream").exit_code == 0
    plan = json.loads(plan_file(here, "fail").read_text())
    plan["steps"][0]["name"] = "stream"
    (here / "other.yaml").write_text(json.dumps(plan))
    arguments = probe_run(here / "other.yaml", fake_probe(here), "--replace")
    assert invoke(*arguments).exit_code == 1
    assert records("stream") == 2


def test_a_dry_run_prints_the_commands_and_touches_nothing(here):
    binary, plan = fake_probe(here), plan_file(here, "stream --bytes '1 MiB'", "fail")
    before = sorted(os.listdir())
    options = ("--dry-run", "--revision", "r", "--skip", "fail")
    found = invoke(*probe_run(plan, binary, *options))
    assert found.exit_code == 0
    tail = (
        "--node mine-2 --suite stream --role calibration --revision r --source "
        "'c3sim probe, plan mine'"
    )
    assert found.stdout == f"'{binary}' stream --bytes '1 MiB' {tail}\n"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_the_step_and_keeps_what_is_there(here, number):
    binary, plan = fake_probe(here), plan_file(here, f"interrupt {number}", "stream")
    command = [*COMMAND, *probe_run(plan, binary, "--json")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, preexec_fn=hear_interrupts
    )
    assert done.returncode == 130, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [(step["result"], step["records"]) for step in steps] == [("failed", 1), ("not run", 0)]
    assert records("interrupt") == 1 and not Path("out/stream.jsonl").exists()


@pytest.fixture
def heard():
    """Ctrl-C interrupts: a process in the background of a shell is begun deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["poll", "__init__"])
def test_no_interrupt_is_raised_in_the_midst_of_watching_a_process(
    here, monkeypatch, number, moment
):
    """There it would leave a lock held or a reader not begun, and the run would wait for ever."""
    torn: list[str] = []
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    def interrupted(self: object, *given: object, **named: object) -> object:
        result = whole(self, *given, **named)
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            torn.append(moment)
        return result

    whole = getattr(subprocess.Popen, moment)
    monkeypatch.setattr(subprocess.Popen, moment, interrupted)
    steps = [Step(name=each, role="calibration", command=each) for each in ("sleep", "stream")]
    setting = Setting(
        probe=str(fake_probe(here)),
        node="mine-2",
        out=here / "out",
        revision="r",
        source="s",
        timeout=9,
    )
    (here / "out").mkdir()
    done = run_steps(steps, setting, None, Silent())
    assert [(each.result, each.interrupted) for each in done] == [
        ("failed", True),
        ("not run", True),
    ]
    assert not torn
    assert handlers == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]


class Silent:
    def begin(self, *about: object) -> None: ...

    def tell(self, count: int, last: str) -> None: ...

    def end(self, *about: object) -> None: ...


def test_the_file_of_records_appears_when_it_is_whole(here, monkeypatch):
    """While the step runs there is only STEP.part, which has the records so far."""
    (here / "out").mkdir()
    seen: list[tuple[list[str], int]] = []

    class Watcher:
        def begin(self, *about: object) -> None: ...

        def tell(self, count: int, last: str) -> None:
            if last == "still at it":
                names = sorted(os.listdir("out"))
                seen.append((names, Path("out/sleep.part").read_text().count("\n")))

        def end(self, *about: object) -> None: ...

    step = Step(name="sleep", role="calibration", command="sleep")
    probe = str(fake_probe(here))
    setting = Setting(
        probe=probe, node="mine-2", out=here / "out", revision="r", source="s", timeout=0.7
    )
    run_steps([step], setting, None, Watcher())
    assert seen[-1] == (["sleep.log", "sleep.part"], 1)
    assert sorted(os.listdir("out")) == ["sleep.jsonl", "sleep.log"]


def test_a_probe_that_cannot_be_started_is_one_line(here):
    (here / "fake probe").write_text("not a program")
    (here / "fake probe").chmod(0o755)
    plan = plan_file(here, "stream")
    found = invoke(*probe_run(plan, Path("fake probe")))
    assert (
        found.exit_code == 1
        and "stream: failed: could not be started: exec format error" in found.stderr
    )


def test_signals_are_as_before_afterwards(here):
    before = signal.getsignal(signal.SIGTERM)
    run("stream")
    assert signal.getsignal(signal.SIGTERM) is before
