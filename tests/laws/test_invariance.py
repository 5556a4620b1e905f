"""Units of input must not matter; launch order and priority must."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from law_cases import NODES, parsed
from made_workload import workload_of

from c3sim.simulation.simulate import simulate
from c3sim.spec.reading import library
from c3sim.spec.reading.loading import load_node

NAMED_GPU = r"(?m)^gpu: *(\S+)"  # in a file of its own
# unit -> (another unit of the same dimension, how many of those make one)
OTHER = {
    "GB/s": ("MB/s", 1000),
    "TB/s": ("GB/s", 1000),
    "MB/s": ("GB/s", Fraction(1, 1000)),
    "GHz": ("MHz", 1000),
    "MHz": ("kHz", 1000),
    "us": ("ns", 1000),
    "ns": ("us", Fraction(1, 1000)),
    "GiB": ("MiB", 1024),
    "MiB": ("KiB", 1024),
    "KiB": ("B", 1024),
    "W": ("mW", 1000),
    "pJ/flop": ("fJ/flop", 1000),
    "pJ/B": ("fJ/B", 1000),
    "B/cycle": ("kB/cycle", Fraction(1, 1000)),
}
QUANTITY = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?) (" + "|".join(map(re.escape, OTHER)) + r")(?![\w/])"
)


def _in_other_units(text: str) -> str:
    def rewrite(match: re.Match[str]) -> str:
        unit, factor = OTHER[match[2]]
        number = (
            Fraction(match[1]) * factor
        )  # a decimal fraction still: factors are powers of 10, or of 2 and whole
        return f"{float(number)!r} {unit}"

    return "\n".join(
        re.sub(r"(value|interval):([^#\n\"]*)", lambda m: QUANTITY.sub(rewrite, m[0]), line)
        for line in text.split("\n")
    )


@pytest.mark.parametrize(
    "name", [name for name in NODES if re.search(NAMED_GPU, library.find("node", name).read_text())]
)
def test_units_do_not_matter(name: str, tmp_path: Path) -> None:
    """The packaged files and the same ones in other units (48.5 GB/s as 48500 MB/s, ...) load to
    equal nodes.
    """
    node_text = library.find("node", name).read_text()
    gpu_name = re.search(NAMED_GPU, node_text)[1]
    gpu_text = library.find("gpu", gpu_name).read_text()
    other_node, other_gpu = _in_other_units(node_text), _in_other_units(gpu_text)
    assert len(set(gpu_text.split("\n")) - set(other_gpu.split("\n"))) > 5  # it did rewrite them
    (tmp_path / "other.yaml").write_text(other_node.replace(f"gpu: {gpu_name}", "gpu: gpu.yaml"))
    (tmp_path / "gpu.yaml").write_text(other_gpu)
    assert load_node(tmp_path / "other.yaml") == NODES[name]


def test_units_of_a_workload_do_not_matter() -> None:
    def gather(size: str) -> object:
        return workload_of({"gather": {"kind": "collective", "op": "all_gather", "size": size}})

    assert gather("896 MiB") == gather("0.875 GiB") == gather("917504 KiB") == gather("939524096 B")


@pytest.mark.parametrize("node", NODES)
def test_launch_order_decides_ties_and_priority_decides_before_it(node: str) -> None:
    """Two kernels that each want every compute unit arrive at the same instant: a tie, which launch
    order decides. With different priorities there is no tie: the higher one is first, whoever was
    launched first.
    """

    def end_of_gemm(order: list[str], priority: int) -> float:
        gemm = {
            "kind": "gemm",
            "m": 4096,
            "n": 4096,
            "k": 512,
            "macro_tile": [256, 256],
            "stream": "g",
        }
        units = NODES[node].gpu.compute_unit_count
        hold = {"kind": "hold", "workgroups": units, "time": "20 us", "stream": "s"}  # all LDS
        case = {
            "tasks": {"gemm": gemm, "stream": hold},
            "streams": {"g": {"priority": priority}, "s": {}},
            "host": {"order": order},
        }
        return simulate(NODES[node], parsed("two", case)).task("gemm").end

    assert end_of_gemm(["gemm", "stream"], 0) < end_of_gemm(["stream", "gemm"], 0)
    assert end_of_gemm(["gemm", "stream"], 1) == end_of_gemm(["stream", "gemm"], 1)
