"""The class of a kernel by its name: GEMM or collective, its library, its macro-tile.

Names of NCCL and RCCL kernels end in an algorithm and a protocol (``_RING_LL``). One such kernel
runs all of them, so nothing is concluded from that. Macro-tiles are in the library's own order, as
in the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..names import collective_of


@dataclass(frozen=True)
class KernelClass:
    """*library*: the schema's name of who wrote it; *op*: None where the name does not tell."""

    kind: Literal["gemm", "collective", "other"]
    library: str = ""
    op: str | None = None
    macro_tile: tuple[int, int] | None = None


_COLLECTIVE = re.compile(
    r"(?P<prefix>nccl|rccl)\w*?[Kk]ernel(?:_(?P<op>[A-Z][A-Za-z]+))?|(?P<other>msccl)\w*"
)
_OTHER_TRAFFIC = re.compile(
    r"flash|fmha|attention|softmax|layer_?norm|elementwise|reduce_kernel|splitKreduce|PostGSU",
    re.IGNORECASE,
)
_TENSILE = re.compile(r"Cijk_")
_TENSILE_TILE = re.compile(r"_MT(\d+)x(\d+)(?:x\d+)?")
_TILES = (
    re.compile(r"tilesize(\d+)x(\d+)x\d+"),  # sm90_xmma_gemm_..._tilesize128x128x64_...
    re.compile(r"_(\d+)x(\d+)_\d+x\d+"),  # nvjet_..._256x128_64x4_..., cutlass_..._256x128_32x3_...
    re.compile(r"_(\d{2,3})x(\d{2,3})_"),  # ampere_..._128x64_ldg8_...
    re.compile(r"_(\d{2,3})x(\d{2,3})x\d{2,3}(?:_|$)"),  # cutlass3x_sm90_..._128x256x64_...
)
_GEMMS = (
    (r"^nvjet_", "cublas"),
    (r"^(?:void )?(?:ampere|turing|volta|maxwell|hopper|blackwell|sm\d+)_\w*gemm\w*", "cublas"),
    (r"cutlass\w*gemm|cutlass\d*x?_sm\d+|cutlass_\d+_\w*gemm", "cublas"),
    (r"cutlass::(?:Kernel|device_kernel).*[Gg]emm", "cublas"),
    (r"(?:cublas\w*::)?\b(?:gemmk1|gemmSN|gemv\w*)_?kernel", "cublas"),
    (r"\bck(?:_tile)?::.*[Gg]emm|kernel_gemm_(?:xdl|mul)|^kernel_batched_gemm", "ck"),
    (r"^triton_\w*_(?:mm|bmm|addmm|matmul|gemm)(?:_|\b)", "triton"),
)
# a bare Python name: Triton has no others
_PLAIN_NAME = re.compile(r"_?(?:[a-z0-9]+_)*(?:matmul|gemm)(?:_\w+)?")


def classify(name: str) -> KernelClass:
    """The class of the kernel *name*; ``other`` when it is neither."""
    if match := _COLLECTIVE.match(name.removeprefix("void ")):
        op = collective_of(match["op"]) if match["op"] else None
        return KernelClass("collective", match["prefix"] or "rccl", op)
    if _OTHER_TRAFFIC.search(name):
        return KernelClass("other")
    if _TENSILE.search(name):
        return KernelClass("gemm", "hipblaslt", macro_tile=_tile(name, (_TENSILE_TILE,)))
    for pattern, library in _GEMMS:
        if re.search(pattern, name):
            tile = _tile(name, _TILES) if library == "cublas" else None
            return KernelClass("gemm", library, macro_tile=tile)
    if _PLAIN_NAME.fullmatch(name):
        return KernelClass("gemm", "triton")
    return KernelClass("other")


def _tile(name: str, patterns: Iterable[re.Pattern[str]]) -> tuple[int, int] | None:
    for pattern in patterns:
        if match := pattern.search(name):
            return int(match[1]), int(match[2])
    return None
