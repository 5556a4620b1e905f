"""What the machine says of itself, asked of the probe."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .process import run_process

TIMEOUT = 120.0  # seconds; the first use of a GPU by a process may take many


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """*data* is what ``probe machine`` printed; where it failed, *failure* is why in one line."""

    data: dict[str, Any]
    failure: str = ""
    code: int | None = 0

    @property
    def gpus(self) -> int | None:
        """How many GPUs there are; None where it is not known."""
        found = self.data.get("gpus")
        return None if self.failure or not isinstance(found, list) else len(found)


def describe(probe: str) -> Description:
    """Run ``probe machine``."""
    out, err = bytearray(), bytearray()
    end = run_process([probe, "machine"], TIMEOUT, out.extend, err.extend)
    if end.interrupted:
        raise KeyboardInterrupt
    said = err.decode(errors="replace").strip().rpartition("\n")[2]
    if end.words:
        return Description(
            data={}, code=end.code, failure=end.words + (f": {said}" if said else "")
        )
    try:
        data = json.loads(out.decode())
    except ValueError as error:
        return Description(data={}, failure=f"printed no JSON ({error})")
    if not isinstance(data, dict) or not isinstance(data.get("gpus"), list):
        return Description(data={}, failure="printed JSON without a list 'gpus'")
    return Description(data=data)
