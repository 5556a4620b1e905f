"""Fields that had another name: OLD path -> NEW name of its last part.

An old name in a file is answered with the new one, and ``c3sim upgrade`` rewrites it. Paths are
those of node files, read from their end: ``dma_engines.packet_bytes`` is the field of that name in
every ``dma_engines``; ``*`` stands for one name. A new name with a dot is a field of a group that
did not exist; ``BESIDE`` has the other fields of the group. It must not know how files are read.
"""

from __future__ import annotations

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
#: New name with a dot -> its group's other fields, as the files of schema 1 meant them.
BESIDE = {
    "peer_channels.part": {
        "rule": '{value: power_of_two, source: "the only rule of files of schema 1"}'
    }
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
