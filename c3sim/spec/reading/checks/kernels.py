"""Checks of kernels: GEMMs, stream kernels, kernels of any kind, stores at peers."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.kind import Checks, Errors
from c3sim.spec.reading.documents import join
from c3sim.spec.task import AtOwners, Kernel, Stores
from c3sim.spec.words import unknown_errors
from c3sim.spec.workload import Gemm, StreamKernel

# the smallest matrix instruction is 4 wide; no library has larger tiles
_TILE_STEP, _TILE_LARGEST = 4, 1024


class GemmChecks(Checks[Gemm]):
    def on_node(self, task: Gemm, node: Node) -> Errors:
        yield from at_owners_errors(task, node)
        gpu = node.gpu
        yield from unknown_errors("library", task.library, gpu.gemm_libraries, "library")
        if task.lds is not None and task.lds > gpu.compute_units.lds:
            message = f"got {task.lds:.0f} B; a compute unit has {gpu.compute_units.lds:.0f}"
            yield InputError(message, "lds")
        dtypes = gpu.compute_units.flops_per_cycle
        yield from unknown_errors(f"data type on {gpu.name}", task.dtype, dtypes, "dtype")
        if task.updates and not gpu.hbm.update_cost:
            message = f"memory of {node.name} adds nothing by itself; set gpu.hbm.update_cost"
            yield InputError(message, "updates")
        for i, side in enumerate(task.macro_tile or ()):
            if side % _TILE_STEP or side > _TILE_LARGEST:
                message = f"got {side}; must be a multiple of {_TILE_STEP}, at most {_TILE_LARGEST}"
                yield InputError(message, join("macro_tile", i))


class StreamChecks(Checks[StreamKernel]):
    def on_node(self, task: StreamKernel, node: Node) -> Errors:
        if task.flops_per_byte and "fp32" not in node.gpu.compute_units.flops_per_cycle:
            message = f"{node.gpu.name} gives no fp32 flops_per_cycle; needed for vector FLOP"
            yield InputError(message, "flops_per_byte")


class KernelChecks(Checks[Kernel]):
    def on_node(self, task: Kernel, node: Node) -> Errors:
        yield from at_owners_errors(task, node)
        works = task.read or task.written or task.flops or task.through_caches
        if task.time == 0 or (task.time is None and not works):
            yield InputError("a kernel needs a time above 0, or bytes or FLOP to work on")
        dtype = task.dtype if task.on == "matrix" else "fp32"
        rates = node.gpu.compute_units.flops_per_cycle
        if task.flops and dtype not in rates:
            yield from unknown_errors(f"data type on {node.gpu.name}", dtype, rates, "dtype")
        waves = node.gpu.compute_units.waves
        if task.per_unit is not None and task.per_unit > waves:
            message = f"got {task.per_unit}; a compute unit has room for {waves} waves"
            yield InputError(message, "per_unit")


class StoresChecks(Checks[Stores]):
    def on_node(self, task: Stores, node: Node) -> Errors:
        """Peers, what the GPU's file knows, and fields of stores alone."""
        if node.gpus < 2:
            yield InputError("stores at peers on 1 GPU; needs a node of at least 2")
        if task.direction == "pull":
            for field in ("in_flight", "policy", "publish"):
                if getattr(task, field) is not None:
                    message = "loads are no stores; needs direction push"
                    yield InputError(message, field)
        elif node.gpu.remote_stores is None:
            yield _unknown_here(node)
        else:
            policies = node.gpu.remote_stores.policies
            yield from unknown_errors("store policy", task.policy, policies, "policy")
        yield from _flag_errors(task, node)


def at_owners_errors(task: AtOwners, node: Node) -> Errors:
    """Mistakes: a kernel that publishes, or stores at peers, needs costs and peers."""
    if task.results == "peers" and node.gpus < 2:
        message = "stores at peers on 1 GPU; needs a node of at least 2"
        yield InputError(message, "results")
    for field, used in (("results", task.results == "peers"), ("publish", bool(task.publish))):
        if used and node.gpu.remote_stores is None:
            yield _unknown_here(node, field)
    if task.policy is not None and node.gpu.remote_stores is not None:
        policies = node.gpu.remote_stores.policies
        yield from unknown_errors("store policy", task.policy, policies, "policy")
    yield from _flag_errors(task, node)


def _flag_errors(task: AtOwners | Stores, node: Node) -> Errors:
    """Mistakes of flags in the host's memory."""
    if task.flags != "host":
        return
    stores = node.gpu.remote_stores
    if task.publish != "flag":
        yield InputError("got host, and no flags are set; needs publish: flag", "flags")
    elif stores is not None and stores.host_flag_time is None:
        message = f"{node.gpu.name} gives no remote_stores.host_flag_time; flags may lie in gpu"
        yield InputError(message, "flags")


def _unknown_here(node: Node, path: str = "") -> InputError:
    message = f"{node.gpu.name} gives no remote_stores; needed to store at peers or publish tiles"
    return InputError(message, path)
