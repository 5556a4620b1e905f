"""A mixture of experts in place of a layer's network, kernel by kernel.

With T rows, E experts of which a token takes k, hidden width H, inner width F:

    router (T x E x H), scores in 4 byte numbers, softmax or sigmoid of them
    choose: the k largest of each row; of groups first, where a token takes some of them
    their sum, the quotients: weights of a token's experts
    sort of T k numbers, how many each expert gets, and where its rows begin
    permute: T k rows of H are copied to where their expert's begin
    products of each expert's rows, one kernel for all: gate and up, down
    rows by their weights; T rows are cleared, T k are added to them

Shared experts are a network of their own beside, which all tokens go through. As written in
torchtitan/models/moe of github.com/pytorch/torchtitan, with grouped products of PyTorch.
Backward each step has its gradients: rows are copied where they were added, and added where they
were copied.
"""

from __future__ import annotations

from typing import Any, Literal

from c3sim.iterations.load import LIBRARIES, gpus_reached
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.projections import Projections
from c3sim.iterations.share import Share
from c3sim.iterations.steps import Exchange, Op, Step
from c3sim.spec.models import Transformer


class Experts:
    """Experts of a GPU that has *share* of a layer of *model*, with its *products*."""

    def __init__(
        self, operators: OperatorSet, model: Transformer, share: Share, products: Projections
    ):
        self.o, self.model, self.share, self.products = operators, model, share, products
        self.rows = share.routed_rows
        self.chosen = products.chosen
        self.scores = float(self.rows * model.experts)
        whole, self.put = share.dispatch.by == "all_gather", share.dispatch.by == "puts"
        self.table = self.rows * share.expert if whole else self.rows
        """rows that go to experts, and that their results are added to"""
        dealt = share.expert > 1 and model.experts > share.expert
        self.arrive = dealt and not whole and not self.put
        """true: rows come by the GPU that they are from, and go to their expert's place here"""

    def forward(self, activated: list[Step]) -> list[Step]:
        """From the norm's output on. *activated*: the experts' products down to the input of
        ``down``.
        """
        return [
            self.products.forward("router"),
            *self._weights(),
            *self._order(),
            *self._sent("to-experts", self._permute("permute")),
            *activated,
            self.products.forward("down"),
            *self._back("from-experts"),
            *self._together(),
            *self._shared(),
        ]

    def _weights(self) -> list[Step]:
        """Steps that choose each token's experts and the weights of their results."""
        o, model, rows = self.o, self.model, self.rows
        if o.fused:
            return [o.top_k("choose", rows, model.experts, model.experts_per_token)[0]]
        of_token = rows * model.experts_per_token
        scores: list[Step] = [
            o.elementwise("scores-to-fp32", self.scores, o.element, 4, element=1),
            o.softmax("scores", rows, model.experts)
            if model.scoring == "softmax"
            else self._small("scores", self.scores),
        ]
        return [
            *scores,
            *self._groups(),
            *o.top_k("choose", rows, model.experts, model.experts_per_token),
            *([self._small("chosen-scores", of_token)] if model.expert_bias else []),
            self._small("weights-sum", of_token),
            self._small("weights", of_token),
        ]

    def _groups(self) -> list[Step]:
        """Scores of groups, sums of their two largest (the largest, without a bias); those of other
        groups are masked (arXiv 2412.19437, section 2.1.2; 2405.04434, section 2.1.2).
        """
        model, groups = self.model, self.model.expert_groups
        steps: list[Step] = []
        if model.expert_bias:
            steps.append(self._small("scores-bias", self.scores))
        if groups == 1:
            return steps
        of_groups = self.rows * groups
        return [
            *steps,
            *self.o.top_k("group-largest", of_groups, model.experts // groups, 2),
            self._small("group-scores", of_groups),
            *self.o.top_k("choose-groups", self.rows, groups, model.groups_per_token),
            self._small("group-mask-zeros", of_groups),
            self._small("group-mask", of_groups),
            self._small("score-mask", self.scores),
            self._small("masked-scores", self.scores),
        ]

    def _order(self) -> list[Step]:
        """Steps that find the place of each row."""
        sort: list[Step] = [*self.o.sort("sort", self.chosen)]
        if self.o.fused:
            return sort
        names = ("count-zeros", "count", "begins", "tokens")
        sizes = (self.model.experts, self.chosen, self.model.experts, self.chosen)
        return [*sort, *(self._small(*each) for each in zip(names, sizes, strict=True))]

    def _permute(self, name: str) -> Op:
        """Rows to where their expert's begin, or that of the GPU that has it."""
        each = max(1, round(self.chosen / self.table))
        return self.o.permute(name, -(-self.chosen // each), each, self.model.hidden)

    def _sent(self, name: str, permuted: Op) -> list[Step]:
        """*permuted* and sent, or all sent and *permuted* there; who puts reads rows where they are
        and stores them where *permuted* would.
        """
        if self.put and self.share.expert > 1:
            return self.exchange(name)
        if self.share.dispatch.by == "all_gather":
            return [*self.exchange(name), permuted]
        return [permuted, *self.exchange(name), *self._here(f"{name}-here")]

    def _back(self, name: str) -> list[Step]:
        """Send results of experts to the GPUs whose rows they are; of all rows that is a sum."""
        if self.share.dispatch.by == "all_gather":
            return []
        return [*self._here(f"{name}-here"), *self.exchange(name)]

    def _returned(self, name: str) -> list[Step]:
        """Gradients of what experts gave, to them."""
        if self.share.dispatch.by == "all_gather":
            return []
        return [*self.exchange(name), *self._here(f"{name}-here")]

    def _here(self, name: str) -> list[Step]:
        """Rows that arrived to their expert's place, or back; gradients are added up there."""
        o, hidden = self.o, self.model.hidden
        if not self.arrive:
            return []
        if not name.endswith("gradient-here"):
            return [o.permute(name, self.chosen, 1, hidden)]
        zeros = o.elementwise(f"{name}-zeros", self.chosen * hidden, 0, 1)
        return [zeros, o.scatter(name, self.chosen, hidden)]

    def _summed(self, name: str) -> list[Step]:
        """Sums of all rows to the GPUs whose they are."""
        return self.exchange(name) if self.share.dispatch.by == "all_gather" else []

    def _small(self, name: str, numbers: float) -> Op:
        """A kernel over so many 4 byte numbers."""
        return self.o.elementwise(name, numbers, 1, 1, element=4)

    def _together(self) -> list[Step]:
        """Results by their weights, added up for each token."""
        o, hidden = self.o, self.model.hidden
        numbers = self.chosen * hidden
        scatter = o.scatter("unpermute", self.chosen, hidden)
        if o.fused:
            return [scatter, *self._summed("from-experts")]
        return [
            self._small("weights-in-order", self.chosen),
            o.elementwise("weigh", numbers, 1, 1),
            o.elementwise("unpermute-zeros", self.table * hidden, 0, 1),
            scatter,
            *self._summed("from-experts"),
        ]

    def _shared(self) -> list[Step]:
        """Experts of all tokens, and the sum."""
        model, o, products = self.model, self.o, self.products
        if model.shared_ffn is None:
            return []
        inner = self.rows * products.gemms["shared-up"]["n"]
        flops = o.parts.silu_flops or o.parts.activation_flops
        gate: list[Step] = []
        numbers = self.rows * model.hidden
        if model.shared_gate:
            gate = [products.forward("shared-weight"), self._small("shared-sigmoid", self.rows)]
            gate.append(o.elementwise("shared-weighed", numbers, 1, 1))
        first, second = products.forward("shared-gate"), products.forward("shared-up")
        middle: list[Step] = [
            first,
            o.elementwise("shared-silu", inner, 1, 1, flops=flops),
            second,
            o.elementwise("shared-product", inner, 2, 1),
        ]
        if o.fused:
            middle = [first, second, o.elementwise("shared-swiglu", inner, 2, 1, flops=flops)]
        down = products.forward("shared-down")
        return [*middle, down, *gate, o.elementwise("shared-add", numbers, 2, 1)]

    def backward(self, activation: list[Step], summed: list[Step]) -> list[Step]:
        """From the gradient of the output on. *activation*: the gradient of what is between the
        products; *summed*: what the input's gradient goes through.
        """
        o, model, hidden = self.o, self.model, self.model.hidden
        moved = self.chosen * hidden
        weighed: list[Step] = [
            o.elementwise("weigh-gradient", moved, 1, 1),
            o.elementwise("weights-product", moved, 2, 1),
            o.elementwise("weights-gradient", moved, 1, 1 / hidden),
        ]
        return [
            *self._shared_backward(),
            *self._summed("from-experts-gradient"),
            self._permute("unpermute-gradient"),
            *(weighed[:1] if o.fused else weighed),
            *self._returned("from-experts-gradient"),
            *self.products.gradients(("down",)),
            *activation,
            *self.products.gradients(("gate_up",)),
            *self._back("to-experts-gradient"),
            o.elementwise("permute-zeros", self.table * hidden, 0, 1),
            o.scatter("permute-gradient", self.chosen, hidden),
            *self._summed("to-experts-gradient"),
            *self._router_backward(),
            *self.products.gradients(("router",)),
            *(
                o.elementwise(f"{name}-sum", self.rows * hidden, 2, 1)
                for name in (("router", "shared") if model.shared_ffn else ("router",))
            ),
            *summed,
        ]

    def _router_backward(self) -> list[Step]:
        """Gradients of weights and scores: quotients, zeros with the chosen ones', softmax."""
        o, of_token = self.o, self.rows * self.model.experts_per_token
        names = ("weights-quotient", "weights-sum-gradient", "weights-both")
        steps: list[Step] = [self._small(name, of_token) for name in names]
        last: Op = o.softmax("scores-gradient", self.rows, self.model.experts, backward=True)
        if o.fused:
            return [last]
        return [
            *steps,
            self._small("scores-zeros", self.scores),
            self._small("chosen-scores-gradient", of_token),
            last if self.model.scoring == "softmax" else self._small(last.name, self.scores),
            o.elementwise("scores-from-fp32", self.scores, 4, o.element, element=1),
        ]

    def _shared_backward(self) -> list[Step]:
        model, o, products = self.model, self.o, self.products
        if model.shared_ffn is None:
            return []
        inner = self.rows * products.gemms["shared-up"]["n"]
        flops = o.parts.silu_flops or o.parts.activation_flops
        numbers = self.rows * model.hidden
        gate: list[Step] = []
        if model.shared_gate:
            gate = [
                o.elementwise("shared-weighed-gradient", numbers, 1, 1),
                o.elementwise("shared-weight-product", numbers, 2, 1),
                self._small("shared-sigmoid-gradient", self.rows),
                *products.gradients(("shared-weight",)),
            ]
        between: list[Step] = [
            o.elementwise("shared-product-up", inner, 2, 1),
            o.elementwise("shared-product-silu", inner, 2, 1),
            o.elementwise("shared-silu-gradient", inner, 2, 1, flops=flops),
        ]
        if o.fused:
            between = [o.elementwise("shared-swiglu-gradient", inner, 3, 2, flops=flops)]
        return [
            *gate,
            *products.gradients(("shared-down",)),
            *between,
            *products.gradients(("shared-gate", "shared-up")),
        ]

    def exchange(self, name: str) -> list[Step]:
        """Rows to the GPUs that have their experts, or back: each to every expert; or to every GPU,
        whose results are added up on the way back; or by kernels, once to each GPU that has one of
        its, or put at every expert.
        """
        share, model = self.share, self.model
        if share.expert == 1:
            return []
        by, units = share.dispatch
        row, back = model.hidden * self.o.element, name.startswith("from") != name.endswith("ient")
        if by == "all_gather":
            op: Literal["reduce_scatter", "all_gather"] = "reduce_scatter" if back else "all_gather"
            size = float(self.rows * share.expert * row)
            return [Exchange(name, op, size, among="expert")]
        size, how = float(self.chosen * row), dict[str, Any](among="expert")
        if by in LIBRARIES:
            how |= {"backend": LIBRARIES[by], "channels": units}
        if by == "kernels":
            reached = gpus_reached(model.experts, model.experts_per_token, share.expert)
            size = float(round(self.rows * reached * row))
        return [Exchange(name, "all_to_all", size, **how)]
