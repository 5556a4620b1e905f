"""Where each lesson of the course begins in the laboratory. The lessons are in ``lessons/``."""

from __future__ import annotations

from collections.abc import Mapping

from c3sim.lab.choice import Choice

PAIR = "gemm-beside-all-gather"

#: Title -> what is shown first; the last lines of each lesson give the same command.
LESSONS: Mapping[str, Choice] = {
    "1 What overlap can give": Choice(workload=PAIR, strategy="base"),
    "2 Launch order and rounds": Choice(workload=PAIR, strategy="base"),
    "3 How many channels": Choice(workload=PAIR, strategy="sp"),
    "4 Copy engines or compute units": Choice(workload=PAIR, strategy="conccl"),
    "5 Pieces": Choice(workload="gemms-wait-for-chunks"),
    "6 Tails": Choice(workload="gemm-alone", settings={"stream.compute.compute_units": "303"}),
    "7 The false overlap": Choice(
        workload=PAIR, strategy="sp", settings={"workload.host.release": "host"}
    ),
    "8 Clock and power": Choice(workload="gemm-beside-dma-all-gather"),
    "9 A link, a cache, an engine more": Choice(workload=PAIR, strategy="conccl"),
    "10 A training step": Choice(workload="llama3-8b-training", node="mi300x-8"),
}
