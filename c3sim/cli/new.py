"""``c3sim new``: the first lines of a node or GPU file of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from c3sim.cli.emit import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from c3sim.spec.reading.hardware import LoadedNode

#: Paths in a node that most often differ: written as comments, with the value so far.
_OFTEN = (
    "gpus",
    "links.raw_bandwidth",
    "links.bandwidth",
    "gpu.dies.count",
    "gpu.dies.shader_engines",
    "gpu.memory_side_cache.capacity",
    "gpu.hbm.capacity",
    "gpu.hbm.bandwidth",
    "gpu.clock.maximum",
    "gpu.clock.power_limit",
)


def new(
    kind: Annotated[
        Literal["node", "gpu"], Argument(metavar="node|gpu", help="What the file describes.")
    ],
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Left out: my-node, or my-gpu.")
    ] = None,
    like: Annotated[
        str, Option(metavar="NODE|GPU", help="Name or file of the one that it is like.")
    ] = "",
    force: Annotated[bool, Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """Write NAME.yaml: a node or GPU of your own that is like another one, and says what differs.

    What often differs stands in it as comments, each with what follows it: values that are scaled
    with it, and values that were fitted at it and are not. The file runs as it is.

    \b
    Examples:
      c3sim new node --like mi300x-8                     my-node.yaml
      c3sim new node rack7 --like mi300x-8
      c3sim new gpu mi355x --like mi300x
      c3sim run gemm-beside-all-gather --node rack7.yaml
    """
    import os
    from pathlib import Path

    from c3sim.errors import InputError
    from c3sim.kit.files import check_writable, write_text
    from c3sim.spec.reading.hardware import load_gpu, load_hardware

    if not like:
        example = "mi300x-8" if kind == "node" else "mi300x"
        raise InputError(f"which {kind} is it like? For instance {example}", "--like")
    loaded = load_hardware(like) if kind == "node" else load_gpu(like)
    name = name or f"my-{kind}"
    file = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if file.exists() and not force:
        raise InputError("is there already; --force replaces it", "", str(file))
    check_writable(file)
    base = os.path.relpath(like, file.parent) if Path(like).is_file() else like
    write_text(file, _text(kind, file.stem, base, loaded))
    use = f"c3sim run gemm-beside-all-gather --node {file}"
    if kind == "gpu":
        use = f"a node file names it: gpu: {file.name}"
    say(f"wrote {file}; 'c3sim show {file}' says what came from where; {use}")


def _text(kind: str, name: str, like: str, loaded: LoadedNode) -> str:
    lines = [
        f"# Like {like}. Write what differs, each number with its source; the rest is taken over.",
        "schema: 2",
        f"like: {like}",
        f"name: {name}",
        "# What often differs, as it is there:",
    ]
    above: list[str] = []
    for path in _OFTEN:
        leaf = loaded.provenance.get(path)
        steps = path.split(".") if kind == "node" else path.split(".")[1:]
        if leaf is None or not steps:
            continue
        for depth, step in enumerate(steps[:-1]):
            if above[: depth + 1] != steps[: depth + 1]:
                lines.append(f"# {'  ' * depth}{step}:")
        above = steps[:-1]
        text = leaf.text if leaf.unit else str(_list(leaf.value))
        entry = f"{{value: {text}, source: your data sheet}}"
        lines.append(f"# {'  ' * (len(steps) - 1)}{steps[-1]}: {entry}")
        indent = f"# {'  ' * len(steps)}#: "
        lines += [f"{indent}{said}" for said in _followers(path, loaded)]
    return "\n".join(lines) + "\n"


def _followers(path: str, loaded: LoadedNode) -> Iterator[str]:
    """Remarks on the number at *path*: what it is of, what is scaled with it, what is not."""
    from c3sim.spec.reading.inherited import few

    if path == "links.bandwidth":
        yield "of one link, one direction; c3sim show has the total of a GPU"
    leaves = loaded.provenance.items()
    scaled = [each for each, leaf in leaves if path in leaf.law]
    kept = [
        each
        for each, leaf in leaves
        if any(path == part or path.startswith(f"{part}.") for part in leaf.unknown)
    ]
    if scaled:
        yield f"scaled with it: {few(scaled)}"
    if kept:
        yield f"fitted at it, and not scaled: {few(kept)}"


def _list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
