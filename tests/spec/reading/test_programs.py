"""Programs written in Python are the workloads that YAML would give."""

import pytest

import c3sim
from c3sim import Program
from c3sim.spec.workload import Collective, Commands
from c3sim.tasks.engine_collective import collective_program

NODE = c3sim.load_hardware("mi300x-8").node


def program_of(workload) -> tuple:
    task = workload.tasks["program"]
    assert isinstance(task, Commands)
    return task.program


def test_every_method_adds_the_command_it_names() -> None:
    program = (
        Program()
        .timestamp("t")
        .copy("1 KiB")
        .copy(100, "host", pull=True, engine=1)
        .broadcast("1 KiB", [1, 2])
        .swap("1 KiB", 3)
        .atomic("a", 2, peer=1, engine=2)
        .fence("b")
        .poll("a", 2, engine=3, queue=1)
    )
    written = [
        (c.op, c.bytes, c.peer or c.peers or None, c.on) for c in program_of(program.workload())
    ]
    assert written == [
        ("timestamp", None, None, "t"),
        ("copy", 1024, 1, None),
        ("copy", 100, "host", None),
        ("broadcast", 1024, (1, 2), None),
        ("swap", 1024, 3, None),
        ("atomic", None, 1, "a"),
        ("fence", None, None, "b"),
        ("poll", None, None, "a"),
    ]


def test_a_shipped_collective_can_be_taken_apart_and_run() -> None:
    """The commands of an all-gather as a program take as long as the collective. (Programs draw on
    the memory of their peers where collectives draw what arrives, which is the same in total.)
    """
    task = Collective(
        kind="collective", op="all_gather", size=8 * 2**20, backend="dma", variant="bcst"
    )
    whole = c3sim.parse_workload(
        {
            "schema": 1,
            "name": "w",
            "tasks": {
                "g": {
                    "kind": "collective",
                    "op": "all_gather",
                    "size": "8 MiB",
                    "backend": "dma",
                    "variant": "bcst",
                }
            },
            "host": {"submission": "direct"},
        }
    )
    parts = Program(collective_program(NODE, 0, task))
    alone = c3sim.run(whole).wall_s
    # engine numbers of GPU 0 are other peers' engines on the others: so the program runs unfolded,
    # and as fast
    assert c3sim.run(parts.workload(submission="direct")).wall_s == pytest.approx(alone, rel=0.01)


def test_mistakes_are_told() -> None:
    with pytest.raises(c3sim.C3simError, match=r"tasks.program.program\[0\].bytes: .* has no unit"):
        Program().copy("64").workload()
    with pytest.raises(c3sim.C3simError, match="would wait for ever"):
        Program().poll("go").atomic("go").workload()
