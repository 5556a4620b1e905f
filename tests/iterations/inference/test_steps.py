"""Steps from simulated layers: sums, interpolation, and what a fetch beside them costs."""

from math import prod

import pytest

import c3sim
from c3sim.iterations.inference.kv import Fetch, pairs_seen, workload_of
from c3sim.iterations.inference.steps import (
    Batch,
    Grid,
    Seen,
    Steps,
    active_experts,
    layer_tasks,
    slowdown,
    snap,
)
from c3sim.iterations.units import token_flops
from c3sim.simulation.runs import run_once
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_hardware, load_model

ENCODERS = ("bert-large", "dlrm")  # and no transformer
PREFILL = Batch(prompt=2048, context=2048, pairs=2048 * 2049 / 2, heads=1)
DECODE = Batch(sequences=64, history=64 * 4096, heads=64)


@pytest.fixture(scope="module")
def steps():
    node = load_hardware("mi300x-8").node.changed(gpus=1)
    return Steps(node, load_model("llama-3-8b"), 0.5)


def test_a_grid_is_exact_on_lines_and_asks_each_point_once():
    asked = []

    def plane(x, y):
        asked.append((x, y))
        return 1 + 2 * x + 3 * y

    grid = Grid(plane)
    assert grid(3, 5) == pytest.approx(1 + 6 + 15) and grid(3.5, 5) == pytest.approx(1 + 7 + 15)
    assert sorted(asked) == [(2, 4), (2, 8), (4, 4), (4, 8)]
    assert grid(0, 4) == 13 and asked[-1] == (0, 4)


def test_a_grid_of_whole_numbers_has_whole_points():
    """Powers of the root of 2, rounded: 1, 1, 2, 3, 4, 6, 8, 11, 16 ..."""
    asked = []
    grid = Grid(lambda x: asked.append(x) or x, 2**0.5, whole=True)
    assert [grid(value) for value in (1, 5, 12)] == [pytest.approx(value) for value in (1, 5, 12)]
    assert asked == [1, 4, 6, 11, 16]


def test_snapping():
    assert [snap(value, 4.0) for value in (0, 1, 3, 16, 40)] == [0, 1, 4, 16, 64]


@pytest.mark.parametrize(
    ("batch", "bytes_read"), [(PREFILL, 2048 * 4096), (DECODE, 64 * 4096 * 4096)]
)
def test_a_layer_is_what_all_its_tasks_take_in_one_stream(steps, batch, bytes_read):
    """Both numbers of tokens lie on the grid. Pairs take 4 FLOP x 32 heads x 128; each KV byte is
    read once.
    """
    pairs = batch.pairs or batch.history
    attention = steps.attention_task(float(bytes_read), pairs * 4 * 32 * 128)
    tasks = {**layer_tasks(steps.model, 1, batch.tokens), "attention": attention}
    whole = run_once(steps.node, workload_of(tasks, {})).end
    assert steps.layer(batch) == pytest.approx(whole, rel=0.02)


def test_a_step_is_its_layers_and_the_head(steps):
    head = steps.alone(DECODE) - 32 * steps.layer(DECODE)
    assert head == pytest.approx(steps._head_time(64))
    assert steps.alone(Batch()) == 0.0


def test_a_lone_token_reads_all_weights(steps):
    """16 GB at 3.5 to 4.5 TB/s are 3.6 to 4.6 ms; four GEMMs and attention of 32 layers begin and
    end in 4 us each.
    """
    time = steps.alone(Batch(sequences=1, history=100, heads=1))
    assert 3.6e-3 < time - 32 * 5 * 4e-6 < 4.8e-3


def test_a_gather_kernel_costs_gemms_their_compute_units_and_engines_do_not(steps):
    """304 workgroups of a gather share every CU's place with the tiles of a GEMM; copies by engines
    load memory alone.
    """
    dma = steps.beside(PREFILL, Fetch(steps.node, "batched", 65536, 8))[0]
    few = steps.beside(PREFILL, Fetch(steps.node, "gather", 65536, 8))[0]
    many = steps.beside(PREFILL, Fetch(steps.node, "gather", 65536, 304))[0]
    assert 1.0 <= dma < 1.02 < few < many


def test_copies_slow_under_memory_load(steps):
    """An engine's round trip lengthens with load: more beside attention over long histories than
    beside short ones.
    """
    fetch = Fetch(steps.node, "batched", 2**21, 8)
    short = steps.beside(Batch(sequences=64, history=64 * 128, heads=64), fetch)[1]
    assert 1.0 <= short < steps.beside(DECODE, fetch)[1] < 2.0


def test_prelaunched_copies_share_the_factors(steps):
    assert steps.beside(DECODE, Fetch(steps.node, "batched_pl", 65536, 8)) is steps.beside(
        DECODE, Fetch(steps.node, "batched", 65536, 8)
    )


def test_a_factor_is_over_the_time_together():
    """10 s alone, 12 s beside something that lasts 6: 6 s left at its own pace, so 4 s of work took
    the first 6.
    """
    assert slowdown(6.0, 10.0, 12.0) == pytest.approx(1.5)
    assert slowdown(12.0, 10.0, 12.0) == pytest.approx(1.2)
    assert slowdown(6.0, 10.0, 10.0) == 1.0


def steps_of(model, gpus, **options):
    node = load_hardware("h200-8").node.model_copy(update={"gpus": gpus})
    return Steps(node, load_model(model), 0.5, **options)


def test_attention_of_prompts_has_keys_and_values_that_of_new_tokens_has_vectors():
    """V3 on 8: 16 heads. 10 tokens of a prompt behind 90: 100 keys and values of 16 (192 + 128)
    numbers, pairs of 2 (192 + 128) FLOP and head. One token behind 99: 100 vectors of 576 numbers,
    2 (576 + 512) FLOP each and head.
    """
    layers = steps_of("deepseek-v3", 8)._last
    pairs = sum(range(91, 101))
    prompt = Batch(prompt=10, context=100, pairs=pairs)
    assert layers.attentions(prompt) == [(100 * 16 * 320 * 2, pairs * 16 * 2 * 320)]
    assert layers.parts(prompt) == {"all": 10, "expanded": 100}
    one = Batch(sequences=1, history=100)
    assert layers.attentions(one) == [(100 * 576 * 2, 100 * 16 * 2 * 1088)]
    assert layers.parts(one) == {"all": 1, "absorbed": 1}


def test_a_layer_with_a_window_reads_the_window():
    """gpt-oss 20B: 8 heads of keys and values of 64 numbers; its last layer sees all tokens."""
    steps = steps_of("gpt-oss-20b", 1)
    batch = Batch(sequences=2, history=2000, within={128: Seen(history=256)})
    (_, windowed), (_, full) = steps._layers
    assert [each.attentions(batch)[0][0] for each in (windowed, full)] == [256 * 2048, 2000 * 2048]


def test_the_first_layers_are_dense_and_the_others_count_too():
    """Three layers of V3 with one network, 58 with experts."""
    steps = steps_of("deepseek-v3", 8, precision="fp8")
    batch = Batch(sequences=8, history=8 * 4096, heads=8)
    (few, dense), (many, experts) = steps._layers
    assert (few, many) == (3, 58) and "router" not in dense.tasks({"all": 8}, ())
    whole = 3 * dense.time(batch) + 58 * experts.time(batch) + steps.head(batch)
    assert steps.alone(batch) == pytest.approx(whole)
    assert steps.layer(batch) == experts.time(batch)


def test_experts_are_products_of_one_kernel_where_the_gpu_has_one():
    """In fewer bits, but for the router and what is absorbed."""
    layers = steps_of("deepseek-v3", 8, precision="fp8")._last
    tasks = layers.tasks({"all": 8, "absorbed": 8}, ())
    assert {name for name, task in tasks.items() if task.get("library") == "grouped"} == {
        *("gate_up", "down")
    }
    wide = {name for name, task in tasks.items() if task["dtype"] == "bf16"}
    sums = {"reduce_attention", "reduce_network"}
    assert wide == {"router", "absorb-keys", "absorb-values", *sums}


@pytest.mark.slow
@pytest.mark.parametrize("sequences", [8, 128])
def test_a_step_of_serving_is_the_iteration_without_its_small_kernels(sequences):
    """DeepSeek-V3 in fp8 on eight H200, a token each behind 4223: an iteration has norms and
    element-wise kernels too, which serving leaves out. Found: within 1.2 %.
    """
    sizes = {"model": "deepseek-v3", "batch": sequences, "context": 4223, "parallel.tp": 8}
    how = {"launch": "graph", "fused": True, "precision": "fp8"}
    found = c3sim.run("llama3-70b-decode", node="h200-8", set=sizes | how)
    small = ("normalisation", "elementwise")
    batch = Batch(sequences=sequences, history=sequences * 4224, heads=sequences)
    step = steps_of("deepseek-v3", 8, precision="fp8").alone(batch)
    rest = found.wall_s - sum(found.parts[name] for name in small)
    assert step == pytest.approx(rest, rel=0.05)


@pytest.mark.parametrize("node", ["h200-8", "mi300x-8", "gb200-72"])
@pytest.mark.parametrize("name", ["deepseek-v2-lite", "gpt-oss-20b", "qwen1.5-moe", "llama-3-8b"])
def test_a_step_reads_its_weights_and_history(node, name):
    """No step is quicker than memory gives what it reads: weights of attention and of experts that
    are reached, in layers with experts those of all tokens beside, and what is kept of all tokens.
    """
    model = load_model(name)
    one = load_hardware(node).node.changed(gpus=1)
    steps = Steps(one, model, 0.5)
    for sequences in (1, 64):
        history = 2048 * sequences
        windows = {model.kind_of(index).window for index in range(model.layers)} - {None}
        within = {window: Seen(history=window * sequences) for window in windows}
        batch = Batch(sequences=sequences, history=history, heads=sequences, within=within)
        read = 0.0
        for count, layers in steps._layers:
            own = layers.model
            reached = active_experts(own, sequences) if own.experts > 1 else 1
            weights = own.shared_weights + reached * own.network_weights
            kept = batch.seen(layers.window).history * own.kv_numbers
            read += count * (weights + kept) * own.element
        assert steps.alone(batch) > read / one.gpu.hbm.bandwidth


@pytest.mark.parametrize("name", [name for name in names("model") if name not in ENCODERS])
def test_a_prompts_step_has_the_flop_that_its_model_needs(name):
    """Products and attention of all layers, head aside: serving runs it for the last token alone.
    Of 3840 tokens every expert here gets a whole number of rows.
    """
    model, tokens = load_model(name), 3840
    windows = {model.kind_of(index).window for index in range(model.layers)} - {None}
    within = {window: Seen(tokens, pairs_seen(tokens, 0, window)) for window in windows}
    pairs = pairs_seen(tokens, 0, None)
    batch = Batch(prompt=tokens, context=tokens, pairs=pairs, within=within)
    products = attention = 0.0
    for count, layers in steps_of(name, 1)._layers:
        (_, flops), parts = layers.attentions(batch)[0], layers.parts(batch)
        tasks = layers.tasks(parts, ()).values()
        sizes = [(task["m"], task["n"], task["k"], task["batch"]) for task in tasks]
        products += count * sum(2.0 * prod(each) for each in sizes)
        attention += count * flops
    needed = token_flops(model, tokens)
    head = 2 * model.vocab * model.hidden
    assert products / tokens == pytest.approx(needed[0] - head, rel=1e-9)
    assert attention / tokens == pytest.approx(needed[1], rel=1e-9)
