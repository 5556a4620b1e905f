"""Which sources the probe was built from: git's revision of the tree they stand in, else the
version of c3sim.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .build import SOURCES


def revision(sources: Path = SOURCES) -> str:
    """``<hash>``, ``<hash>-dirty`` where the probe's folder was changed since, or
    ``c3sim-<version>``.
    """
    from c3sim import __version__

    top = sources.resolve().parents[2]  # validation/probe/src of a checkout
    root = _git(top, "rev-parse", "--show-toplevel")
    if root is None or Path(root) != top:
        return f"c3sim-{__version__}"
    commit = _git(top, "rev-parse", "HEAD")
    if not commit:
        return f"c3sim-{__version__}"
    changed = _git(top, "status", "--porcelain", "--", str(sources.resolve().parent))
    return commit + ("-dirty" if changed else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says; None where it fails or is not there."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.decode(errors="replace").strip() if run.returncode == 0 else None
