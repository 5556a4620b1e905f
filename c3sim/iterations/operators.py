"""Operators of a model as tasks: FLOP, bytes that must move, workgroups.

A tensor that an operator reads is counted once, and once where it is written; rows that norms and
softmax read again come from the last cache as far as it holds those in progress. What limits each
operator is in ``gpu.operators`` (spec/operators.py). e is the bytes of a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from c3sim.errors import InputError
from c3sim.iterations.attention_kernels import Kernels, Tiles, of_tiles, room_of_one
from c3sim.iterations.inference.kv import pairs_seen
from c3sim.iterations.inference.steps import GROUPED
from c3sim.iterations.query_tiles import TILE, keys_of_tiles
from c3sim.iterations.softmax_kernels import row_kernel
from c3sim.iterations.steps import Op
from c3sim.spec.hardware import Gpu
from c3sim.spec.operators import Operators
from c3sim.spec.task import DTYPE_BYTES, Access, Dtype, Kernel, Operator
from c3sim.spec.workload import Gemm

#: A thread loads 8 bytes of a row at a time, 128 threads share it: vectorized_layer_norm_kernel in
#: aten/src/ATen/native/cuda/layer_norm_kernel.cu of github.com/pytorch/pytorch.
ROW_STEP = 1024
#: Gradients of a norm's weights: a workgroup goes over 32 columns, 256 rows at a time, each step
#: waiting for its statistics, then for its rows: GammaBetaBackwardCUDAKernelTemplate in the same.
COLUMNS, ROWS_AT_A_TIME = 32, 256
#: Kernels over lists of tensors: 320 workgroups of 512 threads take 65536 numbers each:
#: aten/src/ATen/native/cuda/MultiTensorApply.cuh of github.com/pytorch/pytorch.
LIST_WORKGROUPS, LIST_CHUNK = 320, 65536
#: Vectors of a norm are read twice: sums, then the result (same file of layer_norm_kernel.cu).
NORM_AGAIN = 1
#: Loads of top_k that wait for each other, a sort's passes of a byte of a number, and how many
#: numbers one workgroup sorts: TensorTopK.cu, cub, Sort.cu (below).
TOP_K_PASSES, SORTED_BYTES, SORTED_AT_ONCE = 7, 8, 4096
#: Lanes that look at a row at a time; loads of the sort of what they found that wait.
WARP, WAITS = 32, 6


def _follows(of_least: float, flops: float, least: float) -> float:
    """Part of *flops* that follows the clock: *of_least*, and all beyond the *least* ones."""
    return (of_least + max(0.0, flops - least)) / flops if flops else 1.0


@dataclass(frozen=True, slots=True)
class OperatorSet:
    """Operators on one kind of GPU, in one precision. *dtype* is that of matrix products, *element*
    the bytes of a number in all other tensors. *eager*: attention keeps its scores in memory;
    *flash_2*: by FlashAttention-2's kernels, not the GPU's own.
    *rms*: norms are RMS norms, else layer norms. *layers*: those that were made (units.py).
    """

    gpu: Gpu
    parts: Operators
    dtype: Dtype
    fused: bool = False
    eager: bool = False
    flash_2: bool = False
    rms: bool = False
    autocast: bool = False  # autocast.py
    layers: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def on(cls, gpu: Gpu, dtype: Dtype, **options: bool) -> OperatorSet:
        """*options*: its other fields. Raises InputError where the GPU file has no numbers."""
        if gpu.operators is None:
            raise InputError(
                f"{gpu.name} has no gpu.operators: what the operators of a model reach on it"
            )
        if options.get("flash_2") and gpu.operators.flash_2 is None:
            raise InputError(f"{gpu.name} has no gpu.operators.flash_2", "attention")
        return cls(gpu, gpu.operators, dtype, **options)

    @property
    def element(self) -> int:
        return max(2, DTYPE_BYTES[self.dtype])

    @property
    def kept(self) -> int:
        """Bytes of a number of weights, their gradients, and what goes round products."""
        return 4 if self.autocast else self.element

    @property
    def activation(self) -> Dtype:
        """Type of attention's operands: fp8 is for GEMMs."""
        return "bf16" if self.dtype == "fp8" else self.dtype

    def gemm(self, name: str, m: int, n: int, k: int, batch: int = 1) -> Op:
        """C[m,n] = A[m,k] B[k,n], *batch* times: 2 m n k FLOP each."""
        task = Gemm(kind="gemm", m=m, n=n, k=k, batch=batch, dtype=self.dtype)
        return Op(name, task, "gemm", 2.0 * m * n * k * batch)

    def grouped(
        self, name: str, m: int, n: int, k: int, count: int, rows: tuple[int, ...] = ()
    ) -> Op:
        """The same of *count* experts, by one kernel of the library for such, where the GPU has
        one; *rows*: m of each, where they differ.
        """
        library = GROUPED if GROUPED in self.gpu.gemm_libraries else None
        sizes = {"m": m, "n": n, "k": k, "batch": count, "rows": rows}
        task = Gemm(kind="gemm", **sizes, dtype=self.dtype, library=library)
        return Op(name, task, "gemm", 2.0 * n * k * (sum(rows) or m * count))

    def attention(
        self,
        name: str,
        sequences: int,
        tokens: int,
        heads: int,
        kv_heads: int,
        width: int,
        *,
        value: int | None = None,
        causal: bool,
        context: int = 0,
        window: int | None = None,
        dropped: bool = False,
        backward: bool = False,
    ) -> Op:
        """Attention of *tokens* new tokens of each sequence over themselves and *context* before;
        each sees *window* of them. *dropped*: scores are dropped at random.

        With queries and keys of d numbers and values of v, forward 2 d + 2 v FLOP for each pair of
        tokens and query head (q k, p v), backward 6 d + 4 v (scores again, and four products of
        gradients): arXiv 2307.08691, section 3.1; the model does not need the scores once more.
        Forward reads q, k, v and writes the output. Backward reads q, k, v and the output's
        gradient, writes those of k and v, and adds up that of q in numbers of 4 bytes.
        """
        seen, value = tokens + context, width if value is None else value
        if tokens == 1:
            seen = min(seen, window or seen)
            return self._attention_of_one(name, sequences, heads, kv_heads, (width, value), seen)
        copies = heads * sequences
        per_pair = copies * float(6 * width + 4 * value if backward else 2 * width + 2 * value)
        queries = float(sequences * tokens * heads * width * self.element)
        results = queries / width * value
        both = float(sequences * seen * kv_heads * (width + value) * self.element)
        sums = 4.0 * sequences * tokens * heads * width
        keys = tuple(keys_of_tiles(tokens, context, window, causal=causal))
        rows = min(TILE, tokens)
        tiles = Tiles(width, keys, copies, rows, per_pair / copies * rows)
        which = Kernels(backward, self.flash_2, dropped)
        task = Kernel(
            read=both + queries + (results + sums if backward else 0.0),
            written=both + sums if backward else results,
            flops=per_pair * rows * sum(keys),
            **of_tiles(self.gpu, self.parts, self.activation, tiles, which),
            **self.of_attention,
        )
        exact = pairs_seen(tokens, context, window) if causal else tokens * seen
        needed = (1 + backward) * 2.0 * (width + value) * copies * exact
        return Op(name, task, "attention", needed)

    @property
    def of_attention(self) -> dict[str, Any]:
        """Fields of every kernel of attention."""
        return {
            "kind": "kernel",
            "operator": "attention",
            "dtype": self.activation,
            "on": "matrix",
            "stream_efficiency": self.parts.attention_read,
            "clocked": self.parts.clocked.attention,
        }

    def _attention_of_one(
        self,
        name: str,
        sequences: int,
        heads: int,
        kv_heads: int,
        widths: tuple[int, int],
        seen: int,
    ) -> Op:
        """One new token, which sees so many keys and their values, of these *widths*: bound by
        reading them; a workgroup for each sequence and head of keys, more where these do not fill
        the GPU (split over tokens).
        """
        places, parts = sequences * kv_heads, self.parts
        key = float(sum(widths) * self.element)
        queries = float(sequences * heads * widths[0] * self.element)
        flops = 2.0 * sum(widths) * heads * sequences * seen
        task = Kernel(
            **self.of_attention,
            **room_of_one(self.gpu, parts, key),
            read=places * seen * key + queries,
            written=queries,
            flops=flops,
            dependent_loads=parts.loads,
            workgroups=max(places, self.gpu.compute_unit_count),
        )
        return Op(name, task, "attention", flops)

    def elementwise(
        self,
        name: str,
        numbers: float,
        read: float,
        written: float,
        *,
        strided: bool = False,
        flops: float = 0.0,
        element: float | None = None,
    ) -> Op:
        """A chain over *numbers* elements that reads *read* tensors of as many and writes
        *written*, with *flops* for each element; *strided*: parts of wider tensors, or a transpose.
        A sum, which stores nothing, has no element to place: memory binds it.
        """
        size = numbers * (self.element if element is None else element)
        parts = self.parts
        least = parts.contiguous_flops * bool(written)
        if strided:
            least = parts.strided_flops * (2.0 + max(1.0, read)) / 3.0
        moved = read * size, written * size
        loads = parts.strided_loads if strided else parts.loads
        op = self.moving(name, *moved, "elementwise", max(flops, least) * numbers, loads)
        part = parts.clocked.strided if strided else parts.clocked.contiguous
        return op.with_task(clocked=_follows(part * least, max(flops, least), least))

    def dropout(self, name: str, numbers: float, read: float, written: float) -> Op:
        """Elementwise operator that draws a random number for each element."""
        op = self.elementwise(name, numbers, read, written, flops=self.parts.dropout_flops)
        return op.with_task(memory_efficiency=self.parts.dropout)

    def gather(self, name: str, rows: float, width: int, *, added: float = 1) -> Op:
        """*rows* rows of a table, each the sum of *added* of it."""
        size = rows * width * self.element
        flops = rows * width * self.parts.gather_flops
        op = self.moving(name, added * size, size, "embedding", flops)
        return op.with_task(memory_efficiency=self.parts.gather, stream_efficiency=1.0)

    def scatter(self, name: str, rows: float, width: int) -> Op:
        """*rows* rows are added to those of a table: each is read, and its row read and written."""
        size, parts = rows * width * self.element, self.parts
        flops = rows * width * (parts.scatter_flops or parts.gather_flops)
        op = self.moving(name, 2 * size, size, "elementwise", flops)
        reached = parts.scatter or parts.gather
        return op.with_task(memory_efficiency=reached, stream_efficiency=1.0)

    def permute(self, name: str, rows: int, each: int, width: int) -> Op:
        """*each* copies of every one of *rows* rows, in any order: a row comes from memory once, as
        far as the cache holds all of them.
        """
        size, parts = float(rows * width * self.element), self.parts
        task = Kernel(
            kind="kernel",
            operator="elementwise",
            accesses=(
                Access(bytes=size, again=each - 1.0, far=size * self.gpu.l2.copies),
                Access(bytes=each * size, stores=True),
            ),
            flops=each * rows * width * (parts.permute_flops or parts.gather_flops),
            stream_efficiency=1.0,
            memory_efficiency=parts.gather,
            dependent_loads=parts.loads,
        )
        return Op(name, task, "elementwise")

    def top_k(self, name: str, rows: int, width: int, count: int) -> list[Op]:
        """The *count* largest of each of *rows* rows of *width* 4 byte numbers, in order: a
        workgroup goes over its row bit by bit of a number, WARP numbers at a time; a kernel behind
        it sorts what it found (TensorTopK.cu and Sort.cu in aten/src/ATen/native/cuda of
        github.com/pytorch/pytorch). One call.
        """
        parts, least = self.parts, TOP_K_PASSES * self.parts.softmax_flops
        find = Kernel(
            kind="kernel",
            operator="elementwise",
            read=4.0 * rows * width,
            flops=(parts.top_k_flops or least) * rows * max(WARP, width),
            workgroups=rows,
            per_unit=parts.row_workgroups,
            stream_efficiency=parts.contiguous,
            dependent_loads=parts.loads + TOP_K_PASSES,
        )
        ordered = self.moving(
            f"{name}-order", 12.0 * rows * count, 12.0 * rows * count, "elementwise", 0.0, WAITS
        )
        return [Op(name, find, "elementwise"), ordered.called({})]

    def sort(self, name: str, numbers: int) -> list[Op]:
        """Order of *numbers* whole numbers of 8 bytes: copies of them and their places; then few in
        one workgroup, many by a pass that counts and one for each byte of a number, which reads and
        writes it and its place (Sort.cu in aten/src/ATen/native/cuda of github.com/pytorch/pytorch,
        DeviceRadixSort in github.com/NVIDIA/cccl). One call.
        """
        pair, parts = 16.0 * numbers, self.parts
        copies = [
            self.elementwise(f"{name}-{what}", numbers, read, 1, element=8)
            for what, read in (("numbers", 1), ("places", 0))
        ]
        first, *others = (copies[0], *(each.called({}) for each in copies[1:]))
        if numbers <= SORTED_AT_ONCE:
            loads = parts.short_sort_loads
            once = self.moving(f"{name}-once", pair, pair, "elementwise", 0.0, loads)
            task = once.task.changed(workgroups=1)
            return [first, *others, replace(once, task=task).called({})]
        passes = [("count", pair / 2, 0.0), *((f"{i}", pair, pair) for i in range(SORTED_BYTES))]
        kernels = (
            self.moving(f"{name}-pass-{i}", read, put, "elementwise", 0.0, parts.sort_loads)
            for i, read, put in passes
        )
        return [first, *others, *(kernel.called({}) for kernel in kernels)]

    def normalisation(self, name: str, rows: int, width: int) -> Op:
        """X - mean over deviation: x is read, the result written, by a workgroup for each row."""
        parts = self.parts
        least = width * parts.rms_norm_flops
        whole = least if self.rms else parts.row_flops + width * parts.layer_norm_flops
        op = self._rows(name, rows, width, 1, rows * whole)
        return op.with_task(clocked=_follows(parts.clocked.norm * least, whole, least))

    def normalisation_backward(self, name: str, rows: int, width: int, vectors: int) -> list[Op]:
        """Gradients of its input (reads it and the output's gradient), then of its weights, so many
        *vectors* (reads both again, down the columns).
        """
        size = float(rows * width * self.kept)
        flops = self.parts.norm_gradient_flops * rows * width
        weights = Kernel(
            kind="kernel",
            operator="normalisation",
            read=2 * size,
            written=float(width * self.kept),
            workgroups=ceil(width / COLUMNS),
            per_unit=1,
            dependent_loads=self.parts.loads + 2 * ceil(rows / ROWS_AT_A_TIME),
        )
        inputs = self._rows(f"{name}-input", rows, width, 2, flops)
        kernels = [
            inputs.with_task(clocked=self.parts.clocked.norm_gradient),
            Op(f"{name}-weight", weights, "normalisation", gradients=(width,) * vectors),
        ]
        return [kernel.called({"normalisation": 0.5}) for kernel in kernels]

    def softmax(self, name: str, rows: int, width: int, *, backward: bool = False) -> Op:
        """Over rows of 4 byte numbers, for the loss: reads a tensor (backward two), writes one."""
        return self.over_rows(name, float(rows), width, 4, 1 + backward, 1, backward=backward)

    def over_rows(
        self,
        name: str,
        rows: float,
        width: int,
        element: float,
        read: float,
        written: float,
        *,
        backward: bool = False,
        log: bool = False,
    ) -> Op:
        """Softmax over *rows* of *width* numbers of *element* bytes (*log*: of 2, log-softmax): so
        many tensors of them *read*
        and *written* (softmax_kernels.py).
        """
        parts, size, row = self.parts, rows * width * element, width * element
        kernel = row_kernel(parts, width, element, backward=backward, log=log)
        moved: dict[str, Any] = {"read": read * size, "written": written * size}
        if kernel.again:
            share = kernel.per_unit(self.gpu.compute_units)
            sizes = read * row, kernel.again, written * row
            loads, stores = self._rows_again(rows, *sizes, (share, 1.0 / kernel.passes))
            near = {"near": share * (read + written / kernel.passes) * row}
            moved = {"accesses": (loads.changed(**near), stores)}
        task = Kernel(
            kind="kernel",
            operator="normalisation",
            **moved,
            flops=rows * kernel.flops,
            workgroups=max(1, round(rows / kernel.rows)),
            threads=kernel.threads,
            registers=kernel.registers,
            lds=kernel.lds,
            memory_efficiency=parts.softmax,
            stream_efficiency=parts.contiguous,
            clocked=parts.clocked.softmax,
            dependent_loads=parts.loads + (kernel.passes if kernel.rows == 1 else 0),
        )
        return Op(name, task, "normalisation")

    def _rows_again(
        self, rows: float, read: float, again: float, written: float, units: tuple[int, float]
    ) -> tuple[Access, Access]:
        """Accesses of workgroups that each read the *read* bytes of their row *again*, and write as
        many as *written*. *units*: how many share a unit, and what part of that they write between
        two uses. Lines that L2 reads are kept near their reader too, those that are written are
        not.
        """
        share, between = units
        copies, stored = self.gpu.l2.copies, between * written
        far = share * self.gpu.compute_unit_count * (read * copies + stored)
        loads = Access(bytes=rows * read, again=again, far=far)
        return loads, Access(bytes=rows * written, stores=True)

    def column_sum(self, name: str, rows: int, width: int) -> list[Op]:
        """Gradient of a bias: counters of workgroups set to zero, then the sum, which reads the
        output's gradient. One call.

        Workgroups of 128 threads take 128 columns and at least 64 rows, as many as 16 for each
        compute unit; the last one of a column, which the counter tells, adds up the others' sums, 4
        at a time: setReduceConfig and global_reduce in aten/src/ATen/native/cuda/Reduce.cuh of
        github.com/pytorch/pytorch.
        """
        size = float(rows * width * self.element)
        columns = ceil(width / 128)
        sums = min(ceil(rows / 64), ceil(16 * self.gpu.compute_unit_count / columns))
        loads = {"dependent_loads": self.parts.loads, "closing_loads": 1 + ceil(sums / 4)}
        task = Kernel(kind="kernel", read=size, stream_efficiency=self.parts.contiguous, **loads)
        return [self.cleared(name), Op(name, task, "elementwise", gradients=(width,))]

    def cleared(self, name: str) -> Op:
        """The counters by which the last workgroup of *name* is told, set to zero."""
        loads = self.parts.loads
        task = Kernel(kind="kernel", written=4.0, workgroups=1, dependent_loads=loads)
        return Op(f"{name}-cleared", task, "elementwise").called({})

    def over_lists(
        self,
        name: str,
        numbers: float,
        read: float,
        written: float,
        operator: Operator = "optimizer",
    ) -> Op:
        """One kernel after the other over lists of tensors with *numbers* elements in all: reads
        *read* bytes of each, writes *written*.
        """
        launches = max(1, ceil(numbers / (LIST_WORKGROUPS * LIST_CHUNK)))
        task = Kernel(
            kind="kernel",
            operator=operator,
            read=numbers * read,
            written=numbers * written,
            workgroups=max(1, ceil(numbers / LIST_CHUNK)),
            per_unit=self.parts.list_workgroups,
            stream_efficiency=self.parts.optimizer,
        )
        return Op(name, task, operator, launches=launches)

    def _rows(self, name: str, rows: int, width: int, read: int, flops: float) -> Op:
        parts, row = self.parts, float(width * self.kept)
        task = Kernel(
            kind="kernel",
            operator="normalisation",
            accesses=self._rows_again(
                rows, read * row, NORM_AGAIN, row, (parts.row_workgroups, 1.0)
            ),
            flops=flops,
            workgroups=rows,
            per_unit=parts.row_workgroups,
            stream_efficiency=parts.contiguous,
            memory_efficiency=parts.normalisation,
            dependent_loads=parts.loads + ceil(row / ROW_STEP),
        )
        return Op(name, task, "normalisation")

    def moving(
        self,
        name: str,
        read: float,
        written: float,
        operator: Operator,
        flops: float = 0.0,
        loads: int | None = None,
    ) -> Op:
        task = Kernel(
            kind="kernel",
            operator=operator,
            read=read,
            written=written,
            flops=flops,
            stream_efficiency=self.parts.contiguous,
            dependent_loads=self.parts.loads if loads is None else loads,
        )
        return Op(name, task, operator)
