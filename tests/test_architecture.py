"""Who may import whom: the arrows between packages point one way, and this test reads every import.

A package may import what stands in its row of ``MAY_IMPORT`` and itself, nothing else.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

from places import ROOT

PACKAGE = ROOT / "c3sim"
LONGEST = 500  # lines of a file, where the idea needs them
LONGEST_FUNCTION = 40  # lines, without its docstring
WIDEST = 100  # columns; the linter lets a line that ends in a pragma be longer
TOP_FOLDERS = (
    *("c3sim", "hwmodels", "workloads", "validation", "tests"),
    *("docs", "tools", "benchmarks", "examples", "lessons"),
)
README_LINES = 30
MOST_MARKS = 20  # lines that keep a layout of their own

#: Package -> packages it may import. A row names only rows above it, so there is no circle.
MAY_IMPORT: dict[str, str] = {
    "errors": "",
    "engine": "",
    "spec": "errors",
    "cachelab": "errors engine spec",
    "models": "spec",
    "result": "errors models",
    "spec.reading": "errors spec models",
    "kit": "errors result",
    "machine": "spec models engine",
    "processes": "spec models result engine machine",
    "tasks": "spec cachelab models machine processes",
    "simulation": "errors spec models result engine machine processes tasks",
    "evaluation": "errors spec models result spec.reading tasks simulation",
    "iterations": "errors spec models result spec.reading tasks simulation evaluation",
    "experiments": "errors spec cachelab models result spec.reading tasks simulation"
    " evaluation iterations kit",
    "importers": "errors spec models result spec.reading simulation evaluation",
    "output": "errors spec result spec.reading evaluation iterations kit experiments",
    "api": "errors spec result spec.reading evaluation iterations kit experiments importers output",
    "lab": "errors spec result spec.reading simulation evaluation iterations kit experiments"
    " output api",
    "cli": "errors spec models result spec.reading evaluation iterations kit experiments importers"
    " output api lab",
}
#: Parts of a package that know nothing of the package around them.
APART = ("evaluation.strategies", "experiments.near_memory", "iterations.inference")
#: The same inside validation, which may import any package but the command line.
VALIDATION_MAY_IMPORT: dict[str, str] = {
    "compare": "",
    "fit": "compare",
    "pages": "compare fit",
    "probing": "",
    "frameworks": "compare",
}
#: Underscored names that libraries offer: of named tuples, the exit of a process, PyTorch's
#: products in fp8 and operations over lists of tensors.
OFFERED = (
    *("_replace", "_asdict", "_exit", "_scaled_mm", "_get_backend"),
    *(f"_foreach_{name}" for name in ("mul_", "add_", "addcmul_", "sqrt", "div", "norm")),
)
STANDARD_OF_SHARING = {"math", "operator", "fractions", "collections", "heapq", "typing"}


@cache
def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> dict[str, bool]:
    """Names that the file imports -> whether only when a function runs; relative ones absolute."""
    names: dict[str, bool] = {}

    def add(name: str, lazily: bool) -> None:
        names[name] = names.get(name, True) and lazily

    for node, lazily in statements(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name, lazily)
        elif isinstance(node, ast.ImportFrom):
            base = list(path.relative_to(ROOT).parts[: -node.level]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                add(f"{module}.{alias.name}", lazily)
    return names


@cache
def statements(path: Path) -> list[tuple[ast.stmt, bool]]:
    """Every statement of the file, and whether it runs only later; expressions are not looked into,
    which are most of a file.
    """
    found = []

    def visit(node: ast.AST, lazily: bool) -> None:
        lazily = lazily or _runs_later(node)
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for child in getattr(node, name, ()):
                if isinstance(child, ast.stmt):
                    found.append((child, lazily))
                visit(child, lazily)

    visit(parsed(path), False)
    return found


def _runs_later(node: ast.AST) -> bool:
    """True if what is below runs after the import of the file, or only for a type checker."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def importers(*packages: str, at_import_only: bool = False) -> set[str]:
    """Files of c3sim, relative to it, that import any of *packages*."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in modules("c3sim")
        for name, lazily in imports(path).items()
        if any(name == package or name.startswith(package + ".") for package in packages)
        and not (at_import_only and lazily)
    }


def room_of(name: str) -> str:
    """The row of a module: its package; or the part of it that has a row of its own."""
    parts = (room for room in MAY_IMPORT if "." in room)
    return next((part for part in parts if f"{name}.".startswith(f"{part}.")), name.split(".")[0])


def arrows(folder: str, prefix: str) -> Iterator[tuple[str, str, str]]:
    """(room, room that it imports, where) for every import between rooms of *folder*."""
    for path in modules(folder):
        parts = path.relative_to(ROOT / folder).parts
        room = room_of(".".join(parts).removesuffix(".py"))
        for name in imports(path):
            if name.startswith(prefix + "."):
                target = room_of(name.removeprefix(prefix + "."))
                if target != room and room != "__init__":
                    where = "/".join((folder, *parts))
                    yield room, target, f"{where} imports {name}"


def test_the_reader_of_imports_sees_them() -> None:
    """It finds a known import, and leaves no relative one."""
    file = PACKAGE / "tasks" / "collective.py"
    assert any(name.startswith("c3sim.processes.kernels.") for name in imports(file))
    assert not any(name.startswith(".") for path in modules("c3sim") for name in imports(path))


def test_what_is_imported_is_declared() -> None:
    """`pip install c3sim` brings what imports at once; what the laboratory's files and functions
    import may be of an extra. A library that others bring counts as theirs.
    """
    brought = {"pydantic-core": "pydantic", "distributed": "dask", "starlette": "nicegui"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = {"": project["dependencies"], **project["optional-dependencies"]}
    names = {of: {re.match(r"[\w-]+", each)[0].lower() for each in texts[of]} for of in texts}
    always, extras = names.pop(""), set().union(*names.values())
    known = packages_distributions()
    for path in modules("c3sim"):
        optional = always | extras if path.parent == PACKAGE / "lab" else always
        for name, lazily in imports(path).items():
            those = (each.lower().replace("_", "-") for each in known.get(name.split(".")[0], ()))
            found = {brought.get(each, each) for each in those} - {"c3sim"}
            assert not found or found & (always | extras if lazily else optional), (path, name)


def test_rows_name_rows_above_them_only() -> None:
    """So the packages have floors, and no circle."""
    for table in (MAY_IMPORT, VALIDATION_MAY_IMPORT):
        above: set[str] = set()
        for room, allowed in table.items():
            assert set(allowed.split()) <= above, room
            above.add(room)


def test_every_package_imports_what_its_row_says() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in modules("c3sim")}
    assert rooms - {"__init__"} == {room for room in MAY_IMPORT if "." not in room}
    packages = set(MAY_IMPORT)
    wrong = [
        where
        for room, target, where in arrows("c3sim", "c3sim")
        if target in packages and target not in MAY_IMPORT[room].split()
    ]
    assert wrong == []


def test_parts_know_nothing_of_the_package_around_them() -> None:
    wrong = [
        f"{path} imports {name}"
        for part in APART
        for path in modules(f"c3sim/{part.replace('.', '/')}")
        for name in imports(path)
        if name.startswith(f"c3sim.{part.split('.')[0]}.") and f"c3sim.{part}." not in f"{name}."
    ]
    assert wrong == []


def test_rooms_of_validation_import_what_their_row_says() -> None:
    wrong = [
        where
        for room, target, where in arrows("validation", "validation")
        if target in VALIDATION_MAY_IMPORT and target not in VALIDATION_MAY_IMPORT[room].split()
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_circle() -> None:
    """Lazily neither, nor for a type checker: graphlib raises CycleError. Relative imports, which
    validation has, count like others.
    """
    files = {}
    for path in (*modules("c3sim"), *modules("validation")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        files[name if name.startswith("c3sim") else f"c3sim.{name}"] = path
    graph = {}
    for name, path in files.items():
        used = {
            f"c3sim.{each}" if each.startswith("validation") else each for each in imports(path)
        }
        found = {each if each in files else each.rpartition(".")[0] for each in used}
        graph[name] = found & files.keys() - {name}
    assert len(tuple(TopologicalSorter(graph).static_order())) == len(files)


def test_only_engine_machine_processes_and_simulation_meet_the_clock() -> None:
    rooms = {file.split("/")[0] for file in importers("simpy", "c3sim.engine.clock")}
    assert rooms <= {"engine", "machine", "processes", "simulation"}


def test_sharing_is_numbers_only() -> None:
    for name in ("sharing.py", "oracle.py"):
        used = {module.split(".")[0] for module in imports(PACKAGE / "engine" / name)}
        assert used - STANDARD_OF_SHARING - {"__future__"} <= {"c3sim"}, name


def test_only_the_interfaces_import_validation_and_lazily() -> None:
    assert {file.split("/")[0] for file in importers("c3sim.validation")} == {"cli", "api"}
    assert importers("c3sim.validation", at_import_only=True) == set()


def test_data_folders_are_imported_under_the_package() -> None:
    """At the top of a checkout ``import validation`` works; installed it does not."""
    assert importers("validation", "hwmodels", "workloads") == set()


def test_heavy_libraries_are_imported_only_when_needed() -> None:
    """They cost more than a run does: the simulator itself loads none of them."""
    heavy = {"pandas", "matplotlib", "scipy", "pyarrow", "perfetto", "joblib", "rich", "typer"}
    script = (
        "import sys, c3sim.simulation.simulate, c3sim.spec.reading.loading;"
        " print(*{name.split('.')[0] for name in sys.modules});"
        " c3sim.run('gemm-alone', set={'gpu.hbm.bandwidth': '5 TB/s'}); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported, after_a_run = (set(line.split()) for line in run.stdout.splitlines())
    assert not heavy & imported
    assert not {"pint", "pandas", "numpy", "c3sim.iterations.build"} & after_a_run


def _private_names(path: Path) -> Iterator[str]:
    """Private names of other modules that the file imports, and private attributes of others."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (
                f"{path.relative_to(ROOT)}:{node.lineno} imports {alias.name}"
                for alias in node.names
                if alias.name.startswith("_") and not alias.name.startswith("__")
            )
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.attr
            own = name.startswith("_") and not name.endswith("_")
            if own and name not in OFFERED and node.value.id.islower():
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.value.id}.{name}"


def test_nobody_calls_a_private_name_of_another_module() -> None:
    """A name with an underscore belongs to the module, or to the instances, that define it."""
    wrong = []
    for path in [*modules("c3sim"), *modules("validation")]:
        text = path.read_text(encoding="utf-8")
        for use in _private_names(path):
            name = use.rsplit(".", 1)[-1]
            defined_here = any(
                f"{word}{name}" in text for word in ("def ", "self.", "cls.", f'"{name}"')
            )
            if "imports" in use or not defined_here:
                wrong.append(use)
    assert wrong == []


def test_every_package_says_what_it_is_and_what_it_must_not_know() -> None:
    silent = []
    for path in [*modules("c3sim"), *modules("validation")]:
        if path.name == "__init__.py" and path.parent != PACKAGE:
            text = ast.get_docstring(parsed(path)) or ""
            if "must not" not in text:
                silent.append(path.relative_to(ROOT).as_posix())
    assert silent == []


def test_files_are_no_longer_than_their_idea() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in TOP_FOLDERS
        for path in modules(folder)
    }
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_functions_fit_on_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT).as_posix()} {node.name}"
        for folder in TOP_FOLDERS
        for path in modules(folder)
        for node, _ in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= LONGEST_FUNCTION  # most are short as they stand
        and _lines(node) > LONGEST_FUNCTION
    }
    assert long == set()


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From the name to the end, without the docstring and, of a command, without its options:
    they are a table, each with its help.
    """
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    annotations = (argument.annotation for argument in function.args.args)
    command = any(each and ast.unparse(each).startswith("Annotated[") for each in annotations)
    options = first.lineno - function.lineno if command else 0
    return function.end_lineno - function.lineno + 1 - docstring - options


def test_every_top_folder_has_a_short_readme() -> None:
    lengths = {
        folder: len((ROOT / folder / "README.md").read_text(encoding="utf-8").splitlines())
        for folder in TOP_FOLDERS
    }
    assert {folder: length for folder, length in lengths.items() if length > README_LINES} == {}


def test_no_pragma_hides_a_long_line() -> None:
    hidden = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in TOP_FOLDERS
        for path in modules(folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDEST and any(mark in line for mark in ("# type:", "# noqa", "# fmt:"))
    ]
    assert hidden == []


def test_few_lines_escape_the_formatter() -> None:
    marks = [
        path
        for folder in TOP_FOLDERS
        for path in modules(folder)
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.rstrip().endswith("fmt: " + "skip")
    ]
    assert len(marks) <= MOST_MARKS
