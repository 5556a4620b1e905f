"""Words and numbers that all pages write the same way."""

from __future__ import annotations

from ..compare.bounds import Bounds, Limit
from ..compare.measurements import Spread
from ..compare.scores import NodeScore, SuiteScore

STANDINGS = {
    "blind": "blind",
    "held_out": "held out",
    "inspected": "inspected",
    "open_to_fits": "open to fits",
    "not_stated": "not stated",
}
STANDINGS_EXPLAINED = (
    "Standing: blind, predicted before it was measured; held out, nobody looked at its rows while "
    "the model was made; inspected, somebody did, to choose a mechanism or to name a known gap; "
    "open to fits, parameters may be fitted to it."
)
BASELINES_EXPLAINED = (
    "max, sum, constant: median errors, on the same figures, of three baselines that are given "
    "measured isolated times: no interference, no overlap, one constant slowdown per kind of task, "
    "learnt from the suite's other records; roofline: a task alone from data sheets"
)
BETTER = (
    "Ten figures or more; both are given measured isolated times; better by more than the median "
    "spread between repeats."
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


def cases_text(score: SuiteScore) -> str:
    """How many figures; with a star how many of them lie outside the calibrated domain."""
    return f"{len(score.figures)}" + (f", {score.outside}*" if score.outside else "")


def state(score: SuiteScore) -> str:
    """``FAILS``, ``beaten`` (a plain predictor is better, for a known reason), ``gap`` (the bound
    holds, the target does not), ``ok``, or ``no bound``.
    """
    if score.bound is None:
        return "no bound"
    if not score.passed:
        return "FAILS"
    if score.defects:
        return "beaten"
    return "ok" if score.on_target else "gap"


def limit_text(limit: Limit | None) -> str:
    """Median and 90th percentile in per cent."""
    return f"{100 * limit.median:g}, {100 * limit.p90:g}" if limit else "-"


def band_text(score: SuiteScore, bounds: Bounds) -> str:
    """Of a score without a bound, what share of its figures lies within the bands that the design
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


def error_texts(score: SuiteScore | NodeScore) -> list[str]:
    """Median, 90th percentile, bias, and median given measured isolated times, in per cent."""
    errors = score.errors
    return [
        percent(errors.median),
        percent(errors.p90),
        f"{100 * errors.bias:+.1f}",
        percent(errors.given),
    ]


def defect_text(score: SuiteScore) -> str:
    """Which plain predictors are better, by how much, and why if that is known."""
    better = "; ".join(rival.words for rival in score.defects)
    reason = "new" if score.new_defects or score.beaten is None else score.beaten.reason
    return f"{better} ({reason})"


def baseline_texts(score: SuiteScore | NodeScore) -> list[str]:
    """Median errors of the baselines in per cent."""
    return [percent(value) for value in score.errors.baselines.values()]
