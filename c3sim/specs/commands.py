"""One command of a DMA program, as written in a workload: an operation and what it works on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.specs.base import ByForm, Spec
from c3sim.specs.dma_engines import Operation
from c3sim.specs.quantities import Bytes, Count


class Command(Spec):
    """One DMA command.

    ``copy``, ``broadcast``, ``swap`` and ``reduce`` move *bytes* to (push) or from (pull) their
    *peer*; ``atomic`` adds *value* to a word in memory, ``fence`` sets it, both once everything
    before them in their queue has landed; ``poll`` holds its queue until a word of its GPU is at
    least *value*; ``timestamp`` notes the time under a name.
    """

    op: Operation
    bytes: Bytes | None = None
    peer: Annotated[Count | Literal["host"] | None, ByForm()] = None
    """offset of the peer, GPU (g + peer) mod n, or host"""
    peers: tuple[Count, ...] = ()
    """broadcast: offsets of its destinations"""
    direction: Literal["push", "pull"] = "push"
    """copy: to the peer, or from it"""
    engine: Annotated[int, Field(ge=0)] | None = None
    """left out: the engine that serves the peer (links.engine_map), or that of the command before;
    the first peer's at the start"""
    queue: Annotated[int, Field(ge=0)] = 0
    """queue of the engine"""
    on: str | None = None
    """name of the word, or of the timestamp"""
    value: Count = 1
    """atomic: added; fence: set; poll: waited for"""
