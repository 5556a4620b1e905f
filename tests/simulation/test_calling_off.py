"""A run ends in the middle when nobody wants it any more, and leaves nothing behind."""

import pytest

import c3sim
from c3sim.simulation.runs import forget
from c3sim.simulation.simulate import OFTEN, may_be_called_off

MANY = "llama3-70b-decode"  # hundreds of events a simulation


class Enough(BaseException):
    pass


def test_a_run_asks_every_so_many_events_and_ends_when_told():
    asked = []

    def ask():
        asked.append(1)
        if len(asked) == 3:
            raise Enough

    whole = c3sim.run(MANY)
    assert whole.ranks.events > 4 * OFTEN
    forget()
    with pytest.raises(Enough), may_be_called_off(ask):
        c3sim.run(MANY)
    assert len(asked) == 3
    forget()
    assert c3sim.run(MANY).wall_s == whole.wall_s and len(asked) == 3  # nobody asks any more
