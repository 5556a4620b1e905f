"""Arithmetic over paths, for constraints and costs: ``hw.sdma.engines * gpu.dma_engines.bandwidth
<= 400 GB/s``.

- Operators are those of Python: ``+ - * / // % **``, comparisons, ``and or not in``,
  ``a if b else c``.
- Functions: ``min max abs sqrt log2 ceil floor``. Values: numbers, quoted words, lists, paths.
- A number may have a unit; it is then in SI, as the value of every path is.
- A hyphen between letters belongs to a name (``task.my-gather.size``): put spaces around a minus.

Nothing is executed: the text is parsed, and the kinds of nodes above are computed here. A
constraint compares like with like: not bytes per second with seconds.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from c3sim.errors import InputError
from c3sim.spec.units import UNIT_EXAMPLES, dimension, parse_quantity
from c3sim.spec.words import unknown

Lookup = Callable[[str], Any]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
_TOKEN = re.compile(
    r"""'[^']*'|"[^"]*"|(?<![\w.])(?P<number>(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?)(?P<rest>\s*)"""
)
_UNIT = re.compile(r"[A-Za-zµμ]+(\s*/\s*[A-Za-zµμ]+)?(?![\w.])")
_WORDS = {"and", "or", "not", "in", "if", "else"}
_HYPHENED = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)*\.\w+(?:-[A-Za-z]\w*)+")
_HYPHEN = "__hyphen__"
_LONGEST = 1000  # characters
_NOT_ONE = (
    "is no expression; write one such as 'hw.sdma.engines * gpu.dma_engines.bandwidth <= 400 GB/s'"
)


@dataclass(frozen=True, slots=True)
class Expression:
    """*text* as written, and the *names* (paths) it needs the values of."""

    text: str
    names: tuple[str, ...]
    tree: ast.expr

    def value(self, lookup: Lookup) -> Any:
        """The value, *lookup* giving that of each name. Raises InputError where there is none."""
        try:
            found = _value(self.tree, lookup)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise InputError(f"{self.text!r} has no value: {error}") from None
        if isinstance(found, complex):
            raise InputError(f"{self.text!r} has no value: a root of a negative number")
        return found

    def number(self, lookup: Lookup) -> float:
        """Number that :meth:`value` gives, which must be finite."""
        found = self.value(lookup)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if not is_number or not math.isfinite(found):
            raise InputError(f"{self.text!r} is {found!r}; must be a finite number")
        return float(found)


def parse_expression(text: str) -> Expression:
    """The expression *text*. Raises InputError, with what is allowed."""
    if len(text) > _LONGEST:
        raise InputError(f"an expression of {len(text)} characters; must be at most {_LONGEST}")
    try:
        tree = ast.parse(_with_numbers(text).strip(), mode="eval").body
        names = tuple(dict.fromkeys(_names(tree, text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} {_NOT_ONE}") from None
    return Expression(text, names, tree)


def quantities_marked(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The tree of a parsed *text*, a name in place of each quantity: that name -> its SI unit."""
    units: dict[str, str] = {}

    def mark(quantity: str) -> str:
        units[name := f"__quantity_{len(units)}__"] = _in_si(quantity)[1]
        return name

    return ast.parse(_with_numbers(text, mark).strip(), mode="eval").body, units


def _plain(quantity: str) -> str:
    return repr(_in_si(quantity)[0])


def _with_numbers(text: str, write: Callable[[str], str] = _plain) -> str:
    """*text* with every quantity as *write* has it, and hyphens in names made part of them."""
    pieces, at = [], 0
    for match in _TOKEN.finditer(text):
        pieces.append(_joined(text[at : match.start()]))
        unit = _UNIT.match(text, match.end())
        if match["number"] is not None and unit and unit[0] not in _WORDS:
            pieces.append(write(f"{match['number']} {unit[0]}"))
            at = unit.end()
        else:
            pieces.append(match[0])
            at = match.end()
    return "".join((*pieces, _joined(text[at:])))


def _joined(text: str) -> str:
    """*text* with names such as ``task.my-gather.size`` as names of Python."""
    return _HYPHENED.sub(lambda match: match[0].replace("-", _HYPHEN), text)


def _in_si(quantity: str) -> tuple[float, str]:
    """*quantity* in the SI unit it converts to, and that unit."""
    problem: InputError | None = None
    for unit in UNIT_EXAMPLES:
        try:
            return parse_quantity(quantity, unit), unit
        except InputError as error:
            if problem is None or "does not convert" in problem.message:
                problem = error
    known = f"known: {', '.join(UNIT_EXAMPLES)}"
    if problem is None or "does not convert" in problem.message:
        raise InputError(f"{quantity!r} is no quantity of a node or workload; {known}")
    if problem.message.startswith("unknown unit"):
        unit = quantity.partition(" ")[2]
        raise InputError(f"unknown unit {unit!r} in {quantity!r}; {known}")
    raise InputError(problem.message)


def _names(tree: ast.expr, text: str) -> list[str]:
    """Names in *tree*, which is refused if it holds anything but arithmetic."""
    if (name := name_of(tree)) is not None:
        return [name]
    if isinstance(tree, ast.Constant):
        if isinstance(tree.value, bool | int | float | str):
            return []
        raise ValueError
    if isinstance(tree, ast.Call):
        function = tree.func.id if isinstance(tree.func, ast.Name) else None
        if function not in _FUNCTIONS or tree.keywords or not tree.args:
            raise InputError(f"{text!r}: unknown function; known: {', '.join(_FUNCTIONS)}")
        return [name for part in tree.args for name in _names(part, text)]
    if not isinstance(
        tree, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.List | ast.Tuple
    ):
        raise ValueError
    operators = [tree.op] if isinstance(tree, ast.BinOp | ast.UnaryOp) else getattr(tree, "ops", [])
    if any(type(each) not in _OPERATORS for each in operators):
        raise ValueError
    parts = [part for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)]
    return [name for part in parts for name in _names(part, text)]


def name_of(tree: ast.AST) -> str | None:
    """``a.b.c``, if *tree* is nothing but that."""
    if isinstance(tree, ast.Name):
        return tree.id.replace(_HYPHEN, "-")
    if isinstance(tree, ast.Attribute):
        before = name_of(tree.value)
        return None if before is None else f"{before}.{tree.attr.replace(_HYPHEN, '-')}"
    return None


def _value(tree: ast.expr, lookup: Lookup) -> Any:
    if (name := name_of(tree)) is not None:
        found = lookup(name)
        return float(found) if isinstance(found, int) and not isinstance(found, bool) else found
    if isinstance(tree, ast.Constant):  # floats throughout: no number grows without end
        return float(tree.value) if type(tree.value) is int else tree.value
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)](_value(tree.left, lookup), _value(tree.right, lookup))
    if isinstance(tree, ast.UnaryOp):
        return _OPERATORS[type(tree.op)](_value(tree.operand, lookup))
    if isinstance(tree, ast.IfExp):
        return _value(tree.body if _value(tree.test, lookup) else tree.orelse, lookup)
    if isinstance(tree, ast.List | ast.Tuple):
        return [_value(part, lookup) for part in tree.elts]
    if isinstance(tree, ast.Call):
        assert isinstance(tree.func, ast.Name)  # checked when parsed
        return _FUNCTIONS[tree.func.id](*(_value(part, lookup) for part in tree.args))
    return _truth(tree, lookup)


def _truth(tree: ast.expr, lookup: Lookup) -> Any:
    if isinstance(tree, ast.BoolOp):
        found: Any = None
        for part in tree.values:
            found = _value(part, lookup)
            if bool(found) == isinstance(tree.op, ast.Or):
                return found
        return found
    assert isinstance(tree, ast.Compare)  # nothing else was let through
    left = _value(tree.left, lookup)
    for test, right_tree in zip(tree.ops, tree.comparators, strict=True):
        right = _value(right_tree, lookup)
        if not _OPERATORS[type(test)](left, right):
            return False
        left = right
    return True


#: A name's value instead of a number with an SI unit.
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
        """The kind of *tree*'s value: powers of the dimensions, words, or a truth."""
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
