"""Who may import whom. The arrows of the architecture point one way, and this reads the imports to
see that they do.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "c3sim"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = ("c3sim", "hwmodels", "workloads", "validation", "tests", "benchmarks", "examples")
PYTHON = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
LONGEST = 340  # lines: a page per idea


def imports(path: Path) -> dict[str, bool]:
    """Modules that the file imports -> whether only when a function runs. Relative imports are made
    absolute."""
    found: dict[str, bool] = {}

    def add(name: str, lazily: bool) -> None:
        found[name] = found.get(name, True) and lazily

    def visit(node: ast.AST, lazily: bool) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name, lazily)
        elif isinstance(node, ast.ImportFrom):
            base = list(path.relative_to(ROOT).parts[: -node.level]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                add(f"{module}.{alias.name}", lazily)
        for child in ast.iter_child_nodes(node):
            visit(child, lazily or _lazy(node))

    visit(ast.parse(path.read_text(encoding="utf-8")), False)
    return found


def _lazy(node: ast.AST) -> bool:
    """Whether what is below runs later than the import of the file, or only for a type checker."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def importers(*packages: str, at_import_only: bool = False) -> set[str]:
    """Files of the package (relative to it) that import any of *packages*."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        for name, lazily in imports(path).items()
        if any(name == package or name.startswith(package + ".") for package in packages)
        and not (at_import_only and lazily)
    }


def inside(files: set[str], *places: str) -> set[str]:
    return {file for file in files if file in places or file.split("/")[0] + "/" in places}


def outside(files: set[str], *places: str) -> set[str]:
    return files - inside(files, *places)


def test_this_test_sees_imports(tmp_path: Path) -> None:
    """It finds what it looks for: the reader of imports on a file that has every form of them."""
    file = PACKAGE / "processes" / "tasks.py"
    assert "c3sim.processes.kernels.kernel.Kernel" in imports(file)
    assert inside(importers("simpy"), "engine/fluid.py") == {"engine/fluid.py"}
    assert not any(name.startswith(".") for path in MODULES for name in imports(path))


def test_simpy_is_known_to_engine_and_processes_and_to_who_makes_the_clock() -> None:
    assert outside(importers("simpy"), "engine/", "processes/", "simulation/") == set()


def test_engine_knows_no_gpu() -> None:
    others = (
        "c3sim.models",
        "c3sim.processes",
        "c3sim.specs",
        "c3sim.machine.machine",
        "c3sim.simulation.simulate",
        "c3sim.input.units",
    )
    assert inside(importers(*others), "engine/") == set()


def test_models_never_know_the_clock() -> None:
    others = (
        "c3sim.engine",
        "c3sim.processes",
        "c3sim.machine.machine",
        "c3sim.simulation.simulate",
        "simpy",
    )
    assert inside(importers(*others), "models/") == set()


def test_sharing_is_numbers_only() -> None:
    standard = {"math", "operator", "fractions", "collections", "heapq", "typing"}
    for name in ("sharing.py", "oracle.py"):
        used = {module.split(".")[0] for module in imports(PACKAGE / "engine" / name)} - {
            "__future__"
        }
        assert used - standard <= {"c3sim"}, name


def test_specs_import_no_part_of_the_simulator() -> None:
    others = [
        f"c3sim.{part}"
        for part in ("engine", "models", "processes", "machine", "simulation", "cli", "output")
    ]
    assert inside(importers(*others), "specs/") == set()


def test_only_the_command_line_imports_validation_and_lazily() -> None:
    assert outside(importers("c3sim.validation"), "cli/") == set()
    assert importers("c3sim.validation", at_import_only=True) == set()


def test_data_folders_are_imported_under_the_package() -> None:
    """At the top of a checkout ``import validation`` works; installed it does not."""
    assert importers("validation", "hwmodels", "workloads") == set()


def test_nothing_imports_the_command_line() -> None:
    assert outside(importers("c3sim.cli"), "cli/", "__main__.py") == set()


def test_heavy_libraries_are_imported_only_when_needed() -> None:
    """They cost more than a run does: the simulator itself loads none of them."""
    heavy = {"pandas", "matplotlib", "scipy", "pyarrow", "perfetto", "joblib", "rich", "typer"}
    script = "import sys, c3sim.simulation.simulate, c3sim.input.loading; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not heavy & set(run.stdout.split())


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_file_is_longer_than_a_page_per_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST
