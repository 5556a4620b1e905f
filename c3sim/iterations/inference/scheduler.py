"""The request queue of an inference server over time: fetches, and steps of prefill and decode.

Between two steps the scheduler

1. admits requests, in order of arrival, up to its limits and the memory for KV;
2. submits their fetches;
3. puts the next step together: a token for every request that generates, then prompts in order, in
   chunks, up to ``batch_tokens`` (continuous batching).

One thread does one thing at a time: while it submits copies it launches no step (``submitter:
worker``). Fetches of several requests follow each other on the host link. ``load`` says what
happens meanwhile:

async      the step runs without requests whose prefix is not there yet; fetch and step slow each
           other
blocking   the step waits for the fetches that were submitted before it
layerwise  the step begins with the first layer's blocks; the others arrive beside it
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, quantiles
from typing import Any

from c3sim.errors import InputError
from c3sim.iterations.inference.kv import Fetch, copies_of, hit_tokens, pairs_seen, token_room
from c3sim.iterations.inference.steps import Batch, Seen, Steps
from c3sim.spec.study import Serving


def serve(serving: Serving, steps: Steps, fetch: Fetch) -> list[Request]:
    """The requests of *serving*, all of them served, their KV brought by *fetch*.

    Raises InputError if a request does not fit into memory, or if layers are to arrive one by one
    and each block holds all of them.
    """
    if serving.load == "layerwise" and serving.layout == "contiguous":
        message = "'layerwise' with layout 'contiguous': a block of all layers arrives whole"
        raise InputError(f"{message}; allowed: per_layer", "serving.load")
    scheduler = Scheduler(serving, steps, fetch)
    scheduler.run()
    return scheduler.requests


class Scheduler:
    """One run of the queue; ``now`` [s] is the end of the last fetch or step."""

    def __init__(self, serving: Serving, steps: Steps, fetch: Fetch):
        self.serving, self.steps, self.fetch = serving, steps, fetch
        self.requests = requests_of(serving)
        self.copies = copies_of(steps.model, serving)  # of one request
        self.room = token_room(steps.node, steps.model, serving)
        kinds = map(steps.model.kind_of, range(steps.model.layers))
        self.windows = {kind.window for kind in kinds if kind.window is not None}
        self.now = 0.0
        self.arriving = deque(self.requests)
        self.fetching: deque[Request] = deque()  # the first one is on its way
        self.left = 0.0  # s that its fetch still takes alone
        self.landing: list[Request] = []  # their layers arrive during the next step
        self.ready: list[Request] = []  # their prefix is in GPU memory, their prompt not done
        self.running: list[Request] = []  # they generate

    def run(self) -> None:
        """Until every request has its last token."""
        while self.arriving or self.fetching or self.ready or self.running:
            self._admit()
            parts, batch = self._batch()
            if parts or self.running:
                self._step(parts, batch)
            elif self.fetching:
                self._pass(self.left)
            elif self.arriving:
                self.now = max(self.now, self.arriving[0].arrival)

    def _admit(self) -> None:
        """Admit requests that have arrived, as far as there is room, and submit their fetches."""
        while self.arriving and self.arriving[0].arrival <= self.now and self._has_room():
            request = self.arriving.popleft()
            request.computed = request.hit
            if not request.hit:
                self.ready.append(request)
            elif self.serving.load == "layerwise":
                self.landing.append(request)
                self.ready.append(request)
            else:
                self._enqueue(request)
                if self.serving.submitter == "worker":
                    self._pass(self.fetch.host_time(self.copies))
        while self.serving.load == "blocking" and self.fetching:
            self._pass(self.left)

    def _has_room(self) -> bool:
        admitted = len(self.fetching) + len(self.ready) + len(self.running)
        each = self.serving.prompt_tokens + self.serving.output_tokens
        return admitted < self.serving.max_sequences and (admitted + 1) * each <= self.room

    def _enqueue(self, request: Request) -> None:
        if not self.fetching:
            self.left = self.fetch.alone(self.copies)
        self.fetching.append(request)

    def _fetched(self) -> None:
        """The first fetch has ended; the next one begins."""
        request = self.fetching.popleft()
        request.fetched = self.now
        self.ready.append(request)
        self.left = self.fetch.alone(self.copies) if self.fetching else 0.0

    def _pass(self, time: float) -> None:
        """Let *time* s pass in which no step runs."""
        until = self.now + time
        while self.fetching and self.now + self.left <= until:
            self.now += self.left
            self._fetched()
        if self.fetching:
            self.left -= until - self.now
        self.now = until

    def _batch(self) -> tuple[list[tuple[Request, int]], Batch]:
        """Prompts of the next step, with their numbers of tokens, and all that the step runs."""
        left = self.serving.batch_tokens - len(self.running)
        parts: list[tuple[Request, int]] = []
        heads = len(self.running)
        for request in self.ready:
            tokens = min(left, request.prompt - request.computed)
            if tokens <= 0:
                break
            parts.append((request, tokens))
            heads += request.computed + tokens == request.prompt
            left -= tokens
        prompt = sum(tokens for _, tokens in parts)
        context, pairs, history = self._seen(parts, None)
        within = {window: self._seen(parts, window) for window in self.windows}
        many = len(self.running)
        return parts, Batch(prompt, context, pairs, many, history, heads, within)

    def _seen(self, parts: list[tuple[Request, int]], window: int | None) -> Seen:
        """What layers of that *window* see of prompts and of requests that generate."""
        context, pairs = 0, 0.0
        for request, tokens in parts:
            before = request.computed if window is None else min(request.computed, window - 1)
            context += before + tokens
            pairs += pairs_seen(tokens, request.computed, window)
        of_each = (request.prompt + request.generated for request in self.running)
        if window is None:
            return Seen(context, pairs, sum(of_each))
        return Seen(context, pairs, sum(min(window, tokens) for tokens in of_each))

    def _step(self, parts: list[tuple[Request, int]], batch: Batch) -> None:
        landing = [request for request, _ in parts if request in self.landing]
        if landing:
            self.now += self._layerwise(batch, len(landing) * self.copies)
            self.landing = [request for request in self.landing if request not in landing]
            for request in landing:
                request.fetched = self.now
        else:
            self._run_beside(batch)
        for request in self.running:
            self._token(request)
        for request, tokens in parts:
            request.computed += tokens
            if request.computed == request.prompt:
                self.ready.remove(request)
                self._token(request)
                self.running.append(request)
        self.running = [request for request in self.running if not request.done]

    def _token(self, request: Request) -> None:
        request.generated += 1
        if request.first is None:
            request.first = self.now
        if request.done:
            request.end = self.now

    def _run_beside(self, batch: Batch) -> None:
        """Run a step; fetches on their way go on, and both take longer at the same time."""
        work = self.steps.alone(batch)
        while self.fetching:
            step, fetch = self.steps.beside(batch, self.fetch)
            if work * step < self.left * fetch:
                self.left -= work * step / fetch
                self.now += work * step
                return
            work = max(0.0, work - self.left * fetch / step)
            self.now += self.left * fetch
            self._fetched()
        self.now += work

    def _layerwise(self, batch: Batch, copies: int) -> float:
        """Seconds of a step whose fetch of *copies* blocks arrives layer by layer.

        A layer runs when its blocks are there. The step is bound by the first layer's blocks and
        all layers, slowed by the fetch; by all blocks and the last layer; or by the thread that
        submits the fetch before it launches the step.
        """
        layers = self.steps.model.layers
        alone, layer = self.steps.alone(batch), self.steps.layer(batch)
        all_blocks, first = self.fetch.alone(copies), self.fetch.alone(copies // layers)
        step, fetch = self.steps.beside(batch, self.fetch)
        concurrent = min((all_blocks - first) * fetch, alone * step)
        by_layers = first + alone + concurrent * (1 - 1 / step)
        by_fetch = first + (all_blocks - first) * fetch + layer + self.steps.head(batch)
        submission = self.fetch.host_time(copies)
        by_host = submission + alone if self.serving.submitter == "worker" else 0.0
        return max(by_layers, by_fetch, by_host)


# Requests to a language model: their arrivals, and the measures of a run.


# no comparison: equal requests are still two
@dataclass(slots=True, eq=False)
class Request:
    """*hit* of its *prompt* tokens are fetched, *output* are generated. Times are in s."""

    arrival: float
    prompt: int
    hit: int
    output: int
    computed: int = 0  # prompt tokens whose KV is in GPU memory
    generated: int = 0
    fetched: float | None = None
    first: float | None = None
    end: float | None = None

    @property
    def done(self) -> bool:
        return self.generated >= self.output


def requests_of(serving: Serving) -> list[Request]:
    """The requests of *serving*, by arrival; exponential gaps from its seed, or all at 0."""
    random, now, requests = Random(serving.seed), 0.0, []
    hit = hit_tokens(serving)
    for _ in range(serving.requests):
        requests.append(Request(now, serving.prompt_tokens, hit, serving.output_tokens))
        if serving.arrivals_per_second is not None:
            now += random.expovariate(serving.arrivals_per_second)
    return requests


def measures(requests: Sequence[Request]) -> dict[str, Any]:
    """Time to first token and between tokens [s]; rates from the first arrival to the last end."""
    firsts, gaps = [], []
    for request in requests:
        assert request.first is not None and request.end is not None  # all were served
        firsts.append(request.first - request.arrival)
        if request.output > 1:
            gaps.append((request.end - request.first) / (request.output - 1))
    wall = max(request.end or 0.0 for request in requests) - requests[0].arrival
    return {
        "ttft_s": _spread(firsts),
        "itl_s": _spread(gaps) if gaps else None,
        "requests_per_s": len(requests) / wall,
        "output_tokens_per_s": sum(request.output for request in requests) / wall,
        "wall_s": wall,
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
    return {"mean": fmean(values), "p50": cuts[4], "p90": cuts[8]}
