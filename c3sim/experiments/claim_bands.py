"""Bands of claims: the whole study again with the intervals of its nodes drawn, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from c3sim.errors import InputError
from c3sim.experiments.ahead import Ahead
from c3sim.experiments.bands import ends_of, parameters_of, settings_drawn
from c3sim.experiments.cases import NONE
from c3sim.experiments.claims import Claim
from c3sim.experiments.points import node_with
from c3sim.experiments.study import Options, kind_of, run_study
from c3sim.spec.reading.loading import LoadedNode, LoadedStudy, load_hardware


def with_bands(
    loaded: LoadedStudy, options: Options, claims: Sequence[Claim], draws: int
) -> list[Claim]:
    """*claims* of the study, each that has no band with one: the 5th to 95th percentile of so many
    *draws*, and the figure as it is. A draw whose values exclude each other counts for nothing.
    *options* are asked, and told, about the draws alone.
    """
    drawn: dict[str, list[float]] = {}
    if any(each.band is None for each in claims):
        for what, ours in _every_figure(loaded, options, draws):
            drawn.setdefault(what, []).append(ours)
    found = []
    for each in claims:
        values = drawn.get(each.what, [])
        if each.band is None and each.ours is not None and values:
            low, high = ends_of(values) or (each.ours, each.ours)
            each = replace(each, band=(min(low, each.ours), max(high, each.ours)))
        found.append(each)
    return found


def _every_figure(loaded: LoadedStudy, options: Options, draws: int) -> Iterator[tuple[str, float]]:
    """Claim and figure, of every claim in every one of the *draws*."""
    told, quiet = options.progress, replace(options, progress=None, agree=None)
    watcher = Ahead(options.agree, told and partial(told, "draws of the band"))
    every = [
        (node, settings)
        for node in _nodes(loaded, options)
        for settings in settings_drawn(parameters_of(node, options.settings), draws, seed=1)
    ]
    for done, (node, settings) in enumerate(every):
        watcher(done, len(every))
        yield from _figures(loaded, quiet, node, settings).items()


def _nodes(loaded: LoadedStudy, options: Options) -> list[LoadedNode]:
    """The node of *options*, or those of the study."""
    if options.node is not None:
        return [LoadedNode(node=options.node, provenance=options.provenance)]
    study = loaded.study
    return [load_hardware(name) for name in study.nodes or (study.node,)]


def _figures(
    loaded: LoadedStudy, options: Options, node: LoadedNode, settings: Sequence[tuple[str, float]]
) -> Mapping[str, float]:
    """The figure of each claim with *settings* of *node*."""
    claims = kind_of(loaded).claims
    assert claims is not None  # there are some
    try:
        there = node_with(node.node, NONE, tuple(settings))
        found = run_study(loaded, replace(options, node=there, band=False, everywhere=True))
    except InputError:
        return {}
    return {each.what: each.ours for each in claims(found) if each.ours is not None}
