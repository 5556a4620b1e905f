"""The queue against cases that can be worked out by hand: steps and fetches of invented length."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from c3sim.errors import InputError
from c3sim.iterations.inference.scheduler import measures, requests_of, serve
from c3sim.spec.reading.loading import load_hardware, load_model
from c3sim.spec.study import Serving

COPY = 0.001  # s per copy
DECODE, PROMPT = 0.01, 0.0001  # s per step, and per token of a prompt in it


@dataclass
class Steps:
    """A step takes 10 ms and 0.1 ms per prompt token; *slower*: factors beside a fetch. 32 layers
    share it equally.
    """

    slower: tuple[float, float] = (1.0, 1.0)
    batches: list = field(default_factory=list)
    model: object = field(default_factory=lambda: load_model("llama-3-8b"))
    node: object = field(default_factory=lambda: load_hardware("mi300x-8").node)

    def alone(self, batch):
        self.batches.append(batch)
        return DECODE + PROMPT * batch.prompt

    def layer(self, batch):
        return (DECODE + PROMPT * batch.prompt) / 32

    def head(self, batch):
        return 0.0

    def beside(self, batch, fetch):
        return self.slower


def fetch(busy=0.0):
    """1 ms per copy; the thread that submits is busy for *busy* of that."""
    return SimpleNamespace(
        alone=lambda copies: COPY * copies,
        host_time=lambda copies: busy * COPY * copies,
        prelaunched=False,
    )


def serving(**changes):
    """Prompts of 100 tokens, 80 of them (5 blocks) fetched: 5 copies of all layers, 5 ms; 20 to
    run: a step of 12 ms.
    """
    plain = {
        "prompt_tokens": 100,
        "hit_rate": 0.8,
        "output_tokens": 3,
        "requests": 1,
        "layout": "contiguous",
    }
    return Serving(**{**plain, **changes})


def test_one_request_fetches_runs_its_prompt_and_generates():
    """5 ms + 12 ms to the first token, then two steps of 10 ms."""
    (request,) = serve(serving(), Steps(), fetch())
    assert request.fetched == pytest.approx(0.005)
    assert request.first == pytest.approx(0.005 + 0.012) and request.end == pytest.approx(0.037)
    found = measures([request])
    assert found["ttft_s"] == {"mean": request.first, "p50": request.first, "p90": request.first}
    assert found["itl_s"]["mean"] == pytest.approx(0.01)
    assert found["output_tokens_per_s"] == pytest.approx(3 / 0.037)


@pytest.mark.parametrize("load", ["async", "blocking"])
def test_who_waits_alone_does_not_mind_how_it_waits(load):
    assert serve(serving(load=load), Steps(), fetch(busy=0.5))[0].first == pytest.approx(0.017)


def test_without_hits_there_is_nothing_to_fetch():
    """All methods are then the same: 100 tokens in one step of 20 ms."""
    (request,) = serve(serving(hit_rate=0.0), Steps(), fetch(busy=1.0))
    assert request.first == pytest.approx(0.02) and request.fetched is None


def test_fetches_follow_each_other_while_steps_go_on():
    """Fetched at 5, 10 ms. First prompt 5 to 17 ms, second, with a token of the first, to 29."""
    first, second = serve(serving(requests=2), Steps(), fetch())
    assert (first.fetched, second.fetched) == (pytest.approx(0.005), pytest.approx(0.010))
    assert (first.first, second.first) == (pytest.approx(0.017), pytest.approx(0.029))
    assert (first.end, second.end) == (pytest.approx(0.039), pytest.approx(0.049))


def test_fetch_and_step_slow_each_other_while_they_meet():
    """From 5 ms a step of 12 ms at half speed beside the second fetch, 5 ms at a fifth of its
    speed.

    The step would need 24 ms beside it, the fetch 25: the step ends at 29 ms with 0.2 ms of fetch
    left.
    """
    first, second = serve(serving(requests=2), Steps(slower=(2.0, 5.0)), fetch())
    assert first.first == pytest.approx(0.029)
    assert second.fetched == pytest.approx(0.029 + 0.0002 * 5)


def test_blocking_loads_hold_everybody_up():
    """Both prefixes in 10 ms, then both prompts in one step of 14."""
    first, second = serve(serving(requests=2, load="blocking"), Steps(), fetch())
    assert first.first == second.first == pytest.approx(0.010 + 0.014)


def test_a_thread_that_submits_launches_no_step():
    """Two submissions of 5 ms before anything runs; a thread of its own lets the first prompt begin
    after its fetch.
    """
    worker = serve(serving(requests=2), Steps(), fetch(busy=1.0))
    own = serve(serving(requests=2, submitter="own"), Steps(), fetch(busy=1.0))
    assert worker[0].first == pytest.approx(0.010 + 0.014)
    assert own[0].first == pytest.approx(0.017)


def test_layer_by_layer():
    """160 copies in 160 ms, 5 ms per layer; layers of 12 / 32 ms wait for them: the last one ends
    behind the last copy.
    """
    slow = serve(serving(load="layerwise", layout="per_layer"), Steps(), fetch())
    assert slow[0].first == pytest.approx(0.160 + 0.012 / 32)
    quick = serve(
        serving(load="layerwise", layout="per_layer", prompt_tokens=5000, hit_rate=0.005),
        Steps(),
        fetch(),
    )
    run = (
        DECODE + PROMPT * 4984
    )  # one block of 16 is fetched, 32 copies: layers wait for the first 1 ms only
    assert quick[0].first == pytest.approx(0.001 + run)


def test_equal_requests_are_not_the_same_request():
    """Layer by layer, one prompt per step: the link moves 160 copies for each, so four end no
    earlier than 640 ms.
    """
    found = serve(
        serving(load="layerwise", layout="per_layer", requests=4, batch_tokens=20, output_tokens=1),
        Steps(),
        fetch(),
    )
    assert max(request.end for request in found) >= 4 * 0.160


def test_blocks_of_all_layers_cannot_arrive_by_layer():
    with pytest.raises(InputError, match="allowed: per_layer"):
        serve(serving(load="layerwise"), Steps(), fetch())


def test_long_prompts_go_in_chunks_behind_the_tokens_of_others():
    """20 tokens in steps of at most 8: 8, 8 and 4."""
    steps = Steps()
    serve(serving(batch_tokens=8, output_tokens=1), steps, fetch())
    assert [batch.prompt for batch in steps.batches] == [8, 8, 4]
    assert [batch.heads for batch in steps.batches] == [0, 0, 1]
    assert [batch.context for batch in steps.batches] == [88, 96, 100]
    assert steps.batches[0].pairs == sum(
        range(81, 89)
    )  # token 81 sees 81 tokens, itself among them


def test_windows_bound_what_is_seen():
    """gpt-oss: 128 tokens. A prompt of 200 in chunks of 150 and 50: token 151 sees 23 to 150 and
    itself, so 127 + 50 tokens are read, and each of the 50 sees 128; the next token sees 128.
    """
    steps = Steps(model=load_model("gpt-oss-20b"))
    plain = {"prompt_tokens": 200, "hit_rate": 0, "output_tokens": 2, "batch_tokens": 150}
    serve(serving(**plain), steps, fetch())
    first, second, third = (batch.within[128] for batch in steps.batches)
    assert first == (150, 128 * 129 / 2 + 22 * 128, 0)
    assert second == (127 + 50, 50 * 128, 0) and third == (0, 0.0, 128)
    assert steps.batches[1].context == 200 and steps.batches[2].history == 201


def test_requests_that_generate_keep_their_history():
    """Three tokens: the prompt's step gives the first; 101 and 102 tokens precede the others."""
    steps = Steps()
    serve(serving(), steps, fetch())
    assert [(batch.sequences, batch.history) for batch in steps.batches] == [
        (0, 0),
        (1, 101),
        (1, 102),
    ]


def test_no_more_requests_than_are_allowed():
    steps = Steps()
    found = serve(serving(requests=6, max_sequences=2), steps, fetch())
    assert max(batch.sequences for batch in steps.batches) == 2
    assert all(request.done for request in found)


def test_memory_limits_who_is_admitted():
    """40,000 of 1.29 million tokens each: 32 fit, and begin in one step of 10 million at most; then
    the other 8.
    """
    steps = Steps()
    found = serve(
        serving(requests=40, prompt_tokens=39_997, hit_rate=0.0, batch_tokens=10**7), steps, fetch()
    )
    assert len({request.first for request in found}) == 2
    assert max(batch.sequences for batch in steps.batches) == 32


def test_arrivals_follow_the_seed():
    """Same seed, same times; the mean gap of many is one over the rate, within four standard
    errors.
    """
    base = Serving(requests=4000, arrivals_per_second=5)
    times = [request.arrival for request in requests_of(base)]
    assert times == [request.arrival for request in requests_of(base)] == sorted(times)
    assert times[1:] != [request.arrival for request in requests_of(base.changed(seed=1))][1:]
    assert times[-1] / 3999 == pytest.approx(0.2, rel=4 / 3999**0.5)


def test_rare_requests_do_not_meet():
    """Hours apart, each takes what one alone takes, from its own arrival."""
    found = serve(serving(requests=5, arrivals_per_second=1e-4), Steps(), fetch())
    assert [request.first - request.arrival for request in found] == [pytest.approx(0.017)] * 5
