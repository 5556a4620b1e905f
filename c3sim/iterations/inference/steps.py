"""The time of a step, from simulations of one layer: alone, and with a fetch beside it.

- A step runs all layers on its tokens, then the head. One layer of each kind (dense, with experts,
  with a window) is simulated and counts as often as the model has it.
- GEMMs and all-reduces depend on the tokens, attention on the bytes and FLOP of the sequences.
  They run one after another in a stream, so their times add up.
- Latent attention makes keys and values of all tokens that prompts see, those of earlier chunks and
  fetched ones too; sequences that generate read the vectors as they are (absorbed): as
  MLACommonImpl in vllm/v1/attention/backends/mla/common.py of github.com/vllm-project/vllm.
- Beside a fetch, a layer runs slower by one factor and the fetch by another. Both come from one
  simulation of the layer with as much of the fetch as fits beside it, at the nearest power of 2 of
  the tokens and of 4 of the attention's bytes and FLOP. The kind that most layers are of stands
  for all.
- Prelaunch changes how a fetch begins and not how it goes on, so it shares the factors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from math import ceil, floor, log, prod
from typing import Any, NamedTuple

from c3sim.errors import InputError
from c3sim.iterations.inference.kv import HOSTS, Fetch, kv_bytes_per_gpu, workload_of
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.models import Latent, LayerKind, Transformer
from c3sim.spec.task import Dtype

MOST_COPIES = 64  # of a fetch that are simulated beside a layer


class Seen(NamedTuple):
    """What attention of a step sees."""

    context: int = 0  # tokens whose KV is read for prompts
    pairs: float = 0.0  # (token of a prompt, token visible to it)
    history: int = 0  # tokens whose KV is read for sequences that generate


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests of one step. *within*: window of some layers -> what they see."""

    prompt: int = 0  # tokens of prompts
    context: int = 0
    pairs: float = 0.0
    sequences: int = 0  # that generate
    history: int = 0
    heads: int = 0  # tokens whose successor is wanted
    within: Mapping[int, Seen] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return self.prompt + self.sequences

    def seen(self, window: int | None) -> Seen:
        """What layers of that *window* see."""
        return self.within[window] if window else Seen(self.context, self.pairs, self.history)


class Steps:
    """Steps of *model* on all GPUs of *node*, products of layers in numbers of *precision*; no
    simulation is repeated.
    """

    def __init__(
        self, node: Node, model: Transformer, efficiency: float, precision: Dtype | None = None
    ):
        self.node, self.model, self.efficiency = node, model, efficiency
        self._head = Grid(self._head_time, 2**0.5, whole=True)
        self._attention = Grid(self._attention_time)
        count = Counter(map(model.kind_of, range(model.layers)))
        made = {kind: Layers(self, kind, precision or model.dtype) for kind in count}
        self._layers = [(count[kind], layers) for kind, layers in made.items()]
        self._last = made[model.kind_of(model.layers - 1)]
        self._most = max(self._layers, key=lambda each: each[0])[1]
        #: The fetches beside them, by method, bytes of a block, and workgroups.
        self.fetch = cache(partial(Fetch, node))
        self._beside: dict[tuple[Any, ...], tuple[float, float]] = {}

    def alone(self, batch: Batch) -> float:
        """Seconds of a step that runs *batch*."""
        return sum(count * layers.time(batch) for count, layers in self._layers) + self.head(batch)

    def head(self, batch: Batch) -> float:
        """Seconds of the output head."""
        return self._head(batch.heads) if batch.heads else 0.0

    def layer(self, batch: Batch) -> float:
        """Seconds of the last layer of *batch*."""
        return self._last.time(batch)

    def beside(self, batch: Batch, fetch: Fetch) -> tuple[float, float]:
        """Factors by which a step that runs *batch*, and *fetch*, slow each other."""
        layers = self._most
        attentions = tuple(
            (snap(read, 4.0), snap(flops, 4.0)) for read, flops in layers.attentions(batch)
        )
        parts = {name: int(snap(tokens, 2.0)) for name, tokens in layers.parts(batch).items()}
        method = fetch.method.removesuffix("_pl")
        key = (*parts.values(), attentions, method, fetch.block, fetch.workgroups)
        if key not in self._beside:
            tasks = layers.tasks(parts, attentions)
            self._beside[key] = self._slowdowns(tasks, fetch)
        return self._beside[key]

    def attention(self, read: float, flops: float) -> float:
        """Seconds of attention that reads and works so much on each GPU."""
        return self._attention(read, flops)

    def _head_time(self, sequences: float) -> float:
        return self.wall({"head": head_task(self.model, self.node.gpus, int(sequences))})

    def _attention_time(self, read: float, flops: float) -> float:
        return self.wall({"attention": self.attention_task(read, flops)})

    def attention_task(self, read: float, flops: float) -> Task:
        """The same as a task."""
        return attention_task(self.node, self.model, read, flops, self.efficiency)

    def wall(self, tasks: dict[str, Task]) -> float:
        """Seconds of *tasks* by themselves."""
        return run_once(self.node, workload_of(tasks, {})).end

    def _slowdowns(self, tasks: dict[str, Task], fetch: Fetch) -> tuple[float, float]:
        layer = self.wall(tasks)
        copies = max(1, ceil(layer / fetch.per_copy))
        if not fetch.on_compute_units:
            copies = min(MOST_COPIES, copies)
        alone = fetch.alone(copies)
        # queued: the kernel runs on from the layer before
        host = {**HOSTS[fetch.method], "launch": "queued"}
        run = run_once(self.node, workload_of({"fetch": fetch.task(copies), **tasks}, host))
        fetched = run.task("fetch").end
        computed = max(run.task(name).end for name in tasks)
        concurrent = min(fetched, computed)
        return slowdown(concurrent, layer, computed), slowdown(concurrent, alone, fetched)


class Layers:
    """Layers of one *kind* in *steps*, their products in *precision*."""

    def __init__(self, steps: Steps, kind: LayerKind, precision: Dtype):
        self.steps, self.gpus, self.window = steps, steps.node.gpus, kind.window
        self.model = steps.model if kind.experts else steps.model.dense
        self.precision, self.kv = precision, kv_bytes_per_gpu(self.model, self.gpus)
        grouped = GROUPED in steps.node.gpu.gemm_libraries and self.model.experts > 1
        self.libraries = dict.fromkeys(OF_EXPERTS, GROUPED) if grouped else {}
        self._products = {
            part: Grid(partial(self._time, part), 2**0.5, whole=True) for part in PRODUCTS
        }

    def time(self, batch: Batch) -> float:
        """Seconds of one layer of *batch*."""
        time = sum(self._products[part](tokens) for part, tokens in self.parts(batch).items())
        return time + sum(self.steps.attention(*each) for each in self.attentions(batch))

    def parts(self, batch: Batch) -> dict[str, int]:
        """Part of the products -> tokens that it is for, where there are any."""
        parts = {"all": batch.tokens}
        if self.model.latent is not None:
            parts |= {"expanded": batch.context, "absorbed": batch.sequences}
        return {part: tokens for part, tokens in parts.items() if tokens}

    def attentions(self, batch: Batch) -> list[tuple[float, float]]:
        """Bytes and FLOP per GPU of the attention of prompts, and of sequences that generate.

        A pair of tokens takes 2 FLOP of q k per number of a query head, and 2 of p v per number of
        a value: of latent vectors their own numbers, which all heads of one token share.
        """
        model, seen = self.model, batch.seen(self.window)
        heads, expanded = model.heads / self.gpus, self.kv
        of_prompt = of_one = 2.0 * heads * (model.head_dim + model.value_dim)
        if model.latent is not None:
            expanded = int(heads * (model.head_dim + model.value_dim) * model.element)
            of_one = 2.0 * heads * (model.kv_numbers + model.latent.rank)
        attentions = []
        if batch.prompt:
            attentions.append((float(seen.context * expanded), seen.pairs * of_prompt))
        if batch.sequences:
            attentions.append((float(seen.history * self.kv), seen.history * of_one))
        return attentions

    def tasks(
        self, parts: Mapping[str, int], attentions: tuple[tuple[float, float], ...]
    ) -> dict[str, Task]:
        """All tasks of a layer: products of queries, keys and values, attention, the others."""
        attention = {
            f"attention{index}": self.steps.attention_task(*each)
            for index, each in enumerate(attentions)
        }
        before, made = dict[str, Task](), self._tasks("all", parts.get("all", 0))
        for name in [*made]:
            if name == "o":
                break
            before[name] = made.pop(name)
        for part, tokens in parts.items():
            before |= self._tasks(part, tokens) if part != "all" else {}
        return before | attention | made

    def _time(self, part: str, tokens: float) -> float:
        return self.steps.wall(self._tasks(part, int(tokens)))

    def _tasks(self, part: str, tokens: int) -> dict[str, Task]:
        """Tasks of that *part* of the products."""
        made = layer_tasks(self.model, self.gpus, tokens, PRODUCTS[part])
        for name, task in made.items():
            if task["kind"] == "gemm":
                dtype = task["dtype"] if name in KEPT else self.precision
                made[name] = task | {"dtype": dtype, "library": self.libraries.get(name)}
        return made


def slowdown(concurrent: float, alone: float, time: float) -> float:
    """The slowdown of something for *concurrent* s: it takes *time* s in all, *alone* s by itself,
    and after *concurrent* s goes on at its own pace.
    """
    done = alone - (time - concurrent)
    return max(1.0, concurrent / done) if done > 0 else 1.0


# One layer of a model as tasks of a workload, on each of the GPUs that share it.
#
# With t GPUs (tensor parallel), h heads and g kv heads of width d, hidden width H, inner width F
# and M tokens:
#
#     qkv      M x ((h + 2 g) d / t) x H          o     M x H x (h d / t)
#     gate_up  M x (2 F / t) x H                  down  M x H x (F / t)
#
# and, where t > 1, an all-reduce of M H numbers after o and after down. Of E experts with k per
# token, M tokens that choose independently are expected to reach a = E (1 - (1 - k/E)^M). The
# network is then a batched GEMMs of M k / a rows, behind a router of E columns; in what groups a
# token's experts are changes nothing of that. Norms, rotary embedding and activation functions are
# left out (they fuse with others), and so are kernels that put rows in the order of experts. Where
# experts are dealt to x GPUs, one has E / x of them, and M k tokens from all GPUs. Shared experts
# are a network of all tokens. Latent attention is that of iterations/latent.py.

Task = dict[str, Any]
STREAM = "compute"
#: Products that each expert has its own of, and the library of gpu.gemm_libraries that has those of
#: several experts in one kernel.
OF_EXPERTS, GROUPED = ("gate_up", "down"), "grouped"
#: Products by the tokens that they are for: all, those that prompts see, those that are generated.
EXPANDED, ABSORBED = ("kv-up",), ("absorb-keys", "absorb-values")
#: Those whose numbers stay as wide as activations: vLLM makes absorbed weights wide, routers are.
KEPT = (*ABSORBED, "router")
PRODUCTS: dict[str, tuple[str, ...]] = {"all": (), "expanded": EXPANDED, "absorbed": ABSORBED}


def active_experts(model: Transformer, tokens: int) -> int:
    """Experts that *tokens* tokens are expected to reach, of those of one layer."""
    missed = (1 - model.experts_per_token / model.experts) ** tokens
    return max(1, min(model.experts, round(model.experts * (1 - missed))))


def layer_tasks(
    model: Transformer, tensor_parallel: int, tokens: int, only: tuple[str, ...] = ()
) -> dict[str, Task]:
    """GEMMs and all-reduces of one layer for *tokens* tokens, in order, without attention; *only*:
    these products, else all but those that are not for all tokens.
    """
    gemms = layer_gemms(model, tensor_parallel, tokens)
    if only:
        return {name: gemms[name] for name in only}
    tasks: dict[str, Task] = {}
    for name, gemm in gemms.items():
        if name not in (*EXPANDED, *ABSORBED):
            tasks[name] = gemm
        if name == "o" and tensor_parallel > 1:
            tasks["reduce_attention"] = _reduce(model, tokens)
    if tensor_parallel > 1:
        tasks["reduce_network"] = _reduce(model, tokens)
    return tasks


def layer_gemms(
    model: Transformer, tensor_parallel: int, tokens: int, expert_parallel: int = 1
) -> dict[str, Task]:
    """The GEMMs of one layer for *tokens* tokens, in order."""
    share, hidden = tensor_parallel, model.hidden
    heads = _part(model.heads, share, "heads", model)
    inner = _part(model.ffn, share, "ffn", model)
    if model.latent is not None:
        gemms = _latent_gemms(model, model.latent, heads, tokens)
    else:
        queries = heads * model.head_dim
        keys = max(1, model.kv_heads // share) * model.head_dim
        gemms = {"qkv": _gemm(model, tokens, queries + 2 * keys, hidden)}
        gemms["o"] = _gemm(model, tokens, hidden, queries)
    rows, batch = tokens, 1
    if model.experts > 1:
        batch = active_experts(model, tokens * expert_parallel) // expert_parallel or 1
        rows = ceil(tokens * model.experts_per_token / batch)
        gemms["router"] = _gemm(model, tokens, model.experts, hidden)
    gemms["gate_up"] = _gemm(model, rows, (2 if model.gated else 1) * inner, hidden, batch)
    gemms["down"] = _gemm(model, rows, hidden, inner, batch)
    if model.shared_ffn is not None:
        inner = model.shared_ffn // share
        gemms |= {
            name: _gemm(model, tokens, inner, hidden) for name in ("shared-gate", "shared-up")
        }
        gemms["shared-down"] = _gemm(model, tokens, hidden, inner)
    if model.shared_gate:
        gemms["shared-weight"] = _gemm(model, tokens, 1, hidden)
    return gemms


def _latent_gemms(model: Transformer, latent: Latent, heads: int, tokens: int) -> dict[str, Task]:
    """Those of latent attention: keys and values made of vectors, and absorbed, both."""
    queries, hidden, rank = heads * model.head_dim, model.hidden, latent.rank
    first = {"q": (queries, hidden)}
    if latent.query_rank is not None:
        first = {"q-down": (latent.query_rank, hidden), "q-up": (queries, latent.query_rank)}
    sizes = {
        **{name: (*each, 1) for name, each in first.items()},
        "kv-down": (rank + latent.rotary, hidden, 1),
        "kv-up": (heads * (latent.plain + latent.value), rank, 1),
        "absorb-keys": (rank, latent.plain, heads),
        "absorb-values": (latent.value, rank, heads),
        "o": (hidden, heads * latent.value, 1),
    }
    return {name: _gemm(model, tokens, *each) for name, each in sizes.items()}


def head_task(model: Transformer, tensor_parallel: int, sequences: int) -> Task:
    """The output head for the last token of each of *sequences* sequences."""
    return _gemm(model, sequences, ceil(model.vocab / tensor_parallel), model.hidden)


def attention_task(
    node: Node, model: Transformer, read: float, flops: float, efficiency: float
) -> Task:
    """Attention as a stream kernel that reads *read* bytes of keys and values and works *flops*.

    The matrix units do the work at *efficiency* of their peak. A stream kernel counts FLOP of the
    vector units, so it gets as many of these as take equally long. Raises InputError if the node
    has no rate of either.
    """
    rates = node.gpu.compute_units.flops_per_cycle
    if "fp32" not in rates or model.dtype not in rates:
        raise InputError(
            f"{node.gpu.name} has no flops_per_cycle of fp32 and {model.dtype}; "
            "attention needs both"
        )
    vector_flops = flops * rates["fp32"] / (efficiency * rates[model.dtype])
    return {
        "kind": "stream",
        "stream": STREAM,
        "pattern": "read",
        "bytes": max(1.0, read),
        "flops_per_byte": vector_flops / max(1.0, read),
    }


def _part(count: int, share: int, what: str, model: Transformer) -> int:
    if count % share:
        raise InputError(
            f"{count} {what} of {model.name} do not divide by {share} GPUs",
            "serving.tensor_parallel",
        )
    return count // share


def _gemm(model: Transformer, m: int, n: int, k: int, batch: int = 1) -> Task:
    sizes = {"m": m, "n": n, "k": k, "batch": batch}
    return {"kind": "gemm", "stream": STREAM, **sizes, "dtype": model.dtype}


def _reduce(model: Transformer, tokens: int) -> Task:
    return {
        "kind": "collective",
        "stream": STREAM,
        "op": "all_reduce",
        "dtype": model.dtype,
        "size": float(tokens * model.hidden * model.element),
    }


# Functions that cost a simulation: each grid point is evaluated once, the rest interpolated.


class Grid:
    """*function*, linear between the points *ratio*^i of each argument (rounded if *whole*).

    Times of kernels are nearly linear in bytes, FLOP and, between the steps of a staircase, tokens,
    so that linear interpolation is exact where it matters. An argument 0 is a point of its own.
    """

    def __init__(self, function: Callable[..., float], ratio: float = 2.0, *, whole: bool = False):
        self.ratio, self.whole = ratio, whole
        self._evaluate = cache(function)

    def __call__(self, *arguments: float) -> float:
        axes = [self._around(argument) for argument in arguments]
        total = 0.0
        for corner in product(*axes):
            weight = prod(part for _, part in corner)
            if weight:
                total += weight * self._evaluate(*(point for point, _ in corner))
        return total

    def _around(self, value: float) -> list[tuple[float, float]]:
        """The neighbours of *value* on the grid with their weights."""
        if value <= 0:
            return [(0.0, 1.0)]
        step = floor(log(value, self.ratio) + 1e-9)
        low, high = self._point(step), self._point(step + 1)
        if low == high or value <= low:
            return [(low, 1.0)]
        above = min(1.0, (value - low) / (high - low))
        return [(low, 1.0 - above), (high, above)]

    def _point(self, step: int) -> float:
        value = self.ratio**step
        return float(max(1, round(value))) if self.whole else value


def snap(value: float, ratio: float) -> float:
    """The power of *ratio* nearest to *value*; 0 stays 0."""
    return 0.0 if value <= 0 else ratio ** round(log(value, ratio))
