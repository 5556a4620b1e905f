"""Choice in the laboratory: a workload on a machine under a strategy, with settings. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode

from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import canonical

#: The path of a workload for a file or folder of the reader's own, on that machine or none.
Opened = Callable[[str, str | None], str]
FIRST = "gemm-beside-all-gather"  # shown where nothing else is asked for


@dataclass(frozen=True, kw_only=True)
class Choice:
    """*workload* and *node*: names or paths; no node: the workload's own. *settings*: path -> text,
    as ``--set`` takes them.
    """

    workload: str = FIRST
    node: str = ""
    strategy: str = "as_written"
    settings: Mapping[str, str] = field(default_factory=dict)

    def setting(self, path: str, text: str | None) -> Choice:
        """The same with *path* set to *text*; None: as the file has it."""
        kept = {each: value for each, value in self.settings.items() if each != path}
        return replace(self, settings=kept if text is None else {**kept, path: text})

    def on_workload(self, workload: str) -> Choice:
        """Another workload, on its own machine; only settings of the machine stay."""
        return replace(self, workload=workload, settings=self._settings(of_node=True))

    def on_node(self, node: str) -> Choice:
        """Another machine; only settings of the workload stay."""
        return replace(self, node=node, settings=self._settings(of_node=False))

    def _settings(self, of_node: bool) -> dict[str, str]:
        return {
            path: text
            for path, text in self.settings.items()
            if (canonical(path).split(".")[0] in Node.model_fields) is of_node
        }

    def query(self) -> str:
        """The part of a link behind the question mark."""
        pairs = [("workload", self.workload), ("node", self.node), ("strategy", self.strategy)]
        pairs += [("set", f"{path}={text}") for path, text in self.settings.items()]
        return urlencode([(name, text) for name, text in pairs if text])

    def command(self, verb: str = "run") -> str:
        """The command line that gives the same."""
        words = ["c3sim", verb, self.workload, "--strategy", self.strategy]
        words += ["--node", self.node] if self.node else []
        for path, text in self.settings.items():
            words += ["--set", f"{path}={text}"]
        return shlex.join(words)

    def yaml(self, node: str) -> str:
        """The same as a study of one point on *node*, for ``c3sim sweep``."""
        import yaml

        scenario = {"name": "shown", "workload": self.workload, "set": dict(self.settings)}
        study = {
            "schema": 1,
            "name": "lab",
            "description": f"What c3sim lab showed; run it with: {self.command()}",
            "node": self.node or node,
            "scenarios": [scenario],
            "strategies": [self.strategy],
        }
        return yaml.safe_dump(study, sort_keys=False, allow_unicode=True, width=100)


def from_query(query: str) -> Choice:
    """The choice of a link; what it leaves out is as at first."""
    pairs = parse_qsl(query)
    given = {name: text for name, text in pairs if name in ("workload", "node", "strategy")}
    return Choice(**given, settings=settings_of(text for name, text in pairs if name == "set"))


def settings_of(texts: Iterable[str]) -> dict[str, str]:
    """``PATH=VALUE`` texts by path; a text that is none is kept, so that its run says so."""
    from c3sim.spec.reading.paths import split_setting

    parts = (split_setting(text) for text in texts)
    return {path: value for path, _, value in parts}


# The start of each lesson of the course in the laboratory. The lessons are in ``lessons/``.


PAIR = "gemm-beside-all-gather"

#: Title -> what is shown first; the last lines of each lesson give the same command.
LESSONS: Mapping[str, Choice] = {
    "1 What overlap can give": Choice(workload=PAIR, strategy="base"),
    "2 Launch order and rounds": Choice(
        workload=PAIR, strategy="base", settings={"task.gemm.n": "9216"}
    ),
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
    "11 One kernel, three policies": Choice(
        workload=PAIR, settings={"task.gather.cache.memory_side": "bypass"}
    ),
    "12 One hardware connection": Choice(
        workload="llama3-8b-training", node="h200-8", settings={"workload.host.queues": "1"}
    ),
}
