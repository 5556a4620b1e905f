"""``c3sim probe build``, with a compiler that is a small script."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli_case import invoke

from c3sim import __version__
from c3sim.errors import InputError
from c3sim.validation.probing import build as compilers
from c3sim.validation.probing.build import (
    BuildError,
    Compiler,
    build,
    find_compiler,
    program,
    revision,
)

COMPILER = """#!/bin/sh
if [ "$1" = --version ]; then echo "fake compiler 1"; exit 0; fi
echo "$@" >> "$FAKE_LOG"
for word; do
  case "$word" in *bad.cpp) echo "bad.cpp:1: error: no"; echo "second line"; exit 7;; esac
  last=$word
done
printf '#!/bin/sh\\necho made\\n' > "$last"
/bin/chmod +x "$last"
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """No compiler but those a test puts there, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        compilers, "PLACES", {"hipcc": ("/nowhere/rocm",), "nvcc": ("/nowhere/cuda",)}
    )
    for name in ("ROCM_PATH", "HIP_PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "calls"))
    return tmp_path


def put(folder: Path, kind: str, text: str = COMPILER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / kind
    file.write_text(text)
    file.chmod(0o755)
    return file


def sources(folder: Path, *extra: str) -> Path:
    root = folder / "src"
    (root / "device").mkdir(parents=True, exist_ok=True)
    for name in ("json.cpp", "json.h", "device/main.cpp", *extra):
        (root / name).write_text(f"// {name}\n")
    return root


def calls(folder: Path) -> list[str]:
    log = folder / "calls"
    return log.read_text().splitlines() if log.exists() else []


def test_without_a_compiler_one_line_says_what_was_looked_for_and_how_to_get_one(here):
    found = invoke("probe", "build")
    assert found.exit_code == 2 and found.stdout == ""
    (line,) = found.stderr.strip().split("\n")
    assert line.startswith("no compiler found; looked for hipcc (PATH, $ROCM_PATH, $HIP_PATH, ")
    assert "nvcc (PATH, $CUDA_HOME, $CUDA_PATH, " in line
    assert "ROCm" in line and "CUDA toolkit" in line


def test_a_compiler_that_was_asked_for_is_the_only_one_looked_for(here):
    put(here / "bin", "hipcc")
    with pytest.raises(InputError, match="looked for nvcc") as caught:
        find_compiler("nvcc", environment={"PATH": str(here / "bin")})
    assert "hipcc" not in str(caught.value)


def test_it_is_found_on_the_path_then_by_variables_then_in_the_usual_places(here, monkeypatch):
    path, home, usual = (put(here / name / "bin", "nvcc") for name in ("path", "home", "opt-13.0"))
    put(here / "opt-12.0" / "bin", "nvcc")
    monkeypatch.setitem(compilers.PLACES, "nvcc", (f"{here}/opt-*",))
    both = {"PATH": str(path.parent), "CUDA_HOME": str(here / "home")}
    assert find_compiler(environment=both).path == str(path)
    assert find_compiler(environment={"CUDA_HOME": str(here / "home")}).path == str(home)
    assert find_compiler(environment={}).path == str(usual)


def test_of_two_compilers_the_devices_of_the_machine_decide(here, monkeypatch):
    put(here / "bin", "hipcc")
    put(here / "bin", "nvcc")
    path = {"PATH": str(here / "bin")}
    for present, kind, arch in (("nvcc", "nvcc", "sm_90"), ("hipcc", "hipcc", "gfx942")):
        monkeypatch.setattr(
            compilers,
            "DEVICES",
            {k: here if k == present else here / "no" for k in ("hipcc", "nvcc")},
        )
        found = find_compiler(environment=path)
        assert (found.kind, found.arch) == (kind, arch)
    assert find_compiler("nvcc", "sm_100", path).arch == "sm_100"


def test_every_unit_is_compiled_once_and_the_next_build_is_there_already(here):
    compiler = Compiler(kind="nvcc", path=str(put(here / "bin", "nvcc")), arch="sm_90")
    root, told = sources(here), []
    first = build(program(compiler, here / "built", root), lambda *about: told.append(about), root)
    assert not first.cached and os.access(first.program.path, os.X_OK)
    done = calls(here)
    assert len(done) == 3 and done[-1].endswith("/probe")
    compiled = [line for line in done if "-c" in line.split()]
    assert all(
        line.startswith(f"-std=c++17 -O2 -arch=sm_90 -x cu -I {root} -c ") for line in compiled
    )
    assert sorted(Path(line.split()[-3]).name for line in compiled) == ["json.cpp", "main.cpp"]
    assert "-x" not in done[-1].split() and "-ldl -lpthread" in done[-1]
    assert told[-1] == ("built", 3, 3)
    again = build(program(compiler, here / "built", root), sources=root)
    assert again.cached and again.program.path == first.program.path and len(calls(here)) == 3
    assert os.listdir(here / "built") == [first.program.path.parent.name]


@pytest.mark.parametrize("change", ["source", "header", "flags", "version"])
def test_whatever_decides_the_result_makes_another_build(here, change):
    file = put(here / "bin", "hipcc")
    compiler, root = Compiler(kind="hipcc", path=str(file), arch="gfx942"), sources(here)
    before = program(compiler, None, root).path
    if change == "source":
        (root / "device" / "main.cpp").write_text("// other\n")
    elif change == "header":
        (root / "json.h").write_text("// other\n")
    elif change == "flags":
        compiler = Compiler(kind="hipcc", path=str(file), arch="gfx950")
    else:
        file.write_text(COMPILER.replace("compiler 1", "compiler 2"))
    assert program(compiler, None, root).path != before
    assert before.is_relative_to(here / "cache" / "c3sim" / "probe")


def test_an_error_of_the_compiler_is_shown_whole_with_its_command_and_leaves_nothing(here):
    compiler = Compiler(kind="hipcc", path=str(put(here / "bin", "hipcc")), arch="gfx942")
    root = sources(here, "bad.cpp")
    with pytest.raises(BuildError) as caught:
        build(program(compiler, here / "built", root), sources=root)
    text = str(caught.value)
    assert (
        text.startswith(f"$ {compiler.path} -std=c++17 -O2 --offload-arch=gfx942 ")
        and "bad.cpp -o" in text
    )
    assert "bad.cpp:1: error: no\nsecond line\n" in text and "exit code 7" in text
    assert os.listdir(here / "built") == []


def test_the_command_prints_the_path_and_fails_with_1_when_the_compiler_does(here, monkeypatch):
    put(here / "bin", "hipcc")
    monkeypatch.setenv("PATH", f"{here / 'bin'}:/bin:/usr/bin")
    built = invoke("probe", "build", "--compiler", "hipcc", "--build-dir", "here")
    assert built.exit_code == 0, built.stderr
    assert Path(built.stdout.strip()).is_file() and "built with" in built.stderr
    data = json.loads(
        invoke("probe", "build", "--build-dir", "here", "--compiler", "hipcc", "--json").stdout
    )
    assert (
        data["cached"] is True
        and data["probe"] == built.stdout.strip()
        and data["version"] == "fake compiler 1"
    )
    put(here / "bin", "hipcc", COMPILER.replace("*bad.cpp", "*.cpp"))
    failed = invoke("probe", "build", "--compiler", "hipcc")
    assert failed.exit_code == 1 and "error: no" in failed.stderr and failed.stdout == ""


def test_a_compiler_that_does_not_work_is_one_line(here):
    broken = put(here / "bin", "nvcc", "#!/bin/sh\necho no licence >&2\nexit 4\n")
    with pytest.raises(InputError, match=r"--version failed with exit code 4 \(no licence\)"):
        program(Compiler(kind="nvcc", path=str(broken), arch="sm_90"), None, sources(here))


def test_the_revision_is_gits_where_the_sources_are_a_checkout(here, monkeypatch):
    monkeypatch.setenv("PATH", "/bin:/usr/bin:/usr/local/bin")
    root = here / "tree" / "validation" / "probe" / "src"
    root.mkdir(parents=True)
    (root / "a.cpp").write_text("//\n")
    assert revision(root) == f"c3sim-{__version__}"

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            ["git", "-C", here / "tree", *who, *arguments], check=True, capture_output=True
        )

    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    clean = revision(root)
    assert len(clean) == 40 and set(clean) <= set("0123456789abcdef")
    (root / "a.cpp").write_text("// changed\n")
    assert revision(root) == f"{clean}-dirty"


def test_an_installed_copy_inside_somebodys_repository_is_not_that_repository(here, monkeypatch):
    monkeypatch.setenv("PATH", "/bin:/usr/bin:/usr/local/bin")
    subprocess.run(["git", "init", here], check=True, capture_output=True)
    root = here / "venv" / "site-packages" / "c3sim" / "validation" / "probe" / "src"
    root.mkdir(parents=True)
    assert revision(root) == f"c3sim-{__version__}"
