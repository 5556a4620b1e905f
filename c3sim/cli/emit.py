"""Output: results to standard output, remarks to standard error."""

from __future__ import annotations

from typing import Any

import typer


def emit_json(data: Any) -> None:
    """*data* as one JSON document on standard output."""
    import json

    typer.echo(json.dumps(data, indent=2, allow_nan=False))


def say(text: str) -> None:
    """A line on standard error."""
    typer.echo(text, err=True)
