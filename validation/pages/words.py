"""Words and numbers that all pages write the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..compare.baselines import PREDICTORS
from ..compare.bounds import Bounds, Limit
from ..compare.measurements import Spread
from ..compare.scores import LEAST, NodeScore, SuiteScore

# Headers of score_texts and node_texts; "#" begins those of numbers.
NUMBERS = ["#median", "#p90", "#bias", "#given"]
BASELINES = [f"#{name}" for name in PREDICTORS]
SCORE_HEADERS = ["verdict", "standing", "#cases", *NUMBERS, "#bounds", "#repeats", *BASELINES]
NODE_HEADERS = [
    *("node", "runs", "metric", "verdict", "#cases", "#inspected"),
    *(*NUMBERS, "#target", *BASELINES, "better than the model"),
]
STANDINGS = {
    "blind": "blind",
    "reread": "reread",
    "held_out": "held out",
    "inspected": "inspected",
    "open_to_fits": "open to fits",
    "not_stated": "not stated",
}
STANDINGS_EXPLAINED = (
    "Standing: blind, predicted before it was measured, by the model as it is; reread, predicted "
    "before it was measured, then changed because of its rows; held out, nobody looked at its rows "
    "while the model was made; inspected, somebody did, to choose a mechanism or to name a known "
    "gap; open to fits, parameters may be fitted to it."
)
RUNS_EXPLAINED = (
    "Runs: harness, programs that ship here, tasks released together; loops, a process per GPU "
    "that goes round, as frameworks do; others, published tables and logs of other tools."
)
VERDICTS_EXPLAINED = (
    "Verdict: held, to its target; gap, the target is missed for a known reason, and the bound "
    "says no worse than on the day it was set."
)
BASELINES_EXPLAINED = (
    "max, sum, constant: median errors, on the same figures, of three baselines that are given "
    "measured isolated times: no interference, no overlap, one constant slowdown per kind of task, "
    "learnt from the suite's other records; roofline: a task alone from data sheets"
)
BETTER = (
    "Both are given measured isolated times; better by more than the median spread between "
    f"repeats, on however few figures. On {LEAST} or more an unlisted one fails."
)
OUTSIDE_EXPLAINED = (
    "cases: with a star those outside what their libraries were calibrated on (data type or "
    "operation; m, n, k; size, channels, ranks), by the least and greatest in the records of a fit"
)
GIVEN_EXPLAINED = (
    "given: median error of predicted slowdowns times measured isolated times, as the baselines "
    "have them"
)
BANDS_EXPLAINED = (
    "no bound: your records are compared, not judged; bounds: 55 in 6, 88 in 15 says that 55 % of "
    "the figures are off by at most 6 %, 88 % by at most 15 %, the bands that c3sim aims at"
)
REPEATS_EXPLAINED = (
    "repeats: median and 90th percentile of |a - b| / mean between repeats of one measurement, "
    "which counts once, by their mean"
)


def verdict_text(score: SuiteScore) -> str:
    """State of the suite, since when a gap is no worse, and which plain predictors are better."""
    since = f": not worse than on {score.bound.since}" if score.bound and score.gap else ""
    better = ", ".join(rival.predictor for rival in score.defects)
    return (
        score.state
        + (since if score.state == "gap" else "")
        + (f"; {better} better" if better else "")
    )


def score_texts(score: SuiteScore, bounds: Bounds | None = None) -> list[str]:
    """The cells below SCORE_HEADERS; without a bound the bands of *bounds*, if given."""
    band = band_text(score, bounds) if bounds else "-"
    return [
        verdict_text(score),
        STANDINGS[score.standing],
        f"{len(score.figures)}" + (f", {score.outside}*" if score.outside else ""),
        *_errors(score),
        limit_text(score.bound.limit) if score.bound else band,
        repeats_text(score.repeats),
        *baseline_texts(score),
    ]


def node_texts(score: NodeScore) -> list[str]:
    """The cells below NODE_HEADERS."""
    better = (f"{each.predictor} {percent(each.error)}" for each in score.better)
    return [
        score.node,
        score.runs.replace("_", " "),
        score.name.replace("_", " "),
        "on target" if score.on_target else "off target",
        str(score.count),
        str(score.inspected),
        *_errors(score),
        limit_text(score.target),
        *baseline_texts(score),
        ", ".join(better) or "-",
    ]


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, then an empty one."""
    yield f"| {' | '.join(name.lstrip('#') for name in headers)} |"
    yield f"|{'|'.join('---:' if name.startswith('#') else '---' for name in headers)}|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
    yield ""


def limit_text(limit: Limit) -> str:
    """Median and 90th percentile in per cent."""
    return f"{100 * limit.median:g}, {100 * limit.p90:g}"


def band_text(score: SuiteScore, bounds: Bounds) -> str:
    """Share of the figures of a score without a bound that lies within the bands that the design
    asks of its metric: median and 90th percentile.
    """
    target = bounds.target_of(score.metric)
    if target is None:
        return "-"
    errors = [abs(figure.error) for figure in score.figures]
    shares = (
        f"{100 * sum(error <= end for error in errors) / len(errors):.0f} in {100 * end:g}"
        for end in (target.median, target.p90)
    )
    return ", ".join(shares)


def repeats_text(spread: Spread | None) -> str:
    """Median and 90th percentile in per cent."""
    return f"{100 * spread.median:.1f}, {100 * spread.p90:.1f}" if spread else "-"


def percent(value: float | None) -> str:
    """A share in per cent, a dash for what is missing."""
    return "-" if value is None else f"{100 * value:.1f}"


def _errors(score: SuiteScore | NodeScore) -> list[str]:
    """Median, 90th percentile, bias, and median given measured isolated times, in per cent."""
    errors = score.errors
    return [
        percent(errors.median),
        percent(errors.p90),
        f"{100 * errors.bias:+.1f}",
        percent(errors.given),
    ]


def defect_text(score: SuiteScore) -> str:
    """The plain predictors that are better, by how much, and why if that is known."""
    better = "; ".join(rival.words for rival in score.defects)
    reason = "new" if score.unlisted or score.beaten is None else score.beaten.reason
    return f"{better} ({reason})"


def baseline_texts(score: SuiteScore | NodeScore) -> list[str]:
    """Median errors of the baselines in per cent."""
    return [percent(value) for value in score.errors.baselines.values()]
