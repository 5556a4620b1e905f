"""Work that is interrupted: what is done is kept, and the same work goes on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from c3sim.experiments import kept
from c3sim.experiments.jobs import Workers, of_each
from c3sim.experiments.kept import (
    BEGUN,
    Interrupted,
    Simulations,
    Works,
    answered,
    folder,
    for_another,
    resuming,
)
from c3sim.simulation import simulate as module
from c3sim.simulation.keeping import kept_by
from c3sim.simulation.run import Run
from c3sim.simulation.runs import forget, of_one_node, run_once
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node, load_workload
from c3sim.spec.reading.paths import set_value
from c3sim.spec.reading.records import load_records
from c3sim.validation.compare.predict import predict

ran: list[int] = []
stop_at: list[int] = []


def square(number: int) -> int:
    if number in stop_at:
        raise KeyboardInterrupt
    ran.append(number)
    return number * number


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran.clear()
    stop_at.clear()


def squares(last: int) -> list[int]:
    with resuming():
        first = of_each(square, range(10, 13), Workers(jobs=1))
        return first + of_each(square, range(last), Workers(jobs=1))


def test_only_what_is_missing_runs_again() -> None:
    """Three of the first list and two of the second are done; other work takes nothing of them."""
    stop_at.append(2)
    with pytest.raises(Interrupted, match="5 of 8 pieces of work are kept, the same command"):
        squares(5)
    stop_at.clear()
    ran.clear()
    assert squares(5) == [100, 121, 144, 0, 1, 4, 9, 16] and ran == [2, 3, 4]
    assert list(folder().iterdir()) == []
    ran.clear()
    squares(5)
    assert ran == [10, 11, 12, 0, 1, 2, 3, 4]


def test_an_answer_that_took_long_is_there_for_the_next_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is of what was asked, and of the code; a damaged file is made anew."""
    monkeypatch.setattr(kept, "WAITED", 0.0)
    node = load_node("teaching-4")
    other = node.changed(gpus=2)

    def asked(on: Node = node, word: str = "causes") -> int:
        with resuming():
            return answered((word, on), lambda: square(len(ran) + 1))

    assert asked() == asked() == 1 and ran == [1]
    assert asked(other) == 4 and asked(word="limits") == 9 and asked() == 1
    monkeypatch.setattr(kept, "_code", lambda: "other code")
    assert asked() == 16 and asked() == 16
    for path in (folder().parent / "answers").iterdir():
        path.write_bytes(b"damaged")
    assert asked() == 25


def test_an_answer_is_not_kept_where_it_is_quick_or_nobody_goes_on() -> None:
    for count in range(2):
        with resuming():
            answered(["quick"], lambda: square(2))
        answered(["outside"], lambda: square(3))
        assert ran == [2, 3] * (count + 1)


def test_without_anything_done_nothing_is_kept() -> None:
    stop_at.append(10)
    with pytest.raises(Interrupted, match="nothing was done yet"):
        squares(5)
    assert not folder().exists()


def test_a_process_that_works_for_another_writes_as_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is killed without a word: four of five squares are there for the next start, and the
    caller, which has no whole piece, says so.
    """
    monkeypatch.setattr(kept, "EVERY", 0.0)
    monkeypatch.setattr(kept, "LARGEST", float("inf"))
    stop_at.append(4)
    works = Works(Simulations("a"))
    with pytest.raises(KeyboardInterrupt), for_another("a"):
        of_each(square, range(5), Workers(jobs=1))
    assert works.keep() == BEGUN and len(list(folder().iterdir())) == 1
    stop_at.clear()
    ran.clear()
    with for_another("a"):
        assert of_each(square, range(5), Workers(jobs=1)) == [0, 1, 4, 9, 16] and ran == [4]
    assert list(folder().iterdir()) == []


def test_a_validation_goes_on() -> None:
    """Of thirty records a batch of twenty-five is done when Ctrl-C comes."""
    file = ROOT / "validation/data/h200/power-run1.jsonl"
    records = (load_records(file) * 30)[:30]
    nodes = {record.node: load_node(record.node) for record in records}
    heard: list[int] = []

    def tell(count: int) -> None:
        heard.append(count)
        if count and len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="25 of 30"), resuming():
        predict(nodes, records, 1, tell)
    heard.clear()
    with resuming():
        again = predict(nodes, records, 1, heard.append)
    assert heard == [25, 5] and again == predict(nodes, records, 1)


def test_a_piece_that_is_not_done_goes_on_at_its_next_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of three simulations are done when Ctrl-C comes: the second start has one to do, whatever
    they are asked for. Another command takes nothing of them.
    """
    monkeypatch.setattr(kept, "LONG", 0.0)
    monkeypatch.setattr(kept, "WORTH", 0.0)
    loaded, fails = load_node("teaching-4"), [True]
    real, begun = module._every_way, []

    def every_way(node: Node, *how: Any) -> Run:
        begun.append(node.links.bandwidth)
        if len(begun) == 3 and fails:
            raise KeyboardInterrupt
        return real(node, *how)

    monkeypatch.setattr(module, "_every_way", every_way)
    workload = load_workload("gemm-beside-all-gather")

    def command(*words: str) -> list[float]:
        forget()
        with resuming(words):
            first = simulate(set_value(loaded, workload, "links.bandwidth", "20 GB/s")[0], workload)
            with of_one_node():
                second = run_once(loaded, workload)
            third = run_once(set_value(loaded, workload, "links.bandwidth", "30 GB/s")[0], workload)
            return [first.end, second.end, third.end]

    with pytest.raises(Interrupted, match="parts of the first pieces"):
        command("a")
    begun.clear()
    fails.clear()
    ends = command("a")
    assert begun == [30e9] and list(folder().iterdir()) == []
    assert command("b") == ends and len(begun) == 4


def test_a_node_is_written_out_once_for_the_names_of_its_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two workloads on one node: two names; its text, most of the work of a name, is made once."""
    node, written = load_node("teaching-4").model_copy(), []
    text = Node.model_dump_json

    def counted(self: Node, **how: Any) -> str:
        written.append(self)
        return text(self, **how)

    monkeypatch.setattr(Node, "model_dump_json", counted)
    workload, names = load_workload("gemm-beside-all-gather"), []

    def keeper(name: Any, work: Any) -> Any:
        names.append(name())
        return work()

    with kept_by(keeper):
        simulate(node, workload)
        simulate(node, workload, energy=True)
    assert len({*names}) == 2 and written == [node]


def test_what_is_kept_need_not_be_in_its_file_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Writes are held back for a moment, as each costs as much as a short run; closing has all."""
    monkeypatch.setattr(kept, "LONG", 0.0)
    monkeypatch.setattr(kept, "WORTH", -1.0)
    monkeypatch.setattr(kept, "FLUSHED", 3600.0)
    works = Simulations("held")
    assert [works(lambda: b"a", lambda: 1), works(lambda: b"b", lambda: 2)] == [1, 2]
    assert Simulations("held").found == {}
    works.close()
    again = Simulations("held")
    assert again(lambda: b"b", lambda: 3) == 2
