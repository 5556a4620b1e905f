"""Which compiler there is: hipcc of ROCm or nvcc of CUDA, on the PATH or where their installers put
them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from c3sim.errors import InputError
from c3sim.input.hints import unknown

#: Variables that name the folder of an installation, then the usual folders; newest version last.
VARIABLES = {"hipcc": ("ROCM_PATH", "HIP_PATH"), "nvcc": ("CUDA_HOME", "CUDA_PATH")}
PLACES = {"hipcc": ("/opt/rocm", "/opt/rocm-*"), "nvcc": ("/usr/local/cuda", "/usr/local/cuda-*")}
#: What the driver of the machine puts there: decides when both compilers are found.
DEVICES = {"hipcc": Path("/dev/kfd"), "nvcc": Path("/dev/nvidiactl")}
DEFAULT_ARCH = {"hipcc": "gfx942", "nvcc": "sm_90"}
KINDS = tuple(DEFAULT_ARCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """One compiler and the architecture it compiles for."""

    kind: str
    path: str
    arch: str

    @property
    def flags(self) -> tuple[str, ...]:
        """What every translation unit is compiled with."""
        if self.kind == "nvcc":
            return ("-std=c++17", "-O2", f"-arch={self.arch}", "-x", "cu")
        return ("-std=c++17", "-O2", f"--offload-arch={self.arch}")

    @property
    def link_flags(self) -> tuple[str, ...]:
        """What the program is linked with."""
        target = f"-arch={self.arch}" if self.kind == "nvcc" else f"--offload-arch={self.arch}"
        return (target, "-ldl", "-lpthread")


def find_compiler(
    kind: str = "", arch: str = "", environment: Mapping[str, str] | None = None
) -> Compiler:
    """The compiler of that *kind*, or the one for the devices of this machine. Raises InputError
    where there is none.
    """
    if kind and kind not in KINDS:
        raise InputError(unknown("compiler", kind, KINDS), "--compiler")
    variables = os.environ if environment is None else environment
    wanted = [kind] if kind else list(KINDS)
    found = {name: path for name in wanted if (path := next(_places(name, variables), ""))}
    if not found:
        raise InputError(_missing(wanted))
    with_device = [name for name in found if DEVICES[name].exists()]
    best = (with_device or list(found))[0]
    return Compiler(kind=best, path=found[best], arch=arch or DEFAULT_ARCH[best])


def _places(kind: str, variables: Mapping[str, str]) -> Iterator[str]:
    on_path = shutil.which(kind, path=variables.get("PATH", ""))
    if on_path:
        yield on_path
    folders = [Path(variables[name]) for name in VARIABLES[kind] if variables.get(name)]
    for pattern in PLACES[kind]:
        root, _, name = pattern.rpartition("/")
        folders += sorted(Path(root).glob(name), reverse=True)
    for folder in folders:
        file = folder / "bin" / kind
        if os.access(file, os.X_OK) and file.is_file():
            yield str(file)


def _missing(wanted: list[str]) -> str:
    where = "; ".join(
        (
            f"{kind} (PATH, {', '.join('$' + name for name in VARIABLES[kind])}, "
            f"{', '.join(PLACES[kind])})"
        )
        for kind in wanted
    )
    how = {
        "hipcc": "for AMD install ROCm's hipcc (apt install hipcc, or rocm.docs.amd.com)",
        "nvcc": (
            "for NVIDIA the CUDA toolkit (apt install cuda-nvcc, or "
            "developer.nvidia.com/cuda-downloads)"
        ),
    }
    return (
        f"no compiler found; looked for {where}; "
        f"{'; '.join(how[kind] for kind in wanted)}, then try again"
    )
