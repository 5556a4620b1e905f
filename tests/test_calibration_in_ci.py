"""The workflow that users copy: it parses, and its commands run in an empty folder, as written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from cli_case import invoke
from click.testing import Result
from places import ROOT

from c3sim.spec.reading.library import find

pytestmark = pytest.mark.turns(5)

EXAMPLE = ROOT / "examples" / "calibration-in-ci"
WORKFLOW = Path(".github") / "workflows" / "calibration.yml"
#: ${{ inputs.node || 'my-node.yaml' }}: the default, as on a push
INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \|\| '([^']*)' \}\}")


@pytest.fixture
def repository(tmp_path):
    """A copy of the example, and nothing of c3sim's tree beside it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "mine"))


def workflow(folder: Path) -> dict:
    return yaml.safe_load((folder / WORKFLOW).read_text(encoding="utf-8"))


def commands(folder: Path) -> dict[str, str]:
    """Name of a step -> what it runs, but for the installation."""
    steps = workflow(folder)["jobs"]["compare"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def run(folder: Path, command: str) -> subprocess.CompletedProcess:
    """As the service does: bash, the workflow's environment, the summary in a file."""
    given = {key: INPUT.sub(r"\2", value) for key, value in workflow(folder)["env"].items()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"), "PATH": path}
    env = {**os.environ, **given, **more}
    done = ["bash", "-eo", "pipefail", "-c", command]
    return subprocess.run(done, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_the_workflow_is_reusable_and_its_inputs_have_their_defaults(repository):
    document = workflow(repository)
    inputs = document[True]["workflow_call"]["inputs"]  # YAML 1.1 reads "on" as true
    given = {INPUT.fullmatch(value) for value in document["env"].values()}
    assert {(each[1], each[2]) for each in given} == {
        (name, each["default"]) for name, each in inputs.items()
    }
    assert 'pip install "$C3SIM"' in commands(repository)["install"]


def test_its_commands_pass_in_an_empty_folder(repository):
    steps = commands(repository)
    for name in ("the node reads", "compare"):
        done = run(repository, steps[name])
        assert done.returncode == 0, done.stderr
    tree = ElementTree.parse(repository / "calibration.xml").getroot()
    assert [case.get("classname") for case in tree.iter("testcase")] == ["my_collectives"]
    assert not list(tree.iter("failure"))
    page = (repository.parent / "summary.md").read_text(encoding="utf-8")
    assert page.startswith("# Calibration of my-node: pass") and "drifted" not in page


def test_a_drift_fails_and_is_annotated_at_the_number_behind_it(repository):
    """The node's own file says half the bandwidth of the links."""
    node = repository / "my-node.yaml"
    links = yaml.safe_load(find("node", "h200-2").read_text(encoding="utf-8"))["links"]
    links["bandwidth"] = {"value": "11 GB/s", "source": "a mistake"}
    slow = yaml.safe_dump({"links": links}, sort_keys=False, width=1000)
    node.write_text(node.read_text(encoding="utf-8") + slow, encoding="utf-8")
    done = run(repository, commands(repository)["compare"])
    assert done.returncode == 1, done.stderr
    (failure,) = ElementTree.parse(repository / "calibration.xml").getroot().iter("failure")
    assert str(failure.text).startswith("suspects: links.")
    assert "bound 9, 25" in failure.get("message", "") and "links.bandwidth" in str(failure.text)
    page = (repository.parent / "summary.md").read_text(encoding="utf-8")
    assert "## What drifted" in page and "links.bandwidth = 11 GB/s" in page
    (note,) = [line for line in done.stderr.splitlines() if line.startswith("::error ")]
    first = str(failure.text).split()[1].removeprefix("links.")  # noticed by most bounds
    line = node.read_text(encoding="utf-8").splitlines().index(f"  {first}:") + 1
    assert f"file=my-node.yaml,line={line},title=my_collectives" in note


def shown(marker: str) -> str:
    """The one command of the page that has *marker*."""
    page = EXAMPLE.parent.parent / "docs" / "calibration-in-ci.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    (command,) = [line[2:] for line in lines if line.startswith("$ c3sim") and marker in line]
    return command


def test_figures_are_held_against_trusted_ones_as_the_page_says(repository, monkeypatch):
    """The page's two commands; then links of half the bandwidth, and its accepted figures."""
    monkeypatch.chdir(repository)

    def ask(command: str) -> Result:
        return invoke(*shlex.split(command)[1:])

    command, into = shown("> trusted.json").split(" > ")
    trusted = ask(command)
    assert trusted.exit_code == 0
    (repository / into).write_text(trusted.stdout, encoding="utf-8")
    page = (EXAMPLE.parent.parent / "docs" / "calibration-in-ci.md").read_text(encoding="utf-8")
    accepted = page.split("```yaml")[-1].split("```")[0]
    compare = shown("--against").replace(" --bounds bounds.yaml", "")
    unused = repository / "accepted.yaml"
    unused.write_text(accepted, encoding="utf-8")
    done = ask(compare)
    assert done.exit_code == 1 and "take it out" in done.stderr
    plain = compare.replace(" --accept accepted.yaml", "")
    assert ask(plain).exit_code == 0
    slow = " --set links.bandwidth='11 GB/s'"
    done = ask(plain + slow)
    assert done.exit_code == 1
    assert "my_collectives: all-gather 256 MiB: gather: isolated_collective: " in done.stderr
    assert ask(compare + slow).exit_code == 0
