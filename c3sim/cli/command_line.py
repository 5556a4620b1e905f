"""The command as it was given, for what says where it came from."""

from __future__ import annotations

import shlex
import sys


def command_line() -> str:
    """``c3sim`` and its arguments, quoted for a shell."""
    return shlex.join(["c3sim", *sys.argv[1:]])
