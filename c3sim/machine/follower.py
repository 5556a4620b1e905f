"""The clock of a GPU whose governor is slow, cuts faster than it raises, and remembers.

With the power P, the limit L, what is seen S, and the clock factor f that is allowed
(``gpu.clock.response``):

    lag dS/dt = P(t - delay) - S
    df/dt = (L - S) / (L rise)  while S < L,    (L - S) / (L cut)  else

The peak is kept at once. Behind a pause the clock is high, power passes the limit, and is cut
by more than that took, as what is seen is old; then it rises slowly. So a GEMM behind a collective
may be slower than one behind another GEMM, by more than the pause let it gain.

It acts in loops alone (``host.loop``): single runs have the clock of the steady state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from c3sim.models.power import clock_factor
from c3sim.spec.parts import Clock, Response

STEP = 1e-4  # s in which power that is seen changes little
GRAIN = 1 / 256  # of the maximum clock: smaller changes are not passed on
SAME = 1e-12  # relative: rounding
BELOW = 1.0 - 1e-9  # of the limit; a mean of lesser powers is below it, rounding included
AHEAD = 100  # steps within which the next change is looked for


class Memory(NamedTuple):
    """State of a governor between two turns."""

    factor: float  # that it allows
    seen: float  # W
    drawn: tuple[tuple[float, float], ...]  # (W, for s) in the last `delay` s, in order

    def agrees_with(self, other: Memory) -> bool:
        """True if they differ by rounding alone."""
        mine = (self.factor, self.seen, *chain(*self.drawn))
        others = (other.factor, other.seen, *chain(*other.drawn))
        return len(mine) == len(others) and all(map(_same, mine, others))


class Call(NamedTuple):
    """A question for the factor, when [s] and with which powers, and what came of it."""

    now: float
    power: Callable[[float], float]
    within: Callable[[float, float], float]
    passed: float
    due: float  # when [s] the next change was last asked for
    memory: Memory


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME)


def behind(turn: Sequence[Call], memory: Memory, clock: Clock, response: Response) -> Memory | None:
    """The memory behind the same *turn* once more, if it passes the same factors at the same times
    behind *memory*; None: it does not.
    """
    at = [turn[0].now]
    other = Follower(clock, response, lambda: at[0], lambda _after: None, memory)
    for call in turn:
        at[0] = call.now
        other.factor(call.power, call.within)
        mine = other.turn.pop()
        if (mine.passed, mine.due) != (call.passed, call.due):
            return None
        if mine.memory.agrees_with(call.memory):  # both know the same from here on
            return turn[-1].memory
    return other.memory


def followed(memory: Memory, watts: float, time: float, clock: Clock, how: Response) -> Memory:
    """The state *time* s later, if all the while *watts* are drawn."""
    factor, seen, drawn = next(_followed(memory, watts, time, clock, how))
    return Memory(factor, seen, tuple(drawn))


def _followed(
    memory: Memory, watts: float, time: float, clock: Clock, how: Response
) -> Iterator[tuple[float, float, list[tuple[float, float]]]]:
    """The parts of the state *time* s later, twice *time* s later and so on, if all the while
    *watts* are drawn; the list goes on changing.
    """
    factor, seen, before = memory
    history, limit, lag, rise, cut = [*before], clock.power_limit, how.lag, how.rise, how.cut
    least, left_of_step = clock.minimum / clock.maximum, math.exp(-STEP / lag)
    while True:
        history.append((watts, time))
        rest = time
        while rest > 0.0:
            old, lasted = history[0]
            step = rest if rest < lasted else lasted
            if step < STEP:
                left = math.exp(-step / lag)
            else:
                step, left = STEP, left_of_step
            mean = old + (seen - old) * (1.0 - left) * lag / step
            lacking, seen = 1.0 - mean / limit, old + (seen - old) * left
            factor += lacking * step / (rise if lacking > 0.0 else cut)
            if factor < least:
                factor = least
            elif factor > 1.0:
                factor = 1.0
            rest -= step
            if lasted <= step:
                del history[0]
            else:
                history[0] = old, lasted - step
        yield factor, seen, history


class Follower:
    """The clock of one GPU in a loop.

    *now()*: the time [s]; *again(s)*: ask for the factor again in s. *memory*: of the turn before;
    None: that of a GPU which has long done what comes first.
    """

    def __init__(
        self,
        clock: Clock,
        response: Response,
        now: Callable[[], float],
        again: Callable[[float], None],
        memory: Memory | None = None,
    ):
        self.clock, self.response, self.now, self.again = clock, response, now, again
        self.memory, self.turn = memory, list[Call]()
        self._least = clock.minimum / clock.maximum
        self._settled, self._drawn = now(), 0.0
        self._passed, self._due = 0.0, -1.0

    def factor(
        self,
        power: Callable[[float], float],
        within: Callable[[float, float], float] | None = None,
        _load: object = None,
    ) -> float:
        """The clock factor from now on; *power*, *within*: as of a governor that acts at once."""
        within = within or partial(clock_factor, drawn=power)
        clock, least, now = self.clock, self._least, self.now()
        if self.memory is None:
            at_limit = within(clock.power_limit, least)
            watts = power(at_limit)
            self.memory = Memory(at_limit, watts, ((watts, self.response.delay),))
        elif self._drawn and now > self._settled:  # before the first load of a turn nothing passes
            lasted = now - self._settled
            self.memory = followed(self.memory, self._drawn, lasted, clock, self.response)
        self._settled = now
        if abs(self.memory.factor - self._passed) >= 0.75 * GRAIN or self.memory.factor == 1.0:
            self._passed = min(1.0, GRAIN * round(self.memory.factor / GRAIN))
        factor, peak = self._passed, self.response.peak * clock.power_limit
        self._drawn = power(factor)
        if self._drawn > peak:
            factor = within(peak, least)
            self._drawn = power(factor)
        if self._drawn > clock.idle_power and not self._stays(least):
            self._ask_again(now)
        self.turn.append(Call(now, power, within, self._passed, self._due, self.memory))
        return factor

    def _stays(self, least: float) -> bool:
        """True if no power of those seen, on their way or drawn now can move the factor by what is
        passed on within the steps that are looked ahead.
        """
        assert self.memory is not None
        factor, seen, before = self.memory
        watts = [seen, self._drawn, *[drawn for drawn, _ in before]]
        limit, how = self.clock.power_limit, self.response
        up = (limit - min(watts)) / limit * AHEAD * STEP / how.rise
        down = (max(watts) - limit) / limit * AHEAD * STEP / how.cut
        highest = min(1.0, factor + up) if up > 0.0 else factor
        lowest = max(least, factor - down) if down > 0.0 else factor
        return highest - self._passed < 0.7 * GRAIN and self._passed - lowest < 0.7 * GRAIN

    def _ask_again(self, now: float) -> None:
        """Ask again when the clock will have changed by what is passed on, if power stays as it is;
        not where it is asked for before that anyway.
        """
        assert self.memory is not None
        if self._stays_at_most(self.memory):
            return
        ahead = _followed(self.memory, self._drawn, STEP, self.clock, self.response)
        for step in range(1, AHEAD):
            due = now + step * STEP
            if now < self._due <= due:
                return
            factor, _, _ = next(ahead)
            if abs(factor - self._passed) >= 0.75 * GRAIN:
                self._due = due
                self.again(step * STEP)
                return

    def _stays_at_most(self, memory: Memory) -> bool:
        """True where all that was drawn, is drawn and is seen is below the limit, at full clock."""
        below = self.clock.power_limit * BELOW
        return (
            memory.factor == 1.0 == self._passed
            and memory.seen < below
            and self._drawn < below
            and all([watts < below for watts, _ in memory.drawn])
        )
