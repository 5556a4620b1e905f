"""Shared by the tests of the command line."""

from __future__ import annotations

import os
import sys

PAIR = """\
schema: 1
name: pair
tasks:
  gemm: {kind: gemm, stream: compute, m: 4096, n: 4096, k: 4096, dtype: bf16}
  gather: {kind: collective, stream: communication, op: all_gather, size: 64 MiB}
"""
#: A node with intervals of four numbers; the host's copies move no pair. mi300x-8 has 150.
FEW_OPEN = """\
schema: 2
like: teaching-4
links:
  bandwidth: {value: 10 GB/s, interval: [8 GB/s, 12 GB/s], source: made up}
  latency: {value: 1 us, interval: [0.05 us, 2 us], source: made up}
host:
  launch_time: {value: 4 us, interval: [3 us, 5 us], source: made up}
  read_latency: {value: 1 us, interval: [0.5 us, 2 us], source: made up}
"""
COMMAND = [sys.executable, "-c", "from c3sim.cli import main; main()"]


def files(folder):
    """Names of everything in *folder*."""
    return sorted(os.listdir(folder))


def invoke(*words):
    """The result of a command, run in this process."""
    from typer.testing import CliRunner

    from c3sim.cli.app import app

    return CliRunner().invoke(app, [str(word) for word in words])
