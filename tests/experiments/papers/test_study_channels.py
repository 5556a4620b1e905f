"""Studies of kind channels: both curves, the knee, and what the hardware says of them."""

from __future__ import annotations

import pytest

import c3sim
from c3sim.evaluation.effort import Effort
from c3sim.experiments.study import Options, Row, StudyResult, run_study
from c3sim.experiments.subjects.beside import Beside, repeats_at_most
from c3sim.models.gemm import plan_gemm
from c3sim.spec.reading.loading import load_node, load_study
from c3sim.spec.workload import Collective, Gemm

pytestmark = pytest.mark.turns(5)

MINE = """\
schema: 1
name: mine
kind: channels
nodes: [h200-4, mi300x-8]
workload: c3-pair
scenarios:
  - {name: medium, set: {task.gemm.m: 4096, task.gemm.n: 4096, task.gemm.k: 4096}}
  - {name: decode, set: {task.gemm.m: 16, task.gemm.n: 8192, task.gemm.k: 8192}}
axes:
  task.gather.channels: [2, 4, 8, 24, 56]
"""
DECODE = Gemm(kind="gemm", m=16, n=8192, k=8192)
MEDIUM = Gemm(kind="gemm", m=4096, n=4096, k=4096)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    path = tmp_path_factory.mktemp("study") / "mine.yaml"
    path.write_text(MINE, encoding="utf-8")
    return c3sim.study(path, n_jobs=1)


def curve(result: StudyResult, node: str, gemm: str) -> dict[int, Row]:
    return {row.channels: row for row in result.rows if (row.node, row.gemm) == (node, gemm)}


@pytest.mark.parametrize("node", ["h200-4", "mi300x-8"])
@pytest.mark.parametrize("gemm", [DECODE, MEDIUM])
def test_the_effort_foresees_how_often_a_gemm_is_repeated(gemm: Gemm, node: str) -> None:
    """At peak rates it is as often as it is run, or up to four times."""
    on = load_node(node)
    gather = Collective(kind="collective", op="all_gather", size=2**26)
    assert 1 <= repeats_at_most(on, gemm) / Beside(on, gemm, gather).gemm.repeat <= 4


def test_somebody_has_to_agree_to_a_study_that_takes_a_while() -> None:
    """192 cases of six runs, most of them of many GEMMs: 16 to 24 s of one core, where a run of
    each pair as it is written would take 2.
    """
    asked: list[Effort] = []

    def agree(effort: Effort) -> None:
        asked.append(effort)
        raise InterruptedError  # before anything is run

    with pytest.raises(InterruptedError):
        run_study(load_study("channels"), Options(agree=agree, n_jobs=1))
    assert 8 < asked[0].seconds < 48


def test_numbers_that_a_library_does_not_use_are_left_out(result: StudyResult) -> None:
    """NCCL stays with 24 channels there."""
    assert [*curve(result, "h200-4", "medium")] == [2, 4, 8, 24]
    assert [*curve(result, "mi300x-8", "medium")] == [2, 4, 8, 24, 56]


def test_a_gemm_pays_once_its_tiles_have_no_unit_left(result: StudyResult) -> None:
    """H200: 128 tiles of the decode GEMM on 132 units leave room for four channels; with eight,
    some tiles come in a second round. MI300X: 304 tiles of the medium one fill its 304 units, so
    the first channels already cost a second round, and more of them little.
    """
    h200, mi300x = (load_node(name).gpu for name in ("h200-4", "mi300x-8"))
    assert plan_gemm(h200, DECODE).tiles == h200.compute_unit_count - 4
    free = curve(result, "h200-4", "decode")
    assert free[4].gemm_slowdown == pytest.approx(1.0, abs=2e-3)
    assert free[8].gemm_slowdown > 1.2
    assert plan_gemm(mi300x, MEDIUM).tiles == mi300x.compute_unit_count
    full = curve(result, "mi300x-8", "medium")
    assert full[2].gemm_slowdown > 1.3
    assert full[56].gemm_slowdown / full[2].gemm_slowdown < 1.1


def test_few_channels_carry_what_each_of_them_can(result: StudyResult) -> None:
    """MI300X: 4.79 B a cycle at 2.1 GHz, 10 GB/s; many meet the links, 7 of 48.5 GB/s."""
    found = curve(result, "mi300x-8", "medium")
    alone = {channels: row.bandwidth_alone_bytes_per_s for channels, row in found.items()}
    assert alone[2] == pytest.approx(2 * 4.79 * 2.1e9, rel=0.03)
    assert alone[4] == pytest.approx(2 * alone[2], rel=0.03)
    assert alone[56] < 7 * 48.5e9
    assert [*alone.values()] == sorted(alone.values())


def test_beside_each_other_both_take_longer_or_as_long(result: StudyResult) -> None:
    for row in result.rows:
        assert row.gemm_slowdown > 1 - 1e-3
        assert row.gemm_slowdown == pytest.approx(row.gemm_beside_s / row.gemm_alone_s)
        assert row.bandwidth_beside_bytes_per_s <= row.bandwidth_alone_bytes_per_s * (1 + 1e-6)


def test_the_knee_has_the_least_loss_for_a_byte(result: StudyResult) -> None:
    for knee in result.knees:
        rows = curve(result, knee.node, knee.gemm)
        assert knee.gemm_loss_s_per_gb <= min(r.gemm_loss_s_per_gb for r in rows.values()) + 1e-6
        row = rows[knee.channels]
        lost = 1 - row.gemm_alone_s / row.gemm_beside_s
        gigabyte = 1e9 / row.bandwidth_beside_bytes_per_s
        assert knee.gemm_loss_s_per_gb == pytest.approx(max(0.0, lost * gigabyte))
    knees = {(knee.node, knee.gemm): knee.channels for knee in result.knees}
    assert knees["h200-4", "decode"] == 4  # the most that cost nothing
    assert knees["mi300x-8", "medium"] == 56  # the first ones are paid for
