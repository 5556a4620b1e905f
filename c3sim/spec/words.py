"""Words of users and of other tools -> what they are called here, and the answer to a name that
does not exist.

Aliases (``--set sdma.count=8``, ``--strategy rccl``, ``--output exposed``, ``executor: sdma``) and
the answers to names that do not exist are both read from one table. Case, ``-`` and ``_`` do not
matter. A new word is a line here, and in the table of docs/nomenclature.md.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from c3sim.errors import InputError


class Word(NamedTuple):
    """A word: what it *means*, for people, and what it stands for: a *path* of a node, a
    *strategy*, an *output*, a *value* in a file; empty where it is none of that kind.
    """

    means: str
    path: str = ""
    strategy: str = ""
    output: str = ""
    value: str = ""


_ENGINES = "DMA engines, gpu.dma_engines (backend and executor dma); strategy conccl uses them"
_UNITS = (
    "compute units: their number is gpu.dies.count times the sum of gpu.dies.shader_engines; what"
    " one has: gpu.compute_units"
)
_CACHE = "the memory-side cache, gpu.memory_side_cache"
_LIBRARY = (
    "collectives on compute units: strategy base; in files library rccl on MI300X, nccl on H200"
)
_SHARDED = (
    "a GEMM beside the all-gather of the next layer's weights: workloads gemm-beside-all-gather,"
    " llama3-70b-gate-up and others of llama3"
)
_REPLICAS = "GPUs that have samples of their own"
_LINKS = "links between GPUs, links"

WORDS: dict[str, Word] = {
    "rccl": Word(_LIBRARY, "collective_libraries.rccl", "base"),
    "nccl": Word(_LIBRARY, "collective_libraries.nccl", "base"),
    "sdma": Word(_ENGINES, "gpu.dma_engines", "conccl", value="dma"),
    "dma": Word(_ENGINES, "gpu.dma_engines", "conccl", value="dma"),
    "copy_engine": Word(_ENGINES, "gpu.dma_engines", "conccl", value="dma"),
    "exposed": Word(
        "communication that nothing is computed beside: figure exposed_s", output="exposed_s"
    ),
    "overlap": Word(
        "the share of what could be hidden that is hidden: figure fraction_of_ideal",
        output="fraction_of_ideal",
    ),
    "serial": Word("one task after the other: figure serial_s", output="serial_s"),
    "fsdp": Word(_SHARDED, value="dp_shard"),
    "zero3": Word(_SHARDED, value="dp_shard"),
    "tensor": Word("GPUs that share every layer: parallel.tp of an iteration", value="tp"),
    "tensor_parallel": Word("GPUs that share every layer: parallel.tp", value="tp"),
    "dp": Word(f"{_REPLICAS}: parallel.dp_shard, or dp_replicate", value="dp_shard"),
    "data_parallel": Word(f"{_REPLICAS}: parallel.dp_shard, or dp_replicate", value="dp_shard"),
    "context_parallel": Word("GPUs that share a sequence: parallel.cp", value="cp"),
    "pipeline_parallel": Word("stages of a pipeline: parallel.pp", value="pp"),
    "expert_parallel": Word("GPUs that experts are dealt to: parallel.ep", value="ep"),
    "virtual_pipeline": Word("stages' parts on a GPU: parallel.chunks", value="chunks"),
    "num_microbatches": Word("micro batches: parallel.micro_batches", value="micro_batches"),
    "mall": Word(_CACHE, "gpu.memory_side_cache"),
    "infinity_cache": Word(_CACHE, "gpu.memory_side_cache"),
    "sm": Word(_UNITS, "gpu.compute_units"),
    "cu": Word(_UNITS, "gpu.compute_units"),
    "xcd": Word("accelerator dies, gpu.dies", "gpu.dies"),
    "xgmi": Word(_LINKS, "links"),
    "nvlink": Word(_LINKS, "links"),
    "nvswitch": Word("a switch between GPUs: links.topology switch", value="switch"),
    "hbm": Word("memory, gpu.hbm", "gpu.hbm"),
    "l2": Word("the second-level cache, gpu.l2", "gpu.l2"),
    "lds": Word("local data share, gpu.compute_units.lds", "gpu.compute_units.lds"),
    "shared_memory": Word("local data share, gpu.compute_units.lds", "gpu.compute_units.lds"),
    "tdp": Word("the power limit, gpu.clock.power_limit", "gpu.clock.power_limit"),
}


def word(text: object) -> Word | None:
    """The entry of *text*, if it has one."""
    return WORDS.get(str(text).strip().lower().replace("-", "_").replace(" ", "_"))


def alias(text: str, kind: str, allowed: Collection[object]) -> str:
    """The meaning of *text* as a *kind* of thing (a field of Word), if that is *allowed*; else
    *text*.
    """
    found = word(text)
    meant = getattr(found, kind) if found and text not in allowed else ""
    return meant if meant and meant in allowed else text


def with_article(noun: str) -> str:
    """*noun* behind "a", or "an" before a vowel."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def counted(count: int, noun: str) -> str:
    """1 of a noun as "1 task", 0 and more than one as "3 tasks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def unknown(what: str, name: object, allowed: Iterable[object]) -> str:
    """``unknown WHAT 'name'; did you mean 'near'?``, and what a word of users means; all that is
    allowed if there is neither.
    """
    options = [str(option) for option in allowed]
    known = word(name)
    meant = alias(str(name), "value", options)
    near = [meant] if meant != str(name) else difflib.get_close_matches(str(name), options, n=1)
    hints = [f"did you mean {near[0]!r}?"] if near else []
    hints += [f"here that is {known.means}"] if known and meant == str(name) else []
    return f"unknown {what} {str(name)!r}; " + (
        " ".join(hints) or "allowed: " + (", ".join(options) or "none")
    )


def unknown_errors(
    what: str, name: object, allowed: Collection[object], path: str
) -> Iterator[InputError]:
    """An error at *path* unless *name* is None or *allowed*."""
    if name is not None and name not in allowed:
        yield InputError(unknown(what, name, allowed), path)


#: Fields of hardware files that had another name -> the new name of the last part. Paths are read
#: from their end: ``dma_engines.packet_bytes`` is the field of that name in every ``dma_engines``;
#: ``*`` stands for one name. A new name with a dot is a field of a group that did not exist.
RENAMED = {
    "hbm.softness": "saturation_exponent",
    "gpu.memory_cache": "memory_side_cache",
    "dma_engines.completion_share": "completion_fraction",
    "dma_engines.poll_period": "poll_interval",
    "dma_engines.pull_carrier": "pull_executor",
    "dma_engines.packet_bytes": "max_packet_payload",
    "dma_engines.in_flight": "bytes_in_flight",
    "dma_engines.remote_read_in_flight": "remote_read_bytes_in_flight",
    "collective_libraries.*.slices": "min_slices",
    "channels.link_softness": "link_saturation_exponent",
    "channels.direct_link_softness": "direct_link_saturation_exponent",
    "channels.direct_part": "peer_channels.part",
}


def new_name(path: str) -> str | None:
    """The name that the field at *path* has now, if it had another; ``gpu.`` may be left out."""
    steps = f"gpu.{path}".split(".")
    for pattern, name in RENAMED.items():
        wanted = pattern.split(".")
        if len(steps) >= len(wanted) and all(
            want in ("*", step) for want, step in zip(wanted, steps[-len(wanted) :], strict=True)
        ):
            return name
    return None
