"""Generated bad input: every kind of file with a mistake in it, every option of every command.

A case is a command line and the files it names. The same seed gives the same cases. What is asked
of each is in ``fault_of``: no traceback, a time, a size, short messages that name a place.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import resource
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import yaml
from fuzz_files import LOGS, STUDIES, good
from typer.testing import CliRunner

from c3sim.cli import consent
from c3sim.cli.app import app
from c3sim.cli.app import command as app_command
from c3sim.lab.choice import from_query
from c3sim.lab.runs import knobs, look_at

MOST_SECONDS, MOST_BYTES, LONGEST = 20.0, 2**30, 300
#: Values that go where something else stands.
HOSTILE: tuple[object, ...] = (
    *(-1, 0, 1, 2, 3, 17, 4096, 4097, 100_000, 10_000_000, 2**31, 2**53, 10**30, 10**400),
    *(0.0, -0.5, 1e-320, 1e9, 1e300, True, None, [], {}, [[]], {"a": 1}, [1, 2, 3], [None]),
    *(
        "",
        " ",
        "x",
        "nan",
        "inf",
        "1e999 s",
        "-1 B",
        "16 MiB",
        "9" * 5000,
        "1 EB",
        "5 parsecs",
        "1 us",
        "0 s",
    ),
    *("%s%n", "=1+1", "../../../x", "/etc/passwd", "a" * 5000, "ü\u202e", "rp:0", "b2b:99", "null"),
    *("gather", "gather.chunk9", "gemm.tiles[0:9]", "teaching-4", "all_reduce", "dma", "0-999,5"),
)
WORDS = (
    *("0", "-1", "1", "2", "1000000000", "1e9", "nan", "x", "", "../../x", "=cmd", "%s%n"),
    *("9" * 5000, "rp:" + "9" * 5000, "task.gather.size=" + "9" * 5000 + " MiB"),
    *("a" * 3000, "/dev/null", ".", "a,b", "a=b", "=", "gpus=3", "gpu.dies.count=5000", "all"),
    *("task.gemm.m=1e9", "links.bandwidth=1", "task.gather.chunks=9999999", "conccl", "rp:0"),
    *("wall_s", "op=all_gather", "size=x", "dtype=bf16", "node.yaml", "pair.yaml", "out.png"),
)
#: No command: what the laboratory is told by a browser, its query made of options of ``run``.
LAB = "laboratory"
STEPS = ("iteration.yaml", "mesh.yaml", "configured.yaml")
TASKS = ("pair.yaml", "kernels.yaml", "pieces.yaml", "across.yaml", "symmetric.yaml")
NODES = ("node.yaml", "nvidia.yaml", "like.yaml", "cluster.yaml")
#: Nodes that a workload runs on, in place of itself the one with the mistake.
NODES_OF = {
    "pair.yaml": ("node.yaml", "gpu.yaml"),
    "across.yaml": ("cluster.yaml",),
    "symmetric.yaml": ("nvidia.yaml", "h200.yaml"),
}
#: Files that another one names: where it stands in a command, the mistake is in this one.
BEHIND = {"done": "done/results.parquet", "configured.yaml": "config.json"}
#: Command -> the kinds of files it takes first, and words that it needs beside.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "run": ((*TASKS, "program.yaml", *STEPS), ""),
    "run iteration.yaml --measured": (("trace.json",), ""),
    "run pair.yaml --against": (("run.json", "node.yaml"), ""),
    "run symmetric.yaml --against": (("like.yaml", "h200.yaml"), ""),
    "compare": ((*TASKS, *STEPS), "--strategies base,conccl"),
    "explain": ((*TASKS, *STEPS), ""),
    "advise": ((*TASKS, *STEPS, "trace.json"), "--node h200-2"),
    "diff": (("run.json", "results.json", *TASKS), ""),
    "diff before.json": (("run.json",), ""),
    "diff step.json.gz": (("trace.json",), "--node h200-2"),
    "new node --like": (NODES, "mine"),
    "show": ((*TASKS, *NODES, "study.yaml", "kv.yaml", "model.yaml", "config.json"), ""),
    "sweep": (("study.yaml",), "--jobs 1"),
    "study": (("study.yaml", "kv.yaml", *(f"{name}.yaml" for name in STUDIES)), "--jobs 1"),
    "sensitivity": (("pair.yaml",), "--node h200-2 --jobs 1 --samples 2 --top 0"),
    "sensitivity --screen 8": ((*TASKS, *STEPS), "--node h200-2 --jobs 1"),
    "optimise": (("study.yaml",), "--jobs 1"),
    "plot": (("results.json", "done"), ""),
    "validate": (("records.jsonl",), "--jobs 1"),
    "validate --bounds": (("bounds.yaml",), "records.jsonl --jobs 1"),
    "validate records.jsonl --jobs 1 --against": (("figures.json",), ""),
    "calibrate": (("node.yaml",), "--data records.jsonl"),
    "calibrate h200-2 --only h200_streams --data": (("streams.jsonl",), ""),
    "import --node teaching-4": (("log", "trace.json"), ""),
    "import --as workload --node h200-2": (("trace.json", "step.et"), "--out step.yaml"),
    "import step.et --as workload --node h200-2 --side": (("side.yaml",), "--out step.yaml"),
    "import --as host --node h200-2": (("host.jsonl",), ""),
    "import host.jsonl --as host --node": (("nvidia.yaml", "like.yaml"), ""),
    LAB: ((*TASKS, *STEPS, "node.yaml"), ""),
    "probe run": (("plan.yaml",), "--dry-run --node x --out probe"),
    "upgrade": ((*NODES, "gpu.yaml", "h200.yaml"), ""),
    "schema": (("node",), ""),
    "list": (("nodes",), ""),
}
#: Options that start other processes, write to files that are not the case's own, or agree to work
#: of any length.
LEFT_OUT = ("--write", "--scheduler", "--backend", "--binary", "--compiler", "--help", "--coverage")
LEFT_OUT += ("--yes",)


@dataclass(frozen=True)
class Case:
    """*files*: name -> content; *broken*: the one that was changed, if any."""

    words: tuple[str, ...]
    files: dict[str, bytes]
    broken: str

    def __str__(self) -> str:
        return f"c3sim {' '.join(word[:80] for word in self.words)} ({self.broken})"


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many cases: of each command in turn, a broken file, or a hostile option, or both."""
    for number in range(count):
        yield case_of(seed, number)


def case_of(seed: int, number: int) -> Case:
    """The case of that *number*, whatever the others are."""
    names = list(COMMANDS)
    return _case(random.Random(f"{seed}/{number}"), names[number % len(names)])


def _case(chance: random.Random, command: str) -> Case:
    kinds, more = COMMANDS[command]
    files, name = dict(good()), chance.choice(kinds)
    if name == "log":
        name = chance.choice(sorted(path.name for path in LOGS.iterdir()))
    words, target = [*command.split(), name, *more.split()], name
    if command == "diff":
        words.append(name)
    if chance.random() < 0.3 and name in NODES_OF:
        words += ["--node", NODES_OF[name][0]]
        target = chance.choice(NODES_OF[name])
    target = BEHIND.get(target, target)
    if chance.random() < 0.35 or target not in files:
        words += _option(chance, command)
    if target in files and chance.random() < 0.8:
        files[target] = _broken(chance, target, files[target])
    return Case(tuple(words), files, target)


LINKS = tuple((f"--{name}", False) for name in ("set", "set", "set", "strategy", "node"))


@cache
def options(command: str) -> tuple[tuple[str, bool], ...]:
    """Options of *command*, and whether each is a flag."""
    first, *words = command.split()
    found = app_command(first)
    for word in words:
        if not word.startswith("--"):
            found = getattr(found, "commands", {}).get(word, found)
    return tuple(
        (name, bool(getattr(each, "is_flag", False)))
        for each in found.params
        for name in (*each.opts, *each.secondary_opts)
        if name.startswith("--") and name not in LEFT_OUT
    )


def _option(chance: random.Random, command: str) -> list[str]:
    known = LINKS if command == LAB else options(command)
    if not known:
        return [chance.choice(WORDS)]
    name, is_flag = chance.choice(known)
    if name == "--jobs":
        return [name, chance.choice(["1", "0", "-1", "1000000000", "x"])]
    return [name] if is_flag else [name, chance.choice(WORDS)]


def _broken(chance: random.Random, name: str, data: bytes) -> bytes:
    """*data* with a mistake: in the tree of a YAML or JSON file, or in the text of any."""
    if name.endswith((".yaml", ".json", ".jsonl")) and chance.random() < 0.65:
        tree = deepcopy(_tree(name, data))
        for _ in range(chance.choice((1, 1, 1, 3))):
            _spoil(chance, tree)
        if name.endswith(".jsonl"):
            lines = "\n".join([json.dumps(line, default=str) for line in tree])
            return lines.encode("utf-8", "surrogatepass")
        text = (
            json.dumps(tree, default=str)
            if chance.random() < 0.8
            else json.dumps(tree, indent=1, default=str)
        )
        return text.encode("utf-8", "surrogatepass")
    packed = data[:2] == b"\x1f\x8b"
    text = _garbled(chance, gzip.decompress(data) if packed else data)
    return gzip.compress(text) if packed and chance.random() < 0.5 else text


@cache
def _tree(name: str, data: bytes) -> object:
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in data.splitlines()]
    return yaml.load(data, yaml.CSafeLoader) if name.endswith(".yaml") else json.loads(data)


def _spoil(chance: random.Random, tree: object) -> None:
    """Replace, remove, rename or repeat something in *tree*."""
    places = list(_places(tree))
    if not places:
        return
    container, key = chance.choice(places) if chance.random() < 0.5 else _walk(chance, tree)
    how = chance.random()
    if how < 0.6:
        container[key] = deepcopy(chance.choice(HOSTILE))
    elif how < 0.75:
        del container[key]
    elif isinstance(container, dict):
        container[str(chance.choice(HOSTILE))[:5000]] = container.pop(key)
    else:  # a thousand million entries are no file, and twice 3,000-fold gives them
        container *= chance.choice((0, 2, 3000 if len(places) < 1000 else 2))


def _walk(chance: random.Random, tree: object) -> tuple[dict | list, object]:
    """A place in *tree* found by going down it: a small section is met as often as a large one."""
    container, key = tree, chance.choice(_keys(tree))
    while isinstance(container[key], dict | list) and container[key] and chance.random() < 0.8:
        container = container[key]
        key = chance.choice(_keys(container))
    return container, key


def _keys(tree: dict | list) -> list[object]:
    return list(tree) if isinstance(tree, dict) else list(range(len(tree)))


def _places(tree: object) -> Iterator[tuple[dict | list, object]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(inner):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _garbled(chance: random.Random, data: bytes) -> bytes:
    lines, place = data.split(b"\n"), chance.randrange(len(data) + 1)
    line = chance.randrange(len(lines))
    junk = (
        b"\0",
        b"\r",
        b"\t",
        b"\xff\xfe",
        b'"',
        b"{",
        b"%s%n",
        b"=1+1,",
        b"\x1b[2J",
        b"x" * 140_000,
    )
    numbers = re.sub(
        rb"\d+",
        lambda _: chance.choice((b"-1", b"0", b"9" * 40, b"9" * 5000, b"nan")),
        data,
        count=9,
    )
    return chance.choice(
        (
            data[:place],
            data[:place] + chance.choice(junk) + data[place:],
            data.replace(b"\n", b"\r"),
            b"\n".join([*lines[:line], *[lines[line]] * 3000, *lines[line:]]),
            b"\n".join(chance.sample(lines, len(lines))),
            data + b" \n" * 20_000,
            numbers,
            b"",
        )
    )


def fault_of(case: Case, folder: Path, asked_at: float) -> str:
    """The fault in the end of *case*, run in *folder*; empty where nothing is. Work of more than
    *asked_at* seconds is not agreed to.
    """
    for name, data in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    consent.MOST_SECONDS = asked_at
    before, began = _peak(), time.process_time()  # whatever runs beside
    if case.words[0] == LAB:
        return _fault_of_event(case)
    result = CliRunner().invoke(app, list(case.words))
    seconds, grown = time.process_time() - began, _peak() - before
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"traceback: {result.exception!r}"
    if seconds > MOST_SECONDS or grown > MOST_BYTES:
        return f"{seconds:.1f} s, {grown / 2**20:.0f} MiB"
    said = [line for line in result.stderr.splitlines() if line.strip()]
    if long := [line for line in said if len(line) > LONGEST]:
        return f"{len(long[0])} characters: {long[0][:200]}"
    if len(said) > 40:
        return f"{len(said)} lines"
    if result.exit_code == 2:
        placeless = [line for line in said if not _names_a_place(line)]
        return f"without a place: {placeless[0]}" if placeless else ""
    return ""


def _fault_of_event(case: Case) -> str:
    """What is wrong with what the laboratory makes of the words: it never breaks, but says why."""
    choice = from_query(urlencode([("workload", case.words[1]), *_told(case.words[2:])]))
    began = time.process_time()
    try:
        found = look_at(choice)
        if not found.problem:
            knobs(choice)
    except Exception as error:
        return f"traceback: {error!r}"
    if (seconds := time.process_time() - began) > MOST_SECONDS:
        return f"{seconds:.1f} s"
    return f"traceback: {found.problem}" if "c3sim cannot run this" in found.problem else ""


def _told(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Options as the fields of a link."""
    for name, text in zip(words[::2], words[1::2], strict=False):
        yield name.removeprefix("--"), text


def _names_a_place(line: str) -> bool:
    """A file, an option, or what was written, in quotes; or it belongs to a line that has one."""
    return bool(
        re.search(r"^\S+( \.\.\. [\S ]+?)?: |--\w|'|^and \d+ more|^Usage|^Try|^wrote ", line)
    )


def _peak() -> int:
    """Bytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
