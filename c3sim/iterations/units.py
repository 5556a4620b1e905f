"""A model as units that run one after the other: what comes before the layers, the layers, what
comes after them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from c3sim.iterations.inference.kv import pairs_seen
from c3sim.iterations.layers import Layer
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.models import LayerKind, Transformer


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Operators of a part of the model on one GPU, and its *parameters* there, of which so many are
    *shared* with all data-parallel replicas (experts that are dealt out are not), and so many the
    matrices of its *network*.
    """

    name: str
    forward: tuple[Step, ...]
    backward: tuple[Step, ...] = ()
    parameters: int = 0
    shared: int = 0
    network: int = 0

    @property
    def flops(self) -> float:
        """FLOP that the model needs for it, both ways."""
        steps = (*self.forward, *self.backward)
        return sum(step.flops for step in steps if isinstance(step, Op))

    def pieces(self, count: int) -> tuple[Unit, ...]:
        """A layer whole, or its attention and its network, which begins with the second norm."""
        if count == 1:
            return (self,)
        begin = [step.name for step in self.forward].index("norm2")
        end = (
            1 + [step.name for step in self.backward].index("add-gradient2") if self.backward else 0
        )
        own = self.parameters - self.network
        shared = min(self.shared, own)
        attention = replace(
            self,
            name="attention",
            forward=self.forward[:begin],
            backward=self.backward[end:],
            parameters=own,
            shared=shared,
            network=0,
        )
        network = replace(
            attention,
            name="network",
            forward=self.forward[begin:],
            backward=self.backward[:end],
            parameters=self.network,
            shared=self.shared - shared,
        )
        return attention, network


NOTHING = Unit(name="nothing", forward=())


@dataclass(frozen=True, kw_only=True, slots=True)
class Units:
    """*each* layer between *start* and *end*, in order; those of one kind are one object."""

    start: Unit
    each: tuple[Unit, ...]
    end: Unit

    @property
    def layer(self) -> Unit:
        """The last layer, of the kind that most are of."""
        return self.each[-1] if self.each else NOTHING

    @property
    def layers(self) -> int:
        return len(self.each)

    @property
    def parameters(self) -> int:
        """Parameters of one GPU, all unsharded."""
        return sum(unit.parameters for unit in (self.start, *self.each, self.end))

    @property
    def flops(self) -> float:
        """FLOP that the model needs on one GPU, work that is done again left out."""
        return sum(unit.flops for unit in (self.start, *self.each, self.end))


def transformer_units(
    operators: OperatorSet,
    model: Transformer,
    share: Share,
    layers: int,
    *,
    first: int = 0,
    head: bool,
    generates: bool,
) -> Units:
    """*layers* of *model* from the layer *first* on; *head*: embedding, output head and loss too;
    *generates*: the head is run for the last token of each sequence, without a loss.
    """
    kinds = [model.kind_of(index) for index in range(first, first + layers)]
    known = operators.layers
    for kind in dict.fromkeys(kinds):
        if (model, share, kind) not in known:
            known[model, share, kind] = layer_unit(operators, model, share, kind)
    units = {kind: known[model, share, kind] for kind in kinds}
    each = tuple(units[kind] for kind in kinds)
    if not head:
        return Units(start=NOTHING, each=each, end=NOTHING)
    ends = _Ends(operators, model, share, generates)
    return Units(start=ends.start(), each=each, end=ends.end())


def token_flops(model: Transformer, tokens: int) -> tuple[float, float]:
    """FLOP of one token forward, of matrix products and of attention, in sequences of *tokens*.

    2 for each weight of a layer, its experts and the output head that a token goes through; and
    2 (numbers of a key + numbers of a value) for each head and token seen. Training takes three
    times as many (arXiv 2204.02311, appendix B, which counts tokens above the diagonal too).
    """
    dense, behind = model.dense, model.layers - model.dense_layers
    own = model.shared_weights + model.experts_per_token * model.network_weights
    first = model.dense_layers * (dense.shared_weights + dense.network_weights)
    weights = first + behind * own + model.vocab * model.hidden
    seen = 0.0
    for index in range(model.layers):
        window = model.kind_of(index).window
        seen += pairs_seen(tokens, 0, window) / tokens if model.causal else tokens
    of_pair = 2.0 * model.heads * (model.head_dim + model.value_dim)
    return 2.0 * weights, of_pair * seen


def layer_unit(operators: OperatorSet, model: Transformer, share: Share, kind: LayerKind) -> Unit:
    """A layer of that *kind*."""
    layer = Layer(operators, model, share, kind)
    share = layer.share
    own, network = _parameters(layer.model, share)
    return Unit(
        name="layer",
        forward=tuple(layer.forward()),
        backward=tuple(layer.backward()) if share.training else (),
        parameters=own + network,
        # experts that are dealt out stay with their GPU
        shared=own + (0 if share.deals else network),
        network=network,
    )


def _parameters(model: Transformer, share: Share) -> tuple[int, int]:
    """Parameters of a layer on one GPU: all but its network or experts, and those."""
    held, biases = model.experts // share.expert, 0
    parts = share.of_expert if model.experts > 1 else share.tensor
    if "network" in model.biases and not model.bias:
        biases = (2 if model.gated else 1) * model.ffn + model.hidden
    own = model.shared_weights // share.tensor + sum(model.vectors) - model.experts * biases
    return own, held * (model.network_weights // parts + biases)


class _Ends:
    """Embedding before the layers; last norm, output head and loss after them."""

    def __init__(self, operators: OperatorSet, model: Transformer, share: Share, generates: bool):
        self.o, self.model, self.share, self.generates = operators, model, share, generates
        self.vocab = ceil(model.vocab / share.tensor)
        predicted = share.rows * (model.predicted if share.training else 1.0)
        self.predicted = share.sequences if generates else max(1, round(predicted))
        self.logits = self.predicted * self.vocab

    def start(self) -> Unit:
        o, model, share = self.o, self.model, self.share
        forward: list[Step] = [o.gather("embedding", share.rows, model.hidden)]
        backward: list[Step] = []
        vectors = 2 if model.bias else 1
        if model.learned_rows:
            forward += [
                o.elementwise("positions", share.rows * model.hidden, 2, 1),
                o.normalisation("embedding-norm", share.rows, model.hidden),
            ]
            backward += o.normalisation_backward(
                "embedding-norm", share.rows, model.hidden, vectors
            )
        table = self.vocab * model.hidden
        rows = o.gather("embedding-gradient", share.rows, model.hidden)
        backward += [
            o.elementwise("embedding-zeros", table, 0, 1),
            Op(rows.name, rows.task, "embedding", gradients=(table,)),
        ]
        if share.tensor > 1:
            size = float(share.rows * model.hidden * o.element)
            forward.append(Exchange("sum-embedding", "all_reduce", size))
        parameters = table + (model.learned_rows or 0) * model.hidden
        parameters += vectors * model.hidden if model.learned_rows else 0
        return Unit(
            name="start",
            forward=tuple(forward),
            parameters=parameters,
            shared=parameters,
            backward=tuple(backward) if share.training else (),
        )

    def end(self) -> Unit:
        o, model, share = self.o, self.model, self.share
        forward: list[Step] = []
        if not model.learned_rows:
            forward.append(o.normalisation("last-norm", share.own_rows, model.hidden))
        if model.pretraining_head:
            rows = self.predicted
            forward += [
                o.gemm("dense", rows, model.hidden, model.hidden),
                o.elementwise("gelu", rows * model.hidden, 1, 1, flops=o.parts.activation_flops),
                o.normalisation("dense-norm", rows, model.hidden),
            ]
        forward.append(o.gemm("logits", self.predicted, self.vocab, model.hidden))
        backward: list[Step] = []
        if not self.generates:
            forward += self._loss()
            backward = self._backward() if share.training else []
        table = 0 if model.tied else self.vocab * model.hidden
        whole = model.other_parameters - (1 if model.tied else 2) * model.vocab * model.hidden
        start = (model.learned_rows or 0) * model.hidden
        start += (2 if model.bias else 1) * model.hidden if model.learned_rows else 0
        parameters = table + whole - start
        return Unit(
            name="end",
            forward=tuple(forward),
            backward=tuple(backward),
            parameters=parameters,
            shared=parameters,
        )

    def _loss(self) -> list[Step]:
        """Cross entropy in 4 byte numbers: a copy, log-softmax; fused: one kernel over logits."""
        o = self.o
        if o.fused:
            return [o.elementwise("loss", self.logits, 1, 0), *self._sums()]
        return [
            o.elementwise(
                "logits-to-fp32", self.logits, o.element, 4, element=1, strided=o.element != 4
            ),
            o.softmax("softmax", self.predicted, self.vocab),
            *self._sums(),
        ]

    def _sums(self) -> list[Step]:
        """Largest logit and sum of each token, where GPUs have parts of the vocabulary."""
        if self.share.tensor == 1:
            return []
        return [Exchange("sum-loss", "all_reduce", 8.0 * self.predicted)]

    def _backward(self) -> list[Step]:
        o, model = self.o, self.model
        steps: list[Step] = [
            o.elementwise("loss-zeros", self.logits, 0, 4, element=1),
            o.softmax("softmax-gradient", self.predicted, self.vocab, backward=True),
            o.elementwise("logits-from-fp32", self.logits, 4, o.element, element=1),
        ]
        if o.fused:
            steps = [o.elementwise("loss-gradient", self.logits, 1, 1)]
        weight = o.gemm("logits-weight", model.hidden, self.vocab, self.predicted)
        tables = () if model.tied else (self.vocab * model.hidden,)
        steps += [
            o.gemm("logits-input", self.predicted, model.hidden, self.vocab),
            Op(weight.name, weight.task, "gemm", weight.flops, gradients=tables),
        ]
        if self.share.tensor > 1:
            size = float(self.predicted * model.hidden * o.element)
            steps.append(Exchange("sum-logits-gradient", "all_reduce", size))
        vectors = 2 if model.bias else 1
        if model.pretraining_head:
            rows, square = self.predicted, model.hidden
            steps += [
                *o.normalisation_backward("dense-norm", rows, square, vectors),
                o.elementwise("gelu-gradient", rows * square, 2, 1, flops=o.parts.activation_flops),
                o.gemm("dense-input", rows, square, square),
                Op(
                    "dense-weight",
                    o.gemm("", square, square, rows).task,
                    "gemm",
                    2.0 * rows * square * square,
                    gradients=(square * square,),
                ),
            ]
        if not model.learned_rows:
            steps += o.normalisation_backward(
                "last-norm", self.share.own_rows, model.hidden, vectors
            )
        return steps
