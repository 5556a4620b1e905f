"""Limits of counts, said before work starts; work of more than a minute asks first."""

import re
import sys
import time

import pytest
from typer.testing import CliRunner

from c3sim.cli.app import app

PAIR = "gemm-beside-all-gather"


def said(*words, code=2):
    """Standard error of the command in this process; it must not take long."""
    began = time.monotonic()
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.stderr
    assert time.monotonic() - began < 15
    return result.stderr


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ("gpu.dies.count=1000000", "4096"),
        ("gpu.dies.count=4000", "65536"),
        ("gpu.dies.shader_engines=[10000000]", "4096"),
        ("gpu.dma_engines.count=100000", "4096"),
        ("task.gather.chunks=10000000", "100000"),
        ("task.gather.channels=1000000000", "16777216"),
        ("task.gemm.repeat=10000000", "100000"),
        ("gpus=100000000", "4096"),
        ("task.gemm.m=10000000000", "2147483648"),
    ],
)
def test_a_count_beyond_its_limit_is_refused_with_the_limit(change, limit):
    path = change.partition("=")[0]
    message = said("run", PAIR, "--set", change)
    assert re.match(rf"{re.escape(path)}(\[0\])?: ", message)
    assert limit in message and message.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (("run", PAIR, "--uncertainty", "--samples", "1000000000"), "1000000"),
        (("sensitivity", PAIR, "--samples", "1000000000"), "1048576"),
        (("optimise", "x.yaml", "--trials", "1000000000"), "1000000"),
        (("study", "conccl", "--draws", "1000000000"), "1000000"),
        (("sweep", "x.yaml", "--jobs", "1000000"), "1024"),
    ],
)
def test_an_option_beyond_its_limit_is_refused_with_the_limit(words, limit):
    message = said(*words)
    assert words[-2] in message and limit in message


def test_a_range_of_millions_of_values_is_refused(tmp_path):
    study = tmp_path / "s.yaml"
    axis = "{from: 1 TB/s, to: 5 TB/s, factor: 1.0000001}"
    study.write_text(f"schema: 1\nname: s\nworkload: {PAIR}\naxes:\n  gpu.hbm.bandwidth: {axis}\n")
    assert "s.yaml:5: axes.'gpu.hbm.bandwidth': 16094380 values; must be at most 100000" in said(
        "sweep", str(study), "--out", str(tmp_path / "out")
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", PAIR, "--uncertainty", "--samples", "1000000"),
        ("run", PAIR, "--set", "task.gemm.repeat=100000"),
        ("compare", PAIR, "--set", "task.gemm.repeat=50000"),
        ("explain", PAIR, "--set", "task.gather.chunks=50000"),
        ("sensitivity", PAIR, "--samples", "1048576"),
    ],
)
def test_long_work_without_a_terminal_ends_with_its_estimate(words):
    message = said(*words)
    assert message.startswith("--yes: this takes about ") and "GiB of memory" in message


def test_a_sweep_is_estimated_before_its_points_are_made(tmp_path):
    study = tmp_path / "s.yaml"
    axes = "".join(
        f"  {path}: {{from: {low}, to: {high}, steps: 3000}}\n"
        for path, low, high in (
            ("gpu.hbm.bandwidth", "1 TB/s", "5 TB/s"),
            ("links.bandwidth", "1 GB/s", "50 GB/s"),
        )
    )
    study.write_text(f"schema: 1\nname: s\nworkload: {PAIR}\naxes:\n{axes}")
    assert "add --yes" in said("sweep", str(study), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_yes_and_a_yes_at_the_terminal_run_it(monkeypatch):
    monkeypatch.setattr("c3sim.cli.consent.MOST_SECONDS", 0.0)
    words = ("run", "gemm-alone", "--node", "teaching-4")
    assert "add --yes" in said(*words)
    said(*words, "--yes", code=0)
    terminal = type("Terminal", (), {"isatty": lambda self: True})()
    monkeypatch.setattr("c3sim.cli.consent.sys", type(sys)("sys"))
    monkeypatch.setattr("c3sim.cli.consent.sys.stdin", terminal, raising=False)
    monkeypatch.setattr("c3sim.cli.consent.sys.stderr", terminal, raising=False)
    for answer, code in ((True, 0), (False, 2)):
        monkeypatch.setattr("typer.confirm", lambda *_, answer=answer, **__: answer)
        said(*words, code=code)


def test_a_hard_minimum_of_any_exponent_is_a_number():
    """(1 + x^p)^(-1/p) with p = 1e9: x^p overflows, the share is 1 / x."""
    from c3sim.models.links import soft_minimum
    from c3sim.models.memory import served_share

    assert served_share(2.0, 1e9) == 0.5 and served_share(0.5, 1e9) == 1.0
    assert soft_minimum(3.0, 1.0, 1e9) == 1.0
