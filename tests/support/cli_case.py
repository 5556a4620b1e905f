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
COMMAND = [sys.executable, "-c", "from c3sim.cli import main; main()"]


def files(folder):
    """Names of everything in *folder*."""
    return sorted(os.listdir(folder))
