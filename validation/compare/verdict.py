"""The verdict: every figure, the scores of suites and nodes, and whether all bounds hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.record import Record

from .bounds import Bounds, Gap, load_bounds
from .figures import Figure, compare
from .measurements import Measurement, merge, observations, spread_by_suite
from .pairs import PairScore, score_pairs
from .predict import Progress
from .scores import NodeScore, SuiteScore, metric_of, score_nodes, score_suites
from .standings import Standing, load_standings

if TYPE_CHECKING:
    import pandas as pd

OBSERVED = ("id", "suite", "role", "node")  # fields of a record that an observation repeats
# (suite, metric) -> worst figures, each with an explanation
Explained = Mapping[tuple[str, str], Sequence[tuple[Figure, str]]]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Verdict:
    """*measurements* are the records with times, repeats merged."""

    scores: Sequence[SuiteScore]
    figures: Sequence[Figure]
    records: Sequence[Record]
    measurements: Sequence[Measurement]
    nodes: Mapping[str, LoadedNode]
    bounds: Bounds
    standings: Mapping[str, Standing]

    def __repr__(self) -> str:
        missed = (f"missed: {score.suite}, {score.metric}" for score in self.missed)
        return "\n".join((f"Verdict: {self.word}; {self.counts}", self.bounds_text, *missed))

    @property
    def observations(self) -> list[Record]:
        """Records without a time, which are shown and not compared."""
        return observations(self.records)

    @property
    def counts(self) -> str:
        """The numbers of records and figures, in words."""
        repeated = sum(len(one.repeats) - 1 for one in self.measurements)
        repeats = f" ({repeated} of them repeats)" if repeated else ""
        return f"{len(self.records)} records{repeats}, {len(self.figures)} figures"

    @property
    def states(self) -> Mapping[str, int]:
        """The number of scores in each state: ``held``, ``gap``, ``FAILS``, ``no bound``."""
        return Counter(score.state for score in self.scores)

    @property
    def bounds_text(self) -> str:
        """The numbers of bounds held to their target and of gaps, in words."""
        counts = self.states
        days = sorted(score.bound.since for score in self.scores if score.bound and score.gap)
        gaps = ""
        if days:
            gaps = (
                f"{counts['gap']} gaps: not worse than on the day their bound was set"
                f" ({days[0]} to {days[-1]}), "
            )
        return f"{counts['held']} held to their target, {gaps}{counts['FAILS']} missed"

    @property
    def missed(self) -> list[SuiteScore]:
        """The scores that miss a bound, or have a plain predictor that is better and not listed."""
        return [score for score in self.scores if score.passed is False]

    @property
    def defects(self) -> list[SuiteScore]:
        """The scores in which a plain predictor is better than the model, listed or not."""
        return [score for score in self.scores if score.defects]

    @property
    def passed(self) -> bool | None:
        """None where no suite has a bound."""
        if all(score.bound is None for score in self.scores):
            return None
        return not self.missed

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        return {True: "pass", False: "FAIL", None: "no bound"}[self.passed]

    def by_suite(self) -> dict[str, list[SuiteScore]]:
        """Suite -> its scores."""
        suites: dict[str, list[SuiteScore]] = {}
        for score in self.scores:
            suites.setdefault(score.suite, []).append(score)
        return suites

    def differences(self, *, of_gpus: bool = False) -> list[PairScore]:
        """The scores of pairs that differ in one condition, by suite or by GPU."""
        gpus = {one.suite: one.record.node.rpartition("-")[0] for one in self.figures}
        return score_pairs(self.figures, gpus if of_gpus else None)

    def of_nodes(self) -> list[NodeScore]:
        """The scores of each node."""
        return score_nodes(self.figures, self.bounds.targets, self.standings)

    def to_frame(self) -> pd.DataFrame:
        """A row for each suite and metric: relative errors, bounds, the verdict."""
        import pandas as pd

        rows = (_score(score, self.bounds.gaps, ()) for score in self.scores)
        plain = [
            {key: value for key, value in row.items() if not isinstance(value, list | dict)}
            for row in rows
        ]
        return pd.DataFrame(plain).set_index(["name", "metric"])

    def to_dict(self, worst: Explained | None = None) -> dict[str, Any]:
        """Plain data for ``--json``.

        A slowdown is given in us as well: times the measured isolated time. Power and energy have
        keys of their own.
        """
        explained = worst or {}
        gaps = self.bounds.gaps
        return {
            "suites": [
                _score(score, gaps, explained.get((score.suite, score.metric), ()))
                for score in self.scores
            ],
            "cases": [_figure(figure) for figure in self.figures],
            "repeats": {
                name: asdict(each) for name, each in spread_by_suite(self.measurements).items()
            },
            "observed": [
                {**{key: getattr(record, key) for key in OBSERVED}, "name": record.workload.name}
                | {"observed": record.observed}
                for record in self.observations
            ],
            "nodes": [_node(score) for score in self.of_nodes()],
            "differences": [score.to_dict() for score in self.differences()],
            "known_gaps": {name: gap.model_dump() for name, gap in gaps.items()},
            "defects": [_defect(score) for score in self.defects],
            "bounds": dict(self.states),
            "pass": self.passed,
            "verdict": self.word,
        }


def validate(
    records: Sequence[Record],
    nodes: Mapping[str, LoadedNode],
    *,
    bounds: Bounds | None = None,
    jobs: int = 0,
    progress: Progress = lambda count: None,
) -> Verdict:
    """Predict every measurement on the node of its name, and judge.

    *bounds* left out: the packaged ones. *progress* counts measurements.
    """
    bounds, standings = bounds or load_bounds(), load_standings()
    specs = {name: loaded.node for name, loaded in nodes.items()}
    measurements = merge(records)
    figures = compare(specs, measurements, jobs, progress)
    return Verdict(
        scores=score_suites(figures, bounds.suites, standings, bounds.beaten),
        figures=figures,
        records=records,
        measurements=measurements,
        nodes=nodes,
        bounds=bounds,
        standings=standings,
    )


def _score(
    score: SuiteScore, gaps: Mapping[str, Gap], worst: Sequence[tuple[Figure, str]]
) -> dict[str, Any]:
    bound, errors = score.bound, score.errors
    return {
        "name": score.suite,
        "metric": score.metric,
        "role": score.figures[0].record.role,
        "standing": score.standing,
        "state": score.state,
        "cases": len(score.figures),
        "outside_domain": score.outside,
        "median_error": errors.median,
        "p90_error": errors.p90,
        "bias": errors.bias,
        "median_error_given_isolated": errors.given,
        "bound_median": bound.limit.median if bound else None,
        "bound_p90": bound.limit.p90 if bound else None,
        "pass": score.passed,
        "baselines": dict(errors.baselines),
        "beaten_by": [rival.predictor for rival in score.defects],
        "on_target": score.on_target,
        "repeats": asdict(score.repeats) if score.repeats else None,
        "known_gap": score.gap,
        "gap_since": bound.since if bound else "",
        "gap_page": gaps[score.gap].page if score.gap else "",
        "reason": bound.limit.reason if bound else "",
        "worst": [
            {"id": one.record.id, "name": one.name, "error": one.error, "explanation": text}
            for one, text in worst
        ],
    }


def _node(score: NodeScore) -> dict[str, Any]:
    errors = score.errors
    return {
        "node": score.node,
        "runs": score.runs,
        "metric": score.name,
        "cases": score.count,
        "inspected": score.inspected,
        "median_error": errors.median,
        "p90_error": errors.p90,
        "bias": errors.bias,
        "median_error_given_isolated": errors.given,
        "baselines": dict(errors.baselines),
        "beaten_by": [rival.predictor for rival in score.better],
        "on_target": score.on_target,
    }


def _defect(score: SuiteScore) -> dict[str, Any]:
    return {
        "suite": score.suite,
        "metric": score.metric,
        "new": [rival.predictor for rival in score.unlisted],
        "reason": score.beaten.reason if score.beaten else "",
        "better": [asdict(rival) for rival in score.defects],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    predicted, measured = figure.predicted, figure.measured
    values = {"predicted_us": predicted * figure.unit_us, "measured_us": measured * figure.unit_us}
    if figure.unit in ("W", "J"):
        unit = figure.unit.lower()
        values = {f"predicted_{unit}": predicted, f"measured_{unit}": measured}
    return {
        "id": figure.record.id,
        "metric": metric_of(figure),
        "predicted_us": None,
        "measured_us": None,
        **values,
        "error": figure.error,
        "error_given_isolated": figure.given_error,
        "suite": figure.suite,
        "role": figure.record.role,
        "name": figure.name,
        "outside_domain": figure.outside,
        "repeats": len(figure.measurement.repeats),
    }
