"""The plan of a workload: what is decided of each task before anything runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, get_args

import pytest
from made_workload import workload_of
from places import ROOT

from c3sim.models.gemm import plan_gemm
from c3sim.processes.plan import Planned, Scene
from c3sim.simulation.folding import folds
from c3sim.spec import workload as specs
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import HostTask, Workload
from c3sim.tasks.kind import Kind
from c3sim.tasks.plan import KINDS, plan

PACKAGE = ROOT / "c3sim"
NODE = load_node("teaching-4")
GATHER = {"kind": "collective", "op": "all_gather", "size": "8 MiB"}
COPY = {"kind": "copy", "bytes": "1 MiB"}


def workload(**tasks: Any) -> Workload:
    return workload_of(tasks)


def test_every_kind_that_a_file_may_name_is_known() -> None:
    union = get_args(get_args(specs.Task)[0])
    assert {get_args(kind.model_fields["kind"].annotation)[0] for kind in union} == set(KINDS)


def test_tasks_are_resolved_with_what_was_left_out() -> None:
    """A GEMM without a grid has a workgroup per tile of its library's choice, a collective the
    channels of its library, a copy by engines neither; each has a queue of its own.
    """
    gemm = {"kind": "gemm", "m": 512, "n": 512, "k": 512}
    tasks = plan(workload(gemm=gemm, gather=GATHER, copy=COPY), NODE)
    groups = {name: shape.workgroups for name, shape in tasks.shapes.items()}
    assert groups == {
        "gemm": plan_gemm(NODE.gpu, tasks["gemm"].task).tiles,
        "gather": NODE.collective_library(None).channels.default["all_gather"],
    }
    assert tasks["copy"].by_engines
    assert [task.queue for task in tasks.tasks.values()] == [0, 1, 2]


def with_local_kernels(node: Node) -> Node:
    """*node* whose runtime launches kernels for copies within a GPU."""
    return node.changed(gpu__dma_engines__local_copies="kernels")


def test_one_kind_of_a_file_resolves_to_what_carries_it_out() -> None:
    """A copy by engines, by a kernel that is asked for, by the one that the runtime launches."""
    asked = workload(
        engine=COPY, kernel={**COPY, "executor": "kernel"}, runtime={**COPY, "destination": "gpu"}
    )
    tasks = plan(asked, with_local_kernels(NODE)).tasks
    assert {name: type(task).__name__ for name, task in tasks.items()} == {
        "engine": "CopyByEngines",
        "kernel": "CopyOnUnits",
        "runtime": "CopyByRuntime",
    }


def test_a_record_is_frozen() -> None:
    tasks = plan(workload(copy=COPY), NODE)
    with pytest.raises(FrozenInstanceError):
        tasks["copy"].foldable = True  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Silent(Planned[HostTask]):
    """A task of a kind that says nothing of folding."""


class _SilentKind(Kind[HostTask]):
    def resolve(self, name: str, task: HostTask, scene: Scene) -> Planned[HostTask]:
        return _Silent(**self.placed(name, task, scene))


def test_a_task_whose_kind_does_not_say_that_it_folds_is_not_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = workload(step={"kind": "host", "time": "1 us"})
    assert folds(plan(work, NODE))
    monkeypatch.setitem(KINDS, "host", _SilentKind())
    assert not folds(plan(work, NODE))


#: Questions of what kind a task is, or who carries it out, outside the files of kinds: importers
#: ask of kernels in logs, not of tasks.
MOST_QUESTIONS = 20
#: Files that say what one kind may be, where a copy may ask whether NICs carry it.
OF_KINDS = (
    "spec/workload.py",
    *(f"spec/reading/checks/{name}.py" for name in ("collective", "copy", "commands", "kernels")),
)
NAMES = {
    *("Gemm", "StreamKernel", "Kernel", "Stores", "Hold", "Collective", "Copy", "Commands"),
    *("HostTask", "KernelBase", "EngineTask"),
}
BACKENDS = {"dma", "nic", "kernel"}


def _asks(node: ast.AST) -> bool:
    """True if *node* is an isinstance of a kind, looks a kind up in a table, or compares a kind, a
    backend or an executor.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = {getattr(each, "id", "") for arg in node.args for each in ast.walk(arg)}
        return node.func.id == "isinstance" and bool(named & NAMES)
    if isinstance(node, ast.Subscript):
        table = node.value
        return _is(node.slice, "kind") and isinstance(table, ast.Name) and table.id == "CLASSES"
    if not isinstance(node, ast.Compare):
        return False
    texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return any(
        (_is(part, "kind") and texts & set(KINDS))
        or ((_is(part, "backend") or _is(part, "executor")) and texts & BACKENDS)
        for part in (node.left, *node.comparators)
    )


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """*node* and all in it but what an assertion states: a caller has made sure of that, and it
    decides nothing.
    """
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Assert):
            yield from _deciding(child)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def _questions(folder: str) -> Iterator[str]:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in _deciding(ast.parse(path.read_text(encoding="utf-8"))):
            if _asks(node):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{getattr(node, 'lineno', 0)}"


def test_nobody_but_its_own_file_asks_what_kind_a_task_is() -> None:
    folders = {folder.name for folder in PACKAGE.iterdir()} - {"importers"}
    asked = {place for folder in folders for place in _questions(folder)}
    of_kinds = {place for place in asked if place.startswith(("tasks/", *OF_KINDS))}
    assert of_kinds
    assert len(asked - of_kinds) <= MOST_QUESTIONS, asked - of_kinds
    asking = {place.partition("/")[0] for place in asked}
    assert not asking & {"machine", "models", "processes", "simulation"}
