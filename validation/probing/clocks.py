"""The core clock of all GPUs, set for one step by a tool of the machine and then given back."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

#: Tool -> what sets a clock of *mhz*, and what gives it back (their --help; rights of root).
TOOLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "amd-smi": (
        ("set", "--gpu", "all", "--perf-determinism", "{mhz}"),
        ("reset", "--gpu", "all", "--perf-determinism"),
    ),
    "rocm-smi": (("--setperfdeterminism", "{mhz}"), ("--resetperfdeterminism",)),
    "nvidia-smi": (("--lock-gpu-clocks={mhz}",), ("--reset-gpu-clocks",)),
}
SECONDS = 30.0  # that a tool may take


@contextmanager
def core_clock(mhz: int | None) -> Iterator[str]:
    """Within it all GPUs run at *mhz* at most; None: as they are. Yields why they do not, or
    nothing.
    """
    if mhz is None:
        yield ""
        return
    tool = next((name for name in TOOLS if shutil.which(name)), None)
    if tool is None:
        yield f"needs one of {', '.join(TOOLS)} to set clocks; none is there"
        return
    set_it, give_back = TOOLS[tool]
    failed = _called(tool, [word.format(mhz=mhz) for word in set_it])
    try:
        yield failed
    finally:
        _called(tool, give_back)


def _called(tool: str, words: list[str] | tuple[str, ...]) -> str:
    """Call *tool*; returns why that failed, in one line."""
    try:
        done = subprocess.run([tool, *words], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{tool} {words[0]}: {str(error).lower()}"
    if not done.returncode:
        return ""
    said = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
    return f"{tool} {' '.join(words)}: exit code {done.returncode}" + f": {said}" * bool(said)
