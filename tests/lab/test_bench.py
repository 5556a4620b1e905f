"""Long work makes way for a run, and for the end of the server."""

import asyncio
import threading
import time

import pytest

from c3sim.lab.bench import LOOK, Bench, Overtaken
from c3sim.simulation.simulate import asked


def long_work(begun, watch):
    """Goes on, in small pieces, until it is overtaken."""
    begun.append(time.monotonic())
    for piece in range(2000):
        watch("pieces", piece, 2000)
        time.sleep(0.005)


def silent(*_):
    pass


async def overtake(then):
    """Begin long work; once it runs, await *then(bench)*."""
    bench, begun = Bench(), []
    long = asyncio.ensure_future(bench.when_idle(long_work, begun, lambda: False, silent))
    while not begun:
        await asyncio.sleep(0.001)
    try:
        return await then(bench), await asyncio.gather(long, return_exceptions=True)
    finally:
        bench.close()


def test_a_run_does_not_wait_for_a_band():
    found, (long,) = asyncio.run(overtake(lambda bench: bench.run(max, 1, 2)))
    assert found == 2 and isinstance(long, Overtaken)


def test_the_end_of_the_server_waits_for_nothing():
    async def end(bench):
        bench.close()

    _, (long,) = asyncio.run(overtake(end))
    assert isinstance(long, Overtaken)


def test_what_is_stale_ends():
    async def stale():
        bench = Bench()
        try:
            with pytest.raises(Overtaken):
                await bench.when_idle(long_work, [], lambda: True, silent)
        finally:
            bench.close()

    asyncio.run(stale())


def test_what_goes_on_is_told_where_the_page_lives():
    """In the thread of the page, in order."""

    def three(_, watch):
        for done in (1, 2, 3):
            watch("parts", done, 3)
        return threading.get_ident()

    async def counted():
        bench, told = Bench(), []
        worker = await bench.when_idle(
            three, None, lambda: False, lambda *what: told.append((threading.get_ident(), *what))
        )
        await asyncio.sleep(0)
        bench.close()
        assert worker != threading.get_ident()
        return told

    here = threading.get_ident()
    assert asyncio.run(counted()) == [(here, "parts", done, 3) for done in (1, 2, 3)]


def test_a_run_makes_way_in_the_middle_of_a_simulation():
    """Not only between the runs of long work: a step of a model is simulated for seconds."""
    from c3sim.api import run

    def simulate(begun, _):
        begun.append(True)
        for _number in range(100):  # were it not called off, a minute
            run("llama3-8b-training")

    async def wanted():
        bench, begun = Bench(), []
        long = asyncio.ensure_future(bench.when_idle(simulate, begun, lambda: False, silent))
        while not begun:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)
        await bench.run(max, 1, 2)
        found = await asyncio.gather(long, return_exceptions=True)
        bench.close()
        return found

    (long,) = asyncio.run(wanted())
    assert isinstance(long, Overtaken)


def test_a_first_look_that_is_stale_ends_but_not_before_its_time():
    """Within LOOK s it is shown even if the hand has moved on; later it makes way."""

    async def looks(seconds):
        bench = Bench()

        def look():
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                asked()()
                time.sleep(0.005)
            return "seen"

        try:
            return await asyncio.gather(bench.run(look, stale=lambda: True), return_exceptions=True)
        finally:
            bench.close()

    assert asyncio.run(looks(0.05)) == ["seen"]
    (late,) = asyncio.run(looks(LOOK + 5.0))
    assert isinstance(late, Overtaken)
