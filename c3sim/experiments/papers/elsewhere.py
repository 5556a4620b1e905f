"""Kind ``elsewhere``: claims of other studies on machines that their sources did not have.

Each line of the table runs a study on a node, and takes those of its claims whose texts begin as
*claims* say. *borrowed*: parts of another node that the node is given for it, as a proposal of
hardware needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from c3sim.errors import InputError
from c3sim.experiments.cases import NONE, rows_of
from c3sim.experiments.claim_bands import with_bands
from c3sim.experiments.claims import Claim, claim
from c3sim.experiments.study import Asked, Options, Row, StudyResult, kind_of, run_study
from c3sim.kit.grid import Table
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_hardware, open_study
from c3sim.spec.reading.paths import get_value
from c3sim.spec.study import Study

WORTH = 2


class Line(Spec):
    """A line of the table; *band*: whether the study's draws are run as well; *without*: entries of
    what is published that name parts which only the published machine has.
    """

    study: str
    node: str
    claims: tuple[str, ...] = Field(min_length=1)
    set: dict[str, Any] = Field({})
    borrowed: dict[str, tuple[str, ...]] = Field({})
    band: bool = False
    without: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class There:
    """A line on its node."""

    name: str
    node: Node
    provenance: Mapping[str, Any]
    line: Line
    draws: int = 0


def cases(asked: Asked) -> list[There]:
    """Every line of the table. Raises InputError: an unknown study, node, or path."""
    found = []
    for line in rows_of(asked.study, Line):
        loaded = load_hardware(line.node)
        node, known = loaded.node, dict(loaded.provenance)
        for name, paths in line.borrowed.items():
            other = load_hardware(name)
            for path in paths:
                node = node.changed(**{path.replace(".", "__"): get_value(other.node, NONE, path)})
                under = (path, f"{path}.")
                known |= {p: leaf for p, leaf in other.provenance.items() if _in(p, under)}
        name, draws = f"{line.study} on {line.node}", asked.options.draws or 0
        found.append(There(name=name, node=node, provenance=known, line=line, draws=draws))
    if not found:
        raise InputError("a study of this kind needs a table", "table")
    return found


def _in(path: str, under: tuple[str, str]) -> bool:
    return path == under[0] or path.startswith(under[1])


def row(case: There, _: Study) -> Row:
    """The claims of one line."""
    line, loaded = case.line, open_study(case.line.study)
    known = {name: of for name, of in loaded.study.published.items() if name not in line.without}
    loaded = replace(loaded, study=loaded.study.changed(published=known))
    options = Options(
        node=case.node,
        provenance=case.provenance,
        settings=line.set,
        band=line.band,
        n_jobs=1,
        everywhere=True,
    )
    found = run_study(loaded, options)
    claims = kind_of(loaded).claims
    said = list(claims(found)) if claims is not None else []
    if case.draws:
        said = with_bands(loaded, options, said, case.draws)
    kept = [each for each in said if each.what.startswith(line.claims)]
    if not kept:
        raise InputError(f"{line.study} has no claim that begins so; see its --verdict", "claims")
    return Row(
        study=line.study, node=line.node, why=line.why, claims=[each.to_dict() for each in kept]
    )


def reduce(asked: Asked, _: Sequence[There], rows: list[Row]) -> Mapping[str, Any]:
    return {"node": ", ".join(dict.fromkeys(row.node for row in rows)), "rows": rows}


def tables(found: StudyResult) -> list[Table | str]:
    """The assumption of each line; the claims themselves are the verdicts."""
    lines = [{**row, "claims": len(row.claims)} for row in found.rows]
    return [Table("studies elsewhere", lines, ["study", "node", "claims", "why"])]


def claims(found: StudyResult) -> Iterator[Claim]:
    """Published figures of the papers' machines beside those of others."""
    for row in found.rows:
        for each in row.claims:
            what = f"{row.study} on {row.node}: {each['claim']}"
            unit = "%" if each["unit"] == "1" else each["unit"]
            more = {name: each[name] for name in ("standing", "decides", "band")}
            yield claim(what, each["ours"], each["published"], unit=unit, **more)
