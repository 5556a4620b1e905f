"""Loop nests of applications, as launches of kernels: which bytes each workgroup touches, in which
order. Row-major tensors of elements of E bytes; images are [n, c, h, w].

    activation        1024 elements a workgroup; backward reads x, y and dy
    pooling           256 results a workgroup, a load for each tap; backward gathers: an element of
                      dx looks into its windows, at their y and dy
    batch norm        a workgroup a channel (MIOpen's single-workgroup): sums, then all again
    softmax           a workgroup a row: maximum, sum, result; backward: a sum, then all again
    lrn               256 pixels a workgroup, sliding over channels: the entering and the leaving
                      element are loaded, result and scale stored
    product           tiles of C = A B, slices of K
    recurrent         each step a product of the weights with input and state, then the gates
    composed          a convolution as a product, pooling, a fully connected layer
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from c3sim.cachelab.stream import Array, Launch, Memory
from c3sim.errors import InputError
from c3sim.spec.study import Application

ELEMENT = {"fp32": 4, "fp64": 8}
GROUP = 256  # threads of a workgroup
VECTOR = 4  # elements of a thread of an activation
TILES = (128, 64, 32)  # rows and columns of a tile; the first that gives enough workgroups
ENOUGH = 64  # workgroups
SLICE = 32  # of K
STEPS = 2  # of a recurrent layer that are followed; those after the first are alike


@dataclass(frozen=True, slots=True)
class Program:
    """Launches one after the other, and how many of the application each stands for."""

    launches: tuple[Launch, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, *launches: Launch) -> Program:
        return cls(launches, (1.0,) * len(launches))

    def warm(self) -> Program:
        """The second time that it runs."""
        return Program(self.launches * 2, (0.0,) * len(self.launches) + self.weights)


Shape = Mapping[str, int]
Nest = Callable[[Shape, int, bool], Program]


def program_of(application: Application, images: int | None = None) -> Program:
    """The launches of *application*; at most so many *images* of a batch of them. Raises
    InputError: its shape lacks a letter.
    """
    shape = dict(application.shape)
    whole = shape.get("n", 1)
    of_images = application.kind in IMAGES and images is not None and images < whole
    if of_images:
        shape["n"] = images or whole
    try:
        nest = NESTS[application.kind]
        found = nest(shape, ELEMENT[application.dtype], application.backward)
    except KeyError as error:
        message = f"the shape of {application.kind} lacks {error}"
        raise InputError(message, "applications") from None
    part = shape.get("n", 1) / whole
    return Program(found.launches, tuple(weight / part for weight in found.weights))


def _groups(count: int, each: int) -> tuple[Array, Array, Array]:
    """Workgroups of *each* of *count* elements: number, first element, elements."""
    groups = np.arange(-(-count // each))
    first = groups * each
    return groups, first, np.minimum(each, count - first)


def _elements(s: Shape) -> int:
    return s["n"] * s["c"] * s["h"] * s["w"]


def _activation(s: Shape, element: int, backward: bool) -> Program:
    count, memory = _elements(s), Memory()
    group, first, many = _groups(count, GROUP * VECTOR)
    launch = Launch("activation", len(group), 2.0 * count)
    for order in range(3 if backward else 1):
        base = memory.place(count * element)
        launch.touch(group, order, base + first * element, many * element)
    base = memory.place(count * element)
    launch.touch(group, 3, base + first * element, many * element, store=True, phase=1)
    return Program.of(launch)


def _rows_of(count: int, width: int) -> tuple[Array, Array, Array, Array]:
    """Pieces of rows of *width* that workgroups of 256 of *count* elements have: workgroup, row,
    first column, end.
    """
    rows = -(-count // width)
    cuts = np.concatenate([np.arange(rows) * width, np.arange(0, count, GROUP)])
    cuts.sort(kind="stable")  # two runs, which are merged
    cuts = cuts[np.append(True, cuts[1:] != cuts[:-1])]
    ends = np.append(cuts[1:], count)
    row = cuts // width
    return cuts // GROUP, row, cuts - row * width, ends - row * width


def _pooling(s: Shape, element: int, backward: bool, memory: Memory | None = None) -> Program:
    memory, (window, stride) = memory or Memory(), (s["window"], s["stride"])
    images, high, wide = s["n"] * s["c"], s["h"], s["w"]
    out_high, out_wide = (high - window) // stride + 1, (wide - window) // stride + 1
    size, pooled = images * high * wide, images * out_high * out_wide
    x, y = memory.place(size * element), memory.place(pooled * element)
    if not backward:
        group, row, left, right = _rows_of(pooled, out_wide)
        launch = Launch("pooling", -(-pooled // GROUP), float(window**2 * pooled))
        image, line, lane = row // out_high, row % out_high, (row * out_wide + left) % GROUP
        for tap in range(window**2):
            down, across = divmod(tap, window)
            place = (image * high + line * stride + down) * wide + left * stride + across
            length = ((right - left - 1) * stride + 1) * element
            start = x + place * element
            launch.touch(group, tap, start, length, lane=lane, each=stride * element)
        begin = y + (row * out_wide + left) * element
        launch.touch(group, window**2, begin, (right - left) * element, store=True, phase=1)
        return Program.of(launch)
    dy, dx = memory.place(pooled * element), memory.place(size * element)
    group, row, left, right = _rows_of(size, wide)
    launch = Launch("pooling-backward", -(-size // GROUP), 2.0 * size)
    image, line, lane = row // high, row % high, (row * wide + left) % GROUP
    own = (row * wide + left) * element
    launch.touch(group, 0, x + own, (right - left) * element, lane=lane, each=element)
    looks = -(-window // stride)
    for look in range(looks**2):
        up, back = divmod(look, looks)
        of_row = line // stride - up
        begin = np.clip(left // stride - back, 0, out_wide - 1)
        end = np.clip((right - 1) // stride - back, 0, out_wide - 1) + 1
        inside = (of_row >= 0) & (of_row < out_high) & (line - of_row * stride < window)
        place = (image * out_high + of_row) * out_wide + begin
        for order, base in enumerate((y, dy)):
            begins = base + np.maximum(place, 0) * element
            length = inside * (end - begin) * element
            place_of = 1 + 2 * look + order
            launch.touch(group, place_of, begins, length, lane=lane, each=element // stride)
    launch.touch(group, 99, dx + own, (right - left) * element, store=True, phase=1)
    return Program.of(launch)


def _batch_norm(s: Shape, element: int, backward: bool) -> Program:
    n, c, plane = s["n"], s["c"], s["h"] * s["w"]
    memory, arrays = Memory(), 2 if backward else 1
    launch = Launch("batch-norm", c, (8.0 if backward else 5.0) * n * c * plane, threads=1024)
    pieces = np.arange(-(-plane // 1024))
    group, image, piece = np.meshgrid(np.arange(c), np.arange(n), pieces, indexing="ij")
    start = ((image * c + group) * plane + piece * 1024) * element
    length = np.minimum(1024, plane - piece * 1024) * element
    order = 4 * (image * len(pieces) + piece)
    bases = [memory.place(n * c * plane * element) for _ in range(arrays + 1)]
    for again in range(2):
        for number, base in enumerate(bases[:-1]):
            later = order + number + again * 4 * n * len(pieces)
            launch.touch(group, later, base + start, length, phase=again, each=element)
    last = order + 3 + 4 * n * len(pieces)
    launch.touch(group, last, bases[-1] + start, length, store=True, phase=1)
    return Program.of(launch)


def _softmax(s: Shape, element: int, backward: bool) -> Program:
    rows, row = s["n"] * s["h"] * s["w"], s["c"] * element
    memory, arrays = Memory(), 2 if backward else 1
    launch = Launch("softmax", rows, 10.0 * rows * s["c"])
    group = np.arange(rows)
    bases = [memory.place(rows * row) for _ in range(arrays + 1)]
    times = 2 if backward else 3
    for again in range(times):
        for number, base in enumerate(bases[:-1]):
            begin = base + group * row
            launch.touch(group, 4 * again + number, begin, row, phase=again, each=element)
    launch.touch(group, 99, bases[-1] + group * row, row, store=True, phase=times)
    return Program.of(launch)


def _lrn(s: Shape, element: int, _backward: bool) -> Program:
    n, c, plane, half = s["n"], s["c"], s["h"] * s["w"], s["window"] // 2
    memory, count = Memory(), n * c * plane
    x, y, scale = (memory.place(count * element) for _ in range(3))
    of_plane = -(-plane // GROUP)
    launch = Launch("lrn", n * of_plane, 6.0 * count)
    image, piece, channel = np.meshgrid(
        np.arange(n), np.arange(of_plane), np.arange(c), indexing="ij"
    )
    group = image * of_plane + piece
    length = np.minimum(GROUP, plane - piece * GROUP) * element

    def place(of: Array) -> Array:
        channel_of = np.clip(of, 0, c - 1)
        return np.asarray(((image * c + channel_of) * plane + piece * GROUP) * element)

    entering, leaving = channel + half, channel - half - 1
    for order, of, there in ((0, entering, entering < c), (1, leaving, leaving >= 0)):
        launch.touch(group, 4 * channel + order, x + place(of), length * there, each=element)
    for order, base in ((2, y), (3, scale)):
        launch.touch(group, 4 * channel + order, base + place(channel), length, store=True)
    return Program.of(launch)


def product(
    m: int, n: int, k: int, element: int, *, bases: tuple[int, int, int], b_rows: bool = True,
    tile: tuple[int, int] | None = None, name: str = "product", accumulate: bool = False,
    part: int = SLICE, group: int = 1, result: int | None = None,
) -> Launch:  # fmt: skip
    """C[m, n] = A[m, k] B by tiles; all walk K a slice of *part* at a time, and wait for it. A
    number has *element* bytes, of C *result* if given. *b_rows*: B is [k, n]; else [n, k].
    *accumulate*: C is loaded first. *group*: rows of tiles that are dealt out column by column,
    before the next ones.
    """
    high, wide = tile or next(
        ((t, t) for t in TILES if -(-m // t) * -(-n // t) >= ENOUGH), (TILES[-1], TILES[-1])
    )
    rows, columns, slices = -(-m // high), -(-n // wide), -(-k // part)
    launch = Launch(name, rows * columns, 2.0 * m * n * k)
    if group > 1:
        launch.place = _by_group(rows, columns, group)
    a, b, c = bases
    beside, below = np.arange(columns), np.arange(rows) * columns  # tiles of a row, of a column
    _panel(launch, a, (m, high), k, element, part, 0, columns, beside)
    if b_rows:
        shape = (np.arange(columns), np.arange(slices), np.arange(part))
        j, piece, line = np.meshgrid(*shape, indexing="ij")
        row = piece * part + line
        length = np.minimum(wide, n - j * wide) * element * (row < k)
        begin = b + (row * n + j * wide) * element
        launch.touch(j, 2 * piece + 1, begin, length, phase=piece, shared=below)
    else:
        _panel(launch, b, (n, wide), k, element, part, 1, 1, below)
    i, j, line = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(high), indexing="ij")
    row, stored = i * high + line, result or element
    length = np.minimum(wide, n - j * wide) * stored * (row < m)
    for store in (False, True) if accumulate else (True,):
        order, phase = 2 * slices + store, slices + store
        begin = c + (row * n + j * wide) * stored
        launch.touch(i * columns + j, order, begin, length, store=store, phase=phase)
    return launch


def _panel(
    launch: Launch, base: int, sides: tuple[int, int], k: int, element: int, part: int,
    order: int, step: int, shared: Array,
) -> None:  # fmt: skip
    """Slices of an operand whose rows are K long. *sides*: its rows, and those of a tile; *step*:
    from the first workgroup of such rows to that of the next, *shared* with those beside it.
    """
    across, of_tile = sides
    shape = (np.arange(-(-across // of_tile)), np.arange(-(-k // part)), np.arange(of_tile))
    at, piece, line = np.meshgrid(*shape, indexing="ij")
    row = at * of_tile + line
    begin = base + (row * k + piece * part) * element
    length = np.minimum(part, k - piece * part) * element * (row < across)
    launch.touch(at * step, 2 * piece + order, begin, length, phase=piece, shared=shared)


def _by_group(rows: int, columns: int, group: int) -> Array:
    """Place in the order of dispatch of each tile [row, column]: *group* rows of tiles are dealt
    out column by column, then the next ones.
    """
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    first = i // group * group
    return np.asarray(first * columns + j * np.minimum(group, rows - first) + i - first).ravel()


def _gemm(s: Shape, element: int, _backward: bool) -> Program:
    m, n, k, memory = s["m"], s["n"], s["k"], Memory()
    bases = tuple(memory.place(size * element) for size in (m * k, k * n, m * n))
    return Program.of(product(m, n, k, element, bases=(bases[0], bases[1], bases[2])))


def _fully_connected(s: Shape, element: int, _backward: bool) -> Program:
    """Weights [hidden, c] times activations [n, c]."""
    m, n, k, memory = s["hidden"], s["n"], s["c"], Memory()
    a, b, c = (memory.place(size * element) for size in (m * k, n * k, m * n))
    return Program.of(product(m, n, k, element, bases=(a, b, c), b_rows=False))


def _convolution(s: Shape, element: int, x: int, weights: int, y: int) -> Launch:
    """Results [n, c, h w] in tiles of 128 pixels and 128 channels; a load for each tap."""
    n, c, plane, wide, window = s["n"], s["c"], s["h"] * s["w"], s["w"], s["window"]
    pixels, taps, tile = n * plane, c * window**2, TILES[0]
    rows, columns = -(-pixels // tile), -(-c // tile)
    launch = Launch("convolution", rows * columns, 2.0 * pixels * c * taps)
    i, j, tap = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(taps), indexing="ij")
    channel, shift = tap // window**2, tap % window**2
    pixel = i * tile
    image, within = pixel // plane, pixel % plane
    moved = (shift // window - window // 2) * wide + shift % window - window // 2
    begin = np.maximum((image * c + channel) * plane + within + moved, 0)
    length = np.minimum(tile, pixels - pixel) * element
    launch.touch(i * columns + j, 2 * tap, x + begin * element, length, phase=tap // SLICE)
    filters = np.minimum(tile, c - j * tile) * element
    begin = weights + (tap * c + j * tile) * element
    launch.touch(i * columns + j, 2 * tap + 1, begin, filters, phase=tap // SLICE)
    i, j, line = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(tile), indexing="ij")
    pixel, channel = i * tile, j * tile + line
    begin = ((pixel // plane * c + channel) * plane + pixel % plane) * element
    length = np.minimum(tile, pixels - pixel) * element * (channel < c)
    group, last = i * columns + j, -(-taps // SLICE)
    launch.touch(group, 2 * taps + line, y + begin, length, store=True, phase=last)
    return launch


def _composed(s: Shape, element: int, _backward: bool) -> Program:
    memory, size = Memory(), _elements(s) * element
    x, weights = memory.place(size), memory.place(s["c"] ** 2 * s["window"] ** 2 * element)
    between = memory.place(0)
    pooling = _pooling(s, element, False, memory)  # its images are the convolution's results
    first = _convolution(s, element, x, weights, between)
    out = [(s[side] - s["window"]) // s["stride"] + 1 for side in ("h", "w")]
    k = s["c"] * out[0] * out[1]
    pooled = between + -(-size // 4096) * 4096
    a, c = memory.place(s["hidden"] * k * element), memory.place(s["hidden"] * s["n"] * element)
    last = product(s["hidden"], s["n"], k, element, bases=(a, pooled, c), b_rows=False)
    return Program.of(first, *pooling.launches, last)


def _recurrent(gates: int, s: Shape, element: int, backward: bool) -> Program:
    """Weights [gates hidden, 2 hidden] times input and state [batch, 2 hidden], then the gates.
    Backward: gates, weights times their gradients, and gradients added to those of the weights.
    """
    hidden, batch, steps = s["hidden"], s["batch"], min(s["steps"], STEPS)
    rows, deep, memory = gates * hidden, 2 * hidden, Memory()
    weights = memory.place(rows * deep * element)
    gradient = memory.place(rows * deep * element)
    state = memory.place(deep * batch * element)
    of_gates = memory.place(rows * batch * element)
    tile = (next((t for t in (64, 32, 16) if rows // t >= ENOUGH), 16), batch)
    bases = (weights, state, of_gates)
    forward = product(rows, batch, deep, element, bases=bases, b_rows=False, tile=tile)
    launches: list[Launch] = []
    for _ in range(steps):
        fresh = memory.place(hidden * batch * element)
        cell = _gates(gates, hidden * batch, element, of_gates, state, fresh)
        launches += [cell, forward] if backward else [forward, cell]
    if backward:
        bases = (of_gates, state, gradient)
        adding = product(
            rows, deep, batch, element, bases=bases, tile=(64, 128), name="gradients",
            accumulate=True,
        )  # fmt: skip
        launches = [
            each
            for pair in zip(launches[::2], launches[1::2], strict=True)
            for each in (*pair, adding)
        ]
    each = len(launches) // steps
    again = (s["steps"] - 1.0) / max(1, steps - 1)  # the first step finds nothing in caches
    return Program(tuple(launches), (1.0,) * each + (again,) * (len(launches) - each))


def _gates(gates: int, count: int, element: int, of_gates: int, state: int, fresh: int) -> Launch:
    """Pointwise: a value of each gate and the state give the new state, which is kept as well."""
    group, first, many = _groups(count, GROUP)
    launch = Launch("gates", len(group), 10.0 * gates * count)
    for gate in range(gates):
        begin = of_gates + (gate * count + first) * element
        launch.touch(group, gate, begin, many * element)
    for order, base in enumerate((state, fresh)):
        begin = base + first * element
        launch.touch(group, gates + order, begin, many * element, store=True, phase=1)
    return launch


def _gru(s: Shape, element: int, backward: bool) -> Program:
    return _recurrent(3, s, element, backward)


def _lstm(s: Shape, element: int, backward: bool) -> Program:
    return _recurrent(4, s, element, backward)


#: Kinds whose images are independent of each other: fewer of them are a sample of all.
IMAGES = ("activation", "pooling", "lrn")
NESTS: Mapping[str, Nest] = {
    "gemm": _gemm,
    "composed": _composed,
    "activation": _activation,
    "pooling": _pooling,
    "batch_norm": _batch_norm,
    "softmax": _softmax,
    "lrn": _lrn,
    "fully_connected": _fully_connected,
    "gru": _gru,
    "lstm": _lstm,
}
