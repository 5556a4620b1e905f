"""Long work makes way for a run, and for the end of the server."""

import asyncio
import time

import pytest

from c3sim.lab.bench import Bench
from c3sim.lab.runs import Overtaken


def long_work(begun, overtaken):
    """Goes on, in small pieces, until it is overtaken."""
    begun.append(time.monotonic())
    for _ in range(2000):
        if overtaken():
            raise Overtaken
        time.sleep(0.005)


async def overtake(then):
    """Begin long work; once it runs, await *then(bench)*."""
    bench, begun = Bench(), []
    long = asyncio.ensure_future(bench.when_idle(long_work, begun, lambda: False))
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
                await bench.when_idle(long_work, [], lambda: True)
        finally:
            bench.close()

    asyncio.run(stale())
