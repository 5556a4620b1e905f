"""Whether a constraint compares what can be compared: not bytes per second with seconds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from c3sim.errors import InputError
from c3sim.input.expressions import Expression, name_of, quantities_marked
from c3sim.specs.units import UNIT_EXAMPLES, dimension
from c3sim.specs.words import unknown

#: What a name may hold instead of a number with an SI unit.
WORDS, TRUTH = "words", "true or false"
Powers = dict[str, float]
Kind = Powers | str | None  # of a number; WORDS or TRUTH; None: cannot be told
_SAME = {"min", "max", "abs", "ceil", "floor"}
_BASES = {"data": "B", "time": "s", "cycles": "cycle", "operations": "flop", "energy": "J"}
_NO_TEST = "is no comparison; write one such as 'links.bandwidth >= 30 GB/s'"


def check_constraint(
    expression: Expression,
    unit_of: Callable[[str], str | None],
    values: Mapping[str, Sequence[object]],
) -> None:
    """Raises InputError unless *expression* compares, and compares like with like.

    *unit_of*: the SI unit of a name (empty for a plain number), or WORDS, TRUTH, or None where it
    cannot be told; *values*: all values that a name of words has.
    """
    tree, quantities = quantities_marked(expression.text)
    _Checker(expression.text, lambda name: quantities.get(name) or unit_of(name), values).test(tree)


class _Checker:
    def __init__(
        self,
        text: str,
        unit_of: Callable[[str], str | None],
        values: Mapping[str, Sequence[object]],
    ) -> None:
        self.text, self.unit_of, self.values = text, unit_of, values

    def test(self, tree: ast.expr) -> None:
        """*tree* as a condition."""
        if isinstance(tree, ast.BoolOp):
            for part in tree.values:
                self.test(part)
        elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            self.test(tree.operand)
        elif isinstance(tree, ast.IfExp):
            for part in (tree.test, tree.body, tree.orelse):
                self.test(part)
        elif isinstance(tree, ast.Compare):
            sides = [tree.left, *tree.comparators]
            for left, right in pairwise(sides):
                self._compare(left, right)
        elif self.kind(tree) != TRUTH:
            raise InputError(f"{self.text!r} {_NO_TEST}")

    def _compare(self, left: ast.expr, right: ast.expr) -> None:
        for side, other in ((left, right), (right, left)):
            if isinstance(side, ast.List | ast.Tuple):
                for part in side.elts:
                    self._compare(other, part)
                return
            self._known(name_of(side), other)
        self._alike(left, right, "compares")

    def _known(self, name: str | None, other: ast.expr) -> None:
        """Words that a name is compared with are one of its values."""
        if name in self.values and isinstance(other, ast.Constant) and isinstance(other.value, str):
            options = self.values[name or ""]
            if other.value not in options:
                raise InputError(
                    f"{self.text!r}: {unknown(f'value of {name}', other.value, options)}"
                )

    def _alike(self, left: ast.expr, right: ast.expr, does: str) -> Kind:
        kinds = self.kind(left), self.kind(right)
        for side, (kind, other) in zip((left, right), (kinds, kinds[::-1]), strict=True):
            if kind is None or (_is_zero(side) and isinstance(other, dict)):
                return other
        if kinds[0] != kinds[1]:
            unit = next((_written(kind) for kind in kinds if isinstance(kind, dict) and kind), "")
            has_example = {} in kinds and unit in UNIT_EXAMPLES
            hint = f"; write a unit, as in {UNIT_EXAMPLES[unit]!r}" if has_example else ""
            one, other = (_written(kind) or "a number without unit" for kind in kinds)
            raise InputError(f"{self.text!r} {does} {one} with {other}{hint}")
        return kinds[0]

    def kind(self, tree: ast.expr) -> Kind:
        """What *tree* is worth: powers of the dimensions, words, or a truth."""
        if (name := name_of(tree)) is not None:
            unit = self.unit_of(name)
            return unit if unit in (WORDS, TRUTH, None) else dict(dimension(unit or ""))
        if isinstance(tree, ast.Constant):
            if isinstance(tree.value, bool):
                return TRUTH
            return WORDS if isinstance(tree.value, str) else {}
        if isinstance(tree, ast.Compare | ast.BoolOp) or _is_not(tree):
            self.test(tree)
            return TRUTH
        if isinstance(tree, ast.UnaryOp):
            return self.kind(tree.operand)
        if isinstance(tree, ast.IfExp):
            self.test(tree.test)
            return self._alike(tree.body, tree.orelse, "chooses")
        if isinstance(tree, ast.Call):
            return self._called(tree)
        return self._computed(tree) if isinstance(tree, ast.BinOp) else None

    def _called(self, tree: ast.Call) -> Kind:
        function = name_of(tree.func)
        found = self.kind(tree.args[0])
        if function in _SAME:
            for other in tree.args[1:]:
                found = self._alike(tree.args[0], other, "mixes")
            return found
        if function == "sqrt" and isinstance(found, dict):
            return _times(found, {}, 0.5)
        return {} if function == "log2" else None

    def _computed(self, tree: ast.BinOp) -> Kind:
        if isinstance(tree.op, ast.Add | ast.Sub | ast.Mod):
            does = "adds" if isinstance(tree.op, ast.Add) else "takes"
            return self._alike(tree.left, tree.right, does)
        left, right = self.kind(tree.left), self.kind(tree.right)
        if not isinstance(left, dict) or not isinstance(right, dict):
            return None
        if isinstance(tree.op, ast.Pow):
            if not left:
                return left
            power = tree.right.value if isinstance(tree.right, ast.Constant) else None
            return _times(left, {}, power) if isinstance(power, int | float) else None
        return _times(left, right, 1, 1 if isinstance(tree.op, ast.Mult) else -1)


def _is_not(tree: ast.expr) -> bool:
    return isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)


def _is_zero(tree: ast.expr) -> bool:
    """Nothing is nothing in every unit."""
    return isinstance(tree, ast.Constant) and not isinstance(tree.value, str) and tree.value == 0


def _times(left: Powers, right: Powers, power: float, other: float = 1) -> Powers:
    """``left ** power * right ** other``."""
    found = {
        name: power * left.get(name, 0) + other * right.get(name, 0) for name in {*left, *right}
    }
    return {name: value for name, value in found.items() if value}


def _written(kind: Kind) -> str:
    """The SI unit of *kind*, or what else it is."""
    if not isinstance(kind, dict):
        return str(kind)
    for unit in UNIT_EXAMPLES:
        if dict(dimension(unit)) == kind:
            return unit
    return " ".join(
        _BASES[name] + (f"^{power:g}" if power != 1 else "") for name, power in sorted(kind.items())
    )
