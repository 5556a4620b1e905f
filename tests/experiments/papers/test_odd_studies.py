"""Tables, assumptions and guesses of studies with a mistake in them: one line that says where."""

from __future__ import annotations

import math
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from places import ROOT

import c3sim
from c3sim.cli.study import _claims
from c3sim.errors import InputError, InputErrors
from c3sim.experiments.study import StudyResult, kind_of
from c3sim.spec.reading.loading import open_study

STUDIES = ROOT / "workloads" / "studies"
LEFT_OUT = object()


def asked(tmp_path: Path, name: str, path: tuple, value: object) -> None:
    """Ask for the packaged study *name* with *value* at *path*; nothing is run."""
    study = yaml.safe_load((STUDIES / f"{name}.yaml").read_text(encoding="utf-8"))
    place = study
    for key in path[:-1]:
        place = place[key]
    if value is LEFT_OUT:
        del place[path[-1]]
    else:
        place[path[-1]] = deepcopy(value)
    file = tmp_path / "odd.yaml"
    file.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")

    def refuse(_effort: object) -> None:
        raise AssertionError("it would have run")

    c3sim.study(str(file), n_jobs=1, agree=refuse)


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("t3", ("table", 3, "tp"), 16 * 10**15, r"table\[3\]\.tp: got 16000000000000000; must be"),
        ("t3", ("table", 0, "model"), LEFT_OUT, r"table\[0\]: missing field 'model'"),
        ("t3", ("table", 0, "hiden"), 3, "unknown field 'hiden'; did you mean 'hidden'"),
        ("t3", ("assumptions", "attention_share"), 1.5, "assumptions.attention_share: got 1.5"),
        ("fused", ("table", 1, "m"), LEFT_OUT, r"table\[1\]: missing field 'm'"),
        ("fused", ("table", 0, "operator"), "gem", "table.0..operator: unknown value 'gem'"),
        ("fused", ("assumptions", "slices"), 0, "assumptions.slices: got 0"),
        ("cache-policies", ("machines", "guesses", "asked"), LEFT_OUT, "guesses lack asked"),
        ("cache-policies", ("machines", "published", "compute_units"), 10**9, "at most 4096"),
        ("t3", ("node",), "x", "node: unknown node 'x'"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, name: str, path: tuple, value: object, message: str
) -> None:
    with pytest.raises((InputError, InputErrors), match=rf"odd\.yaml:\d+: .*{message}"):
        asked(tmp_path, name, path, value)


def test_published_figures_of_another_form_cost_the_claims_alone(capsys) -> None:
    """Their place is free; what was simulated for minutes is shown all the same."""
    kind = kind_of(open_study("t3"))
    rows = [{"tp": 8, "speedup": {}, "model": "x", "sublayer": "op", "times_s": {}}]
    found = StudyResult(kind="t3", rows=rows, end_to_end=[], published={"speedups": math.pi})
    assert _claims(kind, found) == []
    assert "warning: published: cannot be compared" in capsys.readouterr().err
